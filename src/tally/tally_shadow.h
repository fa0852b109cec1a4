/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Live blocks by address: bytes << 20 | name, found where the address says.
 *
 *   address   [ region: 8 MiB     ] = 512 Ki slots of 16 bytes
 *   cells     [ 2 MiB, reserved   ] = one of 4 bytes a slot
 *   pages       4 KiB of cells, for 16 KiB of addresses: charged to the
 *               budget when first written to, never written to before
 *
 * A block of up to 16 bytes is described by the cell of its address; a larger
 * one by that and the next, which is within it. So a cell belongs to whoever
 * holds the block, and is read and written like any other memory: no search,
 * no locked instruction, and neighbours in the heap are neighbours here.
 *
 *   cell      31      23 22         3 2    0
 *     SMALL   |  bytes  |    name    | kind |
 *     HEAD    | bytes's |    name    | kind |   low 9 bits of the bytes
 *     TAIL    | the bytes' other 29         |
 *     AWAY    the block at this address is in the table (tally_lookup.h)
 *     BOTH    TAIL of a block before, and AWAY
 *     NOTED_  HEAD or SMALL of a block that was marked (axp__shadow_mark): who
 *             takes it is told, by the top bit of its value, which in the
 *             table it has from then on. The fast way does not know them, and
 *             so pays nothing for it.
 *
 * In the table is what has no cell: addresses that are not multiples of 16,
 * 256 GiB and more, blocks within blocks, and everything where neither page
 * nor region is to be had: pages take up to half of the budget, and there are
 * 256 regions. A page that was refused once stays so, so that an address is
 * always looked for where it is.
 *
 * A region next to one that is half full is backed by a large page, all of it
 * charged: with a million blocks most of a free is the wait for its cell, and
 * a fifth of that is the walk through page tables.
 *
 * Cost     4 bytes for each 16 of a heap of small blocks, 4 KiB for a lone
 *          block far from others.
 * Threads  all functions, from any thread, lock-free. Two that put or take
 *          the same address at once are the client's own race.
 * Failure  AXP__PUT_FULL, nothing changed.
 */
#ifndef AXP_TALLY_SHADOW_H
#define AXP_TALLY_SHADOW_H
#include "tally/tally_lookup.h"
#include "wire/wire_word.h"

#define AXP__SLOT_BYTES 16u /* of addresses, a cell */
#define AXP__REGION_SHIFT 23
#define AXP__REGION_BYTES (1u << AXP__REGION_SHIFT)
#define AXP__REGIONS 256u
#define AXP__PAGE_SPAN 16384u /* of addresses, a page of cells */
#define AXP__CELL_PAGES (AXP__REGION_BYTES / AXP__PAGE_SPAN)

enum axp__cell_kind {
    AXP__CELL_EMPTY,
    AXP__CELL_SMALL,
    AXP__CELL_HEAD,
    AXP__CELL_TAIL,
    AXP__CELL_AWAY,
    AXP__CELL_BOTH,
    AXP__CELL_NOTED_SMALL,
    AXP__CELL_NOTED_HEAD
};
#define AXP__CELL_KIND 7u
#define AXP__CELL_NAME_SHIFT 3
#define AXP__CELL_BYTES_SHIFT 23
/* Sizes that two cells describe: from 17, so many. */
#define AXP__CELL_MOST (((uint64_t)1 << 38) - AXP__SLOT_BYTES - 1)

enum axp__backing { AXP__BACKED_NOT_YET, AXP__BACKED_SMALL, AXP__BACKED_LARGE };

struct axp__region {
    uint64_t key; /* address >> 23, + 1; 0: free */
    uint32_t *cells;
    uint32_t backing;                          /* enum axp__backing */
    uint64_t is_ready[AXP__CELL_PAGES / 64];   /* pages with blocks … */
    uint64_t is_refused[AXP__CELL_PAGES / 64]; /* … and without any, ever */
} __attribute__((aligned(128)));

struct axp__shadow {
    struct axp__lookup rest; /* and the budget */
    struct axp__region *regions;
};

enum axp__put_result axp__shadow_put_slow(struct axp__shadow *s, uint64_t key,
                                          uint64_t value, uint64_t *old);
bool axp__shadow_take_slow(struct axp__shadow *s, uint64_t key,
                           uint64_t *value);
/* Whoever takes the block is told; false: there is none, or no room to say so.
 * The caller has the block. */
bool axp__shadow_mark(struct axp__shadow *s, uint64_t key);
#define AXP__VALUE_NOTED ((uint64_t)1 << 63)
/* The caller knows that nobody else is inside. */
void axp__shadow_clear(struct axp__shadow *s);

/* ---- the fast ways ------------------------------------------------------------ */
/* The first cell of an address, if it may be looked at; key: of a block. */
static inline uint32_t *axp__shadow_cell(const struct axp__shadow *s,
                                         uint64_t key,
                                         const struct axp__region **region)
{
    uint64_t number = key >> AXP__REGION_SHIFT;
    const struct axp__region *r = axp__get_pointer(&s->regions);
    if (axp__unlikely(!r || key % AXP__SLOT_BYTES)) return NULL;
    r += number % AXP__REGIONS;
    uint32_t *cells = axp__get_pointer(&r->cells);
    if (axp__unlikely(axp__get(&r->key) != number + 1 || !cells)) return NULL;
    *region = r;
    return cells + key % AXP__REGION_BYTES / AXP__SLOT_BYTES;
}

static inline bool axp__region_is_ready(const struct axp__region *r,
                                        uint64_t key)
{
    uint64_t page = key % AXP__REGION_BYTES / AXP__PAGE_SPAN;
    return axp__get(&r->is_ready[page / 64]) >> page % 64 & 1;
}

/* Both cells of a block as one number, the first in its lower half; they are
 * their owner's. HOT */
static inline uint64_t axp__cells_read(const uint32_t *cell)
{
#ifdef AXP__TSAN
    return axp__get(&cell[0]) | (uint64_t)axp__get(&cell[1]) << 32;
#else
    uint64_t both;
    __builtin_memcpy(&both, cell, 8);
    return both;
#endif
}

static inline void axp__cells_write(uint32_t *cell, uint64_t both)
{
#ifdef AXP__TSAN
    axp__put(&cell[1], (uint32_t)(both >> 32));
    axp__put(&cell[0], (uint32_t)both);
#else
    __builtin_memcpy(cell, &both, 8);
#endif
}

/* What is the same in all blocks of a name, and where that is. */
#define AXP__CELLS_LABEL(name)                                                 \
    ((uint64_t)(name) << AXP__CELL_NAME_SHIFT | AXP__CELL_HEAD |               \
     (uint64_t)AXP__CELL_TAIL << 32)
#define AXP__CELLS_LABEL_MASK                                                  \
    (AXP__CELLS_LABEL(AXP__MAX_NAMES - 1) | AXP__CELLS_KINDS)
#define AXP__CELLS_KINDS (AXP__CELL_KIND | (uint64_t)AXP__CELL_KIND << 32)

static inline uint64_t axp__cells_of(uint64_t bytes, uint32_t name)
{
    return bytes >> 9 << (32 + AXP__CELL_NAME_SHIFT) |
           (bytes & 511) << AXP__CELL_BYTES_SHIFT | AXP__CELLS_LABEL(name);
}

static inline uint64_t axp__cells_bytes(uint64_t both)
{
    return both >> (32 + AXP__CELL_NAME_SHIFT) << 9 |
           (both >> AXP__CELL_BYTES_SHIFT & 511);
}

static inline uint32_t axp__cells_name(uint64_t both)
{
    return (uint32_t)both >> AXP__CELL_NAME_SHIFT & (AXP__MAX_NAMES - 1);
}

/* Whether a block has both cells, and its tail nothing else. HOT */
static inline bool axp__cells_are_block(uint64_t both)
{
    return (both & AXP__CELLS_KINDS) == AXP__CELLS_LABEL(0);
}

/* Whether one of one slot has the first. HOT */
static inline bool axp__cells_are_small(uint64_t both)
{
    return (both & AXP__CELL_KIND) == AXP__CELL_SMALL;
}

/* The cell of a block of one slot. The next cell is another block's, and may be
 * another thread's. */
static inline uint32_t axp__cell_of_small(uint64_t bytes, uint32_t name)
{
    return (uint32_t)bytes << AXP__CELL_BYTES_SHIFT |
           name << AXP__CELL_NAME_SHIFT | AXP__CELL_SMALL;
}

/* Where a block of one slot can be written; NULL: put it otherwise. HOT */
static inline uint32_t *axp__shadow_peek_small(const struct axp__shadow *s,
                                               uint64_t key)
{
    const struct axp__region *r;
    uint32_t *cell = axp__shadow_cell(s, key, &r);
    return axp__likely(cell && axp__region_is_ready(r, key) && !axp__get(cell))
               ? cell
               : NULL;
}

/* Where a larger one can be written, with two cells; NULL: put it otherwise.
 * HOT */
static inline uint32_t *axp__shadow_peek_room(const struct axp__shadow *s,
                                              uint64_t key, uint64_t bytes)
{
    const struct axp__region *r;
    uint32_t *cell = axp__shadow_cell(s, key, &r);
    if (axp__unlikely(!cell || !axp__region_is_ready(r, key))) return NULL;
    if (axp__unlikely(bytes >= AXP__CELL_MOST ||
                      !(~key & (AXP__PAGE_SPAN - AXP__SLOT_BYTES)) ||
                      axp__cells_read(cell)))
        return NULL;
    return cell;
}

/* The same, where a block of one slot has one cell. HOT */
static inline uint32_t *axp__shadow_peek_free(const struct axp__shadow *s,
                                              uint64_t key, uint64_t bytes)
{
    return axp__likely(bytes > AXP__SLOT_BYTES)
               ? axp__shadow_peek_room(s, key, bytes)
               : NULL;
}

/* *old is the replaced value, where one was. */
static inline enum axp__put_result axp__shadow_put(struct axp__shadow *s,
                                                   uint64_t key, uint64_t value,
                                                   uint64_t *old)
{
    uint32_t *cell = axp__shadow_peek_free(s, key, value >> AXP__NAME_BITS);
    if (axp__unlikely(!cell)) return axp__shadow_put_slow(s, key, value, old);
    axp__cells_write(cell, axp__cells_of(value >> AXP__NAME_BITS,
                                         (uint32_t)value % AXP__MAX_NAMES));
    return AXP__PUT_NEW;
}

/* Removes; false: no such block. */
static inline bool axp__shadow_take(struct axp__shadow *s, uint64_t key,
                                    uint64_t *value)
{
    const struct axp__region *r;
    uint32_t *cell = axp__shadow_cell(s, key, &r);
    uint64_t both = cell ? axp__cells_read(cell) : 0;
    if (axp__likely(axp__cells_are_block(both))) {
        axp__cells_write(cell, 0);
    } else if (axp__likely(axp__cells_are_small(both))) {
        axp__put(cell, AXP__CELL_EMPTY);
        both = (uint32_t)both;
    } else {
        return axp__shadow_take_slow(s, key, value);
    }
    *value = axp__cells_bytes(both) << AXP__NAME_BITS | axp__cells_name(both);
    return true;
}

#endif
