/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Blocks that are known one by one, into a capture; see tally_notes.h. */
#include "tally/tally_notes.h"
#include "wire/wire_word.h"

/* False: there is none, or it changed meanwhile. */
static bool get(const struct axp__note *s, struct axp__cap_note *to)
{
    uint64_t address = axp__get_acquire(&s->address);
    if (address <= 1) return false;
    *to = (struct axp__cap_note){.ticks = axp__get(&s->ticks),
                                 .bytes = axp__get(&s->bytes),
                                 .place = axp__get(&s->place),
                                 .row = axp__get(&s->row),
                                 .weight = axp__get(&s->weight)};
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return axp__get(&s->address) == address && to->place < AXP__MAX_NAMES;
}

bool axp__notes_copy(struct axp__capture *c, const struct axp__note *table)
{
    struct axp__cap_note one;
    size_t n = 0;
    for (size_t i = 0; table && i < AXP__NOTES; i++)
        n += get(&table[i], &one);
    c->notes = axp__cap_take(c, n, sizeof *c->notes);
    if (!c->notes) return false;
    for (size_t i = 0; table && i < AXP__NOTES && c->n_notes < n; i++)
        c->n_notes += get(&table[i], &c->notes[c->n_notes]);
    return true;
}
