/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Time off a processor by scope; see model_blocked.h. */
#include "model/model_blocked.h"

#include <stdlib.h>

#include "base/base_text.h"

#define MOST_LOOKS 64 /* at scopes that had not begun then, or are gone */

static uint64_t hash_of(const void *ctx, uint32_t i)
{
    return axp__mix64(((const struct axp__blocked_sums *)ctx)->at[i].name);
}

/* NULL: no memory. */
static struct axp__blocked *get(struct axp__blocked_sums *b, uint32_t name)
{
    void *at = b->at;
    bool ok = axp__slots_widen(&b->slots, b, hash_of) &&
              axp__array_grow(&at, &b->cap, b->n + 1, sizeof *b->at);
    b->at = at;
    if (!ok) return NULL;
    uint32_t *slot;
    for (uint64_t k = axp__mix64(name); *(slot = axp__slots_at(&b->slots, k));
         k++)
        if (b->at[*slot - 1].name == name) return &b->at[*slot - 1];
    b->at[b->n] = (struct axp__blocked){.name = name};
    *slot = (uint32_t)++b->n;
    b->slots.n_used++;
    return &b->at[b->n - 1];
}

bool axp__blocked_take(struct axp__blocked_sums *sums,
                       const struct axp__stream *s, const struct axp__record *r)
{
    size_t n;
    const struct axp__scope *open = axp__stream_scopes(s, &n);
    for (size_t looks = 0; n && looks < MOST_LOOKS; n--, looks++)
        if (open[n - 1].name != AXP__SCOPE_GONE &&
            open[n - 1].begin_ns <= r->begin_ns)
            break;
    if (!n || open[n - 1].begin_ns > r->begin_ns ||
        open[n - 1].name == AXP__SCOPE_GONE)
        return true;
    struct axp__blocked *b = get(sums, open[n - 1].name);
    if (!b) return false;
    b->n++;
    b->ns += r->id;
    return true;
}

void axp__blocked_keep(struct axp__blocked_sums *sums, axp_view *v)
{
    v->blocked = sums->at;
    v->n_blocked = sums->n;
    sums->at = NULL;
}

void axp__blocked_fini(struct axp__blocked_sums *sums)
{
    free(sums->at);
    free(sums->slots.at);
}
