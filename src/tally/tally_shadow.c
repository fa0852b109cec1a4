/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What is new or unusual; see tally_shadow.h. */
#include "tally/tally_shadow.h"

#include "os/os_map.h"

#define PROBES 8u
#define PAGE_BYTES (AXP__PAGE_SPAN / AXP__SLOT_BYTES * 4u)
/* And a page that is never written to: a look at the cell after the last. */
#define CELLS_BYTES ((size_t)AXP__CELL_PAGES * PAGE_BYTES + PAGE_BYTES)
#define LARGE_BYTES ((uint64_t)AXP__CELL_PAGES * PAGE_BYTES)
#define DENSE_PAGES (AXP__CELL_PAGES / 2)
#define TABLE_BYTES (AXP__REGIONS * sizeof(struct axp__region))

/* Stands for a table that there was no memory for, once. */
static struct axp__region no_regions[AXP__REGIONS];

/* ---- regions ----------------------------------------------------------------------- */

/* The table of regions; NULL: none, for good. What was put meanwhile is in
 * the other table, so that one made later would hide it. */
static struct axp__region *get_table(struct axp__shadow *s)
{
    struct axp__region *there = axp__get_acquire(&s->regions), *fresh = NULL;
    struct axp__budget *budget = s->rest.budget;
    if (there) return there == no_regions ? NULL : there;
    if (axp__budget_has_part(budget, TABLE_BYTES, 1, 4))
        fresh = axp__map(TABLE_BYTES);
    if (axp__cas(&s->regions, &there, fresh ? fresh : no_regions)) {
        if (fresh) axp__budget_pay(budget, TABLE_BYTES);
        if (fresh) axp__budget_apart(budget, TABLE_BYTES);
        return fresh;
    }
    axp__unmap(fresh, TABLE_BYTES);
    return there == no_regions ? NULL : there;
}

/* The region of an address; make: or a new one. NULL: none. Regions are not
 * given up, so one that found no place once never does. */
static struct axp__region *find_region(struct axp__region *table, uint64_t key,
                                       bool make)
{
    uint64_t number = key >> AXP__REGION_SHIFT;
    for (uint64_t i = 0; table && i < PROBES; i++) {
        struct axp__region *r = &table[(number + i) % AXP__REGIONS];
        uint64_t there = axp__get_acquire(&r->key);
        if (!there && make) axp__cas(&r->key, &there, number + 1);
        if (!there && make) there = number + 1;
        if (there == number + 1) return r;
        if (!there) return NULL;
    }
    return NULL;
}

static uint64_t count_pages(const struct axp__region *r)
{
    uint64_t n = 0;
    for (unsigned i = 0; r && i < AXP__CELL_PAGES / 64; i++)
        n += (uint64_t)__builtin_popcountll(axp__get(&r->is_ready[i]));
    return n;
}

/* Whether a region lies beside one that is in use all over. */
static bool is_dense(struct axp__region *table, uint64_t key)
{
    uint64_t step = AXP__REGION_BYTES;
    return count_pages(find_region(table, key - step, false)) >= DENSE_PAGES ||
           count_pages(find_region(table, key + step, false)) >= DENSE_PAGES;
}

/* How a region is backed is said once, before it is. */
static uint32_t get_backing(struct axp__shadow *s, struct axp__region *r,
                            uint64_t key)
{
    uint32_t backing = axp__get_acquire(&r->backing);
    if (backing) return backing;
    bool is_large = is_dense(axp__get(&s->regions), key) &&
                    axp__budget_take_part(s->rest.budget, LARGE_BYTES, 1, 2);
    uint32_t chosen = is_large ? AXP__BACKED_LARGE : AXP__BACKED_SMALL;
    bool is_mine = axp__cas(&r->backing, &backing, chosen);
    if (is_large && is_mine) axp__budget_apart(s->rest.budget, LARGE_BYTES);
    if (is_large && !is_mine) axp__budget_give(s->rest.budget, LARGE_BYTES);
    return is_mine ? chosen : backing;
}

static uint32_t *get_cells(struct axp__region *r, uint32_t backing)
{
    uint32_t *cells = axp__get_acquire(&r->cells);
    if (cells) return cells;
    uint32_t *fresh = backing == AXP__BACKED_LARGE
                          ? axp__map_large(CELLS_BYTES)
                          : axp__map_sparse(CELLS_BYTES);
    if (!fresh) return NULL;
    if (axp__cas(&r->cells, &cells, fresh)) return fresh;
    axp__unmap(fresh, CELLS_BYTES);
    return cells;
}

/* Whether the page of an address may be written to: it is paid for, now or
 * before. */
static bool get_page(struct axp__shadow *s, struct axp__region *r, uint64_t key)
{
    uint64_t page = key % AXP__REGION_BYTES / AXP__PAGE_SPAN;
    uint64_t bit = (uint64_t)1 << page % 64;
    uint64_t *is_ready = &r->is_ready[page / 64];
    uint64_t *is_refused = &r->is_refused[page / 64];
    if (axp__get_acquire(is_ready) & bit) return true;
    if (axp__get_acquire(is_refused) & bit) return false;
    uint32_t backing = get_backing(s, r, key);
    uint64_t price = backing == AXP__BACKED_LARGE ? 0 : PAGE_BYTES;
    bool is_paid = axp__budget_take_part(s->rest.budget, price, 1, 2) || !price;
    if (is_paid && get_cells(r, backing)) {
        if (__atomic_fetch_or(is_ready, bit, __ATOMIC_ACQ_REL) & bit)
            axp__budget_give(s->rest.budget, price);
        else
            axp__budget_apart(s->rest.budget, price);
        return true;
    }
    if (is_paid) axp__budget_give(s->rest.budget, price);
    __atomic_fetch_or(is_refused, bit, __ATOMIC_ACQ_REL);
    return false;
}

static uint32_t *at(uint32_t *cells, uint64_t key)
{
    return cells + key % AXP__REGION_BYTES / AXP__SLOT_BYTES;
}

/* Where an address has its cell; NULL: it has none. */
static uint32_t *cell_of(struct axp__shadow *s, uint64_t key)
{
    struct axp__region *r =
        key % AXP__SLOT_BYTES ? NULL : find_region(get_table(s), key, true);
    return r && get_page(s, r, key) ? at(axp__get_acquire(&r->cells), key)
                                    : NULL;
}

/* ---- blocks -------------------------------------------------------------------------- */

static enum axp__cell_kind kind_of(uint32_t cell)
{
    return (enum axp__cell_kind)(cell & AXP__CELL_KIND);
}

static bool is_head(uint32_t cell)
{
    return kind_of(cell) == AXP__CELL_HEAD ||
           kind_of(cell) == AXP__CELL_NOTED_HEAD;
}

static bool is_noted(uint32_t cell)
{
    return kind_of(cell) == AXP__CELL_NOTED_SMALL ||
           kind_of(cell) == AXP__CELL_NOTED_HEAD;
}

static bool is_block(uint32_t cell)
{
    return kind_of(cell) == AXP__CELL_SMALL || is_head(cell) || is_noted(cell);
}

/* Writes a block's cells, where they are free. */
static bool write_block(uint32_t *cell, uint64_t key, uint64_t value)
{
    uint64_t bytes = value >> AXP__NAME_BITS;
    uint64_t both = axp__cells_of(bytes, (uint32_t)value % AXP__MAX_NAMES);
    if (axp__get(&cell[0]) != AXP__CELL_EMPTY) return false;
    if (bytes <= AXP__SLOT_BYTES) {
        axp__put(&cell[0], axp__cell_of_small(bytes, axp__cells_name(both)));
        return true;
    }
    if (bytes - AXP__SLOT_BYTES - 1 >= AXP__CELL_MOST ||
        axp__get(&cell[1]) != AXP__CELL_EMPTY ||
        key % AXP__PAGE_SPAN == AXP__PAGE_SPAN - AXP__SLOT_BYTES)
        return false;
    axp__cells_write(cell, both);
    return true;
}

/* Reads a block and clears its cells. */
static uint64_t clear_block(uint32_t *cell)
{
    uint32_t head = axp__get(&cell[0]), tail = 0;
    if (is_head(head)) {
        tail = axp__get(&cell[1]);
        axp__put(&cell[1], kind_of(tail) == AXP__CELL_BOTH ? AXP__CELL_AWAY
                                                           : AXP__CELL_EMPTY);
    }
    axp__put(&cell[0], AXP__CELL_EMPTY);
    uint64_t both = head | (uint64_t)tail << 32;
    return axp__cells_bytes(both) << AXP__NAME_BITS | axp__cells_name(both) |
           (is_noted(head) ? AXP__VALUE_NOTED : 0);
}

/* The block of this cell's address is in the table. A cell that is the tail
 * of a block is that block's: its owner may be clearing it now. */
static void mark_away(uint32_t *cell)
{
    uint32_t there = axp__get(cell), kind;
    do {
        kind = kind_of(there);
        if (kind != AXP__CELL_EMPTY && kind != AXP__CELL_TAIL) return;
        kind = kind == AXP__CELL_EMPTY ? AXP__CELL_AWAY : AXP__CELL_BOTH;
    } while (!axp__cas(cell, &there, (there & ~AXP__CELL_KIND) | kind));
}

/* Puts a block into the table. */
static enum axp__put_result put_away(struct axp__shadow *s, uint32_t *cell,
                                     uint64_t key, uint64_t value,
                                     uint64_t *old)
{
    enum axp__put_result r = axp__lookup_put(&s->rest, key, value, old);
    if (cell && r != AXP__PUT_FULL) mark_away(cell);
    return r;
}

enum axp__put_result axp__shadow_put_slow(struct axp__shadow *s, uint64_t key,
                                          uint64_t value, uint64_t *old)
{
    uint32_t *cell = cell_of(s, key);
    if (!cell || !is_block(axp__get(&cell[0]))) {
        if (cell && write_block(cell, key, value)) return AXP__PUT_NEW;
        return put_away(s, cell, key, value, old);
    }
    uint32_t head = axp__get(&cell[0]), tail = axp__get(&cell[1]);
    uint64_t none;
    *old = clear_block(cell);
    if (write_block(cell, key, value) ||
        put_away(s, cell, key, value, &none) != AXP__PUT_FULL)
        return AXP__PUT_REPLACED;
    if (is_head(head)) axp__put(&cell[1], tail);
    axp__put(&cell[0], head); /* as it was */
    return AXP__PUT_FULL;
}

bool axp__shadow_take_slow(struct axp__shadow *s, uint64_t key, uint64_t *value)
{
    struct axp__region *table = axp__get_acquire(&s->regions);
    struct axp__region *r = NULL;
    if (table && table != no_regions && !(key % AXP__SLOT_BYTES))
        r = find_region(table, key, false);
    uint32_t *cells = r ? axp__get_acquire(&r->cells) : NULL;
    uint32_t *cell = cells ? at(cells, key) : NULL;
    if (cell && is_block(axp__get(&cell[0]))) {
        *value = clear_block(cell);
        return true;
    }
    if (!axp__lookup_take(&s->rest, key, value)) return false;
    if (cell && kind_of(axp__get(&cell[0])) == AXP__CELL_AWAY)
        axp__put(&cell[0], AXP__CELL_EMPTY);
    return true;
}

/* In the table a block's mark is a part of its value. */
static bool mark_in_table(struct axp__shadow *s, uint64_t key)
{
    uint64_t value, old;
    return axp__lookup_take(&s->rest, key, &value) &&
           axp__lookup_put(&s->rest, key, value | AXP__VALUE_NOTED, &old) !=
               AXP__PUT_FULL;
}

bool axp__shadow_mark(struct axp__shadow *s, uint64_t key)
{
    const struct axp__region *r;
    uint32_t *cell = axp__shadow_cell(s, key, &r);
    uint32_t there = cell ? axp__get(cell) : 0;
    if (!is_block(there)) return mark_in_table(s, key);
    axp__put(cell, (there & ~AXP__CELL_KIND) |
                       (is_head(there) ? AXP__CELL_NOTED_HEAD
                                       : AXP__CELL_NOTED_SMALL));
    return true;
}

/* ---- the end --------------------------------------------------------------------------- */

static void clear_region(struct axp__region *r, struct axp__budget *budget)
{
    uint64_t bytes = r->backing == AXP__BACKED_LARGE
                         ? LARGE_BYTES
                         : count_pages(r) * PAGE_BYTES;
    axp__budget_give(budget, bytes);
    axp__budget_apart(budget, -bytes);
    axp__unmap(r->cells, CELLS_BYTES);
}

void axp__shadow_clear(struct axp__shadow *s)
{
    struct axp__region *table = s->regions;
    s->regions = NULL;
    if (table && table != no_regions) {
        for (unsigned i = 0; i < AXP__REGIONS; i++)
            clear_region(&table[i], s->rest.budget);
        axp__unmap(table, TABLE_BYTES);
        axp__budget_give(s->rest.budget, TABLE_BYTES);
        axp__budget_apart(s->rest.budget, -TABLE_BYTES);
    }
    axp__lookup_clear(&s->rest);
}
