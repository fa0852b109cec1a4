/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory of one thread's accumulators, addressed by offsets.
 *
 *   ref = segment number << 13 | 8-byte unit within the segment; 0 = none
 *
 * Offsets and not pointers, so that the same records can lie in a mapped file
 * that another process reads. Segments span 64 KiB of refs each; the first
 * three are backed by less, so that a thread with one scope costs 4 KiB.
 *
 *   segment 0   nodes and records           the caller's
 *           1…  nodes, or records           so that the refs of nodes rise in
 *                                           the order in which they were made,
 *                                           and records have a budget apart
 *
 * Ownership  the caller gives the first segment; the arena maps the others,
 *            draws them from the budget and returns both in fini.
 * Threads    one allocates; others may follow refs that were published to
 *            them (axp__put_release after the record is filled).
 * Failure    ref 0, nothing changed.
 */
#ifndef AXP_TALLY_ARENA_H
#define AXP_TALLY_ARENA_H
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/base_atomic.h"
#include "base/base_budget.h"

typedef uint32_t axp__ref;

#define AXP__SEG_SHIFT 13
#define AXP__SEG_BYTES (8u << AXP__SEG_SHIFT)
#define AXP__SEGS_NEAR 16
#define AXP__SEGS_FAR 8176

enum axp__arena_kind {
    AXP__ARENA_NODE = 1,
    AXP__ARENA_SURE = 2 /* else refused where the budget is short */
};

struct axp__arena_end { /* where the next piece goes */
    uint32_t seg, used_bytes, cap_bytes;
};

struct axp__arena {
    struct axp__budget *budget;
    char *near_segs[AXP__SEGS_NEAR];
    char **far_segs;
    uint32_t n_segs;
    struct axp__arena_end first;  /* of segment 0 */
    struct axp__arena_end end[2]; /* by AXP__ARENA_NODE; segment 0: none yet */
    uint64_t mapped_bytes, reserved_bytes; /* of the budget, of its reserve */
};

void axp__arena_init(struct axp__arena *a, struct axp__budget *budget,
                     void *first, uint32_t first_bytes);
void axp__arena_fini(struct axp__arena *a); /* leaves the first segment */
/* Zeroed; at a multiple of 64 bytes if its size is one. kind: of enum
 * axp__arena_kind. */
axp__ref axp__arena_alloc(struct axp__arena *a, uint32_t bytes, unsigned kind);

static inline void *axp__arena_at(const struct axp__arena *a, axp__ref ref)
{
    uint32_t seg = ref >> AXP__SEG_SHIFT;
    assert(ref && seg < axp__get(&a->n_segs));
    char *base = axp__likely(seg < AXP__SEGS_NEAR)
                     ? a->near_segs[seg]
                     : a->far_segs[seg - AXP__SEGS_NEAR];
    return base + (size_t)(ref & ((1u << AXP__SEG_SHIFT) - 1)) * 8;
}

#endif
