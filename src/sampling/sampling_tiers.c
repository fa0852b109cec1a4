/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How much of a stack is copied; see sampling_tiers.h. */
#include "sampling/sampling_tiers.h"

#include "sampling/sampling_regs.h"

#define ASKED_FIRST 64u
#define LITTLE (AXP__HAS_CHAIN ? 1024u : 4096u)

static const struct axp__tiers at_first = {
    .n = AXP__TIERS,
    .at = {{.bytes = 16384}, {.bytes = LITTLE, .n_asked = ASKED_FIRST}}};

void axp__tiers_init(struct axp__tiers *t)
{
    *t = at_first;
}

static bool has_room(const struct axp__tier *tier, uint64_t bytes)
{
    return bytes <= tier->bytes / 4 * 3;
}

void axp__tiers_used(struct axp__tiers *t, uint64_t bytes, enum axp__copy copy)
{
    bool is_enough = copy == AXP__COPY_ENOUGH;
    if (copy == AXP__COPY_CUT) t->at[t->now].n_asked *= 4;
    if (!is_enough) t->now = 0;
    for (size_t i = 1; i < t->n; i++) {
        struct axp__tier *tier = &t->at[i];
        tier->n_room =
            is_enough && has_room(tier, bytes) ? tier->n_room + 1 : 0;
        if (i > t->now && tier->n_room >= tier->n_asked) t->now = i;
    }
}
