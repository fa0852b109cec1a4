/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Records of one cache line that several threads make and none frees.
 *
 *   ref = block << 10 | record in the block; 0 = none
 *
 * Refs and not pointers, as in tally_arena.h. A record is zeroed and its
 * maker's until it is published; it stays readable until clear, so that a
 * stale ref is harmless.
 *
 * Ownership  the slab maps its blocks, draws them from the budget it is given
 *            and returns both in clear.
 * Threads    all functions from any thread, lock-free; clear when nobody
 *            else is inside.
 * Failure    ref 0, nothing changed.
 */
#ifndef AXP_TALLY_SLAB_H
#define AXP_TALLY_SLAB_H
#include "base/base_budget.h"
#include "tally/tally_arena.h"

#define AXP__SLAB_SHIFT 10
#define AXP__SLAB_RECORD 64u /* bytes; record 0 of a block is its head */
#define AXP__SLAB_NEAR 16u   /* blocks in the first table */
#define AXP__SLAB_FAR 8192u

struct axp__slab_block;

struct axp__slab {
    uint32_t n_blocks;
    struct axp__slab_block *near_blocks[AXP__SLAB_NEAR];
    struct axp__slab_block **far_blocks;
};

axp__ref axp__slab_new(struct axp__slab *s, struct axp__budget *budget);
/* NULL: in the child of a fork that interrupted the caller, which has a slab
 * of its own. */
void *axp__slab_at(const struct axp__slab *s, axp__ref ref);
void axp__slab_clear(struct axp__slab *s, struct axp__budget *budget);

#endif
