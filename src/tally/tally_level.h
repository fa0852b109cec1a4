/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How high a number stood over time: the least, the greatest and the last that it
 * was told to be in each stretch.
 *
 *   part 0      1024 stretches of 2^shift ticks, about 0.1 ms
 *   part n      1024 of 2^(shift + n - 1) ticks, as long as all before it together
 *
 * Which stretch a moment is in follows from the moment alone: nothing is ever
 * moved or folded, so that threads need no lock, and a process that is killed
 * leaves all that was told. A reader folds them into stretches of one length.
 *
 * Cost       24 KiB a part, made when the first moment of it is told: 20 parts
 *            are a day.
 * Ownership  parts are mapped of the budget that is given, and given back by clear.
 * Threads    note from any thread, lock-free; clear when nobody else is inside.
 * Failure    a moment for which there is no room is not told.
 */
#ifndef AXP_TALLY_LEVEL_H
#define AXP_TALLY_LEVEL_H
#include "base/base_budget.h"
#include "tally/tally_capture.h"

#define AXP__LEVEL_PARTS 32u
#define AXP__LEVEL_STRETCHES 1024u /* of a part */
#define AXP__LEVEL_MOST_SHIFT 24u  /* 4 ms at 4 GHz */

struct axp__level_span { /* all 0: nothing was told */
    uint64_t max_1;      /* the greatest, + 1 */
    uint64_t min_not;    /* the least, ~ */
    uint64_t last;
};
#define AXP__LEVEL_PART_BYTES                                                  \
    (AXP__LEVEL_STRETCHES * sizeof(struct axp__level_span))

struct axp__level {
    uint32_t shift; /* 0: not chosen yet */
    struct axp__level_span *part[AXP__LEVEL_PARTS];
};

/* Chosen by the first who asks. */
uint32_t axp__level_shift(struct axp__level *l);
/* It is so much, so many ticks after the beginning. */
void axp__level_note(struct axp__level *l, struct axp__budget *budget,
                     uint64_t since_ticks, uint64_t value);
void axp__level_clear(struct axp__level *l, struct axp__budget *budget);

/* Where a part lies, wherever it was read from; NULL: nowhere. */
typedef const struct axp__level_span *axp__level_part_fn(
    void *ctx, const struct axp__level_span *part);
/* A moment that is known exactly. */
struct axp__moment {
    uint64_t ticks, value;
};
/* Into a capture that began at start_ticks, in at most 2048 stretches of one
 * length, those without anything left out; false: no memory. peak.value 0: none. */
bool axp__level_copy(struct axp__capture *c, const struct axp__level *l,
                     struct axp__moment peak, axp__level_part_fn *part_at,
                     void *ctx);

#endif
