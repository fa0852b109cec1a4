/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How many threads work on an operation: those that call it, and the team of an
 * OpenMP region below its calls, or else a library's own threads
 * (analyze_helpers.h). */
#ifndef AXP_ANALYZE_TEAM_H
#define AXP_ANALYZE_TEAM_H
#include "analyze/analyze_roof.h"

struct axp__team {
    uint32_t at_once; /* threads that call it, as many as have time like the one
                       * that has most; 1 at least */
    uint32_t size;    /* threads at work in a call, its own among them */
    uint32_t n_dims, dims[6]; /* of the shape that took longest … */
    double call_flops, call_bytes, call_ns; /* … and of a call of it */
};

/* Of the view's ops, in their order; of those that declared no work it knows
 * nothing. malloc, NULL: no memory. Adds up what the run declared. */
struct axp__team *axp__teams_create(const axp_view *v,
                                    struct axp__roof_run *run);

#endif
