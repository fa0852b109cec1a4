/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The hot path: what a usual scope does, in line and nothing else.
 *
 * Place   behind scopes by token (record_scope.c) and by name
 *         (record_named.c), in the global profiler and in others.
 * Rules   every question is asked before the first change, and any unusual
 *         answer leads to the general way, which starts over. No call.
 * Cost    measured on a Neoverse V1, where two clock reads take 13.35 ns and
 *         hide what a scope does as long as three things are kept small:
 *         - loads that wait for each other: the thread points at the innermost
 *           frame, a frame knows where its children are, and a token is its
 *           frame's address. On x86-64 virtual machines, where a clock read
 *           hides little, this is most of what a scope costs.
 *         - blocks of 32 bytes that are stored to: stores to one block leave
 *           the core together if they follow each other, and each further
 *           block takes 0.6 ns. So what changes together lies together and is
 *           written in a row.
 *         - what stands in the way of the next read: see axp__hot_clock.
 *         On x86-64 (an Emerald Rapids virtual machine) rdtsc hides nothing:
 *         it begins when all before it is done, and nothing after it begins
 *         before it is. Between two reads a scope takes what its instructions
 *         take at six a cycle, or its longest chain of loads less some 16
 *         cycles, whichever is more: 128 no-ops cost 0.24 floors, each load
 *         that waits for another 0.05. So
 *         - what needs no time is loaded before the read: it runs beside what
 *           is left of the call before (axp__hot_start).
 *         - where to look is a hint that is compared, and not the end of a
 *           chain (struct axp__own).
 *         - the longest chain is begun first: a begin's entry in the hash, an
 *           end's bucket. The rest of the questions run beside it.
 */
#ifndef AXP_RECORD_HOT_H
#define AXP_RECORD_HOT_H
#include "record/record_lane.h"

/* The clock. On a Neoverse V1 a read has to wait for what is older and ready
 * to run, and as soon as the read before it is done, all that needs its value
 * is. Handed on twice, the value comes two cycles later, when the next read is
 * under way: 0.6 ns a scope. HOT */
static inline uint64_t axp__hot_clock(void)
{
#if defined(__aarch64__)
    uint64_t now;
    __asm__ volatile("mrs %0, cntvct_el0\n\t"
                     "eor %0, %0, xzr\n\t"
                     "eor %0, %0, xzr"
                     : "=r"(now));
    return now;
#else
    return axp__clock_raw();
#endif
}

/* Where the calling thread's things are: loaded here, and not later. HOT */
static inline void axp__hot_own(struct axp__own *own, bool is_begin)
{
    own->thread = axp__tls;
#if AXP__HAS_HINTS
    own->global = axp__get(&axp__own.global);
    __asm__ volatile("" : "+r"(own->thread), "+r"(own->global));
    if (!is_begin) return;
    own->hot = axp__get(&axp__own.hot);
    __asm__ volatile("" : "+r"(own->hot));
#else
    (void)is_begin;
#endif
}

/* The same and the clock. A read of it on x86-64 begins when all before it is
 * done and lets nothing after it begin, so what is loaded before runs beside
 * what is left of the call before. HOT */
static inline uint64_t axp__hot_start(struct axp__own *own, bool is_begin)
{
    if (AXP__HAS_HINTS) axp__hot_own(own, is_begin);
    uint64_t now = axp__hot_clock();
    if (!AXP__HAS_HINTS) axp__hot_own(own, is_begin);
    return now;
}

/* ---- inside ------------------------------------------------------------------ */

/* Sets a hint at the thread's global lane right, where it is not: another copy
 * of the library may have given it the lane. False: it was right. */
static inline bool axp__hot_learn(struct axp__thread *t, struct axp__lane *hint)
{
    struct axp__lane *lane = axp__get(&t->global);
    if (!lane || lane == hint) return false;
    axp__put(&axp__own.global, lane);
    return true;
}

/* The global profiler's lane of this thread, which is inside an event now;
 * NULL: the kernel wiped it away at a fork. Whether recording may go on
 * without a question shows in lim, which is to be read first. HOT */
static inline struct axp__lane *axp__hot_enter(const struct axp__own *own)
{
    struct axp__thread *t = own->thread;
#ifdef AXP__TSAN
    struct axp__frame *hot = axp__get(&t->hot);
#endif
    axp__put(&t->hot, NULL);
    axp__signal_fence();
#ifdef AXP__TSAN /* which sees what is read before lim, and then not used */
    if (t->global && !axp__get(&t->global->go)) {
        axp__put(&t->hot, hot);
        return NULL;
    }
#endif
#if AXP__HAS_HINTS
    struct axp__lane *lane = own->global;
    if (axp__unlikely(axp__peek(&t->global) != lane)) {
        axp__hot_learn(t, lane);
        return NULL;
    }
    if (!lane) __builtin_unreachable(); /* hints are never NULL */
    return lane;
#else
    return t->global;
#endif
}

/* The innermost open scope of the global lane; NULL: inside an event. HOT */
static inline struct axp__frame *axp__hot_top(const struct axp__own *own)
{
#if AXP__HAS_HINTS
    struct axp__frame *f = own->hot, *same = f;
    /* Of two equal values the compiler would take the one from memory. */
    __asm__("" : "+r"(f));
    if (axp__likely(axp__peek(&own->thread->hot) == same)) {
        if (!f) __builtin_unreachable();
        return f;
    }
#endif
    return axp__get(&own->thread->hot);
}

/* hot: the innermost scope, or what was found there if nothing was done. */
static inline void axp__hot_leave(struct axp__thread *t, struct axp__frame *hot)
{
    axp__signal_fence();
#ifdef AXP__TSAN
    axp__put_release(&t->hot, hot);
#else
    if (AXP__HAS_HINTS) axp__put(&axp__own.hot, hot);
    axp__put(&t->hot, hot);
#endif
}

/* The same for a call that names its profiler: the thread's lane there, marked
 * as inside; NULL: ask axp__enter_slow. Left by axp__hot_leave_any. HOT */
static inline struct axp__lane *axp__hot_enter_any(const struct axp__own *own,
                                                   const axp_profiler *handle)
{
    struct axp__thread *t = own->thread;
    struct axp__lane *lane = AXP__HAS_HINTS ? own->global : t->global;
    if (axp__unlikely(!lane || axp__get(&lane->handle) != handle)) {
        /* The global lane is left by hot alone: not to be entered by busy. */
        if (AXP__HAS_HINTS && axp__hot_learn(t, lane)) return NULL;
        return axp__enter_quick(t, handle);
    }
    if (axp__unlikely(!axp__get(&t->hot))) return NULL;
    return axp__hot_enter(own);
}

static inline void axp__hot_leave_any(struct axp__thread *t,
                                      struct axp__lane *lane)
{
    if (axp__likely(lane == t->global))
        axp__hot_leave(t, lane->tally.top);
    else
        axp__thread_leave(t);
}

/* ---- work -------------------------------------------------------------------- */

/* A double's bits as a number: order of size for those that are not negative;
 * huge and negative ones, infinity and NaN lie above this exponent. */
#define AXP__HUGE_BITS ((uint64_t)0x7e0 << 52)
static inline uint64_t axp__bits_of(double v)
{
    uint64_t bits;
    __builtin_memcpy(&bits, &v, 8);
    return bits;
}

static inline bool axp__hot_work_is_usual(const struct axp__work *work)
{
    uint64_t flops = axp__bits_of(work->flops);
    uint64_t bytes = axp__bits_of(work->bytes);
    return ((flops > bytes ? flops : bytes) < AXP__HUGE_BITS) &
           (work->dtype <= AXP_C128);
}

/* What the work says of where its scope counts. */
static inline uint64_t axp__hot_declares(const struct axp__work *work)
{
    if (!work) return 0;
    return (axp__bits_of(work->flops) ? AXP__DECLARES(AXP__F_FLOPS) : 0) +
           (axp__bits_of(work->bytes) ? AXP__DECLARES(AXP__F_BYTES) : 0);
}

/* Adds a call's work to its node, which declares it. HOT */
static inline void axp__hot_add_work(struct axp__node *node,
                                     const struct axp__work *work)
{
    struct axp__node_extra *x = (struct axp__node_extra *)(void *)(node + 1);
    axp__put_f64(&x->flops, x->flops + work->flops);
    axp__put_f64(&x->bytes, x->bytes + work->bytes);
    if (axp__unlikely(work->dtype && work->dtype != x->dtype))
        axp__put(&x->dtype, work->dtype);
}

/* The words of a scope with work: the 0 and the payload before the heads. HOT
 */
static inline void axp__hot_write_work(struct axp__lane *lane, uint64_t *w,
                                       uint64_t word,
                                       const struct axp__work *work)
{
    uint64_t time = word >> AXP__TIME_SHIFT << AXP__TIME_SHIFT;
    axp__put(&w[4], 0);
    axp__put_f64((double *)(void *)&w[2], work->flops);
    axp__put_f64((double *)(void *)&w[3], work->bytes);
    axp__put(&w[1], time | axp__word(AXP__W_WORK, work->dtype, 0));
    axp__put(&w[0], word);
    axp__put(&lane->n_extra, lane->n_extra + 3);
    axp__put(&lane->cur, w + 4);
}

/* ---- begin and end ------------------------------------------------------------- */

/* Whether the innermost scope that was found before the lane was entered is that
 * still: a signal's handler that came in between has ended what it began, but may
 * have gone so deep that all frames were moved. HOT */
static inline bool axp__hot_is_top(const struct axp__lane *lane,
                                   const struct axp__frame *f)
{
    return axp__peek(&lane->tally.top) == f;
}

/* A chunk comes back cold: its lines are called for this far ahead. Without,
 * stores that miss the cache cost 0.5 ns a scope. */
#define AXP__PREFETCH_WORDS 64

struct axp__hot_begin {
    uint64_t now;
    uint64_t label; /* of its name; 0: not registered, and in no hash */
    uintptr_t anchor;
    const void *site;             /* or the slot of a scope by name */
    const struct axp__work *work; /* NULL: none */
    bool is_told;                 /* the name has it */
    bool is_named;
};

/* Opens a scope within the innermost one, with the token of the global
 * profiler. NULL: nothing was done. HOT */
static inline struct axp__frame *axp__hot_open(struct axp__lane *lane,
                                               struct axp__frame *parent,
                                               struct axp__hot_begin b)
{
    uint64_t *w = lane->cur;
    /* First: a lane that was stopped may be cleared by another thread, and
     * nothing that it points to is there then. */
    bool tells = b.work && !b.is_told;
    if (axp__unlikely(w + (tells ? 3 : 0) >= axp__peek(&lane->lim)))
        return NULL;
    if (axp__unlikely(!axp__hot_is_top(lane, parent))) return NULL;
    _Static_assert(AXP__W_BEGIN == 1, "a label is the begin word's low bits");
    struct axp__entry *e = axp__tally_peek(&lane->tally, parent->path,
                                           b.label + axp__hot_declares(b.work));
    if (axp__unlikely(!e || (b.work && !axp__hot_work_is_usual(b.work))))
        return NULL;
    uint64_t kind = b.is_named ? AXP__W_START - AXP__W_BEGIN : 0;
    uint64_t delta = b.now - lane->base_ticks;
    uint64_t word = delta << AXP__TIME_SHIFT | (b.label + kind);
    if (axp__unlikely(delta >> AXP__TIME_BITS != 0)) return NULL;
    struct axp__frame *f = parent + 1;
    if (axp__unlikely(f == lane->tally.limit)) return NULL;
    if (!b.is_named && b.anchor >= parent->anchor &&
        axp__unlikely((b.anchor > parent->anchor) | (parent->site == b.site)))
        return NULL;
    __builtin_prefetch(w + AXP__PREFETCH_WORDS, 1);
    axp__tally_open(f, e,
                    (struct axp__frame_init){
                        .now = b.now,
                        .flags = b.is_named ? AXP__F_NAMED : 0,
                        .anchor = b.anchor,
                        .site = b.site,
                        .token = b.is_named ? 0 : axp__token_of(f, b.now),
                    });
    if (b.work) axp__hot_add_work(e->record, b.work);
    if (tells)
        axp__hot_write_work(lane, w, word, b.work);
    else
        axp__lane_write(lane, w, word);
    axp__put(&lane->tally.top, f);
    return f;
}

struct axp__hot_end {
    uint64_t now, token;
    bool is_named;
    uint64_t *w; /* from here on what axp__hot_may_close found */
    uint64_t word;
    struct axp__ending ending;
};

static inline bool axp__hot_may_count(const struct axp__frame *f,
                                      struct axp__hot_end *end)
{
    return axp__tally_may_end(f, end->now, end->is_named ? AXP__F_NAMED : 0,
                              &end->ending);
}

/* Whether the innermost scope is the one and ends as usual. Nothing is
 * changed. HOT */
static inline bool axp__hot_may_close(const struct axp__lane *lane,
                                      const struct axp__frame *f,
                                      struct axp__hot_end *end)
{
    uint64_t *w = lane->cur;
    if (axp__unlikely(w >= axp__peek(&lane->lim))) return false; /* first */
    if (axp__unlikely(!axp__hot_is_top(lane, f))) return false;
    if (AXP__HAS_HINTS && axp__unlikely(!axp__hot_may_count(f, end)))
        return false;
    if (axp__unlikely(f->token != end->token)) return false;
    uint64_t delta = end->now - lane->base_ticks;
    uint64_t kind = end->is_named ? AXP__W_STOP - AXP__W_END : 0;
    end->w = w;
    end->word = delta << AXP__TIME_SHIFT | (f->op->end_label + kind);
    if (axp__unlikely(delta >> AXP__TIME_BITS != 0)) return false;
    return AXP__HAS_HINTS || axp__hot_may_count(f, end);
}

/* It is not open any more before it is counted: a process that dies in
 * between has not counted it twice. HOT */
static inline void axp__hot_close(struct axp__lane *lane, struct axp__frame *f,
                                  const struct axp__hot_end *end)
{
    axp__lane_write(lane, end->w, end->word);
    axp__put(&lane->last_ticks, end->now);
    axp__put(&lane->tally.top, f - 1);
    axp__tally_end(f, &end->ending);
}

#endif
