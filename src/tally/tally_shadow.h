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
 *     AWAY    the block at this address is in the table (tally_blocks.h)
 *     BOTH    TAIL of a block before, and AWAY
 *
 * In the table is what has no cell: addresses that are not multiples of 16,
 * 256 GiB and more, blocks within blocks, and everything where neither page
 * nor region is to be had: pages take up to half of the budget, and there are
 * 256 regions. A page that was refused once stays so, so that an address is
 * always looked for where it is.
 *
 * Cost     4 bytes for each 16 of a heap of small blocks, 4 KiB for a lone
 *          block far from others.
 * Threads  all functions, from any thread, lock-free. Two that put or take
 *          the same address at once are the client's own race.
 * Failure  AXP__PUT_FULL, nothing changed.
 */
#ifndef AXP_TALLY_SHADOW_H
#define AXP_TALLY_SHADOW_H
#include "tally/tally_blocks.h"
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
    AXP__CELL_BOTH
};
#define AXP__CELL_KIND 7u
#define AXP__CELL_NAME_SHIFT 3
#define AXP__CELL_BYTES_SHIFT 23
/* Sizes that two cells describe: from 17, so many. */
#define AXP__CELL_MOST (((uint64_t)1 << 38) - AXP__SLOT_BYTES - 1)

struct axp__region {
    uint64_t key; /* address >> 23, + 1; 0: free */
    uint32_t *cells;
    uint64_t is_ready[AXP__CELL_PAGES / 64];
    uint64_t is_refused[AXP__CELL_PAGES / 64];
};

struct axp__shadow {
    struct axp__blocks rest; /* and the budget */
    struct axp__region *regions;
};

enum axp__put_result axp__shadow_put_slow(struct axp__shadow *s, uint64_t key,
                                          uint64_t value, uint64_t *old);
bool axp__shadow_take_slow(struct axp__shadow *s, uint64_t key,
                           uint64_t *value);
/* The caller knows that nobody else is inside. */
void axp__shadow_clear(struct axp__shadow *s);

/* ---- the fast ways ------------------------------------------------------------ */
/* The first cell of an address, if it may be looked at; key: of a block. */
static inline uint32_t *axp__shadow_cell(const struct axp__shadow *s,
                                         uint64_t key,
                                         const struct axp__region **region)
{
    uint64_t number = key >> AXP__REGION_SHIFT;
    const struct axp__region *r = axp__get(&s->regions);
    if (axp__unlikely(!r || key % AXP__SLOT_BYTES)) return NULL;
    r += number % AXP__REGIONS;
    uint32_t *cells = axp__get(&r->cells);
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

static inline uint32_t axp__cell_head(uint64_t value)
{
    return (uint32_t)(value >> AXP__NAME_BITS << AXP__CELL_BYTES_SHIFT) |
           ((uint32_t)value & (AXP__MAX_NAMES - 1)) << AXP__CELL_NAME_SHIFT;
}

static inline uint32_t axp__cell_tail(uint64_t value)
{
    return (uint32_t)(value >> (AXP__NAME_BITS + 9) << AXP__CELL_NAME_SHIFT);
}

static inline uint64_t axp__cell_value(uint32_t head, uint32_t tail)
{
    return (uint64_t)(tail >> AXP__CELL_NAME_SHIFT) << (AXP__NAME_BITS + 9) |
           (uint64_t)(head >> AXP__CELL_BYTES_SHIFT) << AXP__NAME_BITS |
           (head >> AXP__CELL_NAME_SHIFT & (AXP__MAX_NAMES - 1));
}

/* Where a block can be written with axp__cell_write; NULL: put it otherwise.
 * HOT */
static inline uint32_t *axp__shadow_peek_free(const struct axp__shadow *s,
                                              uint64_t key, uint64_t bytes)
{
    const struct axp__region *r;
    uint32_t *cell = axp__shadow_cell(s, key, &r);
    if (axp__unlikely(!cell || !axp__region_is_ready(r, key))) return NULL;
    if (axp__unlikely(axp__get(&cell[0]) | axp__get(&cell[1]) |
                      (bytes - AXP__SLOT_BYTES - 1 >= AXP__CELL_MOST) |
                      !(~key & (AXP__PAGE_SPAN - AXP__SLOT_BYTES))))
        return NULL;
    return cell;
}

/* HOT */
static inline void axp__cell_write(uint32_t *cell, uint64_t value)
{
    axp__put(&cell[1], axp__cell_tail(value) | AXP__CELL_TAIL);
    axp__put(&cell[0], axp__cell_head(value) | AXP__CELL_HEAD);
}

/* Whether axp__cell_clear removes the block there; else take it otherwise. HOT
 */
static inline bool axp__cell_is_block(const uint32_t *cell, uint64_t *value)
{
    uint32_t head = axp__get(&cell[0]), tail = axp__get(&cell[1]);
    *value = axp__cell_value(head, tail);
    return (head & AXP__CELL_KIND) == AXP__CELL_HEAD &&
           (tail & AXP__CELL_KIND) == AXP__CELL_TAIL;
}

/* HOT */
static inline void axp__cell_clear(uint32_t *cell)
{
    axp__put(&cell[0], AXP__CELL_EMPTY);
    axp__put(&cell[1], AXP__CELL_EMPTY);
}

/* *old is the replaced value, where one was. */
static inline enum axp__put_result axp__shadow_put(struct axp__shadow *s,
                                                   uint64_t key, uint64_t value,
                                                   uint64_t *old)
{
    uint32_t *cell = axp__shadow_peek_free(s, key, value >> AXP__NAME_BITS);
    if (axp__unlikely(!cell)) return axp__shadow_put_slow(s, key, value, old);
    axp__cell_write(cell, value);
    return AXP__PUT_NEW;
}

/* Removes; false: no such block. */
static inline bool axp__shadow_take(struct axp__shadow *s, uint64_t key,
                                    uint64_t *value)
{
    const struct axp__region *r;
    uint32_t *cell = axp__shadow_cell(s, key, &r);
    if (axp__unlikely(!cell || !axp__cell_is_block(cell, value)))
        return axp__shadow_take_slow(s, key, value);
    axp__cell_clear(cell);
    return true;
}

#endif
