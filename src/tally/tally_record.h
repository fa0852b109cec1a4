/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The records that a tally keeps: fixed layout, refs instead of pointers,
 * ticks and counts. They are what a trace file stores.
 *
 * Each kind forms a list in order of creation, newest last, linked by `next`;
 * a record is filled before it is linked, with release.
 *
 * An op's `version` guards the op, its histogram and all its nodes: one
 * update of a scope's end changes all three (see base_atomic.h).
 */
#ifndef AXP_TALLY_RECORD_H
#define AXP_TALLY_RECORD_H
#include "tally/tally_arena.h"
#include "tally/tally_hist.h"

/* A place in the call tree: a name under a parent. */
struct axp__node {
    uint32_t name;
    axp__ref parent; /* 0: the root itself */
    axp__ref op;
    axp__ref next;
    axp__ref next_of_op;   /* another node of the same op; newest first */
    uint16_t category;     /* children inherit it, where a view is made */
    uint16_t is_recursive; /* its op is open above it too */
    uint64_t total_ticks, self_ticks, calls;
    uint64_t key; /* of its children in the hash: own ref << 32 */
    uint64_t allocated_bytes;
    double flops, bytes;
};

/* Everything of one name on one thread. Calls, total and self time of scopes
 * are the sums of its nodes; recursive nodes give no total. */
struct axp__op {
    uint32_t version;
    uint32_t name;
    struct axp__hist_page *page[AXP__HIST_PAGES]; /* = hist, the owner's */
    uint64_t min_ticks, max_ticks;
    axp__ref next;
    axp__ref nodes; /* by next_of_op */
    /* Calls outside the call tree: other threads' starts, async spans. */
    uint64_t loose_calls, loose_ticks;
    uint64_t repeat_ticks; /* what folded nodes' totals hold twice */
    uint64_t n_flops_calls, n_bytes_calls; /* that declared any … */
    uint64_t flops_ticks, bytes_ticks;     /* … and their time */
    double flops, bytes;
    uint32_t dtype;
    uint32_t n_dims;         /* of the last work that declared any … */
    uint32_t dims[6];        /* … and they */
    uint64_t lifetime_ticks; /* of merged threads it ran on */
    axp__ref hist[AXP__HIST_PAGES];
};

struct axp__hist_page {
    uint64_t count[AXP__HIST_BUCKETS];
};

/* Traffic of one allocation name on one thread; what is live, and peaks, are
 * the profiler's (tally_memory.h). */
struct axp__traffic {
    uint32_t name;
    axp__ref next;
    uint64_t n_allocs, n_frees, allocated_bytes, freed_bytes;
};

struct axp__counter {
    uint32_t name;
    axp__ref next;
    uint32_t version;
    uint32_t reserved;
    uint64_t n, last_ticks;
    double last, min, max, sum;
};

/* The heads of a tally's lists. */
struct axp__lists {
    axp__ref nodes, ops, traffic, counters, steps;
};

#endif
