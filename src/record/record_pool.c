/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Chunks without locks; see record_pool.h. The queue is a ring of cells whose
 * `turn` tells whose turn it is: put at turn i, take at i + 1. */
#include "record/record_pool.h"

#include "os/os_map.h"
#include "os/os_space.h"

#define EVENT_WORDS 3u /* of the larger ordinary events */

static size_t block_bytes(const struct axp__pool *pool)
{
    return pool->block_chunks * AXP__CHUNK_BYTES;
}

uint64_t axp__pool_bytes_for(uint64_t capacity_events)
{
    uint64_t chunks = capacity_events / (AXP__CHUNK_WORDS / EVENT_WORDS) + 8;
    return chunks * AXP__CHUNK_BYTES;
}

/* What was never used is not touched: a large pool costs what it holds. */
static void clear_queue(struct axp__pool *pool)
{
    uint64_t n = pool->put_at < pool->n_cells ? pool->put_at : pool->n_cells;
    for (uint64_t i = 0; i < n; i++)
        pool->cell[i] = (struct axp__full){0, NULL};
    pool->put_at = pool->take_at = 0;
    pool->n_full_events = 0;
    pool->n_writers = 0;
}

bool axp__pool_init(struct axp__pool *pool, uint64_t bytes,
                    uint64_t capacity_events)
{
    *pool = (struct axp__pool){
        .max_chunks = bytes / AXP__CHUNK_BYTES,
        .capacity_events = capacity_events,
        .block_chunks = AXP__POOL_BLOCK,
    };
    uint64_t most = pool->max_chunks + AXP__POOL_SLACK;
    pool->n_blocks = most / pool->block_chunks + 1;
    pool->n_cells = 1024;
    while (pool->n_cells < most)
        pool->n_cells *= 2;
    pool->block = axp__map(pool->n_blocks * sizeof *pool->block);
    pool->cell = axp__map(pool->n_cells * sizeof *pool->cell);
    if (!pool->block || !pool->cell) {
        axp__pool_fini(pool);
        return false;
    }
    return true;
}

bool axp__pool_init_spool(struct axp__pool *pool, uint64_t bytes,
                          struct axp__space *space)
{
    *pool = (struct axp__pool){
        .max_chunks = bytes / AXP__CHUNK_BYTES,
        .space = space,
        .block_chunks = AXP__SPOOL_BLOCK,
    };
    while (pool->max_chunks / pool->block_chunks > AXP__SPOOL_BLOCKS)
        pool->block_chunks *= 2; /* the table of extents has an end */
    pool->n_blocks =
        (pool->max_chunks + AXP__POOL_SLACK) / pool->block_chunks + 1;
    pool->block = axp__map(pool->n_blocks * sizeof *pool->block);
    return pool->block != NULL;
}

void axp__pool_fini(struct axp__pool *pool)
{
    for (uint64_t i = 0; pool->block && i < pool->n_blocks; i++)
        axp__space_unmap(pool->space, pool->block[i], block_bytes(pool));
    axp__unmap(pool->block, pool->n_blocks * sizeof *pool->block);
    axp__unmap(pool->cell, pool->n_cells * sizeof *pool->cell);
    *pool = (struct axp__pool){0};
}

size_t axp__pool_size(const struct axp__pool *pool)
{
    uint64_t n = axp__get(&pool->n_chunks);
    uint64_t most = pool->max_chunks + AXP__POOL_SLACK;
    return pool->block ? (n < most ? n : most) : 0;
}

struct axp__chunk *axp__pool_at(const struct axp__pool *pool, size_t i)
{
    struct axp__chunk *b =
        axp__get_acquire(&pool->block[i / pool->block_chunks]);
    return b ? b + i % pool->block_chunks : NULL;
}

static bool put_full(struct axp__pool *pool, struct axp__chunk *chunk)
{
    uint64_t at = axp__get(&pool->put_at);
    for (;;) {
        uint64_t i = at & (pool->n_cells - 1);
        struct axp__full *c = &pool->cell[i];
        uint64_t turn = axp__get_acquire(&c->turn) + i;
        if (turn == at && axp__cas(&pool->put_at, &at, at + 1)) {
            c->chunk = chunk;
            axp__put_release(&c->turn, at + 1 - i);
            return true;
        }
        if (turn < at) return false; /* cannot be: more cells than chunks */
        if (turn != at) at = axp__get(&pool->put_at);
    }
}

static struct axp__chunk *take_full(struct axp__pool *pool)
{
    uint64_t at = axp__get(&pool->take_at);
    for (;;) {
        uint64_t i = at & (pool->n_cells - 1);
        struct axp__full *c = &pool->cell[i];
        uint64_t turn = axp__get_acquire(&c->turn) + i;
        if (turn == at + 1 && axp__cas(&pool->take_at, &at, at + 1)) {
            struct axp__chunk *chunk = c->chunk;
            axp__put_release(&c->turn, at + pool->n_cells - i);
            return chunk;
        }
        if (turn < at + 1) return NULL; /* empty, or its put is under way */
        if (turn != at + 1) at = axp__get(&pool->take_at);
    }
}

static struct axp__chunk *block_of(struct axp__pool *pool, uint64_t i)
{
    struct axp__chunk **where = &pool->block[i / pool->block_chunks];
    struct axp__chunk *block = axp__get_acquire(where);
    if (block) return block;
    struct axp__chunk *fresh =
        axp__space_map(pool->space, AXP__EXTENT_CHUNKS, block_bytes(pool));
    if (!fresh) return NULL;
    if (axp__cas(where, &block, fresh)) return fresh;
    axp__space_unmap(pool->space, fresh, block_bytes(pool));
    return block;
}

/* The next chunk of new memory, up to `most` of them. It is there before it
 * is counted: others look at all that are. */
static struct axp__chunk *take_new(struct axp__pool *pool, uint64_t most)
{
    uint64_t i = axp__get(&pool->n_chunks);
    struct axp__chunk *chunk;
    do {
        struct axp__chunk *block = i < most ? block_of(pool, i) : NULL;
        if (!block) return NULL;
        chunk = block + i % pool->block_chunks;
        if (pool->space && !axp__space_fill(pool->space, chunk, sizeof *chunk))
            return NULL;
    } while (!axp__cas(&pool->n_chunks, &i, i + 1));
    if (pool->space) axp__space_show(pool->space, chunk, sizeof *chunk);
    return chunk;
}

/* Events that must be in full chunks before the oldest may go: the capacity,
 * and for every writer a chunk whose events may all be older. */
static bool holds_enough(const struct axp__pool *pool)
{
    uint64_t slack = AXP__CHUNK_WORDS * (2 + 2 * axp__get(&pool->n_writers));
    return pool->capacity_events &&
           axp__get(&pool->n_full_events) >= pool->capacity_events + slack;
}

/* Takes a chunk away from readers. */
static void clear_chunk(struct axp__chunk *chunk)
{
    axp__put(&chunk->seq, 0);
    axp__store_barrier(); /* pairs with the readers' second look at seq */
    axp__put(&chunk->words[0], 0);
    axp__put(&chunk->n_words, 0);
    axp__put(&chunk->n_events, 0);
}

/* ---- chunks of a spool ----------------------------------------------------------- */

/* The next chunk in this state, which becomes WRITING. They are drained in
 * about the order in which they were filled, so the search is short; the
 * oldest full one is about where it begins. */
static struct axp__chunk *take_in_state(struct axp__pool *pool, uint64_t state)
{
    uint64_t n = axp__pool_size(pool), at = axp__get(&pool->look_at);
    for (uint64_t i = 0; i < n; i++, at++) {
        if (at >= n) at = 0;
        struct axp__chunk *chunk = axp__pool_at(pool, at);
        uint64_t now = state;
        if (!chunk || axp__get(&chunk->state) != state ||
            !axp__cas(&chunk->state, &now, AXP__CHUNK_WRITING))
            continue;
        axp__put(&pool->look_at, at + 1);
        return chunk;
    }
    return NULL;
}

static struct axp__chunk *take_spooled(struct axp__pool *pool)
{
    struct axp__chunk *chunk = NULL;
    if ((int64_t)axp__get(&pool->n_free) > 0) {
        chunk = take_in_state(pool, AXP__CHUNK_FREE);
        if (chunk) axp__add(&pool->n_free, -1);
    }
    if (!chunk) {
        chunk = take_new(pool, pool->max_chunks);
        if (chunk) axp__put(&chunk->state, AXP__CHUNK_WRITING);
    }
    if (!chunk) {
        chunk = take_in_state(pool, AXP__CHUNK_FULL);
        if (chunk) axp__add(&pool->n_cut_events, chunk->n_events);
    }
    if (chunk) clear_chunk(chunk);
    return chunk;
}

size_t axp__pool_drain(struct axp__pool *pool, struct axp__chunk **out,
                       size_t cap)
{
    size_t n = axp__pool_size(pool), found = 0;
    for (size_t i = 0; i < n && found < cap; i++) {
        struct axp__chunk *chunk = axp__pool_at(pool, i);
        uint64_t full = AXP__CHUNK_FULL;
        if (chunk && axp__get(&chunk->state) == full &&
            axp__cas(&chunk->state, &full, AXP__CHUNK_DRAINING))
            out[found++] = chunk;
    }
    return found;
}

void axp__pool_put_back(struct axp__chunk *chunk)
{
    axp__put_release(&chunk->state, AXP__CHUNK_FULL);
}

void axp__pool_free(struct axp__pool *pool, struct axp__chunk *chunk)
{
    clear_chunk(chunk);
    axp__put_release(&chunk->state, AXP__CHUNK_FREE);
    axp__add(&pool->n_free, 1);
}

void axp__pool_grow(struct axp__pool *pool, size_t n)
{
    while (n--) {
        struct axp__chunk *chunk = take_new(pool, pool->max_chunks);
        if (!chunk) return;
        for (size_t at = 0; at < AXP__CHUNK_BYTES; at += 4096)
            axp__put((uint64_t *)(void *)((char *)chunk + at), 0);
        axp__pool_free(pool, chunk);
    }
}

/* ---- both -------------------------------------------------------------------------- */

struct axp__chunk *axp__pool_take(struct axp__pool *pool)
{
    struct axp__chunk *chunk = NULL;
    bool is_new = false;
    if (!pool->block) return NULL;
    if (pool->space) return take_spooled(pool);
    if (holds_enough(pool)) chunk = take_full(pool);
    if (!chunk) {
        chunk = take_new(pool, pool->max_chunks);
        is_new = chunk != NULL;
    }
    if (!chunk) chunk = take_full(pool);
    if (!chunk) {
        chunk = take_new(pool, pool->max_chunks + AXP__POOL_SLACK);
        is_new = chunk != NULL;
    }
    if (!chunk) return NULL;
    axp__add(&pool->n_writers, 1);
    if (!is_new) axp__add(&pool->n_full_events, -chunk->n_events);
    clear_chunk(chunk);
    return chunk;
}

void axp__pool_seal(struct axp__pool *pool, struct axp__chunk *chunk,
                    uint64_t n_words, uint64_t n_events)
{
    if (!pool->block) return; /* the child of a fork in a handler */
    axp__put(&chunk->n_events, n_events);
    axp__put_release(&chunk->n_words, n_words);
    if (pool->space) {
        axp__put_release(&chunk->state, AXP__CHUNK_FULL);
        return;
    }
    axp__add(&pool->n_full_events, n_events);
    axp__add(&pool->n_writers, -1);
    put_full(pool, chunk);
}

static void reset_spooled(struct axp__pool *pool)
{
    uint64_t n = axp__pool_size(pool);
    axp__put(&pool->n_free, 0);
    axp__put(&pool->n_cut_events, 0);
    for (uint64_t i = 0; i < n; i++) {
        struct axp__chunk *chunk = axp__pool_at(pool, i);
        if (chunk) axp__pool_free(pool, chunk);
    }
}

void axp__pool_reset(struct axp__pool *pool)
{
    if (!pool->block) return;
    uint64_t n = axp__pool_size(pool);
    if (pool->space) {
        reset_spooled(pool);
        return;
    }
    clear_queue(pool);
    for (uint64_t i = 0; i < n; i++) {
        struct axp__chunk *chunk = axp__pool_at(pool, i);
        if (!chunk) continue;
        chunk->seq = 0;
        chunk->n_events = 0;
        put_full(pool, chunk);
    }
}
