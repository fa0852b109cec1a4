/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The pool: chunks for the threads' words.
 *
 * Without a file, one ring in anonymous memory:
 *
 *      take ─► a thread writes ─► seal ─► queue of full chunks ─┐
 *        ▲                                     oldest first     │
 *        └──────── new memory while under the limit, else ◄─────┘
 *
 * With a capacity, the oldest full chunk is taken as soon as the full ones
 * together hold that many events and some slack, so that a view always finds
 * the newest N; else when the pool has reached its size.
 *
 * With a file the chunks lie in the spool, and who drains them may be another
 * process. So there is no queue: a chunk's own state says whose it is, and
 * changes by compare-and-swap.
 *
 *      FREE ─► WRITING ─► FULL ─► DRAINING ─► FREE
 *                 ▲         │
 *                 └─────────┘ no free one and no more room: the words of the
 *                             oldest are lost, and counted as cut
 *
 * Threads  take and seal from any thread. Nobody waits, wherever another
 *          thread was stopped. While every chunk is being written to, the pool
 *          grows past its limit (at most by one a thread).
 * Readers  walk all chunks and believe those whose seq is the same before
 *          and after the copy (record_capture.c).
 * Failure  NULL: the thread goes on without a timeline.
 */
#ifndef AXP_RECORD_POOL_H
#define AXP_RECORD_POOL_H
#include <stdbool.h>
#include <stddef.h>

#include "base/base_atomic.h"
#include "base/base_budget.h"
#include "wire/wire_word.h"

#define AXP__POOL_BLOCK 16u  /* chunks mapped together … */
#define AXP__SPOOL_BLOCK 64u /* … at least, in a spool */
#define AXP__SPOOL_BLOCKS 2048u
#define AXP__POOL_SLACK 1024u

struct axp__pool {
    uint64_t max_chunks;
    uint64_t capacity_events; /* 0: by size alone */
    uint64_t n_chunks;        /* handed out ever, by index */
    uint64_t n_full_events;   /* in the full chunks */
    uint64_t n_writers;       /* lanes that hold a chunk */
    uint64_t n_blocks, n_cells;
    uint64_t block_chunks; /* chunks mapped together */
    struct axp__chunk **block;
    uint64_t *cell;           /* of the queue; NULL with a spool */
    struct axp__space *space; /* the spool; NULL: none */
    uint64_t n_free;          /* of a spool: chunks that are FREE */
    uint64_t look_at;         /* where the next free one may be */
    uint64_t n_cut_events;    /* overwritten before they were drained */
    uint64_t put_at __attribute__((aligned(64)));
    uint64_t take_at __attribute__((aligned(64)));
};

/* Bytes a pool needs to show so many events of ordinary size. */
uint64_t axp__pool_bytes_for(uint64_t capacity_events);
bool axp__pool_init(struct axp__pool *pool, uint64_t bytes,
                    uint64_t capacity_events);
bool axp__pool_init_spool(struct axp__pool *pool, uint64_t bytes,
                          struct axp__space *space);
void axp__pool_fini(struct axp__pool *pool);
/* Every chunk is free again. The caller knows that nobody else is inside. */
void axp__pool_reset(struct axp__pool *pool);

/* Without words, seq 0. */
struct axp__chunk *axp__pool_take(struct axp__pool *pool);
void axp__pool_seal(struct axp__pool *pool, struct axp__chunk *chunk,
                    uint64_t n_words, uint64_t n_events);

/* All chunks, in no order; readers and fork. */
size_t axp__pool_size(const struct axp__pool *pool);
struct axp__chunk *axp__pool_at(const struct axp__pool *pool, size_t i);

/* ---- the side of the drain --------------------------------------------------------- */
/* Full chunks, now DRAINING: at most `cap` of them, in no order, from a place
 * in the pool on, which moves. Past the last none is found, though writers may
 * have filled others meanwhile. */
size_t axp__pool_drain(struct axp__pool *pool, size_t *from,
                       struct axp__chunk **out, size_t cap);
/* Whether the drain must hurry: so many chunks wait that the writers may soon
 * find none. A guess, also from outside. */
static inline bool axp__pool_is_pressed(const struct axp__pool *pool)
{
    int64_t n_used =
        (int64_t)axp__get(&pool->n_chunks) - (int64_t)axp__get(&pool->n_free);
    return n_used > (int64_t)(pool->max_chunks / 2);
}
/* Not drained after all: FULL again. */
void axp__pool_put_back(struct axp__chunk *chunk);
/* Drained: free again. */
void axp__pool_free(struct axp__pool *pool, struct axp__chunk *chunk);
/* Makes `n` free chunks more, up to the limit, with their pages in place. */
void axp__pool_grow(struct axp__pool *pool, size_t n);

#endif
