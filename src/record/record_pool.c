/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Chunks as a ring without locks; see record_pool.h. The queue is a ring of
 * cells whose `turn` tells whose turn it is: put at turn i, take at i + 1. */
#include "record/record_pool.h"

#include "os/os_map.h"

#define BLOCK_BYTES ((size_t)AXP__POOL_BLOCK * AXP__CHUNK_BYTES)
#define EVENT_WORDS 3u /* of the larger ordinary events */

uint64_t axp__pool_bytes_for(uint64_t capacity_events)
{
    uint64_t chunks = capacity_events / (AXP__CHUNK_WORDS / EVENT_WORDS) + 8;
    return chunks * AXP__CHUNK_BYTES;
}

static void clear_queue(struct axp__pool *pool)
{
    for (uint64_t i = 0; i < pool->n_cells; i++)
        pool->cell[i] = (struct axp__full){i, NULL};
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
    };
    uint64_t most = pool->max_chunks + AXP__POOL_SLACK;
    pool->n_blocks = most / AXP__POOL_BLOCK + 1;
    pool->n_cells = 1024;
    while (pool->n_cells < most)
        pool->n_cells *= 2;
    pool->block = axp__map(pool->n_blocks * sizeof *pool->block);
    pool->cell = axp__map(pool->n_cells * sizeof *pool->cell);
    if (!pool->block || !pool->cell) {
        axp__pool_fini(pool);
        return false;
    }
    clear_queue(pool);
    return true;
}

void axp__pool_fini(struct axp__pool *pool)
{
    for (uint64_t i = 0; pool->block && i < pool->n_blocks; i++)
        axp__unmap(pool->block[i], BLOCK_BYTES);
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
    struct axp__chunk *b = axp__get_acquire(&pool->block[i / AXP__POOL_BLOCK]);
    return b ? b + i % AXP__POOL_BLOCK : NULL;
}

static bool put_full(struct axp__pool *pool, struct axp__chunk *chunk)
{
    uint64_t at = axp__get(&pool->put_at);
    for (;;) {
        struct axp__full *c = &pool->cell[at & (pool->n_cells - 1)];
        uint64_t turn = axp__get_acquire(&c->turn);
        if (turn == at && axp__cas(&pool->put_at, &at, at + 1)) {
            c->chunk = chunk;
            axp__put_release(&c->turn, at + 1);
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
        struct axp__full *c = &pool->cell[at & (pool->n_cells - 1)];
        uint64_t turn = axp__get_acquire(&c->turn);
        if (turn == at + 1 && axp__cas(&pool->take_at, &at, at + 1)) {
            struct axp__chunk *chunk = c->chunk;
            axp__put_release(&c->turn, at + pool->n_cells);
            return chunk;
        }
        if (turn < at + 1) return NULL; /* empty, or its put is under way */
        if (turn != at + 1) at = axp__get(&pool->take_at);
    }
}

/* The next chunk of new memory, up to `most` of them. */
static struct axp__chunk *take_new(struct axp__pool *pool, uint64_t most)
{
    uint64_t i = axp__get(&pool->n_chunks);
    do
        if (i >= most) return NULL;
    while (!axp__cas(&pool->n_chunks, &i, i + 1));
    struct axp__chunk **where = &pool->block[i / AXP__POOL_BLOCK];
    struct axp__chunk *block = axp__get_acquire(where);
    if (!block) {
        struct axp__chunk *fresh = axp__map(BLOCK_BYTES);
        if (!fresh) return NULL;
        if (axp__cas(where, &block, fresh))
            block = fresh;
        else
            axp__unmap(fresh, BLOCK_BYTES);
    }
    return block + i % AXP__POOL_BLOCK;
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

struct axp__chunk *axp__pool_take(struct axp__pool *pool)
{
    struct axp__chunk *chunk = NULL;
    bool is_new = false;
    if (!pool->block) return NULL;
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
    axp__put(&chunk->n_events, n_events);
    axp__put_release(&chunk->n_words, n_words);
    axp__add(&pool->n_full_events, n_events);
    axp__add(&pool->n_writers, -1);
    put_full(pool, chunk);
}

void axp__pool_reset(struct axp__pool *pool)
{
    if (!pool->block) return;
    uint64_t n = axp__pool_size(pool);
    clear_queue(pool);
    for (uint64_t i = 0; i < n; i++) {
        struct axp__chunk *chunk = axp__pool_at(pool, i);
        if (!chunk) continue;
        chunk->seq = 0;
        chunk->n_events = 0;
        put_full(pool, chunk);
    }
}
