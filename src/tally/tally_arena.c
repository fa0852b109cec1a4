/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Bump allocation in segments; see tally_arena.h. */
#include "tally/tally_arena.h"

#include <assert.h>

#include "os/os_space.h"

#define LINE 64u
#define SMALL_SEG_BYTES 16384u
#define SMALL_SEGS 2u /* after the caller's: the first of nodes, of records */
#define FAR_BYTES (AXP__SEGS_FAR * sizeof(char *))

void axp__arena_init(struct axp__arena *a, struct axp__budget *budget,
                     void *first, uint32_t first_bytes)
{
    *a = (struct axp__arena){.budget = budget};
    a->near_segs[0] = first;
    a->n_segs = 1;
    a->first.used_bytes = 8; /* ref 0 is none */
    a->first.cap_bytes = first_bytes;
}

static uint32_t seg_bytes(uint32_t seg)
{
    return seg <= SMALL_SEGS ? SMALL_SEG_BYTES : AXP__SEG_BYTES;
}

void axp__arena_fini(struct axp__arena *a)
{
    for (uint32_t i = 1; i < a->n_segs; i++) {
        char *seg = i < AXP__SEGS_NEAR ? a->near_segs[i]
                                       : a->far_segs[i - AXP__SEGS_NEAR];
        if (seg) axp__budget_unmap(a->budget, seg, seg_bytes(i));
    }
    if (a->far_segs) axp__budget_unmap(a->budget, a->far_segs, FAR_BYTES);
    assert(a->reserved_bytes <= a->mapped_bytes);
    axp__budget_give_sure(a->budget, a->mapped_bytes, a->reserved_bytes);
    a->mapped_bytes = a->reserved_bytes = 0;
    a->far_segs = NULL;
    a->n_segs = 0;
}

static void *map_from_budget(struct axp__arena *a, size_t bytes, unsigned kind)
{
    uint64_t reserved = 0;
    bool is_paid = kind & AXP__ARENA_SURE
                       ? axp__budget_take_sure(a->budget, bytes, &reserved)
                       : axp__budget_take_optional(a->budget, bytes);
    if (!is_paid) return NULL;
    void *m = axp__budget_map(a->budget, bytes);
    if (!m) {
        axp__budget_give_sure(a->budget, bytes, reserved);
        return NULL;
    }
    a->mapped_bytes += bytes;
    a->reserved_bytes += reserved;
    return m;
}

static bool add_seg(struct axp__arena *a, uint32_t bytes, unsigned kind)
{
    uint32_t i = a->n_segs;
    if (bytes > seg_bytes(i)) i = SMALL_SEGS + 1; /* leave the small ones out */
    if (i >= AXP__SEGS_NEAR + AXP__SEGS_FAR) return false;
    if (i >= AXP__SEGS_NEAR && !a->far_segs) {
        a->far_segs = map_from_budget(a, FAR_BYTES, kind);
        if (!a->far_segs) return false;
    }
    char *seg = map_from_budget(a, seg_bytes(i), kind);
    if (!seg) return false;
    if (i < AXP__SEGS_NEAR)
        a->near_segs[i] = seg;
    else
        a->far_segs[i - AXP__SEGS_NEAR] = seg;
    axp__put(&a->n_segs, i + 1); /* readers assert on it */
    a->end[kind & AXP__ARENA_NODE] =
        (struct axp__arena_end){i, 0, seg_bytes(i)};
    return true;
}

axp__ref axp__arena_alloc(struct axp__arena *a, uint32_t bytes, unsigned kind)
{
    struct axp__arena_end *end = &a->end[kind & AXP__ARENA_NODE];
    assert(a->n_segs && bytes);
    if (!end->seg) end = &a->first;
    bytes = (bytes + 7) & ~7u;
    if (bytes > AXP__SEG_BYTES) return 0;
    if (bytes % LINE == 0)
        end->used_bytes = (end->used_bytes + LINE - 1) & ~63u;
    if (end->used_bytes + bytes > end->cap_bytes) {
        if (!add_seg(a, bytes, kind)) return 0;
        end = &a->end[kind & AXP__ARENA_NODE];
    }
    axp__ref ref = (end->seg << AXP__SEG_SHIFT) + end->used_bytes / 8;
    end->used_bytes += bytes;
    assert(end->used_bytes <= end->cap_bytes && ref);
    return ref;
}
