/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Blocks carved by an atomic counter; see tally_slab.h. */
#include "tally/tally_slab.h"

#include <assert.h>

#include "os/os_space.h"

#define LINE AXP__SLAB_RECORD
#define FIRST_RECORDS 256u /* of the first block, the head included */
#define RECORDS (1u << AXP__SLAB_SHIFT)
#define FAR_BYTES (AXP__SLAB_FAR * sizeof(struct axp__slab_block *))

struct axp__slab_block {
    uint32_t n_used; /* may pass the end: then the block is full */
    uint32_t reserved[15];
    char record[][LINE]; /* from 1 */
};
_Static_assert(sizeof(struct axp__slab_block) == LINE, "the head is record 0");

static uint32_t block_records(uint32_t block)
{
    return block ? RECORDS : FIRST_RECORDS;
}

/* To be paid for by who puts it in its place. */
static void *map_if_room(struct axp__budget *budget, size_t bytes)
{
    return axp__budget_has(budget, bytes) ? axp__budget_map(budget, bytes)
                                          : NULL;
}

static void unmap_charged(struct axp__budget *budget, void *memory,
                          size_t bytes)
{
    if (!memory) return;
    axp__budget_unmap(budget, memory, bytes);
    axp__budget_give(budget, bytes);
}

/* Where the pointer to a block lies; NULL: not there yet. */
static struct axp__slab_block **place(const struct axp__slab *s, uint32_t block)
{
    if (block < AXP__SLAB_NEAR)
        return (struct axp__slab_block **)&s->near_blocks[block];
    struct axp__slab_block **far = axp__get_acquire(&s->far_blocks);
    return far && block - AXP__SLAB_NEAR < AXP__SLAB_FAR
               ? &far[block - AXP__SLAB_NEAR]
               : NULL;
}

static struct axp__slab_block **make_place(struct axp__slab *s,
                                           struct axp__budget *budget,
                                           uint32_t block)
{
    if (block >= AXP__SLAB_NEAR && !axp__get_acquire(&s->far_blocks)) {
        struct axp__slab_block **none = NULL;
        struct axp__slab_block **fresh = map_if_room(budget, FAR_BYTES);
        if (fresh && axp__cas(&s->far_blocks, &none, fresh))
            axp__budget_pay(budget, FAR_BYTES);
        else
            axp__budget_unmap(budget, fresh, FAR_BYTES);
    }
    return place(s, block);
}

/* Block number n, if nobody else makes it first. */
static bool add_block(struct axp__slab *s, struct axp__budget *budget,
                      uint32_t n)
{
    struct axp__slab_block **where = make_place(s, budget, n), *none = NULL;
    size_t bytes = (size_t)block_records(n) * LINE;
    if (!where) return false;
    if (!axp__get(where)) {
        struct axp__slab_block *fresh = map_if_room(budget, bytes);
        if (fresh) fresh->n_used = 1;
        if (fresh && axp__cas(where, &none, fresh))
            axp__budget_pay(budget, bytes);
        else
            axp__budget_unmap(budget, fresh, bytes);
        if (!axp__get(where)) return false;
    }
    (void)axp__cas(&s->n_blocks, &n, n + 1); /* or another thread did */
    return true;
}

axp__ref axp__slab_new(struct axp__slab *s, struct axp__budget *budget)
{
    for (;;) {
        uint32_t n = axp__get_acquire(&s->n_blocks);
        if (n) {
            struct axp__slab_block *b = axp__get_acquire(place(s, n - 1));
            assert(b && axp__get(&b->n_used)); /* the head is one */
            if (axp__get(&b->n_used) < block_records(n - 1)) {
                uint32_t i = axp__add(&b->n_used, 1);
                if (i < block_records(n - 1))
                    return (n - 1) << AXP__SLAB_SHIFT | i;
            }
        }
        if (!add_block(s, budget, n)) return 0;
    }
}

void *axp__slab_at(const struct axp__slab *s, axp__ref ref)
{
    struct axp__slab_block **where = place(s, ref >> AXP__SLAB_SHIFT);
    struct axp__slab_block *b = where ? axp__get_acquire(where) : NULL;
    return b ? b->record[(ref & (RECORDS - 1)) - 1] : NULL;
}

void axp__slab_clear(struct axp__slab *s, struct axp__budget *budget)
{
    for (uint32_t i = 0; i < s->n_blocks; i++)
        unmap_charged(budget, *place(s, i), (size_t)block_records(i) * LINE);
    unmap_charged(budget, s->far_blocks, FAR_BYTES);
    *s = (struct axp__slab){0};
}
