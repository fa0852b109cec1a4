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
 * It has a table of descriptors of its own, with the trace alone in it: there
 * is no number of ours that the program could close, and none of the
 * program's that would stay open here. So the program's log is not called from
 * here, but by who asks for something next.
 *
 * Where writing fails the file ends: chunks stay in the spool and go round as
 * in a ring, its newest window, and what is overwritten is counted as cut.
 */
#include "record/record_drain.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#include "os/os_apart.h"
#include "os/os_thread.h"
#include "record/record_log.h"
#include "record/record_process.h"
#include "record/record_spool.h"

#define BUSY_NS 1000000
#define IDLE_NS 20000000 /* and longer, while no chunk is full */
#define IDLE_MOST_NS 100000000
#define WRITE_AFTER_NS 1000000000u
#define ENOUGH_CHUNKS 128u
#define LEAST_RESERVE 4
#define MOST_RESERVE 64

/* ---- chunks ---------------------------------------------------------------------- */

static void note_errors(struct axp__tape *tape)
{
    if (!tape->trace.pen.error || tape->is_warned) return;
    tape->is_warned = true;
    axp__warn(tape->p, AXP__WARN_WRITE_FAILED, 0);
}

/* To the program, on a thread of its own. */
static void tell_errors(struct axp__tape *tape)
{
    if (!tape->trace.pen.error || tape->is_told) return;
    tape->is_told = true;
    axp__log(
        tape->p, AXP_LOG_ERROR,
        "cannot write %s: %s; its timeline ends here, and counting goes on",
        tape->path, axp__error_text(tape->trace.pen.error));
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

/* One batch, from a place in the pool on; false: there was nothing to drain, or
 * nowhere to put it. */
static bool drain_batch(struct axp__tape *tape, size_t *from)
{
    struct axp__pool *pool = &tape->p->pool;
    struct axp__chunk *taken[AXP__TAPE_BATCH];
    if (tape->trace.pen.error) return false;
    size_t found = axp__pool_drain(pool, from, taken, AXP__TAPE_BATCH), n = 0;
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
    note_errors(tape);
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

/* As many as are in use: who records little has a small spool. */
static void keep_reserve(struct axp__pool *pool)
{
    int64_t n_free = (int64_t)axp__get(&pool->n_free);
    int64_t want = (int64_t)axp__get(&pool->n_chunks) - n_free;
    if (want < LEAST_RESERVE) want = LEAST_RESERVE;
    if (want > MOST_RESERVE) want = MOST_RESERVE;
    if (pool->block && n_free < want / 2) axp__pool_grow(pool, (size_t)want);
}

/* ---- orders -------------------------------------------------------------------------- */

static void carry_out(struct axp__tape *tape, enum axp__tape_order order)
{
    size_t from = 0;
    if (order == AXP__ORDER_HOLD || order == AXP__ORDER_NONE) return;
    if (order == AXP__ORDER_RESTART)
        axp__trace_restart(&tape->trace, tape->p);
    else /* once: what is full by now, and not what comes meanwhile */
        while (drain_batch(tape, &from))
            ;
    if (order == AXP__ORDER_FLUSH) {
        for (size_t i = 0; i < tape->n_started; i++)
            tape->batch[i] = &tape->started[i];
        write_batch(tape, tape->n_started);
    }
    if (order == AXP__ORDER_FINISH)
        tape->is_whole =
            axp__trace_finish(&tape->trace, tape->p, tape->capture);
    note_errors(tape);
}

/* What writing needs, where the table is ours. */
static void take_pen(struct axp__tape *tape)
{
    if (axp__trace_reopen(&tape->trace)) axp__trace_prepare(&tape->trace);
}

/* In the child that os_apart.h makes, by who asks. */
static void carry_out_apart(void *ctx)
{
    struct axp__tape *tape = ctx;
    take_pen(tape);
    carry_out(tape, tape->order);
    axp__trace_rest(&tape->trace);
}

/* ---- the thread --------------------------------------------------------------------- */

/* False: that was the last. */
static bool answer(struct axp__tape *tape, uint32_t asked)
{
    enum axp__tape_order order = tape->order;
    carry_out(tape, order);
    if (order == AXP__ORDER_FINISH || order == AXP__ORDER_NONE)
        axp__trace_rest(&tape->trace);
    axp__put_release(&tape->n_done, asked);
    axp__futex_wake(&tape->n_done);
    while (order == AXP__ORDER_HOLD &&
           axp__get_acquire(&tape->held_by) == asked)
        axp__futex_wait(&tape->held_by, asked, 0);
    return order != AXP__ORDER_FINISH && order != AXP__ORDER_NONE;
}

static bool is_asked(const struct axp__tape *tape)
{
    return axp__get_acquire(&tape->n_asked) != tape->n_done;
}

/* How long it may sleep now. Where the writers are faster it could go on for
 * ever, so who asks for something comes in between. */
static long look(struct axp__tape *tape, uint64_t *last_ns, long *idle_ns)
{
    struct axp__pool *pool = &tape->p->pool;
    size_t enough = enough_of(pool), full;
    keep_reserve(pool);
    for (;;) {
        full = count_full(pool, enough);
        if (full < enough &&
            (!full ||
             axp__clock_of(CLOCK_MONOTONIC) - *last_ns <= WRITE_AFTER_NS))
            break;
        size_t from = 0;
        bool is_done = drain_batch(tape, &from);
        *last_ns = axp__clock_of(CLOCK_MONOTONIC);
        if (!is_done || full < enough || is_asked(tape)) break;
        keep_reserve(pool);
    }
    *idle_ns = full ? IDLE_NS : *idle_ns + *idle_ns / 4;
    if (*idle_ns > IDLE_MOST_NS) *idle_ns = IDLE_MOST_NS;
    return full > enough / 8 ? BUSY_NS : *idle_ns;
}

void *axp__drain_run(void *arg)
{
    struct axp__tape *tape = arg;
    uint64_t last_ns = axp__clock_of(CLOCK_MONOTONIC);
    long idle_ns = IDLE_NS;
    bool is_apart = axp__apart_stay(), is_open = false;
    pthread_setname_np(pthread_self(), AXP__DRAIN_NAME);
    for (;;) {
        uint32_t rung = axp__get_acquire(&tape->n_rung);
        uint32_t asked = axp__get_acquire(&tape->n_asked);
        if (!is_open && axp__get_acquire(&tape->state) == AXP__TAPE_OPEN) {
            is_open = true;
            if (!is_apart) tape->trace.pen.error = EPERM;
            take_pen(tape);
            note_errors(tape);
        }
        if (asked != tape->n_done && !answer(tape, asked)) return NULL;
        long ns = is_open ? look(tape, &last_ns, &idle_ns) : 0;
        axp__futex_wait(&tape->n_rung, rung, ns);
    }
}

void axp__drain_begin(struct axp__tape *tape)
{
    sigset_t all, before;
    if (tape->has_thread || tape->is_outside) return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    tape->has_thread =
        !pthread_create(&tape->thread, NULL, axp__process()->run_drain, tape);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* In a handler its signal is blocked, unless it asked for the contrary. */
static bool may_be_in_handler(void)
{
    sigset_t blocked;
    struct sigaction a;
    if (sigprocmask(SIG_BLOCK, NULL, &blocked)) return true;
    for (int sig = 1; sig < NSIG; sig++)
        if (!sigaction(sig, NULL, &a) && a.sa_handler != SIG_DFL &&
            a.sa_handler != SIG_IGN &&
            (a.sa_flags & SA_NODEFER || sigismember(&blocked, sig) == 1))
            return true;
    return false;
}

/* There where the program has the address sanitizer, whose allocator lets the
 * child of a fork inherit locks that nobody opens: and a new thread allocates. */
extern void __asan_init(void) __attribute__((weak));

void axp__drain_begin_in_child(struct axp__tape *tape)
{
    int keep = errno;
    /* The race detector has no threads in such a child. Nor have emulators:
     * qemu-user ends at the first. */
    if (!AXP__IS_TSAN && !__asan_init && !tape->is_outside &&
        axp__get(&tape->state) == AXP__TAPE_WANTED && !may_be_in_handler() &&
        axp__apart_is_possible())
        axp__drain_begin(tape);
    errno = keep;
}

/* ---- orders to it --------------------------------------------------------------------- */

void axp__drain_ring(struct axp__tape *tape)
{
    axp__add(&tape->n_rung, 1);
    axp__futex_wake(&tape->n_rung);
}

static void ask_nobody(struct axp__tape *tape)
{
    if (tape->order == AXP__ORDER_HOLD || tape->order == AXP__ORDER_NONE)
        return;
    if (!axp__apart(carry_out_apart, tape) && !tape->trace.pen.error) {
        tape->trace.pen.error = errno;
        note_errors(tape);
    }
}

void axp__drain_ask(struct axp__tape *tape, enum axp__tape_order order)
{
    tape->order = order;
    if (!tape->has_thread) {
        ask_nobody(tape);
    } else {
        uint32_t done, turn = tape->n_asked + 1;
        axp__put_release(&tape->n_asked, turn);
        axp__drain_ring(tape);
        while ((done = axp__get_acquire(&tape->n_done)) != turn)
            axp__futex_wait(&tape->n_done, done, 0);
    }
    if (tape->p) tell_errors(tape);
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
    axp__futex_wake(&tape->held_by);
}

void axp__drain_end(struct axp__tape *tape)
{
    if (!tape->has_thread) return;
    if (tape->order != AXP__ORDER_FINISH) axp__drain_ask(tape, AXP__ORDER_NONE);
    pthread_join(tape->thread, NULL);
    tape->has_thread = false;
}
