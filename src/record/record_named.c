/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axp_start and axp_stop: scopes by name, nested, overlapping, and across
 * threads.
 *
 * Each open named scope has, beside its frame, a slot that others can claim
 * by compare-and-swap: state holds a serial number, so a claim can only hit
 * the very start it saw. A stop takes its own thread's newest; else the
 * oldest elsewhere, whose call it counts in its own lane, in no call tree.
 * The owner drops the frame at its next event (settle): its children move up.
 *
 * Threads  slots are made by the owner and claimed by anyone. While a thread
 *          looks for one in others' lanes, nothing there is given back
 *          (AXP__SEARCHING).
 * Failure  a start without memory is not recorded, and counted.
 */
#include "record/record_named.h"

#include "axprof/axprof_adapter.h"
#include "os/os_map.h"
#include "record/record_hot.h"
#include "record/record_scope.h"

static struct axp__named *slot_of(const struct axp__frame *f)
{
    return (struct axp__named *)(uintptr_t)axp__get(&f->site);
}

/* ---- slots ------------------------------------------------------------------- */

static bool add_slots(struct axp__lane *lane)
{
    struct axp__named_page *page = NULL;
    if (lane->n_named <= AXP__SURE_DEPTH)
        axp__budget_force(&lane->p->budget, sizeof *page);
    else if (!axp__budget_take(&lane->p->budget, sizeof *page))
        return false;
    page = axp__map(sizeof *page);
    if (!page) {
        axp__budget_give(&lane->p->budget, sizeof *page);
        return false;
    }
    for (unsigned i = 0; i < AXP__NAMED_PAGE; i++) {
        page->slot[i].next_free = lane->free_named;
        lane->free_named = &page->slot[i];
    }
    page->next = lane->named_pages;
    axp__put_release(&lane->named_pages, page);
    return true;
}

static void free_slot(struct axp__lane *lane, struct axp__named *slot)
{
    axp__put(&slot->state, 0);
    slot->next_free = lane->free_named;
    lane->free_named = slot;
    axp__put(&lane->n_named, lane->n_named - 1);
}

/* ---- what other threads ended --------------------------------------------------- */

/* Leaves a gap: see axp__tally_take_out. */
static uint64_t take_out(struct axp__lane *lane, struct axp__frame *f,
                         uint64_t now)
{
    uint32_t name = f->op->name;
    uint64_t begin_ticks = f->begin_ticks;
    if (axp__get(&lane->state) == AXP__LANE_ACTIVE) {
        now = axp__lane_room(lane, now, 3);
        axp__lane_put_ext(lane, AXP__X_DROP, 0, name, now, &begin_ticks, 1);
    }
    axp__tally_take_out(&lane->tally, f, now, false);
    return now;
}

static void drop_frame(struct axp__lane *lane, struct axp__frame *f,
                       uint64_t now)
{
    now = take_out(lane, f, now);
    axp__tally_close_gaps(&lane->tally, f, now);
}

static void take_mail(struct axp__lane *lane, uint64_t now)
{
    for (unsigned i = 0; i < AXP__MAIL_SLOTS; i++) {
        uint64_t token = axp__get_acquire(&lane->mail[i]);
        struct axp__frame *f = lane->tally.top;
        if (!token) continue;
        for (; f > lane->tally.frames; f--)
            if (axp__frame_is(f, token)) {
                drop_frame(lane, f, now);
                break;
            }
        axp__put(&lane->mail[i], 0);
    }
}

void axp__named_settle(struct axp__lane *lane)
{
    uint64_t now = axp__lane_until(lane, axp__clock_ticks());
    if (!__atomic_exchange_n(&lane->has_mail, 0, __ATOMIC_ACQ_REL)) return;
    take_mail(lane, now);
    struct axp__frame *lowest = NULL;
    for (struct axp__frame *f = lane->tally.top; f > lane->tally.frames; f--) {
        struct axp__named *slot = slot_of(f);
        if (!(axp__frame_flags(f) & AXP__F_NAMED) || axp__get(&slot->state) & 1)
            continue;
        (void)take_out(lane, f, now);
        free_slot(lane, slot);
        lowest = f;
    }
    if (lowest) axp__tally_close_gaps(&lane->tally, lowest, now);
}

static void ring(struct axp__lane *lane)
{
    axp__put(&lane->has_mail, 1);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* pairs with admit's */
    axp__lane_stop(lane);
}

bool axp__named_post(struct axp__lane *lane, uint64_t token)
{
    for (unsigned i = 0; i < AXP__MAIL_SLOTS; i++) {
        uint64_t none = 0;
        if (axp__get(&lane->mail[i]) == token) return false;
        if (!axp__cas(&lane->mail[i], &none, token)) {
            if (none == token) return false;
            continue;
        }
        ring(lane);
        return true;
    }
    return false;
}

bool axp__named_is_claimed(const struct axp__lane *lane,
                           const struct axp__frame *f)
{
    if (!axp__get(&lane->has_mail)) return false;
    if (axp__frame_flags(f) & AXP__F_NAMED)
        return !(axp__get(&slot_of(f)->state) & 1);
    for (unsigned i = 0; i < AXP__MAIL_SLOTS; i++)
        if (axp__frame_is(f, axp__get(&lane->mail[i]))) return true;
    return false;
}

/* What both begin with. */
struct by_name {
    struct axp__thread *thread;
    struct axp__lane *lane; /* entered; NULL: not */
    uint32_t id;            /* of the name; 0: not cached */
    uint64_t now;
};

/* is_short: the name is. A long one is compared by a call, which the way of the
 * others has to do without: it took 3 ns of a start and stop.
 *
 * The clock is read first, but last where that hides the search (see
 * axp__hot_start); inside, since a handler's names may take this one's place
 * in the cache. HOT */
static inline struct by_name enter_by_name(axp_profiler *p, const char *name,
                                           bool is_short)
{
    struct axp__own own;
    struct by_name by = {.id = 0};
    if (!AXP__HAS_HINTS) by.now = axp__hot_clock();
    axp__hot_own(&own, false);
    by.thread = own.thread;
    by.lane = axp__hot_enter_any(&own, p);
    if (axp__likely(by.lane != NULL))
        by.id = is_short ? axp__thread_peek_name(by.thread, name)
                         : axp__thread_find_name(by.thread, name);
    if (AXP__HAS_HINTS) {
        __asm__ volatile("" : "+r"(by.id)); /* before, and not after */
        by.now = axp__hot_clock();
    }
    return by;
}

/* ---- start --------------------------------------------------------------------- */

/* Statistics count scopes, however they began: what those by name take more
 * than others is told now and then. */
static __attribute__((noinline)) void tell_cost(axp_profiler *p)
{
    axp__count_cost(p, "axprof.by_name_ns",
                    AXP__TOLD_AT_ONCE * axp__own_cost_by_name());
}

static struct axp__named *take_slot(struct axp__lane *lane, uint32_t id,
                                    uint64_t now)
{
    struct axp__named *slot = lane->free_named;
    lane->free_named = slot->next_free;
    axp__put(&lane->n_named, lane->n_named + 1);
    lane->n_started++;
    uint64_t state = ++lane->serial << 1 | 1;
    axp__put_release(&slot->name, id); /* pairs with consider: after a state */
    axp__put(&slot->begin_ticks, now);
    axp__put_release(&slot->state, state); /* pairs with claim */
    return slot;
}

static __attribute__((noinline)) uint32_t start_slow(axp_profiler *p,
                                                     const char *name,
                                                     const axp_work *work)
{
    struct axp__lane *lane = axp__enter(p);
    if (!lane) return 0;
    uint32_t id = axp__lane_name(lane, name);
    if (axp__unlikely(!axp__tally_has_room(&lane->tally) ||
                      (!lane->free_named && !add_slots(lane)))) {
        axp__warn(lane->p, AXP__WARN_TOO_DEEP, id);
        axp__leave(lane);
        return 0;
    }
    struct axp__work w = {0};
    uint32_t as = work ? axp__work_check(lane, work, id, &w) : id;
    uint64_t now = axp__lane_room(lane, axp__clock_ticks(), 1);
    struct axp__named *slot = take_slot(lane, id, now);
    axp__lane_put(lane, AXP__W_START, as, now);
    struct axp__frame *f = axp__tally_push_label(
        &lane->tally, AXP__LABEL(as) + AXP__DECLARES(axp__work_flags(&w)), now);
    axp__put(&f->token, 0);
    axp__put(&f->site, (const void *)slot);
    axp__put(&f->anchor, UINTPTR_MAX);
    axp__frame_set_flags(f, AXP__F_NAMED);
    if (work) axp__scope_add_work(lane, f, &w, now);
    axp__leave(lane);
    return id;
}

/* NULL: nothing was done. HOT */
static inline struct axp__frame *open_hot(struct axp__lane *lane,
                                          struct axp__frame *parent,
                                          uint32_t id, uint64_t now)
{
    struct axp__named *slot = lane->free_named;
    struct axp__frame *f = NULL;
    if (axp__likely(slot != NULL))
        f = axp__hot_open(lane, parent,
                          (struct axp__hot_begin){.now = now,
                                                  .label = AXP__LABEL(id),
                                                  .site = slot,
                                                  .anchor = UINTPTR_MAX,
                                                  .is_named = true});
    if (axp__likely(f != NULL)) take_slot(lane, id, now);
    return f;
}

/* False: nothing was done. HOT */
static inline __attribute__((always_inline)) bool start_hot(axp_profiler *p,
                                                            const char *name,
                                                            bool is_short)
{
    struct by_name by = enter_by_name(p, name, is_short);
    struct axp__lane *lane = by.lane;
    if (axp__unlikely(!lane)) return false;
    bool is_done = open_hot(lane, lane->tally.top, by.id, by.now);
    bool is_told = lane->n_started % AXP__TOLD_AT_ONCE;
    axp__hot_leave_any(by.thread, lane);
    if (axp__unlikely(is_done && !is_told)) tell_cost(p);
    return is_done;
}

static __attribute__((noinline)) void start_long(axp_profiler *p,
                                                 const char *name)
{
    if (!start_hot(p, name, false)) start_slow(p, name, NULL);
}

/* HOT */
void axp_start(axp_profiler *p, const char *name)
{
    if (axp__unlikely(!start_hot(p, name, true))) start_long(p, name);
}

/* In the global profiler: quicker, as that of scopes by site. HOT */
static inline __attribute__((always_inline)) uint32_t range_hot(
    const char *name, bool is_short)
{
    struct axp__own own;
    uint64_t now = 0;
    uint32_t id = 0;
    if (!AXP__HAS_HINTS) now = axp__hot_clock();
    axp__hot_own(&own, true);
    struct axp__frame *f = NULL, *parent = axp__hot_top(&own);
    if (axp__unlikely(!parent)) return 0;
    struct axp__lane *lane = axp__hot_enter(&own);
    if (axp__likely(lane != NULL))
        id = is_short ? axp__thread_peek_name(own.thread, name)
                      : axp__thread_find_name(own.thread, name);
    if (AXP__HAS_HINTS) {
        __asm__ volatile("" : "+r"(id)); /* before, and not after */
        now = axp__hot_clock();
    }
    if (axp__likely(id != 0)) f = open_hot(lane, parent, id, now);
    bool is_told = !f || lane->n_started % AXP__TOLD_AT_ONCE;
    axp__hot_leave(own.thread, f ? f : parent);
    if (axp__unlikely(!is_told)) tell_cost(axp_global());
    return f ? id : 0;
}

static __attribute__((noinline)) uint32_t range_long(const char *name)
{
    uint32_t id = range_hot(name, false);
    return id ? id : start_slow(axp_global(), name, NULL);
}

/* HOT */
uint32_t axp_range_start(const char *name)
{
    uint32_t id = range_hot(name, true);
    return axp__likely(id != 0) ? id : range_long(name);
}

void axp_start_work_sized(axp_profiler *p, const char *name,
                          const axp_work *work, size_t size)
{
    axp_work room;
    start_slow(p, name, axp__work_of(work, size, &room));
}

/* ---- stop ---------------------------------------------------------------------- */

/* Relaxed: what is read of the slot was read after its state, with acquire;
 * and an ordered exchange waits for the stores before it (5 ns). */
static bool claim(struct axp__named *slot, uint64_t state)
{
    return __atomic_compare_exchange_n(&slot->state, &state,
                                       state & ~(uint64_t)1, false,
                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* Takes a start from where others may claim it. Until one of them comes that
 * needs no exchange, which on x86-64 takes a tenth of a start and stop; see
 * let_claim. False: one of them was faster. HOT */
static inline bool take_own(const struct axp__lane *lane,
                            struct axp__named *slot, uint32_t id)
{
    uint64_t state = axp__get(&slot->state);
    if (axp__unlikely(!(state & 1))) return false;
    axp__put(&slot->name, 0);
    axp__signal_fence();
    if (axp__likely(!axp__get(&lane->p->has_claims))) return true;
    if (claim(slot, state)) return true;
    axp__put(&slot->name, id);
    return false;
}

static bool stop_own(struct axp__lane *lane, uint32_t id, uint64_t now)
{
    for (struct axp__frame *f = lane->tally.top; f > lane->tally.frames; f--) {
        struct axp__named *slot = slot_of(f);
        if (!(axp__frame_flags(f) & AXP__F_NAMED) || slot->name != id) continue;
        if (!take_own(lane, slot, id)) {
            /* Another was faster: said at once, so that the order of words
             * tells which of several of one name this stop ends. */
            drop_frame(lane, f, now);
            free_slot(lane, slot);
            continue;
        }
        free_slot(lane, slot);
        axp__frame_clear_flags(f, AXP__F_NAMED);
        axp__scope_close(lane, f, AXP__W_STOP, now);
        return true;
    }
    return false;
}

void axp__named_abandon_all(struct axp__lane *lane)
{
    while (lane->tally.top > lane->tally.frames) {
        struct axp__frame *f = lane->tally.top;
        bool is_named = axp__frame_flags(f) & AXP__F_NAMED;
        struct axp__named *slot = is_named ? slot_of(f) : NULL;
        uint64_t state = slot ? axp__get(&slot->state) : 0;
        bool is_ours = !slot || (state & 1 && claim(slot, state));
        if (slot) free_slot(lane, slot);
        if (is_ours) {
            axp__warn(lane->p, AXP__WARN_ABANDONED, f->op->name);
            axp__scope_close(lane, f, AXP__W_ABANDON, lane->last_ticks);
        } else {
            drop_frame(lane, f, lane->last_ticks);
        }
    }
}

struct candidate {
    struct axp__lane *lane;
    struct axp__named *slot;
    uint64_t state, begin_ticks;
};

static void consider(struct candidate *best, struct axp__lane *lane,
                     struct axp__named *slots, unsigned n, uint32_t id)
{
    for (unsigned i = 0; i < n; i++) {
        uint64_t state = axp__get_acquire(&slots[i].state);
        uint64_t begin_ticks = axp__get(&slots[i].begin_ticks);
        if (!(state & 1) || axp__get_acquire(&slots[i].name) != id) continue;
        if (best->slot && best->begin_ticks <= begin_ticks) continue;
        *best = (struct candidate){lane, &slots[i], state, begin_ticks};
    }
}

static struct candidate oldest_elsewhere(struct axp__lane *mine, uint32_t id)
{
    struct candidate best = {0};
    struct axp__lane *lane = axp__get_acquire(&mine->p->lanes);
    for (; lane; lane = axp__get(&lane->next)) {
        if (lane == mine || !axp__lane_is_readable(lane) ||
            !axp__get(&lane->n_named) || lane->epoch != mine->epoch)
            continue;
        consider(&best, lane, lane->near_named, AXP__NEAR_NAMED, id);
        struct axp__named_page *page = axp__get_acquire(&lane->named_pages);
        for (; page; page = page->next)
            consider(&best, lane, page->slot, AXP__NAMED_PAGE, id);
    }
    return best;
}

void axp__named_count_cross(struct axp__lane *mine, uint32_t name,
                            uint64_t begin_ticks, uint32_t row, uint64_t now)
{
    uint64_t payload[2] = {begin_ticks, row};
    now = axp__lane_room(mine, now, 4);
    axp__tally_add_loose(&mine->tally, name,
                         now > begin_ticks ? now - begin_ticks : 0);
    axp__lane_put_ext(mine, AXP__X_CROSS_STOP, 0, name, now, payload, 2);
}

/* Makes every owner take its own by an exchange, before the first claim. An
 * owner that did not see has_claims had its slot's name away before the
 * barrier, so that nobody claims what it takes. */
static void let_claim(struct axp__prof *p)
{
    if (axp__get_acquire(&p->is_claimable)) return;
    __atomic_store_n(&p->has_claims, 1, __ATOMIC_SEQ_CST);
    axp__barrier_all_threads();
    axp__put_release(&p->is_claimable, 1);
}

/* Said before it is done: whoever finds the slot claimed finds the count
 * changed, and looks again. */
static bool claim_elsewhere(struct axp__prof *p, const struct candidate *c)
{
    uint64_t state = c->state;
    __atomic_fetch_add(&p->n_claims, 1, __ATOMIC_SEQ_CST);
    return __atomic_compare_exchange_n(&c->slot->state, &state,
                                       state & ~(uint64_t)1, false,
                                       __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

/* There is none only if nobody took one during the search: who did may have
 * left another behind, in a lane that was looked at before it was started. */
static bool stop_elsewhere(struct axp__lane *mine, uint32_t id, uint64_t now)
{
    struct candidate c;
    uint64_t *n_claims = &mine->p->n_claims, before;
    uint32_t row = 0;
    bool is_over;
    let_claim(mine->p);
    axp__thread_set_errand(mine->owner, AXP__SEARCHING, mine->p);
    do {
        before = __atomic_load_n(n_claims, __ATOMIC_SEQ_CST);
        c = oldest_elsewhere(mine, id);
        is_over = c.slot
                      ? claim_elsewhere(mine->p, &c)
                      : __atomic_load_n(n_claims, __ATOMIC_SEQ_CST) == before;
    } while (!is_over);
    if (c.slot) { /* while we search no lane becomes another thread's */
        row = axp__get(&c.lane->row);
        ring(c.lane);
    }
    axp__thread_set_errand(mine->owner, AXP__SEARCHING, NULL);
    if (c.slot) axp__named_count_cross(mine, id, c.begin_ticks, row, now);
    return c.slot;
}

/* name NULL: the id is known. */
static __attribute__((noinline)) void stop_slow(axp_profiler *p,
                                                const char *name, uint32_t id,
                                                uint64_t now)
{
    if (!axp__clock_is_raw()) now = axp__clock_ticks();
    struct axp__lane *lane = axp__enter_as(p, AXP__ENTER_DISABLED);
    if (!lane) return;
    now = axp__lane_until(lane, now);
    if (!id) id = axp__lane_name(lane, name);
    if (!stop_own(lane, id, now) && !stop_elsewhere(lane, id, now) &&
        !axp__get(&lane->p->was_disabled))
        axp__warn(lane->p, AXP__WARN_STOP_WITHOUT_START, id);
    axp__leave(lane);
}

/* The innermost scope, if it is the one. False: nothing was done. HOT */
static inline bool close_hot(struct axp__lane *lane, struct axp__frame *f,
                             uint32_t id, uint64_t now)
{
    struct axp__hot_end end = {.now = now, .is_named = true};
    if (axp__unlikely(!axp__hot_may_close(lane, f, &end) || f->op->name != id))
        return false;
    struct axp__named *slot = slot_of(f);
    if (axp__unlikely(!take_own(lane, slot, id))) return false;
    free_slot(lane, slot);
    axp__hot_close(lane, f, &end);
    return true;
}

/* HOT */
static inline bool stop_hot(const struct by_name *by, uint64_t now)
{
    struct axp__lane *lane = by->lane;
    if (axp__unlikely(!lane)) return false;
    bool is_done = close_hot(lane, lane->tally.top, by->id, now);
    axp__hot_leave_any(by->thread, lane);
    return is_done;
}

static __attribute__((noinline)) void stop_long(axp_profiler *p,
                                                const char *name, uint64_t now)
{
    struct by_name by = enter_by_name(p, name, false);
    if (!stop_hot(&by, now)) stop_slow(p, name, 0, now);
}

/* HOT */
void axp_stop(axp_profiler *p, const char *name)
{
    struct by_name by = enter_by_name(p, name, true);
    if (axp__unlikely(!stop_hot(&by, by.now))) stop_long(p, name, by.now);
}

/* HOT */
void axp_range_stop(uint32_t name)
{
    struct axp__own own;
    uint64_t now = axp__hot_start(&own, true);
    struct axp__frame *f = axp__hot_top(&own);
    if (axp__likely(f != NULL)) {
        struct axp__lane *lane = axp__hot_enter(&own);
        bool is_done = lane && close_hot(lane, f, name, now);
        axp__hot_leave(own.thread, is_done ? f - 1 : f);
        if (axp__likely(is_done)) return;
    }
    stop_slow(axp_global(), NULL, name, now);
}
