/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Scopes that end with their block.
 *
 * Place     behind AXP_SCOPE and its kin.
 * Hot       what is usual is done in line (record_hot.h), and for the global
 *           profiler without a saved register; what is not goes the general
 *           way.
 * Token     what a begin returns and its end brings back: 0 if the scope was
 *           not recorded.
 * Unwinding longjmp, and exceptions through C code, skip ends. They show when
 *           an outer scope ends (what is above it is closed as abandoned), or
 *           when a scope begins again in the same activation of its function
 *           while it is still open: same site, same stack pointer.
 * Fibers    a token that ends on another thread than it began on: its call
 *           is counted here and now, in no call tree, and the owner is told
 *           by mail to drop the frame.
 */
#include "record/record_scope.h"

#include <string.h>

#include "axprof/axprof_adapter.h"
#include "record/record_hot.h"
#include "record/record_named.h"
#include "record/record_shape.h"

#if defined(__GNUC__) && !defined(__clang__)
#define CALLER_STACK() ((uintptr_t)__builtin_dwarf_cfa())
#else
#define CALLER_STACK() ((uintptr_t)__builtin_frame_address(0))
#endif

/* ---- the general way --------------------------------------------------------- */

/* Writes the word of an end; returns when it is. */
static uint64_t put_end(struct axp__lane *lane, const struct axp__frame *f,
                        enum axp__word_kind kind, uint64_t now)
{
    now = axp__lane_room(lane, now, 1);
    if (now < f->begin_ticks) {
        axp__warn(lane->p, AXP__WARN_CLOCK_BACK, f->op->name);
        now = f->begin_ticks;
    }
    axp__lane_put(lane, kind, f->op->name, now);
    return now;
}

void axp__scope_close(struct axp__lane *lane, struct axp__frame *f,
                      enum axp__word_kind kind, uint64_t now)
{
    now = put_end(lane, f, kind, now);
    if (f == lane->tally.top)
        axp__tally_pop(&lane->tally, now);
    else
        axp__tally_remove(&lane->tally, f, now, true);
}

/* Closes scopes down to and including f, none of which saw its end. Those by
 * name overlap others as they like, and go on. Recorders before this one
 * abandoned those too: where the innermost that goes on is one of the same
 * name, a reader would take that for what an ABANDON means. */
static void abandon_to(struct axp__lane *lane, const struct axp__frame *f,
                       uint64_t now)
{
    struct axp__tally *t = &lane->tally;
    struct axp__frame *lowest = NULL, *innermost = NULL;
    for (struct axp__frame *g = t->top; g >= f; g--) {
        if (axp__frame_flags(g) & AXP__F_NAMED) {
            if (!innermost) innermost = g;
            continue;
        }
        bool is_like = innermost && innermost->op == g->op;
        axp__warn(lane->p, AXP__WARN_ABANDONED, g->op->name);
        uint64_t at =
            put_end(lane, g, is_like ? AXP__W_END : AXP__W_ABANDON, now);
        axp__tally_take_out(t, g, at, true);
        lowest = g;
    }
    if (lowest) axp__tally_close_gaps(t, lowest, now);
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
    if (anchor == UINTPTR_MAX) return NULL; /* it is in no function */
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
    struct axp__work w = {0};
    bool is_told = false;
    if (work) name = axp__work_name(lane, work, name, &w, &is_told);
    uint64_t now = axp__lane_room(lane, axp__clock_ticks(), 1);
    axp__lane_put(lane, AXP__W_BEGIN, name, now);
    struct axp__frame *f = axp__tally_push_label(
        t, AXP__LABEL(name) + AXP__DECLARES(axp__work_flags(&w)), now);
    axp__put(&f->anchor, anchor);
    axp__put(&f->site, site);
    axp__put(&f->token, lane == axp__tls->global ? axp__token_of(f, now)
                                                 : axp__token_in_lane(lane));
    if (is_told)
        axp__tally_add_work(t, f, &w);
    else if (work)
        axp__scope_add_work(lane, f, &w, now);
    return f->token;
}

struct site {
    uint32_t *label;
    const char *name, *place;
    enum axp__name_kind kind;
};

/* Gives a site its label. */
static uint32_t register_site(struct axp__lane *lane, const struct site *site)
{
    if (!*site->name) return axp__lane_name(lane, site->name);
    uint32_t id = axp__name_register_as(site->kind, site->name, site->place);
    if (id == AXP__NAME_OTHER)
        axp__warn(lane->p, AXP__WARN_NAMES_FULL, id); /* and try again */
    else
        axp__put(site->label, (uint32_t)AXP__LABEL(id));
    return id;
}

/* Whose scopes the hot way records: the global profiler's, but while
 * record_cost.c measures. */
static const axp_profiler *hot_profiler(void)
{
    const struct axp__lane *lane = axp__tls->global;
    return lane ? axp__get(&lane->handle) : axp_global();
}

static __attribute__((noinline)) uint64_t begin_slow(struct site site,
                                                     uintptr_t anchor,
                                                     const axp_work *work)
{
    struct axp__lane *lane = axp__enter(hot_profiler());
    if (!lane) return 0;
    uint32_t label = axp__get(site.label);
    uint32_t id = label ? AXP__LABEL_NAME(label) : register_site(lane, &site);
    uint64_t token = open_scope(lane, site.label, id, anchor, work);
    axp__leave(lane);
    return token;
}

static __attribute__((noinline)) uint64_t begin_text(uint32_t *site,
                                                     const char *text,
                                                     uintptr_t anchor,
                                                     const axp_work *work)
{
    struct site s = {site, text, text + strlen(text) + 1, AXP__KIND_PLAIN};
    return begin_slow(s, anchor, work);
}

/* Also where the site has a name already: it may be another function's, whose
 * library was closed. It has that one's until it has its own. */
uint64_t axp_function_begin(uint32_t *site, const char *text)
{
    struct site s = {site, text, text + strlen(text) + 1, AXP__KIND_FUNCTION};
    struct axp__lane *lane = axp__enter(hot_profiler());
    if (!lane) return 0;
    uint32_t id = register_site(lane, &s);
    uint64_t token = open_scope(lane, site, id, CALLER_STACK(), NULL);
    axp__leave(lane);
    return token;
}

/* ---- the hot way --------------------------------------------------------------- */

/* Reads the clock, and of the site what a begin needs. HOT */
static inline void start_at(const uint32_t *site, struct axp__own *own,
                            struct axp__hot_begin *b)
{
    if (AXP__HAS_HINTS) b->label = axp__get(site);
    b->now = axp__hot_start(own, true);
    if (!AXP__HAS_HINTS) b->label = axp__get(site);
    b->site = site;
}

/* Of no shape a label that is in no hash. HOT */
static inline void begin_shape(struct axp__thread *t, struct axp__hot_begin *b,
                               const uint32_t *dims)
{
    const struct axp__cached_shape *c =
        axp__shape_peek(t, AXP__LABEL_NAME(b->label), dims, b->work);
    b->label = c ? AXP__LABEL(c->name) : 0;
    b->is_told = c && c->has_work;
}

/* The token; 0: nothing was done. dims NULL: none. HOT */
static inline uint64_t begin_hot(const struct axp__own *own,
                                 struct axp__hot_begin b, const uint32_t *dims)
{
    struct axp__thread *t = own->thread;
    struct axp__frame *f = NULL, *parent = axp__hot_top(own);
    if (axp__unlikely(!parent)) return 0;
    struct axp__lane *lane = axp__hot_enter(own);
    if (dims) begin_shape(t, &b, dims);
    if (axp__likely(lane != NULL)) f = axp__hot_open(lane, parent, b);
    if (axp__unlikely(!f)) {
        axp__hot_leave(t, parent);
        return 0;
    }
    axp__hot_leave(t, f);
    return axp__token_of(f, b.now);
}

/* HOT */
uint64_t axp_begin_site(uint32_t *site, const char *text)
{
    struct axp__own own;
    struct axp__hot_begin b = {.anchor = CALLER_STACK()};
    start_at(site, &own, &b);
    uint64_t token = begin_hot(&own, b, NULL);
    if (axp__likely(token != 0)) return token;
    return begin_text(site, text, CALLER_STACK(), NULL);
}

/* HOT */
uint64_t axp__scope_begin_function(uint32_t *site, const char *name,
                                   const char *place)
{
    struct axp__own own;
    struct axp__hot_begin b = {.anchor = CALLER_STACK()};
    start_at(site, &own, &b);
    uint64_t token = begin_hot(&own, b, NULL);
    if (axp__likely(token != 0)) return token;
    struct site s = {site, name, place, AXP__KIND_PLAIN};
    return begin_slow(s, CALLER_STACK(), NULL);
}

/* In no function, so that nothing is found unwound. HOT */
uint64_t axp_place_begin(uint32_t *site, const char *text)
{
    struct axp__own own;
    struct axp__hot_begin b = {.anchor = UINTPTR_MAX};
    start_at(site, &own, &b);
    uint64_t token = begin_hot(&own, b, NULL);
    if (axp__likely(token != 0)) return token;
    struct site s = {site, text, text + strlen(text) + 1, AXP__KIND_FUNCTION};
    return begin_slow(s, UINTPTR_MAX, NULL);
}

static __attribute__((noinline)) uint64_t begin_flops(uint32_t *site,
                                                      const char *text,
                                                      uintptr_t anchor,
                                                      struct axp__work work)
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
    struct axp__work work = {flops, bytes, (uint32_t)dtype};
    struct axp__own own;
    struct axp__hot_begin b = {.anchor = CALLER_STACK(), .work = &work};
    start_at(site, &own, &b);
    uint64_t token = begin_hot(&own, b, NULL);
    if (axp__likely(token != 0)) return token;
    return begin_flops(site, text, CALLER_STACK(), work);
}

/* With dims: the usual way and then some. HOT */
uint64_t axp__scope_begin_work(uint32_t *site, const char *text,
                               const axp_work *given, size_t size)
{
    axp_work room;
    const axp_work *all = axp__work_of(given, size, &room);
    const uint32_t *dims = all->dims[0] ? all->dims : NULL;
    struct axp__work work = {all->flops, all->bytes, (uint32_t)all->dtype};
    struct axp__own own;
    struct axp__hot_begin b = {.anchor = CALLER_STACK(), .work = &work};
    start_at(site, &own, &b);
    uint64_t token = begin_hot(&own, b, dims);
    if (axp__likely(token != 0)) return token;
    return begin_text(site, text, CALLER_STACK(), all);
}

/* What the macros call, by the name that anybody may use. */
uint64_t axp_begin_site_work(uint32_t *site, const char *text,
                             const axp_work *work, size_t size)
    __attribute__((alias("axp__scope_begin_work")));

/* A call with a name is at the same place as another if that is the same too: in a
 * wrapper, a binding or a loop all are made from one. HOT */
static inline const void *site_of(const void *from, uint32_t name)
{
    _Static_assert(sizeof(uintptr_t) == 8, "there is room above an address");
    return (const void *)((uintptr_t)from ^ (uintptr_t)name << 44);
}

static __attribute__((noinline)) uint64_t begin_in_slow(axp_profiler *p,
                                                        const char *name,
                                                        const void *from,
                                                        uintptr_t anchor)
{
    struct axp__lane *lane = axp__enter(p);
    if (axp__unlikely(!lane)) return 0;
    uint32_t id = axp__lane_name(lane, name);
    uint64_t token = open_scope(lane, site_of(from, id), id, anchor, NULL);
    axp__leave(lane);
    return token;
}

/* HOT */
uint64_t axp_begin(axp_profiler *p, const char *name)
{
    struct axp__own own;
    const void *from = __builtin_return_address(0);
    struct axp__hot_begin b = {.now = axp__hot_start(&own, false),
                               .anchor = CALLER_STACK()};
    struct axp__thread *t = own.thread;
    struct axp__lane *lane = axp__hot_enter_any(&own, p);
    struct axp__frame *f = NULL;
    uint64_t token = 0;
    if (axp__likely(lane != NULL)) {
        uint32_t id = axp__thread_peek_name(t, name);
        b.label = AXP__LABEL(id);
        b.site = site_of(from, id);
        f = axp__hot_open(lane, lane->tally.top, b);
        if (axp__likely(f != NULL)) {
            if (lane != t->global)
                axp__put(&f->token, axp__token_in_lane(lane));
            token = f->token;
        }
        axp__hot_leave_any(t, lane);
        if (axp__likely(f != NULL)) return token;
    }
    return begin_in_slow(p, name, from, b.anchor);
}

static void end_slow(uint64_t token, uint64_t now);

/* A scope of another profiler: whose lane it is, says its token. HOT */
static __attribute__((noinline)) void end_in(uint64_t token, uint64_t now)
{
    struct axp__thread *t = axp__tls;
    struct axp__lane *lane = axp__lane_at(axp__token_lane(token));
    if (axp__likely(lane && !axp__thread_is_inside(t))) {
        struct axp__hot_end end = {.now = now, .token = token};
        axp__thread_enter(t);
        if (axp__likely(axp__get(&lane->owner) == t && axp__get(&lane->go))) {
            struct axp__frame *f = lane->tally.top;
            if (axp__likely(axp__hot_may_close(lane, f, &end))) {
                axp__hot_close(lane, f, &end);
                axp__thread_leave(t);
                return;
            }
        }
        axp__thread_leave(t);
    }
    end_slow(token, now);
}

/* For the slow ways in memory, so that the hot one has a register more: worth
 * 0.015 floors on x86-64, which has few. */
#if AXP__HAS_HINTS
#define KEPT volatile
#else
#define KEPT const
#endif

/* HOT */
void axp_end(uint64_t token)
{
    struct axp__own own;
    KEPT uint64_t kept = token;
    /* Of two equal values the compiler would take the one from memory. */
#if AXP__HAS_HINTS
    struct axp__frame *f = axp__token_frame(token), *same = f;
    __asm__ volatile("" : "+r"(f)); /* and that before the clock */
#endif
    struct axp__hot_end end = {.now = axp__hot_start(&own, false),
                               .token = token};
    struct axp__thread *t = own.thread;
#if !AXP__HAS_HINTS
    struct axp__frame *f = axp__token_frame(token), *same = f;
    __asm__("" : "+r"(f));
#endif
    if (axp__likely(axp__peek(&t->hot) == same)) {
        struct axp__lane *lane = axp__hot_enter(&own);
        if (axp__likely(lane && axp__hot_may_close(lane, f, &end))) {
            axp__hot_close(lane, f, &end);
            axp__hot_leave(t, f - 1);
            return;
        }
        axp__hot_leave(t, f);
    } else if (kept & AXP__TOKEN_LANE) {
        end_in(kept, end.now);
        return;
    }
    end_slow(kept, end.now);
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
    axp__scope_close(lane, f, AXP__W_END, now);
    return true;
}

/* An open scope of a lane that another thread owns: what it is and when it
 * began. */
struct foreign {
    struct axp__lane *lane;
    uint32_t name, row;
    uint64_t begin_ticks;
};

static bool peek_foreign(struct axp__lane *lane, uint64_t token,
                         struct foreign *out)
{
    struct axp__frame *frames, *f = axp__tally_look(&lane->tally, &frames);
    for (; f > frames; f--) {
        if (!axp__frame_is(f, token) || axp__frame_flags(f) & AXP__F_NAMED)
            continue;
        const struct axp__op *op = axp__get(&f->op);
        if (!op) return false; /* begun without telling this thread */
        out->lane = lane;
        out->name = op->name;
        out->row = axp__get(&lane->row);
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
    /* Meanwhile no lane becomes another thread's. */
    axp__thread_set_errand(mine->owner, AXP__SEARCHING, mine->p);
    bool is_posted =
        find_foreign(mine, token, &at) && axp__named_post(at.lane, token);
    axp__thread_set_errand(mine->owner, AXP__SEARCHING, NULL);
    if (!is_posted)
        return; /* reset, or closed as abandoned, or forked, since it began */
    axp__warn(mine->p, AXP__WARN_FOREIGN_END, at.name);
    axp__named_count_cross(mine, at.name, at.begin_ticks, at.row, now);
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
    now = axp__lane_until(lane, now);
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

static void check(struct axp__lane *lane, const axp_work *work, uint32_t name,
                  struct axp__work *out)
{
    struct axp__work w = {work->flops, work->bytes, (uint32_t)work->dtype};
    if (axp__unlikely(!(w.flops >= 0 && w.flops <= AXP__MAX_WORK &&
                        w.bytes >= 0 && w.bytes <= AXP__MAX_WORK &&
                        w.dtype <= AXP_C128)))
        correct(lane, &w, name);
    *out = w;
}

uint32_t axp__work_name(struct axp__lane *lane, const axp_work *work,
                        uint32_t name, struct axp__work *out, bool *is_told)
{
    check(lane, work, name, out);
    if (!work->dims[0]) return name;
    return axp__shape_name(lane, name, work->dims, out, is_told);
}

uint32_t axp__work_check(struct axp__lane *lane, const axp_work *work,
                         uint32_t name, struct axp__work *out)
{
    bool is_told;
    check(lane, work, name, out);
    if (!work->dims[0]) return name;
    return axp__shape_name(lane, name, work->dims, NULL, &is_told);
}

void axp__scope_set_dims(struct axp__lane *lane, uint32_t name,
                         const uint32_t dims[6], uint64_t now)
{
    uint64_t words[3];
    __builtin_memcpy(words, dims, sizeof words);
    axp__lane_put_ext(lane, AXP__X_DIMS, 0, name, now, words, 3);
    axp__tally_rename(&lane->tally, name);
}

void axp__scope_add_work(struct axp__lane *lane, struct axp__frame *f,
                         const struct axp__work *work, uint64_t now)
{
    now = axp__lane_room(lane, now, 3);
    uint64_t *at = lane->cur;
    if (lane->end - at >= 3) {
        axp__put(&at[3], 0);
        axp__put(&at[1], axp__bits_of(work->flops));
        axp__put(&at[2], axp__bits_of(work->bytes));
        axp__put_release(&at[0], axp__word(AXP__W_WORK, work->dtype,
                                           now - lane->base_ticks));
        axp__put(&lane->n_extra, lane->n_extra + 3);
        axp__put(&lane->cur, at + 3);
    }
    axp__tally_add_work(&lane->tally, f, work);
}
