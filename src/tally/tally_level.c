/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Stretches found and written; see tally_level.h. */
#include "tally/tally_level.h"

#include "os/os_clock.h"
#include "os/os_space.h"

#define LEAST_NS 50000u /* of a stretch; at most twice as long */
#define SHIFT_OF_PART 10
_Static_assert(AXP__LEVEL_STRETCHES == 1u << SHIFT_OF_PART, "stretches");

uint32_t axp__level_shift(struct axp__level *l)
{
    uint32_t shift = axp__get(&l->shift);
    if (shift) return shift;
    uint64_t mult = axp__clock_rate().mult;
    for (shift = 1; shift < AXP__LEVEL_MOST_SHIFT; shift++)
        if (((axp__wide)mult << shift) >> 32 >= LEAST_NS) break;
    axp__put(&l->shift, shift);
    return shift;
}

static struct axp__level_span *get_part(struct axp__level *l,
                                        struct axp__budget *budget, unsigned n)
{
    struct axp__level_span *there = axp__get_acquire(&l->part[n]);
    if (there) return there;
    if (!axp__budget_has(budget, AXP__LEVEL_PART_BYTES)) return NULL;
    struct axp__level_span *fresh =
        axp__budget_map(budget, AXP__LEVEL_PART_BYTES);
    if (!fresh) return NULL;
    if (axp__cas(&l->part[n], &there, fresh)) {
        axp__budget_pay(budget, AXP__LEVEL_PART_BYTES);
        return fresh;
    }
    axp__budget_unmap(budget, fresh, AXP__LEVEL_PART_BYTES);
    return there;
}

static void raise(uint64_t *to, uint64_t value)
{
    uint64_t was = axp__get(to);
    while (value > was && !axp__cas(to, &was, value))
        ;
}

void axp__level_note(struct axp__level *l, struct axp__budget *budget,
                     uint64_t since_ticks, uint64_t value)
{
    uint64_t at = since_ticks >> axp__level_shift(l);
    unsigned bits = at ? 64 - (unsigned)__builtin_clzll(at) : 0;
    unsigned n = bits > SHIFT_OF_PART ? bits - SHIFT_OF_PART : 0;
    if (n >= AXP__LEVEL_PARTS) return;
    struct axp__level_span *s = get_part(l, budget, n);
    if (!s) return;
    s += n ? (at >> (n - 1)) - AXP__LEVEL_STRETCHES : at;
    raise(&s->max_1, value + 1);
    raise(&s->min_not, ~value);
    axp__put(&s->last, value);
}

void axp__level_clear(struct axp__level *l, struct axp__budget *budget)
{
    for (unsigned i = 0; i < AXP__LEVEL_PARTS; i++) {
        if (!l->part[i]) continue;
        axp__budget_unmap(budget, l->part[i], AXP__LEVEL_PART_BYTES);
        axp__budget_give(budget, AXP__LEVEL_PART_BYTES);
    }
    *l = (struct axp__level){0};
}
