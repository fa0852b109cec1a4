/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What is live, by name and in all, over the threads of a profiler.
 *
 * Each name is an account, and so is the total (tally_purse.h): a thread has
 * a purse for each name it uses and one for the total, so what is live is a
 * sum over threads and an ordinary event changes nothing but its thread's own
 * two purses. Exact across threads: current bytes, the peak of the total and
 * of each name, where events do not overlap; else to one block in flight a
 * thread.
 *
 * What every name held at the peak: each new peak begins an epoch, and a
 * purse saves what it holds before its first change in an epoch; one that has
 * not changed since the peak holds now what it held then.
 *
 * Since when  something of a name is live: since the oldest purse that holds
 *             some last rose from nothing.
 * Alone       until a second thread takes part nobody can seize or take, and
 *             the fence of tally_purse.h is left out. Whoever comes second
 *             says so (AXP__STAMP_SHARED) and passes a barrier through all
 *             threads: an owner that did not see it before has written net
 *             before, and is seen.
 * Cost        about 25 instructions an event, and a fence once several
 *             threads take part. At a new peak five atomic additions.
 * Ownership   records live in the slab until clear; purses go back with
 *             axp__memory_release.
 * Threads     all functions from any thread; clear and mark_step from one.
 * Not here    counts and sums of traffic: each thread keeps its own
 *             (axp__traffic).
 */
#ifndef AXP_TALLY_MEMORY_H
#define AXP_TALLY_MEMORY_H
#include "tally/tally_purse.h"

#define AXP__LIVE_PAGE 1024u /* names a page */
#define AXP__LIVE_PAGES 1024u

struct axp__live_name {
    struct axp__account account;
    uint32_t name;
    uint32_t kind; /* axp_mem */
    uint64_t first_step_bytes;
    /* Held at the last power of two of steps, and at the one before. */
    uint64_t power_bytes, half_bytes;
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct axp__live_name) == 64, "a record of the slab");

struct axp__memory {
    uint32_t stamp; /* epoch << 1 | AXP__STAMP_SHARED */
    uint32_t n_joined;
    uint32_t is_parted; /* shared, and every thread knows */
    uint64_t peak_ticks;
    struct axp__account all __attribute__((aligned(64)));
    struct axp__budget *budget __attribute__((aligned(64)));
    struct axp__slab slab;
    axp__ref *page[AXP__LIVE_PAGES]; /* of live names */
};

/* A thread's purses for an event. */
struct axp__purses {
    struct axp__purse *own; /* for the name */
    struct axp__purse *all;
};

/* The record of a name; NULL: none (find), no memory (get). */
struct axp__live_name *axp__memory_find(struct axp__memory *m, uint32_t name);
struct axp__live_name *axp__memory_get(struct axp__memory *m, uint32_t name);
/* Purses for the calling thread; NULL: no memory. */
struct axp__purse *axp__memory_join(struct axp__memory *m);
struct axp__purse *axp__memory_join_name(struct axp__memory *m,
                                         struct axp__live_name *live);
/* Their thread has ended; ref: axp__purse_ref. */
void axp__memory_release(struct axp__memory *m, axp__ref ref);

/* ---- events ----------------------------------------------------------------- */
void axp__memory_alloc_slow(struct axp__memory *m, struct axp__purses x,
                            uint64_t bytes, uint64_t now);
uint64_t axp__memory_free_slow(struct axp__memory *m, struct axp__purses x,
                               uint64_t bytes);
/* A free by a thread without a purse for the name; live NULL: the name never
 * allocated, and the total alone is lowered. Returns as free does. */
uint64_t axp__memory_free_loose(struct axp__memory *m,
                                struct axp__live_name *live,
                                struct axp__purse *all, uint64_t bytes);

/* After an owner's writes to net, before it looks at what others write. */
static inline uint32_t axp__memory_stamp(const struct axp__memory *m)
{
    axp__signal_fence(); /* the compiler keeps the order; alone, that is all */
    uint32_t stamp = axp__get(&m->stamp);
    if (stamp & AXP__STAMP_SHARED) __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return stamp;
}

/* False: axp__memory_alloc_slow must follow. HOT */
static inline bool axp__memory_alloc_fast(struct axp__memory *m,
                                          struct axp__purses x, uint64_t bytes,
                                          uint64_t now, uint32_t row)
{
    uint64_t net = x.own->net;
    if (net == axp__get(&x.own->low)) {
        axp__put(&x.own->since_ticks, now);
        if (x.own->since_row != row) axp__put(&x.own->since_row, row);
    }
    axp__put(&x.own->net, net + bytes);
    axp__put(&x.all->net, x.all->net + bytes);
    uint32_t stamp = axp__memory_stamp(m);
    return axp__likely((axp__purse_room(x.own) | axp__purse_room(x.all)) >= 0 &&
                       axp__get(&x.own->stamp) == stamp);
}

static inline void axp__memory_alloc(struct axp__memory *m,
                                     struct axp__purses x, uint64_t bytes,
                                     uint64_t now, uint32_t row)
{
    if (!axp__memory_alloc_fast(m, x, bytes, now, row))
        axp__memory_alloc_slow(m, x, bytes, now);
}

/* False: axp__memory_free_slow must follow. HOT */
static inline bool axp__memory_free_fast(struct axp__memory *m,
                                         struct axp__purses x, uint64_t bytes)
{
    axp__put(&x.own->net, x.own->net - bytes);
    axp__put(&x.all->net, x.all->net - bytes);
    uint32_t stamp = axp__memory_stamp(m);
    uint32_t state = axp__get(&x.own->state) & axp__get(&x.all->state);
    return axp__likely((axp__purse_held(x.own) | axp__purse_held(x.all)) >= 0 &&
                       axp__get(&x.own->stamp) == stamp &&
                       state & AXP__PURSE_OFFERED);
}

/* Returns how many of the bytes the name did not have. */
static inline uint64_t axp__memory_free(struct axp__memory *m,
                                        struct axp__purses x, uint64_t bytes)
{
    return axp__memory_free_fast(m, x, bytes)
               ? 0
               : axp__memory_free_slow(m, x, bytes);
}

/* ---- reading ------------------------------------------------------------------ */
/* An account, summed over its purses, modulo 2^64: a broken spool may say
 * anything of each. */
struct axp__live_state {
    uint64_t held, held_at_peak; /* see axp__live_bytes */
    uint64_t since_ticks, since_row;
};
/* Adds a purse; stamp: the memory's. */
static inline void axp__live_add_purse(struct axp__live_state *s,
                                       const struct axp__purse *p,
                                       uint32_t stamp)
{
    int64_t held = axp__purse_held(p);
    uint64_t since = axp__get(&p->since_ticks);
    s->held += (uint64_t)held;
    s->held_at_peak += axp__purse_is_saved(p, stamp) ? axp__get(&p->saved_bytes)
                                                     : (uint64_t)held;
    if (held <= 0 || (s->since_ticks && since >= s->since_ticks)) return;
    s->since_ticks = since;
    s->since_row = axp__get(&p->since_row);
}

struct axp__live_state axp__memory_read(const struct axp__memory *m,
                                        const struct axp__account *account);
/* While threads go on a sum may be below 0. */
static inline uint64_t axp__live_bytes(uint64_t held)
{
    return (int64_t)held > 0 ? held : 0;
}

uint64_t axp__memory_current(const struct axp__memory *m);
static inline uint64_t axp__memory_peak(const struct axp__memory *m)
{
    return axp__get(&m->all.peak_bytes);
}
/* Remembers what every name holds when the first step ends, or one whose number
 * is a power of two: to be called for these alone, since it looks at all names. */
void axp__memory_mark_step(struct axp__memory *m, uint64_t n_steps);
/* Calls fn for every name, in the order of their ids. */
void axp__memory_each(struct axp__memory *m,
                      void (*fn)(void *ctx, struct axp__live_name *),
                      void *ctx);
/* The caller knows that nobody else is inside. */
void axp__memory_clear(struct axp__memory *m);

#endif
