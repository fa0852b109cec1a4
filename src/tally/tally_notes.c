/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Slots taken and given back; see tally_notes.h. */
#include "tally/tally_notes.h"

#include "os/os_space.h"

#define WINDOW 8u
#define MOVING 1u

static struct axp__note *get_table(struct axp__notes *n,
                                   struct axp__budget *budget)
{
    struct axp__note *there = axp__get_acquire(&n->at);
    if (there || !axp__budget_has(budget, AXP__NOTES_BYTES)) return there;
    struct axp__note *fresh = axp__budget_map(budget, AXP__NOTES_BYTES);
    if (!fresh) return NULL;
    if (axp__cas(&n->at, &there, fresh)) {
        axp__budget_pay(budget, AXP__NOTES_BYTES);
        return fresh;
    }
    axp__budget_unmap(budget, fresh, AXP__NOTES_BYTES);
    return there;
}

static struct axp__note *slot(struct axp__note *table, uint64_t address,
                              unsigned i)
{
    uint64_t mixed = (address >> 4) * 0x9e3779b97f4a7c15u;
    return &table[((mixed >> 52) + i) % AXP__NOTES];
}
_Static_assert(AXP__NOTES == 1u << (64 - 52), "slots");

/* The oldest of those that may give way, other than what was tried. */
static struct axp__note *oldest(struct axp__note *table, uint64_t address)
{
    struct axp__note *found = NULL;
    for (unsigned i = 0; i < WINDOW; i++) {
        struct axp__note *s = slot(table, address, i);
        if (axp__get(&s->bytes) >= AXP__NOTE_LARGE) continue;
        if (!found || axp__get(&s->ticks) < axp__get(&found->ticks)) found = s;
    }
    return found;
}

/* In a slot that is on its way. */
static void fill(struct axp__note *s, struct axp__note note)
{
    axp__put(&s->ticks, note.ticks);
    axp__put(&s->bytes, note.bytes);
    axp__put(&s->place, note.place);
    axp__put(&s->row, note.row);
    axp__put(&s->weight, note.weight);
    axp__put_release(&s->address, note.address);
}

static struct axp__note copy(const struct axp__note *s, uint64_t address)
{
    return (struct axp__note){.address = address,
                              .ticks = axp__get(&s->ticks),
                              .bytes = axp__get(&s->bytes),
                              .place = axp__get(&s->place),
                              .row = axp__get(&s->row),
                              .weight = axp__get(&s->weight)};
}

bool axp__notes_put(struct axp__notes *n, struct axp__budget *budget,
                    struct axp__note note, struct axp__note *gone)
{
    struct axp__note *table = get_table(n, budget);
    gone->address = 0;
    if (!table) return false;
    for (unsigned i = 0; i < WINDOW; i++) {
        struct axp__note *s = slot(table, note.address, i);
        uint64_t free = 0;
        if (axp__get(&s->address) || !axp__cas(&s->address, &free, MOVING))
            continue;
        fill(s, note);
        return true;
    }
    struct axp__note *s = oldest(table, note.address);
    uint64_t address = s ? axp__get(&s->address) : 0;
    if (address <= MOVING || !axp__cas(&s->address, &address, MOVING))
        return false;
    *gone = copy(s, address);
    fill(s, note);
    return true;
}

bool axp__notes_take(struct axp__notes *n, uint64_t address,
                     struct axp__note *out)
{
    struct axp__note *table = axp__get_acquire(&n->at);
    for (unsigned i = 0; table && i < WINDOW; i++) {
        struct axp__note *s = slot(table, address, i);
        uint64_t there = address;
        if (axp__get(&s->address) != address ||
            !axp__cas(&s->address, &there, MOVING))
            continue;
        *out = copy(s, address);
        axp__put_release(&s->address, 0);
        return true;
    }
    return false;
}

void axp__notes_clear(struct axp__notes *n, struct axp__budget *budget)
{
    if (n->at) {
        axp__budget_unmap(budget, n->at, AXP__NOTES_BYTES);
        axp__budget_give(budget, AXP__NOTES_BYTES);
    }
    n->at = NULL;
}
