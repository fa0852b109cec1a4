/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Chunks without locks; see record_pool.h.
 *
 * The queue is a ring of cells, one word each: which time round the ring it
 * is, whether it is full, and of what chunk. A cell changes by one exchange,
 * and the position behind it by a second one, which whoever finds it missing
 * makes up for: a thread that is stopped in between stops nobody. */
#include "record/record_pool.h"

#include <assert.h>

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
    uint64_t n = pool->put_at + 1; /* a cell may be ahead of it */
    if (n > pool->n_cells) n = pool->n_cells;
    for (uint64_t i = 0; i < n; i++)
        pool->cell[i] = 0;
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
    uint64_t per = axp__get(&pool->block_chunks);
    struct axp__chunk **blocks = axp__get(&pool->block);
    if (!per || !blocks) return NULL; /* as in take_new */
    struct axp__chunk *b = axp__get_acquire(&blocks[i / per]);
    return b ? b + i % per : NULL;
}

#define NUMBER_BITS 28 /* of a cell: the chunk's, from 1; above it its turn */
#define NUMBER_MASK (((uint64_t)1 << NUMBER_BITS) - 1)

struct cell {
    uint64_t at;   /* its position */
    uint64_t turn; /* what its turn is there while it is empty; 1 more: full */
    uint64_t *word;
};

/* The cell that is next; false: as in take_new. */
static bool find_cell(const struct axp__pool *pool, const uint64_t *position,
                      struct cell *c)
{
    uint64_t n = axp__get(&pool->n_cells);
    uint64_t *words = axp__get(&pool->cell);
    if (!n || !words) return false;
    c->at = axp__get_acquire(position);
    c->turn = c->at / n * 2;
    c->word = &words[c->at % n];
    return true;
}

/* There is an empty cell: there are no fewer of them than chunks. */
static void put_full(struct axp__pool *pool, const struct axp__chunk *chunk)
{
    struct cell c;
    assert(chunk->number < NUMBER_MASK);
    while (find_cell(pool, &pool->put_at, &c)) {
        uint64_t empty = c.turn << NUMBER_BITS;
        uint64_t full = (c.turn + 1) << NUMBER_BITS | (chunk->number + 1);
        bool is_done = axp__cas(c.word, &empty, full);
        axp__cas(&pool->put_at, &c.at, c.at + 1);
        if (is_done) return;
    }
}

static struct axp__chunk *take_full(struct axp__pool *pool)
{
    struct cell c;
    while (find_cell(pool, &pool->take_at, &c)) {
        uint64_t word = axp__get_acquire(c.word), turn = word >> NUMBER_BITS;
        if (turn <= c.turn) return NULL; /* empty */
        bool is_done = turn == c.turn + 1 &&
                       axp__cas(c.word, &word, (c.turn + 2) << NUMBER_BITS);
        axp__cas(&pool->take_at, &c.at, c.at + 1);
        assert(!is_done || word & NUMBER_MASK);
        if (is_done) return axp__pool_at(pool, (word & NUMBER_MASK) - 1);
    }
    return NULL;
}

static struct axp__chunk *block_at(struct axp__pool *pool,
                                   struct axp__chunk **where)
{
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
 * is counted: others look at all that are. After a fork in a handler that
 * interrupted this the pool is another, empty one. */
static struct axp__chunk *take_new(struct axp__pool *pool, uint64_t most)
{
    uint64_t i = axp__get(&pool->n_chunks);
    uint64_t per = axp__get(&pool->block_chunks);
    struct axp__chunk **blocks = axp__get(&pool->block), *chunk;
    struct axp__space *space = axp__get(&pool->space);
    do {
        if (i >= most || !per || !blocks) return NULL;
        struct axp__chunk *block = block_at(pool, &blocks[i / per]);
        if (!block) return NULL;
        chunk = block + i % per;
        if (space && !axp__space_fill(space, chunk, sizeof *chunk)) return NULL;
    } while (!axp__cas(&pool->n_chunks, &i, i + 1));
    if (space)
        axp__space_show(space, chunk, sizeof *chunk);
    else
        chunk->number = i;
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

size_t axp__pool_drain(struct axp__pool *pool, size_t *from,
                       struct axp__chunk **out, size_t cap)
{
    size_t n = axp__pool_size(pool), found = 0;
    for (; *from < n && found < cap; ++*from) {
        struct axp__chunk *chunk = axp__pool_at(pool, *from);
        uint64_t full = AXP__CHUNK_FULL;
        if (chunk && axp__get(&chunk->state) == full &&
            axp__cas(&chunk->state, &full, AXP__CHUNK_DRAINING))
            out[found++] = chunk;
    }
    return found;
}

void axp__pool_put_back(struct axp__chunk *chunk)
{
    assert(axp__get(&chunk->state) == AXP__CHUNK_DRAINING);
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
    assert(n_words <= AXP__CHUNK_WORDS);
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
