/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Scopes that end with their block: the hot path.
 *
 * Place     behind AXP_SCOPE and its kin.
 * Hot       axp__scope_begin and axp__scope_end on the global profiler do the
 *           usual case and nothing else: every question is asked before the
 *           first change, and any unusual answer leads to the general way,
 *           which starts over. No call, no saved register. On a Neoverse V1 a
 *           clock read hides some 55 instructions after it and each further
 *           one costs 0.1 ns, so the work is spread over both reads: what a
 *           begin does, it does after its read, in the shadow that the
 *           scope's own time has anyway.
 * Token     what a begin returns and its end brings back: 0 if the scope was
 *           not recorded. The end of the innermost scope is one comparison.
 * Unwinding longjmp, and exceptions through C code, skip ends. They show when
 *           an outer scope ends (what is above it is closed as abandoned), or
 *           when a scope begins again in the same activation of its function
 *           while it is still open: same site, same stack pointer.
 * Fibers    a token that ends on another thread than it began on: its call
 *           is counted here and now, in no call tree, and the owner is told
 *           by mail to drop the frame.
 */
#include "record/record_scope.h"

#include "record/record_named.h"

#if defined(__GNUC__) && !defined(__clang__)
#define CALLER_STACK() ((uintptr_t)__builtin_dwarf_cfa())
#else
#define CALLER_STACK() ((uintptr_t)__builtin_frame_address(0))
#endif

/* ---- the general way --------------------------------------------------------- */

static __attribute__((noinline)) void put_dims(struct axp__lane *lane,
                                               struct axp__frame *f,
                                               const uint32_t dims[6],
                                               uint64_t now)
{
    uint64_t words[3];
    __builtin_memcpy(words, dims, sizeof words);
    axp__lane_put_ext(lane, AXP__X_DIMS, 0, f->op->name, now, words, 3);
    axp__tally_set_dims(f->op, dims);
}

void axp__scope_close(struct axp__lane *lane, enum axp__word_kind kind,
                      uint64_t now)
{
    struct axp__frame *f = lane->tally.top;
    now = axp__lane_room(lane, now, 1);
    if (now < f->begin_ticks) {
        axp__warn(lane->p, AXP__WARN_CLOCK_BACK, f->op->name);
        now = f->begin_ticks;
    }
    axp__lane_put(lane, kind, f->op->name, now);
    axp__tally_pop(&lane->tally, now);
}

/* Closes scopes down to and including f, none of which saw its end. */
static void abandon_to(struct axp__lane *lane, const struct axp__frame *f,
                       uint64_t now)
{
    while (lane->tally.top >= f) {
        axp__warn(lane->p, AXP__WARN_ABANDONED, lane->tally.top->op->name);
        axp__scope_close(lane, AXP__W_ABANDON, now);
    }
}

/* A scope that was moved, or begun by name, has none: nothing is unwound past
 * it. */
static uintptr_t anchor_of(const struct axp__frame *f)
{
    uint32_t none = AXP__F_MOVED | AXP__F_NAMED;
    return axp__frame_flags(f) & none ? UINTPTR_MAX : f->anchor;
}

/* Whether the scope that begins at this site is still open in the same
 * activation of its function, which then was left without its end. */
static struct axp__frame *find_unwound(struct axp__lane *lane, const void *site,
                                       uintptr_t anchor)
{
    struct axp__frame *f = lane->tally.top;
    for (; f > lane->tally.frames && anchor_of(f) <= anchor; f--)
        if (anchor_of(f) == anchor && f->site == site) return f;
    return NULL;
}

/* Opens a scope in the caller's lane, already entered. */
static uint64_t open_scope(struct axp__lane *lane, const void *site,
                           uint32_t name, uintptr_t anchor,
                           const axp_work *work)
{
    struct axp__tally *t = &lane->tally;
    struct axp__frame *left = find_unwound(lane, site, anchor);
    if (axp__unlikely(left != NULL)) abandon_to(lane, left, axp__clock_ticks());
    if (axp__unlikely(!axp__tally_has_room(t))) {
        axp__warn(lane->p, AXP__WARN_TOO_DEEP, name);
        return 0;
    }
    uint64_t now = axp__lane_room(lane, axp__clock_ticks(), 1);
    axp__lane_put(lane, AXP__W_BEGIN, name, now);
    struct axp__work w = {0};
    if (work) w = axp__work_check(lane, work, name);
    struct axp__frame *f =
        axp__tally_push_work(t, name, axp__work_flags(&w), now);
    axp__put(&f->anchor, anchor);
    axp__put(&f->site, site);
    axp__put(&f->token, lane == axp__tls->global ? axp__token_of(f, now)
                                                 : axp__token_in_lane(lane));
    if (work) axp__scope_add_work(lane, f, &w, now);
    return f->token;
}

/* Gives a site its label. */
static uint32_t register_site(struct axp__lane *lane, uint32_t *site,
                              const char *name, const char *place)
{
    if (!*name) return axp__lane_name(lane, name);
    uint32_t id = axp__name_register(name, place);
    if (id == AXP__NAME_OTHER)
        axp__warn(lane->p, AXP__WARN_NAMES_FULL, id); /* and try again */
    else
        axp__put(site, (uint32_t)AXP__LABEL(id));
    return id;
}

/* Whose scopes the hot way records: the global profiler's, but while
 * record_cost.c measures. */
static const axp_profiler *hot_profiler(void)
{
    const struct axp__lane *lane = axp__tls->global;
    if (!lane) return axp_global();
    return (const axp_profiler *)((char *)lane->p + lane->p->generation);
}

struct site {
    uint32_t *label;
    const char *name, *place;
};

static __attribute__((noinline)) uint64_t begin_slow(struct site site,
                                                     uintptr_t anchor,
                                                     const axp_work *work)
{
    struct axp__lane *lane = axp__enter(hot_profiler());
    if (!lane) return 0;
    uint32_t label = axp__get(site.label);
    uint32_t id = label
                      ? AXP__LABEL_NAME(label)
                      : register_site(lane, site.label, site.name, site.place);
    uint64_t token = open_scope(lane, site.label, id, anchor, work);
    axp__leave(lane);
    return token;
}

static __attribute__((noinline)) uint64_t begin_text(uint32_t *site,
                                                     const char *text,
                                                     uintptr_t anchor,
                                                     const axp_work *work)
{
    const char *place = text;
    while (*place)
        place++;
    return begin_slow((struct site){site, text, place + 1}, anchor, work);
}

uint64_t axp__scope_begin_in(axp_profiler *p, const char *name)
{
    struct axp__lane *lane = axp__enter(p);
    if (axp__unlikely(!lane)) return 0;
    uint64_t token =
        open_scope(lane, __builtin_return_address(0),
                   axp__lane_name(lane, name), CALLER_STACK(), NULL);
    axp__leave(lane);
    return token;
}

/* ---- the hot way --------------------------------------------------------------- */

/* The clock. On a Neoverse V1 a read has to wait for what is older and ready
 * to run, and as soon as the read before it is done, all that needs its value
 * is. Handed on twice, the value comes two cycles later, when the next read is
 * under way: 0.6 ns a scope. HOT */
static inline uint64_t read_clock(void)
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

/* The global profiler's lane of this thread, which is inside an event now;
 * NULL: the kernel wiped it away at a fork. Whether recording may go on
 * without a question shows in lim, which is to be read first. HOT */
static inline struct axp__lane *enter_hot(struct axp__thread *t)
{
    axp__put(&t->hot, NULL);
    axp__signal_fence();
#ifdef AXP__TSAN /* which sees what is read before lim, and then not used */
    if (t->global && !axp__get(&t->global->go)) return NULL;
#endif
    return t->global;
}

/* hot: the innermost scope, or what was found there if nothing was done. */
static inline void leave_hot(struct axp__thread *t, struct axp__frame *hot)
{
    axp__signal_fence();
#ifdef AXP__TSAN
    axp__put_release(&t->hot, hot);
#else
    axp__put(&t->hot, hot);
#endif
}

/* A chunk comes back cold: its lines are called for this far ahead. Without,
 * stores that miss the cache cost 0.5 ns a scope. */
#define PREFETCH_WORDS 64

/* A double's bits as a number: order of size for those that are not negative;
 * huge and negative ones, infinity and NaN lie above this exponent. */
#define HUGE_BITS ((uint64_t)0x7e0 << 52)
static inline uint64_t bits_of(double v)
{
    uint64_t bits;
    __builtin_memcpy(&bits, &v, 8);
    return bits;
}

/* Work of which nothing is said but FLOPs, bytes and type. */
struct hot_work {
    double flops, bytes;
    uint32_t dtype;
};

/* A scope that begins at a place in the code. */
struct hot_begin {
    uint32_t *site;
    uintptr_t anchor;
    uint64_t now;
    const struct hot_work *work; /* NULL: none */
    const uint32_t *dims;        /* NULL: none */
};

static inline bool is_usual(const struct hot_work *work)
{
    uint64_t flops = bits_of(work->flops), bytes = bits_of(work->bytes);
    return ((flops > bytes ? flops : bytes) < HUGE_BITS) &
           (work->dtype <= AXP_C128);
}

/* What the work says of where its scope counts. */
static inline uint64_t declares(const struct hot_work *work)
{
    return (bits_of(work->flops) ? AXP__DECLARES(AXP__F_FLOPS) : 0) +
           (bits_of(work->bytes) ? AXP__DECLARES(AXP__F_BYTES) : 0);
}

/* Adds a call's work to its node, which declares it. HOT */
static inline void add_work(struct axp__node *node, const struct hot_work *work)
{
    struct axp__node_extra *x = (struct axp__node_extra *)(void *)(node + 1);
    axp__put_f64(&x->flops, x->flops + work->flops);
    axp__put_f64(&x->bytes, x->bytes + work->bytes);
    if (axp__unlikely(work->dtype && work->dtype != x->dtype))
        axp__put(&x->dtype, work->dtype);
}

/* The words of a scope with work: the 0 and the payload before the heads. HOT
 */
static inline void write_work(struct axp__lane *lane, uint64_t *w,
                              uint64_t word, const struct hot_work *work)
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

/* NULL: nothing was done. HOT */
static inline struct axp__frame *open_hot(struct axp__thread *t,
                                          struct axp__frame *parent,
                                          struct hot_begin b)
{
    struct axp__lane *lane = enter_hot(t);
    if (axp__unlikely(!lane)) return NULL;
    uint64_t *w = lane->cur;
    /* First: a lane that was stopped may be cleared by another thread, and
     * nothing that it points to is there then. */
    if (axp__unlikely(w + (b.work ? 3 : 0) >= axp__get(&lane->lim)))
        return NULL;
    struct axp__frame *f = parent + 1;
    uint64_t delta = b.now - lane->base_ticks;
    uint64_t label = *b.site; /* 0: not registered, and in no hash */
    struct axp__entry *e = axp__tally_peek(
        &lane->tally, parent->path, label + (b.work ? declares(b.work) : 0));
    if (axp__unlikely(!e || (b.work && !is_usual(b.work)))) return NULL;
    if (axp__unlikely((f == lane->tally.limit) |
                      (delta >> AXP__TIME_BITS != 0)))
        return NULL;
    if (axp__unlikely(
            (b.anchor > parent->anchor) |
            ((b.anchor == parent->anchor) & (parent->site == b.site))))
        return NULL;
    _Static_assert(AXP__W_BEGIN == 1, "a label is the begin word's low bits");
    __builtin_prefetch(w + PREFETCH_WORDS, 1);
    axp__tally_open(f, e,
                    (struct axp__frame_init){
                        .now = b.now,
                        .anchor = b.anchor,
                        .site = b.site,
                        .token = axp__token_of(f, b.now),
                    });
    if (b.work) {
        add_work(e->record, b.work);
        write_work(lane, w, delta << AXP__TIME_SHIFT | label, b.work);
    } else {
        axp__lane_write(lane, w, delta << AXP__TIME_SHIFT | label);
    }
    axp__put(&lane->tally.top, f);
    if (b.dims) put_dims(lane, f, b.dims, b.now);
    return f;
}

/* The token; 0: nothing was done. HOT */
static inline uint64_t begin_hot(struct hot_begin b)
{
    struct axp__thread *t = axp__tls;
    struct axp__frame *parent = axp__get(&t->hot);
    if (axp__unlikely(!parent)) return 0;
    struct axp__frame *f = open_hot(t, parent, b);
    leave_hot(t, f ? f : parent);
    return axp__likely(f != NULL) ? axp__token_of(f, b.now) : 0;
}

/* HOT */
uint64_t axp__scope_begin(uint32_t *site, const char *text)
{
    uint64_t now = read_clock();
    uint64_t token =
        begin_hot((struct hot_begin){site, CALLER_STACK(), now, NULL, NULL});
    if (axp__likely(token != 0)) return token;
    return begin_text(site, text, CALLER_STACK(), NULL);
}

/* HOT */
uint64_t axp__scope_begin_function(uint32_t *site, const char *name,
                                   const char *place)
{
    uint64_t now = read_clock();
    uint64_t token =
        begin_hot((struct hot_begin){site, CALLER_STACK(), now, NULL, NULL});
    if (axp__likely(token != 0)) return token;
    return begin_slow((struct site){site, name, place}, CALLER_STACK(), NULL);
}

static __attribute__((noinline)) uint64_t begin_flops(uint32_t *site,
                                                      const char *text,
                                                      uintptr_t anchor,
                                                      struct hot_work work)
{
    axp_work all = {.flops = work.flops,
                    .bytes = work.bytes,
                    .dtype = (axp_dtype)work.dtype};
    return begin_text(site, text, anchor, &all);
}

/* HOT */
uint64_t axp__scope_begin_flops(uint32_t *site, const char *text, double flops,
                                double bytes, axp_dtype dtype)
{
    uint64_t now = read_clock();
    struct hot_work work = {flops, bytes, (uint32_t)dtype};
    uint64_t token =
        begin_hot((struct hot_begin){site, CALLER_STACK(), now, &work, NULL});
    if (axp__likely(token != 0)) return token;
    return begin_flops(site, text, CALLER_STACK(), work);
}

/* With dims: the usual way and then some. HOT */
uint64_t axp__scope_begin_work(uint32_t *site, const char *text,
                               const axp_work *work)
{
    uint64_t now = read_clock();
    struct hot_work hot = {work->flops, work->bytes, (uint32_t)work->dtype};
    uint64_t token = begin_hot(
        (struct hot_begin){site, CALLER_STACK(), now, &hot, work->dims});
    if (axp__likely(token != 0)) return token;
    return begin_text(site, text, CALLER_STACK(), work);
}

enum closed { CLOSED, NOT_HERE, NOT_USUAL };

/* HOT. But for CLOSED, nothing was done. */
static inline enum closed close_hot(struct axp__lane *lane,
                                    struct axp__frame *f, uint64_t token,
                                    uint64_t now)
{
    uint64_t *w = lane->cur;
    if (axp__unlikely(w >= axp__get(&lane->lim))) return NOT_HERE; /* first */
    uint64_t delta = now - lane->base_ticks;
    uint64_t label = f->op->end_label;
    if (axp__unlikely((f->token != token) | (delta >> AXP__TIME_BITS != 0)))
        return NOT_HERE;
    if (axp__unlikely(!axp__tally_pop_fast(f, now))) return NOT_USUAL;
    axp__lane_write(lane, w, delta << AXP__TIME_SHIFT | label);
    axp__put(&lane->last_ticks, now);
    axp__put(&lane->tally.top, f - 1);
    return CLOSED;
}

/* A new extreme, a new page of the histogram: the innermost scope, in a lane
 * that is entered already and has room for its word. */
static __attribute__((noinline)) void end_warm(struct axp__thread *t,
                                               uint64_t now)
{
    struct axp__lane *lane = t->global;
    axp__scope_close(lane, AXP__W_END, now);
    leave_hot(t, lane->tally.top);
}

static void end_slow(uint64_t token, uint64_t now);

/* HOT */
void axp__scope_end(uint64_t token)
{
    uint64_t now = read_clock();
    struct axp__thread *t = axp__tls;
    struct axp__frame *f = axp__token_frame(token), *same = f;
    /* Of two equal values the compiler would take the one from memory. */
    __asm__("" : "+r"(f));
    if (axp__likely(axp__get(&t->hot) == same)) {
        struct axp__lane *lane = enter_hot(t);
        enum closed how = NOT_HERE;
        if (axp__likely(lane != NULL)) how = close_hot(lane, f, token, now);
        if (axp__unlikely(how == NOT_USUAL)) {
            end_warm(t, now);
            return;
        }
        leave_hot(t, how == CLOSED ? f - 1 : f);
        if (axp__likely(how == CLOSED)) return;
    }
    end_slow(token, now);
}

/* ---- ends -------------------------------------------------------------------- */

/* The open scope with that token, NULL: none. */
static struct axp__frame *find_token(struct axp__lane *lane, uint64_t token)
{
    struct axp__frame *f = lane->tally.top;
    for (; f > lane->tally.frames; f--)
        if (axp__frame_is(f, token)) return f;
    return NULL;
}

/* In the lane of the calling thread, entered. False: not one of its scopes. */
static bool end_own(struct axp__lane *lane, uint64_t token, uint64_t now)
{
    struct axp__frame *f = find_token(lane, token);
    if (!f) return false;
    if (f < lane->tally.top) abandon_to(lane, f + 1, now);
    axp__scope_close(lane, AXP__W_END, now);
    return true;
}

/* An open scope of a lane that another thread owns: what it is and when it
 * began. */
struct foreign {
    struct axp__lane *lane;
    uint32_t name;
    uint64_t begin_ticks;
};

static bool peek_foreign(struct axp__lane *lane, uint64_t token,
                         struct foreign *out)
{
    struct axp__frame *frames = axp__get_acquire(&lane->tally.frames);
    struct axp__frame *f = axp__get_acquire(&lane->tally.top);
    for (; f > frames; f--) {
        if (!axp__frame_is(f, token) || axp__frame_flags(f) & AXP__F_NAMED)
            continue;
        const struct axp__op *op = axp__get(&f->op);
        if (!op) return false; /* begun without telling this thread */
        out->lane = lane;
        out->name = op->name;
        out->begin_ticks = axp__get(&f->begin_ticks);
        return true;
    }
    return false;
}

/* The one lane elsewhere in which the scope is open; false: none, or, where
 * the clock is coarse, more than one. */
static bool find_foreign(struct axp__lane *mine, uint64_t token,
                         struct foreign *out)
{
    unsigned n = 0;
    struct axp__lane *lane = axp__get_acquire(&mine->p->lanes);
    for (; lane; lane = axp__get(&lane->next))
        if (lane != mine && axp__lane_is_readable(lane) &&
            lane->epoch == mine->epoch)
            n += peek_foreign(lane, token, out);
    return n == 1;
}

static void end_foreign(struct axp__lane *mine, uint64_t token, uint64_t now)
{
    struct foreign at;
    if (!find_foreign(mine, token, &at) || !axp__named_post(at.lane, token))
        return; /* reset, or closed as abandoned, or forked, since it began */
    axp__warn(mine->p, AXP__WARN_FOREIGN_END, at.name);
    axp__named_count_cross(mine, at.name, at.begin_ticks, at.lane->row, now);
}

/* The profiler that a token belongs to; NULL: it is gone. */
static const axp_profiler *profiler_of(uint64_t token)
{
    if (!(token & AXP__TOKEN_LANE)) return hot_profiler();
    struct axp__lane *lane = axp__lane_at(axp__token_lane(token));
    struct axp__prof *p = lane ? axp__get(&lane->p) : NULL;
    if (!p || !axp__get(&p->generation)) return NULL;
    return (const axp_profiler *)((char *)p + axp__get(&p->generation));
}

/* Any end that the hot way leaves. */
static __attribute__((noinline)) void end_slow(uint64_t token, uint64_t now)
{
    if (!axp__clock_is_raw()) now = axp__clock_ticks();
    struct axp__lane *lane =
        axp__enter_as(profiler_of(token), AXP__ENTER_DISABLED);
    if (!lane) return;
    if (!end_own(lane, token, now)) end_foreign(lane, token, now);
    axp__leave(lane);
}

/* ---- work ---------------------------------------------------------------------- */

/* What counts of declared work: nothing that cannot be. */
static __attribute__((noinline)) void correct(struct axp__lane *lane,
                                              struct axp__work *w,
                                              uint32_t name)
{
    if (!(w->flops >= 0 && w->flops <= AXP__MAX_WORK)) {
        axp__warn(lane->p, AXP__WARN_BAD_WORK, name);
        w->flops = 0;
    }
    if (!(w->bytes >= 0 && w->bytes <= AXP__MAX_WORK)) {
        axp__warn(lane->p, AXP__WARN_BAD_WORK, name);
        w->bytes = 0;
    }
    if (w->dtype > AXP_C128) {
        axp__warn(lane->p, AXP__WARN_BAD_ENUM, name);
        w->dtype = AXP_DTYPE_UNKNOWN;
    }
}

struct axp__work axp__work_check(struct axp__lane *lane, const axp_work *work,
                                 uint32_t name)
{
    struct axp__work w = {work->flops, work->bytes, (uint32_t)work->dtype,
                          work->dims};
    if (axp__unlikely(!(w.flops >= 0 && w.flops <= AXP__MAX_WORK &&
                        w.bytes >= 0 && w.bytes <= AXP__MAX_WORK &&
                        w.dtype <= AXP_C128)))
        correct(lane, &w, name);
    return w;
}

void axp__scope_add_work(struct axp__lane *lane, struct axp__frame *f,
                         const struct axp__work *work, uint64_t now)
{
    now = axp__lane_room(lane, now, 3);
    uint64_t *at = lane->cur;
    if (lane->end - at >= 3) {
        axp__put(&at[3], 0);
        __builtin_memcpy(&at[1], &work->flops, 8);
        __builtin_memcpy(&at[2], &work->bytes, 8);
        axp__put_release(&at[0], axp__word(AXP__W_WORK, work->dtype,
                                           now - lane->base_ticks));
        axp__put(&lane->n_extra, lane->n_extra + 3);
        axp__put(&lane->cur, at + 3);
    }
    if (work->dims && work->dims[0]) put_dims(lane, f, work->dims, now);
    axp__tally_add_work(&lane->tally, f, work);
}
