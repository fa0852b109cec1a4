/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Live bytes and their peaks; see tally_memory.h. */
#include "tally/tally_memory.h"

#include <stddef.h>
#include <string.h>

#include "os/os_map.h"

#define BLOCK_BYTES 65536u
#define PAGE_BYTES (AXP__LIVE_PAGE * sizeof(struct axp__live_name *))

/* Records are carved from blocks by an atomic counter. */
struct axp__live_block {
    struct axp__live_block *older;
    uint64_t n_used;
    struct axp__live_name
        record[BLOCK_BYTES / sizeof(struct axp__live_name) - 1];
};
_Static_assert(sizeof(struct axp__live_block) <= BLOCK_BYTES, "block size");
#define BLOCK_RECORDS (BLOCK_BYTES / sizeof(struct axp__live_name) - 1)

static void *map_charged(struct axp__memory *m, size_t bytes)
{
    if (!axp__budget_take(m->budget, bytes)) return NULL;
    void *fresh = axp__map(bytes);
    if (!fresh) axp__budget_give(m->budget, bytes);
    return fresh;
}

static struct axp__live_name *new_record(struct axp__memory *m)
{
    for (;;) {
        struct axp__live_block *b = axp__get_acquire(&m->blocks);
        if (b) {
            uint64_t i = axp__add(&b->n_used, 1);
            if (i < BLOCK_RECORDS) return &b->record[i];
        }
        struct axp__live_block *fresh = map_charged(m, BLOCK_BYTES);
        if (!fresh) return NULL;
        fresh->older = b;
        if (axp__cas(&m->blocks, &b, fresh)) continue;
        axp__unmap(fresh, BLOCK_BYTES);
        axp__budget_give(m->budget, BLOCK_BYTES);
    }
}

struct axp__live_name *axp__memory_find(struct axp__memory *m, uint32_t name)
{
    struct axp__live_name **page =
        axp__get_acquire(&m->page[name / AXP__LIVE_PAGE]);
    return page ? axp__get_acquire(&page[name % AXP__LIVE_PAGE]) : NULL;
}

static struct axp__live_name **get_page(struct axp__memory *m, uint32_t name)
{
    struct axp__live_name ***where = &m->page[name / AXP__LIVE_PAGE];
    struct axp__live_name **page = axp__get_acquire(where);
    if (page) return page;
    struct axp__live_name **fresh = map_charged(m, PAGE_BYTES);
    if (!fresh) return NULL;
    if (axp__cas(where, &page, fresh)) return fresh;
    axp__unmap(fresh, PAGE_BYTES);
    axp__budget_give(m->budget, PAGE_BYTES);
    return page;
}

struct axp__live_name *axp__memory_get(struct axp__memory *m, uint32_t name)
{
    struct axp__live_name *live = axp__memory_find(m, name);
    if (live) return live;
    struct axp__live_name **page = get_page(m, name);
    if (!page) return NULL;
    struct axp__live_name *fresh = new_record(m);
    if (!fresh) return NULL;
    fresh->name = name;
    /* A record that loses this race stays unused in its block. */
    if (axp__cas(&page[name % AXP__LIVE_PAGE], &live, fresh)) return fresh;
    return live;
}

static uint64_t at_least_0(int64_t v)
{
    return v > 0 ? (uint64_t)v : 0;
}

/* Before a name's first change in an epoch. */
static void save_for_epoch(struct axp__memory *m, struct axp__live_name *live)
{
    uint64_t epoch = axp__get(&m->epoch);
    if (axp__get(&live->epoch) == epoch) return;
    axp__put(&live->saved_bytes, at_least_0(axp__get(&live->current_bytes)));
    axp__put(&live->epoch, epoch);
}

void axp__memory_alloc(struct axp__memory *m, struct axp__live_name *live,
                       uint64_t bytes, uint64_t now, uint64_t row)
{
    save_for_epoch(m, live);
    int64_t n = (int64_t)bytes;
    int64_t own = axp__add(&live->current_bytes, n) + n;
    if (own == n) {
        axp__put(&live->since_ticks, now);
        axp__put(&live->since_row, row);
    }
    if (at_least_0(own) > axp__get(&live->peak_bytes))
        axp__raise(&live->peak_bytes, at_least_0(own));

    int64_t all = axp__add(&m->current_bytes, n) + n;
    if (at_least_0(all) > axp__get(&m->peak_bytes) &&
        axp__raise(&m->peak_bytes, at_least_0(all))) {
        axp__put(&m->peak_ticks, now);
        axp__add(&m->epoch, 1);
    }
}

/* Lowers, not below 0; returns what was too much. */
static uint64_t lower(int64_t *counter, uint64_t bytes)
{
    int64_t left = axp__add(counter, -(int64_t)bytes) - (int64_t)bytes;
    if (left >= 0) return 0;
    uint64_t excess = (uint64_t)-left < bytes ? (uint64_t)-left : bytes;
    axp__add(counter, (int64_t)excess);
    return excess;
}

uint64_t axp__memory_free(struct axp__memory *m, struct axp__live_name *live,
                          uint64_t bytes)
{
    uint64_t excess = bytes;
    if (live) {
        save_for_epoch(m, live);
        excess = lower(&live->current_bytes, bytes);
    }
    lower(&m->current_bytes, bytes);
    return excess;
}

uint64_t axp__memory_current(const struct axp__memory *m)
{
    return at_least_0(axp__get(&m->current_bytes));
}

uint64_t axp__memory_at_peak(const struct axp__memory *m,
                             const struct axp__live_name *live)
{
    if (axp__get(&live->epoch) == axp__get(&m->epoch))
        return axp__get(&live->saved_bytes);
    return at_least_0(axp__get(&live->current_bytes));
}

void axp__memory_each(struct axp__memory *m,
                      void (*fn)(void *ctx, struct axp__live_name *), void *ctx)
{
    for (uint32_t i = 0; i < AXP__LIVE_PAGES; i++) {
        struct axp__live_name **page = axp__get_acquire(&m->page[i]);
        for (uint32_t k = 0; page && k < AXP__LIVE_PAGE; k++) {
            struct axp__live_name *live = axp__get_acquire(&page[k]);
            if (live) fn(ctx, live);
        }
    }
}

static void mark(void *ctx, struct axp__live_name *live)
{
    (void)ctx;
    axp__put(&live->first_step_bytes,
             at_least_0(axp__get(&live->current_bytes)));
}

void axp__memory_mark_first_step(struct axp__memory *m)
{
    axp__memory_each(m, mark, NULL);
}

void axp__memory_clear(struct axp__memory *m)
{
    for (struct axp__live_block *b = m->blocks; b;) {
        struct axp__live_block *older = b->older;
        axp__unmap(b, BLOCK_BYTES);
        axp__budget_give(m->budget, BLOCK_BYTES);
        b = older;
    }
    for (uint32_t i = 0; i < AXP__LIVE_PAGES; i++) {
        if (!m->page[i]) continue;
        axp__unmap(m->page[i], PAGE_BYTES);
        axp__budget_give(m->budget, PAGE_BYTES);
    }
    *m = (struct axp__memory){.budget = m->budget};
}
