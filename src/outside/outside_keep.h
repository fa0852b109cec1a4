/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Which part of a timeline a drain from outside keeps; part of libaxprof.
 *
 *   newest   the last so many ticks or steps: chunks are written as they
 *            come, and the file gives up what is older, half of it at a time
 *   slow     what happened during slow steps: a chunk waits until the steps
 *            that it touches have ended, and is written or dropped then
 *
 *   chunks ─► [waiting, oldest first] ─► trace ─► [marks: ticks → offset]
 *
 * Marks    a pass of the drain notes the time and the file's length before it:
 *          what happens later lies behind that place. So the cut never takes
 *          more than was asked for; it may leave a little more.
 * Medians  a step is slow against the median of up to 255 steps before it,
 *          found anew every 16 steps; the first 8 are never slow.
 * Memory   at most 64 MiB of waiting chunks; past that the oldest is dropped.
 * Failure  a file that cannot be rewritten stays long.
 */
#ifndef AXP_OUTSIDE_KEEP_H
#define AXP_OUTSIDE_KEEP_H
#include "record/record_trace.h"

struct axp__keep_rule { /* all 0: everything is kept */
    uint64_t newest_ticks, newest_steps;
    double slow_times; /* times the median */
    uint64_t slow_ticks;
};

struct axp__keep;

/* NULL: no memory. */
struct axp__keep *axp__keep_create(const struct axp__keep_rule *rule);
void axp__keep_destroy(struct axp__keep *k);
/* Chunks of one pass, checked; they are the caller's. Sorts them. Returns how many
 * of the first were written or wait; the others must not be given up. */
size_t axp__keep_take(struct axp__keep *k, struct axp__trace *t,
                      struct axp__chunk **chunks, size_t n);
/* Where the newest part begins that is wanted, now; 0: everything is, or slow
 * steps are, which are told when they are taken. */
uint64_t axp__keep_wanted_from(const struct axp__keep *k);
/* Nothing more comes: what waits is decided, the rest cut to size. */
void axp__keep_finish(struct axp__keep *k, struct axp__trace *t);

#endif
