/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Stretches folded into a capture's; see tally_level.h. The level may come from
 * a file, and say anything. */
#include "tally/tally_level.h"

#define MOST_STRETCHES ((uint64_t)2 * AXP__LEVEL_STRETCHES)

struct folded {
    struct axp__level_span *to; /* MOST_STRETCHES */
    uint32_t shift;             /* of their length */
};

/* Into the stretch that a later one of the same moment is in. */
static void fold(struct folded *f, uint64_t since, struct axp__level_span s)
{
    uint64_t i = since >> f->shift;
    if (i >= MOST_STRETCHES) return;
    struct axp__level_span *to = &f->to[i];
    if (s.max_1 > to->max_1) to->max_1 = s.max_1;
    if (s.min_not > to->min_not) to->min_not = s.min_not;
    to->last = s.last;
}

static void fold_part(struct folded *f, const struct axp__level_span *part,
                      unsigned n, uint32_t shift)
{
    for (uint64_t i = 0; i < AXP__LEVEL_STRETCHES; i++) {
        struct axp__level_span s = {axp__get(&part[i].max_1),
                                    axp__get(&part[i].min_not),
                                    axp__get(&part[i].last)};
        uint64_t at = n ? (i + AXP__LEVEL_STRETCHES) << (n - 1) : i;
        if (s.max_1 && s.min_not) fold(f, at << shift, s);
    }
}

/* How long stretches are, so that 2048 reach as far as the last part and a
 * moment. */
static uint32_t shift_of(const struct axp__level *l, struct axp__moment peak)
{
    unsigned last = 0;
    for (unsigned i = 0; i < AXP__LEVEL_PARTS; i++)
        if (axp__get(&l->part[i])) last = i;
    uint32_t shift = l->shift + (last ? last - 1 : 0);
    while (peak.value && peak.ticks >> shift >= MOST_STRETCHES)
        shift++;
    return shift;
}

/* The peak was reached, whatever was told just then. */
static void fold_peak(struct folded *f, struct axp__moment peak)
{
    uint64_t i = peak.ticks >> f->shift;
    if (!peak.value || i >= MOST_STRETCHES) return;
    struct axp__level_span *to = &f->to[i];
    if (!to->max_1) to->min_not = ~peak.value;
    if (!to->max_1) to->last = peak.value;
    if (peak.value + 1 > to->max_1) to->max_1 = peak.value + 1;
}

static bool keep(struct axp__capture *c, const struct folded *f)
{
    size_t n = 0;
    for (uint64_t i = 0; i < MOST_STRETCHES; i++)
        n += f->to[i].max_1 != 0;
    c->levels = axp__cap_take(c, n, sizeof *c->levels);
    if (!c->levels) return false;
    for (uint64_t i = 0; i < MOST_STRETCHES; i++) {
        const struct axp__level_span *s = &f->to[i];
        if (!s->max_1) continue;
        uint64_t min = ~s->min_not, max = s->max_1 - 1;
        c->levels[c->n_levels++] = (struct axp__cap_level){
            .at_ticks = c->start_ticks + (i << f->shift),
            .length_ticks = (uint64_t)1 << f->shift,
            .min_bytes = min < max ? min : max,
            .max_bytes = max,
            .last_bytes = s->last};
    }
    return true;
}

bool axp__level_copy(struct axp__capture *c, const struct axp__level *l,
                     struct axp__moment peak, axp__level_part_fn *part_at,
                     void *ctx)
{
    uint32_t shift = axp__get(&l->shift);
    if (!shift || shift > AXP__LEVEL_MOST_SHIFT) return true;
    struct folded f = {axp__cap_take(c, MOST_STRETCHES, sizeof *f.to),
                       shift_of(l, peak)};
    if (!f.to) return false;
    for (unsigned i = 0; i < AXP__LEVEL_PARTS; i++) {
        const struct axp__level_span *part = axp__get_acquire(&l->part[i]);
        if (part) part = part_at(ctx, part);
        if (part) fold_part(&f, part, i, shift);
    }
    fold_peak(&f, peak);
    return keep(c, &f);
}
