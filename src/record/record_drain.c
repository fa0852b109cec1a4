/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The drain: a thread that moves full chunks into the trace and gives them
 * back.
 *
 * It looks every millisecond while there is much to do, every 20 when there
 * is little, and writes once chunks are many or a second has passed, so
 * that blocks are large enough to pack well. Nobody wakes it: that would be a
 * system call in a recording thread. Ahead of the writers it keeps some free
 * chunks with their pages in place, since a thread that must fault them in
 * pays for it (18 against 14 ns a scope).
 *
 * Packing takes some 40 ns a scope, writing words as they are 3. So a drain
 * that falls behind (half of the spool waits) stops packing until it has
 * caught up: a larger file, and not a cut one. `axprof pack` packs the rest.
 *
 * Where writing fails the file ends: chunks stay in the spool and go round as
 * in a ring, its newest window, and what is overwritten is counted as cut.
 */
#include "record/record_drain.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "record/record_log.h"
#include "record/record_process.h"
#include "record/record_spool.h"

#define BUSY_NS 1000000
#define IDLE_NS 20000000 /* and longer, while no chunk is full */
#define IDLE_MOST_NS 100000000
#define WRITE_AFTER_NS 1000000000u
#define ENOUGH_CHUNKS 128u
#define RESERVE_CHUNKS 64u

/* ---- waiting ------------------------------------------------------------------- */

static void wait_on(uint32_t *word, uint32_t value, long ns)
{
    struct timespec ts = {ns / 1000000000, ns % 1000000000};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, ns ? &ts : NULL, NULL,
            0);
}

static void wake(uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static uint64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- chunks ---------------------------------------------------------------------- */

static void tell_errors(struct axp__tape *tape)
{
    if (!tape->trace.error || tape->is_told) return;
    tape->is_told = true;
    axp__warn(tape->p, AXP__WARN_WRITE_FAILED, 0);
    axp__log(
        tape->p, AXP_LOG_ERROR,
        "cannot write %s: %s; its timeline ends here, and counting goes on",
        tape->path, strerror(tape->trace.error));
}

static bool is_current(const struct axp__tape *tape, const struct axp__chunk *c)
{
    return c->seq && c->epoch == (uint32_t)(axp__get(&tape->p->gate) >> 8);
}

/* How many of the batch are in the file now, from the first on. */
static size_t write_batch(struct axp__tape *tape, size_t n)
{
    tape->trace.is_hasty = axp__pool_is_pressed(&tape->p->pool);
    if (!n || !axp__trace_news(&tape->trace, tape->p, false)) return 0;
    return axp__trace_chunks(&tape->trace, tape->batch, n);
}

/* One batch; false: there was nothing to drain, or nowhere to put it. */
static bool drain_batch(struct axp__tape *tape)
{
    struct axp__pool *pool = &tape->p->pool;
    struct axp__chunk *taken[AXP__TAPE_BATCH];
    if (tape->trace.error) return false;
    size_t found = axp__pool_drain(pool, taken, AXP__TAPE_BATCH), n = 0;
    for (size_t i = 0; i < found; i++)
        if (is_current(tape, taken[i]))
            tape->batch[n++] = taken[i];
        else
            axp__pool_free(pool, taken[i]);
    size_t written = write_batch(tape, n);
    for (size_t i = 0; i < n; i++)
        if (i < written)
            axp__pool_free(pool, tape->batch[i]);
        else
            axp__pool_put_back(tape->batch[i]);
    tell_errors(tape);
    return found && written == n;
}

/* A large block packs well; a small spool cannot wait for one. */
static size_t enough_of(const struct axp__pool *pool)
{
    uint64_t part = pool->max_chunks / 4;
    return part < ENOUGH_CHUNKS ? (size_t)part + 1 : ENOUGH_CHUNKS;
}

static size_t count_full(const struct axp__pool *pool, size_t most)
{
    size_t n = axp__pool_size(pool), full = 0;
    for (size_t i = 0; i < n && full < most; i++) {
        const struct axp__chunk *c = axp__pool_at(pool, i);
        full += c && axp__get(&c->state) == AXP__CHUNK_FULL;
    }
    return full;
}

static void keep_reserve(struct axp__pool *pool)
{
    int64_t n_free = (int64_t)axp__get(&pool->n_free);
    if (pool->block && n_free < (int64_t)RESERVE_CHUNKS / 2)
        axp__pool_grow(pool, RESERVE_CHUNKS);
}

/* ---- orders -------------------------------------------------------------------------- */

static void carry_out(struct axp__tape *tape, enum axp__tape_order order)
{
    if (order == AXP__ORDER_HOLD) return;
    if (order == AXP__ORDER_RESTART)
        axp__trace_restart(&tape->trace, tape->p);
    else
        while (drain_batch(tape))
            ;
    if (order == AXP__ORDER_FLUSH) {
        for (size_t i = 0; i < tape->n_started; i++)
            tape->batch[i] = &tape->started[i];
        write_batch(tape, tape->n_started);
    }
    if (order == AXP__ORDER_FINISH)
        tape->is_whole =
            axp__trace_finish(&tape->trace, tape->p, tape->capture);
    tell_errors(tape);
}

static void *run(void *arg)
{
    struct axp__tape *tape = arg;
    uint64_t last_ns = now_ns();
    long idle_ns = IDLE_NS;
    pthread_setname_np(pthread_self(), "axprof-drain");
    for (;;) {
        uint32_t asked = axp__get_acquire(&tape->n_asked);
        if (asked != tape->n_done) {
            enum axp__tape_order order = tape->order;
            carry_out(tape, order);
            axp__put_release(&tape->n_done, asked);
            wake(&tape->n_done);
            if (order == AXP__ORDER_FINISH || order == AXP__ORDER_NONE)
                return NULL;
            while (order == AXP__ORDER_HOLD &&
                   axp__get_acquire(&tape->held_by) == asked)
                wait_on(&tape->held_by, asked, 0);
        }
        keep_reserve(&tape->p->pool);
        size_t enough = enough_of(&tape->p->pool);
        size_t full = count_full(&tape->p->pool, enough);
        if (full >= enough || (full && now_ns() - last_ns > WRITE_AFTER_NS)) {
            bool is_done = drain_batch(tape);
            last_ns = now_ns();
            if (is_done && full >= enough) continue;
        }
        idle_ns = full ? IDLE_NS : idle_ns + idle_ns / 4;
        if (idle_ns > IDLE_MOST_NS) idle_ns = IDLE_MOST_NS;
        wait_on(&tape->n_asked, asked, full > enough / 8 ? BUSY_NS : idle_ns);
    }
}

void axp__drain_begin(struct axp__tape *tape)
{
    sigset_t all, before;
    pthread_attr_t attr;
    keep_reserve(&tape->p->pool);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&attr);
    tape->has_thread = !pthread_create(&tape->thread, &attr, run, tape);
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void axp__drain_ask(struct axp__tape *tape, enum axp__tape_order order)
{
    tape->order = order;
    if (!tape->has_thread) {
        sigset_t all, before; /* a limit on files is no signal here either */
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        carry_out(tape, order);
        struct timespec none = {0, 0};
        sigset_t xfsz;
        sigemptyset(&xfsz);
        sigaddset(&xfsz, SIGXFSZ);
        if (!sigismember(&before, SIGXFSZ)) sigtimedwait(&xfsz, NULL, &none);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return;
    }
    uint32_t turn = tape->n_asked + 1;
    axp__put_release(&tape->n_asked, turn);
    wake(&tape->n_asked);
    uint32_t done;
    while ((done = axp__get_acquire(&tape->n_done)) != turn)
        wait_on(&tape->n_done, done, 0);
}

void axp__drain_hold(struct axp__tape *tape)
{
    if (!tape->has_thread) return;
    axp__put_release(&tape->held_by, tape->n_asked + 1);
    axp__drain_ask(tape, AXP__ORDER_HOLD);
}

void axp__drain_let_go(struct axp__tape *tape)
{
    if (!tape->has_thread) return;
    axp__put_release(&tape->held_by, 0);
    wake(&tape->held_by);
}

void axp__drain_end(struct axp__tape *tape)
{
    if (!tape->has_thread) return;
    if (tape->order != AXP__ORDER_FINISH) axp__drain_ask(tape, AXP__ORDER_NONE);
    pthread_join(tape->thread, NULL);
    tape->has_thread = false;
}
