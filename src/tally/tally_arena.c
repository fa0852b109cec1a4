/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Bump allocation in segments; see tally_arena.h. */
#include "tally/tally_arena.h"

#include "os/os_space.h"

#define LINE 64u
#define SECOND_SEG_BYTES 16384u
#define FAR_BYTES (AXP__SEGS_FAR * sizeof(char *))

void axp__arena_init(struct axp__arena *a, struct axp__budget *budget,
                     void *first, uint32_t first_bytes)
{
    *a = (struct axp__arena){.budget = budget};
    a->near_segs[0] = first;
    a->n_segs = 1;
    a->used_bytes = 8; /* ref 0 is none */
    a->cap_bytes = first_bytes;
}

static uint32_t seg_bytes(uint32_t seg)
{
    return seg == 1 ? SECOND_SEG_BYTES : AXP__SEG_BYTES;
}

void axp__arena_fini(struct axp__arena *a)
{
    for (uint32_t i = 1; i < a->n_segs; i++) {
        char *seg = i < AXP__SEGS_NEAR ? a->near_segs[i]
                                       : a->far_segs[i - AXP__SEGS_NEAR];
        if (!seg) continue;
        axp__budget_unmap(a->budget, seg, seg_bytes(i));
        axp__budget_give(a->budget, seg_bytes(i));
    }
    if (a->far_segs) {
        axp__budget_unmap(a->budget, a->far_segs, FAR_BYTES);
        axp__budget_give(a->budget, FAR_BYTES);
    }
    a->far_segs = NULL;
    a->n_segs = 0;
}

static void *map_from_budget(struct axp__budget *b, size_t bytes,
                             bool is_optional)
{
    if (!axp__budget_take_part(b, bytes, is_optional ? 3 : 4, 4)) return NULL;
    void *m = axp__budget_map(b, bytes);
    if (!m) axp__budget_give(b, bytes);
    return m;
}

static bool add_seg(struct axp__arena *a, uint32_t bytes, bool is_optional)
{
    uint32_t i = a->n_segs;
    if (i == 1 && bytes > SECOND_SEG_BYTES) i = 2; /* leave the small one out */
    if (i >= AXP__SEGS_NEAR + AXP__SEGS_FAR) return false;
    if (i >= AXP__SEGS_NEAR && !a->far_segs) {
        a->far_segs = map_from_budget(a->budget, FAR_BYTES, is_optional);
        if (!a->far_segs) return false;
    }
    char *seg = map_from_budget(a->budget, seg_bytes(i), is_optional);
    if (!seg) return false;
    if (i < AXP__SEGS_NEAR)
        a->near_segs[i] = seg;
    else
        a->far_segs[i - AXP__SEGS_NEAR] = seg;
    a->n_segs = i + 1;
    a->used_bytes = 0;
    a->cap_bytes = seg_bytes(i);
    return true;
}

axp__ref axp__arena_alloc(struct axp__arena *a, uint32_t bytes,
                          bool is_optional)
{
    bytes = (bytes + 7) & ~7u;
    if (bytes > AXP__SEG_BYTES) return 0;
    if (bytes % LINE == 0) a->used_bytes = (a->used_bytes + LINE - 1) & ~63u;
    if (a->used_bytes + bytes > a->cap_bytes && !add_seg(a, bytes, is_optional))
        return 0;
    axp__ref ref = ((a->n_segs - 1) << AXP__SEG_SHIFT) + a->used_bytes / 8;
    a->used_bytes += bytes;
    return ref;
}
