/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Blocks of the heap that are known one by one: since when, and by whom.
 *
 * Most are only counted where they were allocated. Known are large ones, the
 * first of each place, and some by chance, each of which stands for `weight` of
 * its kind. How long they live is counted when they go (tally_heap.h); those that
 * are still there are what a report has of blocks that were never freed.
 *
 *   slots   4096 of 40 bytes, of the profiler's budget: a killed process leaves
 *           them. An address may be in any of 8, from the one it hashes to.
 *   full    a large one, or one by chance, takes the place of the oldest that is
 *           not large; that one is given to the caller, who counts it as it is.
 *
 * Threads  all functions from any thread, lock-free: an address that is there
 *          belongs to whoever has the block, and changes by compare-and-swap.
 * Failure  a block that finds no slot is not known.
 */
#ifndef AXP_TALLY_NOTES_H
#define AXP_TALLY_NOTES_H
#include "base/base_budget.h"
#include "tally/tally_capture.h"

#define AXP__NOTES 4096u
#define AXP__NOTE_LARGE ((uint64_t)64 << 10) /* known, all of them */

struct axp__note {
    uint64_t address; /* 0: free; 1: on its way */
    uint64_t ticks, bytes;
    uint32_t place, row, weight, reserved;
};
#define AXP__NOTES_BYTES (AXP__NOTES * sizeof(struct axp__note))

struct axp__notes {
    struct axp__note *at; /* NULL: none yet */
};

/* True: *gone gave way, unless its address is 0. */
bool axp__notes_put(struct axp__notes *n, struct axp__budget *budget,
                    struct axp__note note, struct axp__note *gone);
/* Removes; false: it is not known (any more). */
bool axp__notes_take(struct axp__notes *n, uint64_t address,
                     struct axp__note *out);
void axp__notes_clear(struct axp__notes *n, struct axp__budget *budget);

/* Those that are there now, into a capture; false: no memory.
 * table: AXP__NOTES slots that may say anything; NULL: there is none. */
bool axp__notes_copy(struct axp__capture *c, const struct axp__note *table);

#endif
