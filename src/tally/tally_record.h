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

/* What few nodes have: declared work, and memory. */
struct axp__node_extra {
    double flops, bytes;
    uint64_t n_flops_calls, n_bytes_calls; /* that declared any … */
    uint64_t flops_ticks, bytes_ticks;     /* … and their time */
    uint64_t allocated_bytes;
    uint32_t dtype; /* the last */
    uint32_t reserved;
} __attribute__((aligned(64)));

/* A place in the call tree: a name under a parent. One cache line. */
struct axp__node {
    uint64_t path; /* own ref << 32 | …: see axp__tally_peek */
    uint32_t name;
    axp__ref parent; /* 0: the root itself */
    axp__ref op;
    axp__ref next;
    axp__ref next_of_op; /* another node of the same op; newest first */
    axp__ref extra;      /* 0: none yet */
    uint64_t total_ticks, self_ticks, calls; /* in one block of 32 bytes */
    uint16_t category;    /* children inherit it, where a view is made */
    uint8_t is_recursive; /* its op is open above it too */
    uint8_t is_marked;    /* the owner's: tally_above.c */
    uint32_t declares;    /* enum axp__frame_flag: each of its calls, and then
                              its extra lies next to it */
} __attribute__((aligned(64)));

/* Everything of one name on one thread. Calls, total and self time and work of
 * scopes are the sums of its nodes; recursive nodes give no total. What the end of a
 * short scope touches lies in one cache line. */
struct axp__op {
    uint64_t seen; /* the owner's: tally_remove.c. (Page 0 lies at 8 * its
                      number of leading zeros.) */
    struct axp__hist_page *page[AXP__HIST_PAGES]; /* = hist, the owner's, by
                                                     slot */
    uint32_t version;
    uint32_t name;
    uint64_t min_ticks, max_ticks;
    uint64_t end_label; /* the low bits of its end's word */
    axp__ref next;
    axp__ref nodes; /* by next_of_op */
    /* Calls outside the call tree: other threads' starts, async spans. */
    uint64_t loose_calls, loose_ticks;
    uint64_t repeat_ticks; /* what folded nodes' totals hold twice */
    uint32_t hint;         /* of steps: tally_step.c */
    uint32_t reserved[7];
    uint64_t lifetime_ticks; /* of merged threads it ran on */
    axp__ref hist[AXP__HIST_PAGES];
    uint32_t n_marked, low; /* the owner's: tally_above.c */
} __attribute__((aligned(64)));

struct axp__hist_page {
    uint64_t count[AXP__HIST_BUCKETS];
};

/* Traffic of one allocation name on one thread; what is live, and peaks, are
 * the profiler's (tally_memory.h). */
struct axp__traffic {
    uint64_t n_allocs, allocated_bytes, n_frees, freed_bytes;
    uint32_t name;
    axp__ref next;
    axp__ref purse; /* the thread's, in the slab of tally_memory.h */
    uint32_t reserved;
} __attribute__((aligned(64)));

/* What one thread allocated and freed at one place (wire_place.h), as an
 * allocator was seen to hand it out. What is live is a sum over threads: one
 * may free what another allocated, so that a thread's part can be below 0. */
struct axp__heap_place {
    uint64_t n_allocs, allocated_bytes, n_frees, freed_bytes;
    uint64_t saved_bytes; /* held before its first change in an epoch … */
    uint64_t n_temporary; /* freed before the thread allocated again */
    uint32_t stamp;       /* … of the heap: tally_heap.h */
    uint32_t step;        /* of its last change: how many had been marked */
    uint32_t name;
    axp__ref next;
    /* As it was when so many steps had been marked, the last two powers of two;
     * and at the first mark. */
    uint64_t half_bytes, power_bytes;
    uint64_t first_allocs, first_bytes;
    /* When something was first and last allocated, as axp__heap_when has it; 0:
     * never. */
    uint32_t first_when, last_when;
    uint32_t row;  /* whose this is; AXP__ROW_SEVERAL after merging */
    axp__ref ages; /* of blocks that went: axp__heap_ages; 0: none */
} __attribute__((aligned(64)));
#define AXP__ROW_SEVERAL UINT32_MAX

/* How long blocks lived: less than 10 us, 100 us … 10 s, and more. Each is one, or
 * as many as it stands for (tally_notes.h). */
#define AXP__AGES 8u
struct axp__heap_ages {
    uint64_t n[AXP__AGES];
};

struct axp__counter {
    uint32_t name;
    axp__ref next;
    uint32_t version;
    uint32_t reserved;
    uint64_t n, last_ticks;
    double last, min, max, sum;
    /* Up to the last value: for how many ticks values stood, and each of them
     * times its ticks. */
    uint64_t held_ticks;
    double area;
    /* Values that something counted up has: whole, and not below the one
     * before. */
    uint64_t n_counting;
};

/* The heads of a tally's lists. */
struct axp__lists {
    axp__ref nodes, ops, traffic, counters, steps, places;
};

#endif
