/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Two captures of one run compared: the accumulators that were stored, and
 * those that the timeline gives when it is folded again.
 *
 * By row, name and path, not by order: threads that were merged are compared
 * as a sum. Counts and ticks must be the same; doubles too, but of merged
 * threads, whose order of adding is lost, to a part in 10^9. What threads that
 * race leave undefined, the peaks of memory, must agree to a block in flight
 * a thread.
 */
#ifndef AXP_FILE_COMPARE_H
#define AXP_FILE_COMPARE_H
#include <stdio.h>

#include "tally/tally_capture.h"

struct axp__comparison {
    const struct axp__capture *stored, *folded;
    FILE *to;            /* differences; NULL: nowhere */
    uint64_t n_compared; /* fields */
    uint64_t n_different;
    uint64_t largest_block; /* that was allocated */
    uint64_t n_with_memory; /* rows */
    bool is_out_of_memory;
};

void axp__compare(struct axp__comparison *x);
/* By how many bytes a peak of the recorder's may be apart from the fold's. */
uint64_t axp__compare_allowed(uint64_t n_with_memory, uint64_t largest_block);
uint64_t axp__compare_apart(uint64_t a, uint64_t b);

#endif
