/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Steps: exact statistics of all, and some kept whole, since a run may have
 * millions: the last 256, the 64 slowest, and 256 spread evenly over the run
 * (every 2^k-th, k rising as the run grows). 19 KB a thread that marks steps.
 */
#ifndef AXP_TALLY_STEP_H
#define AXP_TALLY_STEP_H
#include "tally/tally_scope.h"

#define AXP__STEPS_RECENT 256
#define AXP__STEPS_SLOWEST 64
#define AXP__STEPS_SAMPLED 256

struct axp__step {
    uint64_t index; /* in the process, from 0 */
    uint64_t begin_ticks, end_ticks;
    uint64_t live_bytes; /* at its end */
};

struct axp__steps {
    struct axp__op stats; /* its version guards everything here */
    uint64_t stride;      /* of the sampled ones */
    uint64_t n_recent;    /* ever; the ring holds the last of them */
    uint32_t n_slowest, n_sampled;
    struct axp__step recent[AXP__STEPS_RECENT];
    struct axp__step slowest[AXP__STEPS_SLOWEST];
    struct axp__step sampled[AXP__STEPS_SAMPLED];
};

/* The tally's steps, NULL before the first one (or without memory). */
struct axp__steps *axp__tally_steps(struct axp__tally *t);
struct axp__steps *axp__tally_make_steps(struct axp__tally *t);
/* Keeps the steps that b kept whole; not its statistics. */
void axp__steps_absorb(struct axp__steps *a, const struct axp__steps *b);
bool axp__tally_add_step(struct axp__tally *t, const struct axp__step *step);

#endif
