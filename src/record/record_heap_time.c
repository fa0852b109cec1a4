/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* When blocks came and went: what is live over time, which blocks are known one by
 * one, and how long they lived.
 *
 * Clock    a lane looks at it where what it holds has moved by a step, where it
 *          comes to a new place, for a large block, and where an adapter says that
 *          it has done so (axp_heap_timed): at one event in 127 while they are
 *          frequent, at each where they are not. Between these looks a lane's
 *          time stands still, so that the last time of a place may be earlier than
 *          it was, and never later.
 * Known    blocks of 64 KiB and more, the first of each place, and those that an
 *          adapter picks (tally_notes.h).
 */
#include "record/record_heap.h"

#include "axprof/axprof_adapter.h"

static uint64_t since_start(const struct axp__lane *lane, uint64_t now)
{
    uint64_t start = axp__get(&lane->p->start_ticks);
    return now > start ? now - start : 0;
}

static void set_when(struct axp__lane *lane, uint64_t now)
{
    lane->heap_when = axp__heap_when(&lane->p->heap, since_start(lane, now));
}

void axp__heap_lane_tell(struct axp__lane *lane)
{
    uint64_t now = axp__clock_ticks();
    set_when(lane, now);
    axp__heap_tell(&lane->p->heap, lane->heap_purse, &lane->heap_told,
                   since_start(lane, now));
}

void axp__heap_lane_first(struct axp__lane *lane, struct axp__heap_place *place)
{
    set_when(lane, axp__clock_ticks());
    axp__put(&place->row, lane->row);
    axp__put(&place->first_when, lane->heap_when);
}

/* ---- blocks that are known ---------------------------------------------------- */

static unsigned class_of(uint64_t age_ticks)
{
    uint64_t ns = axp__rate_to_ns(axp__clock_rate(), age_ticks), least = 10000;
    unsigned i = 0;
    for (; i < AXP__AGES - 1 && ns >= least; i++)
        least *= 10;
    return i;
}

/* It is gone, or gives way. */
static void count_age(struct axp__lane *lane, const struct axp__note *note,
                      uint64_t now)
{
    struct axp__heap_place *p = axp__heap_place_of(lane, note->place);
    struct axp__heap_ages *ages = p ? axp__tally_ages(&lane->tally, p) : NULL;
    if (!ages) return;
    uint64_t age = now > note->ticks ? now - note->ticks : 0;
    axp__bump(&ages->n[class_of(age)], note->weight);
}

void axp__heap_note(struct axp__lane *lane, uint64_t address, uint64_t bytes,
                    uint32_t place)
{
    struct axp__heap *h = &lane->p->heap;
    uint64_t now = axp__clock_ticks();
    bool is_large = bytes >= AXP__NOTE_LARGE;
    struct axp__note gone, note = {.address = address,
                                   .ticks = now,
                                   .bytes = bytes,
                                   .place = place,
                                   .row = lane->row,
                                   .weight = is_large ? 1 : lane->heap_weight};
    if (lane->heap_noted_from == 0) lane->heap_noted_from = AXP__NOTE_LARGE;
    set_when(lane, now);
    if (!axp__shadow_mark(&h->blocks, address)) return;
    if (axp__notes_put(&h->notes, h->kept, note, &gone) && gone.address)
        count_age(lane, &gone, now);
}

uint64_t axp__heap_unnote(struct axp__lane *lane, uint64_t address,
                          uint64_t value)
{
    struct axp__note note;
    if (axp__notes_take(&lane->p->heap.notes, address, &note))
        count_age(lane, &note, axp__clock_ticks());
    return value & ~AXP__VALUE_NOTED;
}

void axp__heap_renote(struct axp__lane *lane, uint64_t address, uint32_t place)
{
    struct axp__heap *h = &lane->p->heap;
    struct axp__note note, gone;
    if (!axp__notes_take(&h->notes, address, &note) ||
        !axp__shadow_mark(&h->blocks, address))
        return;
    note.place = place;
    if (axp__notes_put(&h->notes, h->kept, note, &gone) && gone.address)
        count_age(lane, &gone, axp__clock_ticks());
}

void axp_heap_timed(uint64_t ticks, uint32_t stands_for)
{
    struct axp__lane *lane = axp__heap_enter_lane();
    if (!lane) return;
    set_when(lane, ticks);
    if (stands_for) lane->heap_noted_from = 0;
    lane->heap_weight = stands_for;
    axp__leave(lane);
}
