/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Stacks on their way out; see record_stacks.h.
 *
 * A stack was whole before the word that refers to it was written, so whoever
 * has seen the word finds it: the trace has stacks before the chunks that refer
 * to them. They keep their addresses: which module those are in is asked when
 * they are read (tally_modules.h), since a process that is killed leaves stacks
 * that nobody has looked at yet, and recording calls cannot ask. What is loaded
 * is told with the stacks that are new, if it has changed: once in a drain's
 * pass at most, some 100 us for 300 mappings.
 */
#include "record/record_stacks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "axprof/axprof_adapter.h"
#include "base/base_sized.h"
#include "os/os_about.h"
#include "record/record_name.h"
#include "tally/tally_modules.h"
#include "tally/tally_stacks.h"

/* ---- the trace ------------------------------------------------------------------- */

/* More than a body holds is written in any case. */
static bool put_maps(struct axp__trace *t)
{
    struct axp__pen *pen = &t->pen;
    axp__pen_gather(pen, AXP__B_ABOUT, 0);
    axp__about_maps(axp__pen_tell, pen);
    uint32_t crc = axp__crc32c(0, pen->body, pen->used);
    if (crc == t->maps_crc) return true;
    t->maps_crc = crc;
    return axp__pen_flush(pen);
}

bool axp__trace_stacks(struct axp__trace *t, struct axp__prof *p)
{
    static const uint8_t none[] = {0}; /* a void one */
    uint32_t id = t->n_stacks ? t->n_stacks : AXP__STACK_FIRST;
    uint32_t end = axp__stacks_end(&p->stacks);
    if (id == end) return true;
    if (!put_maps(t)) return false;
    axp__pen_gather(&t->pen, AXP__B_STACKS, id);
    for (; id < end; id++) {
        const struct axp__stack_bytes *s = axp__stacks_at(&p->stacks, id);
        if (!axp__pen_records(&t->pen, 1, s ? s->bytes : none, s ? s->n : 1))
            return false;
    }
    if (!axp__pen_flush(&t->pen)) return false;
    t->n_stacks = end;
    return true;
}

/* ---- what goes ---------------------------------------------------------------------- */

/* As a name: those are in the spool at once, and are never lost. Of one without
 * a build id the id is made here, as for what stays. */
void axp_module_seen(const axp_module *module)
{
    char text[AXP__NAME_MAX_LEN], made[AXP__ABOUT_ID];
    axp_module m;
    int keep = errno;
    if (!axp__sized_take(&m, sizeof m, module,
                         AXP__SIZE_TO(axp_module, build_id)))
        return;
    if (!m.build_id || !strcmp(m.build_id, "-")) {
        axp__about_id(m.first, made);
        m.build_id = made;
    }
    int n = snprintf(text, sizeof text, "%llx %llx %llx %s %s",
                     (unsigned long long)m.bias, (unsigned long long)m.first,
                     (unsigned long long)m.last, m.build_id, m.path);
    if (n > 0 && (size_t)n < sizeof text)
        axp__name_register_as(AXP__KIND_MODULE, text, NULL);
    errno = keep;
}

/* ---- a capture --------------------------------------------------------------------- */

static bool add_map(void *ctx, const char *key, const char *value, size_t len)
{
    (void)key;
    return axp__cap_add_module(ctx, value, len);
}

bool axp__capture_stacks(struct axp__capture *c, const struct axp__prof *p)
{
    struct axp__cap_stacks *to = &c->stacks[AXP__STACKS_OF_PROCESS];
    uint32_t end = axp__stacks_end(&p->stacks);
    if (end == AXP__STACK_FIRST) return true;
    to->at = axp__cap_take(c, end, sizeof *to->at);
    if (!to->at) return false;
    for (uint32_t id = AXP__STACK_FIRST; id < end; id++) {
        const struct axp__stack_bytes *s = axp__stacks_at(&p->stacks, id);
        uint8_t *copy = s ? axp__cap_take(c, s->n, 1) : NULL;
        if (s && !copy) return false;
        if (s) to->at[id] = memcpy(copy, s->bytes, s->n);
    }
    to->n = end;
    return true;
}

void axp__capture_modules(struct axp__capture *c)
{
    if (axp__cap_has_stacks(c)) axp__about_maps(add_map, c);
}
