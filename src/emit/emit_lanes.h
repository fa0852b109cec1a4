/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Lanes: where a timeline puts what overlaps, so that each line nests.
 *
 * Place      exports that draw a timeline, fed from a stream by time.
 * Failure    without memory things are in lane 0, and has_failed is set.
 */
#ifndef AXP_EMIT_LANES_H
#define AXP_EMIT_LANES_H
#include <stddef.h>
#include <stdint.h>

#include "axprof/axprof_read.h"

/* Spans in the order in which they begin, as a track gives them: each lane
 * holds spans that nest or follow one another. */
struct axp__span_lanes {
    struct axp__span_lane {
        axp_ns *ends; /* of the spans open in it, innermost last */
        uint32_t n, cap;
    } * lane;
    uint32_t n, cap;
    bool has_failed;
};

void axp__span_lanes_fini(struct axp__span_lanes *l);
uint32_t axp__span_lanes_add(struct axp__span_lanes *l, axp_ns begin_ns,
                             axp_ns end_ns);

/* Pairs in the order in which they end, as async spans are given: in one lane
 * none overlaps another. */
struct axp__pair_lanes {
    struct axp__pair_lane {
        axp_ns end_ns;
        uint32_t lane;
    } * at; /* by end_ns */
    uint32_t n, cap;
    bool has_failed;
};

void axp__pair_lanes_fini(struct axp__pair_lanes *l);
uint32_t axp__pair_lanes_add(struct axp__pair_lanes *l, axp_ns begin_ns,
                             axp_ns end_ns);

#endif
