/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The table of stacks; see tally_stacks.h. */
#include "tally/tally_stacks.h"

#include <string.h>

#include "base/base_text.h"
#include "os/os_map.h"
#include "os/os_space.h"
#include "wire/wire_stack.h"

#define WINDOW 8u
#define FIRST_SLOTS 4096u
#define BUDGET_PART 4u /* of the budget is for stacks */
#define PAGE_BYTES (AXP__STACK_CELLS * sizeof(uint32_t))

/* ---- memory ---------------------------------------------------------------------- */

static bool has_room(const struct axp__stack_table *t,
                     const struct axp__budget *budget, uint64_t bytes)
{
    uint64_t used = t ? axp__get(&t->used_bytes) : 0;
    return used + bytes <= axp__get(&budget->limit_bytes) / BUDGET_PART &&
           axp__budget_has(budget, bytes);
}

static void pay(struct axp__stack_table *t, struct axp__budget *budget,
                uint64_t bytes)
{
    axp__add(&t->used_bytes, bytes);
    axp__budget_pay(budget, bytes);
}

static struct axp__stack_table *get_table(struct axp__stacks *s,
                                          struct axp__budget *budget)
{
    struct axp__stack_table *t = axp__get_acquire(&s->table), *none = NULL;
    if (t || !has_room(NULL, budget, sizeof *t)) return t;
    struct axp__stack_table *fresh = axp__budget_map(budget, sizeof *fresh);
    if (fresh && axp__cas(&s->table, &none, fresh))
        pay(fresh, budget, sizeof *fresh);
    else
        axp__budget_unmap(budget, fresh, sizeof *fresh);
    return axp__get_acquire(&s->table); /* or another thread was faster */
}

/* What is at *where, mapped into the spool if it is not there yet. */
static void *get_part(struct axp__stack_table *t, struct axp__budget *budget,
                      void **where, size_t bytes)
{
    void *part = axp__get_acquire(where), *none = NULL;
    if (part || !has_room(t, budget, bytes)) return part;
    void *fresh = axp__budget_map(budget, bytes);
    if (fresh && axp__cas(where, &none, fresh))
        pay(t, budget, bytes);
    else
        axp__budget_unmap(budget, fresh, bytes);
    return axp__get_acquire(where);
}

static size_t slots_bytes(unsigned i)
{
    return ((size_t)FIRST_SLOTS << 2 * i) * sizeof(uint64_t);
}

/* Nobody who recovers a spool needs them. */
static uint64_t *get_slots(struct axp__stack_table *t,
                           struct axp__budget *budget, unsigned i)
{
    uint64_t *slots = axp__get_acquire(&t->slots[i]), *none = NULL;
    if (slots || !has_room(t, budget, slots_bytes(i))) return slots;
    uint64_t *fresh = axp__map_scattered(slots_bytes(i));
    if (fresh && axp__cas(&t->slots[i], &none, fresh)) {
        pay(t, budget, slots_bytes(i));
        axp__budget_apart(budget, slots_bytes(i));
    } else {
        axp__unmap(fresh, slots_bytes(i));
    }
    return axp__get_acquire(&t->slots[i]);
}

/* ---- bytes ------------------------------------------------------------------------ */

static struct axp__stack_bytes *at_ref(const struct axp__stack_table *t,
                                       uint32_t ref)
{
    struct axp__stack_seg *seg =
        axp__get_acquire(&t->seg[ref >> AXP__STACK_SEG_SHIFT]);
    size_t unit = ref & ((1u << AXP__STACK_SEG_SHIFT) - 1);
    return (struct axp__stack_bytes *)(void *)((char *)seg + unit * 8);
}

/* Room for so many bytes; 0: none. */
static uint32_t carve(struct axp__stack_table *t, struct axp__budget *budget,
                      uint32_t bytes)
{
    bytes = (bytes + 7) & ~7u;
    for (;;) {
        uint32_t n = axp__get_acquire(&t->n_segs);
        struct axp__stack_seg *seg =
            n ? axp__get_acquire(&t->seg[n - 1]) : NULL;
        if (seg && axp__get(&seg->used) + bytes <= sizeof seg->bytes) {
            uint64_t at = axp__add(&seg->used, bytes);
            if (at + bytes <= sizeof seg->bytes)
                return (n - 1) << AXP__STACK_SEG_SHIFT | (uint32_t)(at / 8 + 1);
        }
        if (n == AXP__STACK_SEGS ||
            !get_part(t, budget, (void **)(void *)&t->seg[n], sizeof *seg))
            return 0;
        (void)axp__cas(&t->n_segs, &n, n + 1); /* or another thread did */
    }
}

static uint32_t *cell_at(const struct axp__stack_table *t, uint32_t i)
{
    uint32_t *page = axp__get_acquire(&t->page[i / AXP__STACK_CELLS]);
    return page ? &page[i % AXP__STACK_CELLS] : NULL;
}

/* The first cell that is free becomes this one's; its id, 0: no room. */
static uint32_t give_id(struct axp__stack_table *t, struct axp__budget *budget,
                        uint32_t ref)
{
    uint32_t i = axp__get(&t->n_cells);
    for (; i < AXP__STACK_PAGES * AXP__STACK_CELLS; i++) {
        uint32_t empty = 0, *cell;
        if (!get_part(t, budget,
                      (void **)(void *)&t->page[i / AXP__STACK_CELLS],
                      PAGE_BYTES))
            return 0;
        cell = cell_at(t, i);
        if (axp__get(cell) || !axp__cas(cell, &empty, ref)) continue;
        uint32_t n = axp__get(&t->n_cells);
        while (n <= i && !axp__cas(&t->n_cells, &n, i + 1))
            continue;
        return i + AXP__STACK_FIRST;
    }
    return 0;
}

static uint32_t make(struct axp__stack_table *t, struct axp__budget *budget,
                     const uint8_t *bytes, uint32_t n)
{
    uint32_t ref =
        carve(t, budget, (uint32_t)sizeof(struct axp__stack_bytes) + n);
    if (!ref) return 0;
    struct axp__stack_bytes *to = at_ref(t, ref);
    memcpy(to->bytes, bytes, n);
    to->n = n;
    return give_id(t, budget, ref); /* its release makes the bytes visible */
}

/* ---- interning ----------------------------------------------------------------------- */

static bool is_it(const struct axp__stack_table *t, uint32_t id,
                  const uint8_t *bytes, uint32_t n)
{
    const struct axp__stack_bytes *there =
        at_ref(t, axp__get_acquire(cell_at(t, id - AXP__STACK_FIRST)));
    return there->n == n && !memcmp(there->bytes, bytes, n);
}

static uint64_t *window_in(uint64_t *slots, unsigned i, uint64_t hash)
{
    uint64_t n = ((uint64_t)FIRST_SLOTS << 2 * i) / WINDOW;
    return slots + (hash & (n - 1)) * WINDOW;
}

struct key {
    const uint8_t *bytes;
    uint32_t n, tag;
};

/* Looks for a stack in a window, and puts `fresh`, made when it is needed, into
 * the first slot that is free. 0: it is not there, and nothing is free. */
static uint32_t intern_in(struct axp__stack_table *t,
                          struct axp__budget *budget, uint64_t *w,
                          const struct key *key, uint32_t *fresh)
{
    for (unsigned i = 0; i < WINDOW; i++) {
        uint64_t word = axp__get_acquire(&w[i]);
        if (!word) {
            if (!*fresh) *fresh = make(t, budget, key->bytes, key->n);
            if (!*fresh) return AXP__STACK_NO_ROOM;
            if (axp__cas(&w[i], &word, (uint64_t)key->tag << 32 | *fresh))
                return *fresh;
        }
        if (word >> 32 == key->tag &&
            is_it(t, (uint32_t)word, key->bytes, key->n))
            return (uint32_t)word;
    }
    return 0;
}

uint32_t axp__stacks_intern(struct axp__stacks *s, struct axp__budget *budget,
                            const uint8_t *bytes, uint32_t n)
{
    struct axp__stack_table *t = get_table(s, budget);
    uint64_t hash = axp__text_hash((const char *)bytes, n);
    struct key key = {bytes, n, (uint32_t)(hash >> 32)};
    uint32_t id = 0, fresh = 0;
    if (!t) return AXP__STACK_NO_ROOM;
    for (unsigned i = 0; !id && i < AXP__STACK_TABLES; i++) {
        uint64_t *slots = get_slots(t, budget, i);
        if (!slots) break;
        id = intern_in(t, budget, window_in(slots, i, hash), &key, &fresh);
    }
    if (fresh && id != fresh)
        axp__put_release(cell_at(t, fresh - AXP__STACK_FIRST), AXP__STACK_VOID);
    return id ? id : AXP__STACK_NO_ROOM;
}

/* ---- reading --------------------------------------------------------------------------- */

uint32_t axp__stacks_end(const struct axp__stacks *s)
{
    const struct axp__stack_table *t = axp__get_acquire(&s->table);
    uint32_t i = t ? axp__get(&t->n_cells) : 0;
    for (; t && i < AXP__STACK_PAGES * AXP__STACK_CELLS; i++) {
        const uint32_t *cell = cell_at(t, i);
        if (!cell || !axp__get_acquire(cell)) break;
    }
    return i + AXP__STACK_FIRST;
}

const struct axp__stack_bytes *axp__stacks_at(const struct axp__stacks *s,
                                              uint32_t id)
{
    const struct axp__stack_table *t = axp__get_acquire(&s->table);
    uint32_t ref = axp__get_acquire(cell_at(t, id - AXP__STACK_FIRST));
    return ref == AXP__STACK_VOID ? NULL : at_ref(t, ref);
}

void axp__stacks_clear(struct axp__stacks *s, struct axp__budget *budget)
{
    struct axp__stack_table *t = s->table;
    if (!t) return;
    s->table = NULL;
    uint64_t used = t->used_bytes;
    for (unsigned i = 0; i < AXP__STACK_TABLES; i++) {
        if (t->slots[i]) axp__budget_apart(budget, -slots_bytes(i));
        axp__unmap(t->slots[i], slots_bytes(i));
    }
    for (unsigned i = 0; i < AXP__STACK_PAGES; i++)
        if (t->page[i]) axp__budget_unmap(budget, t->page[i], PAGE_BYTES);
    for (unsigned i = 0; i < AXP__STACK_SEGS; i++)
        if (t->seg[i]) axp__budget_unmap(budget, t->seg[i], sizeof *t->seg[i]);
    axp__budget_unmap(budget, t, sizeof *t);
    axp__budget_give(budget, used);
}
