/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What threads wait for; see common_sync.h. */
#include "adapters/common/common_sync.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define LEAST_NS 10000u /* of a wait that becomes a scope */
#define SPINS 1000

uintptr_t common_sync_index[COMMON_SYNC_SETS][COMMON_SYNC_WAYS];
struct common_sync common_syncs[COMMON_SYNC_SETS][COMMON_SYNC_WAYS];

/* ---- places ------------------------------------------------------------- */

static bool lock(struct common_sync *s)
{
    for (int i = 0; i < SPINS; i++)
        if (!__atomic_exchange_n(&s->spin, 1, __ATOMIC_ACQUIRE)) return true;
    return false;
}

static void unlock(struct common_sync *s)
{
    __atomic_store_n(&s->spin, 0, __ATOMIC_RELEASE);
}

struct common_sync *common_sync_make(const void *object)
{
    size_t set = common_sync_set(object);
    struct common_sync *s = common_sync_of(object);
    for (size_t way = 0; !s && way < COMMON_SYNC_WAYS; way++) {
        uintptr_t was = 0;
        if (__atomic_compare_exchange_n(&common_sync_index[set][way], &was,
                                        (uintptr_t)object, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
            was == (uintptr_t)object)
            s = &common_syncs[set][way];
    }
    return s;
}

/* A place that is free is all zero but for its life: who still waits, and may
 * (pthread_cond_destroy after a broadcast), knows that it is no longer his. */
static void clear(size_t set, size_t way)
{
    struct common_sync *s = &common_syncs[set][way];
    __atomic_add_fetch(&s->life, 1, __ATOMIC_ACQ_REL);
    char *at = (char *)s;
    size_t life = offsetof(struct common_sync, life);
    memset(at, 0, life);
    memset(at + life + sizeof s->life, 0, sizeof *s - life - sizeof s->life);
    __atomic_store_n(&common_sync_index[set][way], 0, __ATOMIC_RELEASE);
}

void common_sync_forget(const void *object)
{
    size_t set = common_sync_set(object);
    for (size_t way = 0; way < COMMON_SYNC_WAYS; way++)
        if (__atomic_load_n(&common_sync_index[set][way], __ATOMIC_ACQUIRE) ==
            (uintptr_t)object)
            clear(set, way);
}

void common_sync_forget_idle(const void *object)
{
    const struct common_sync *s = common_sync_of(object);
    if (s && !__atomic_load_n(&s->n_waiting, __ATOMIC_SEQ_CST))
        common_sync_forget(object);
}

/* Reads it all, and writes to what is used alone: the pages are the parent's
 * too. */
static void forget_all(void)
{
    for (size_t set = 0; set < COMMON_SYNC_SETS; set++)
        for (size_t way = 0; way < COMMON_SYNC_WAYS; way++)
            if (common_sync_index[set][way]) clear(set, way);
}

__attribute__((constructor)) static void see_forks(void)
{
    (void)pthread_atfork(NULL, NULL, forget_all);
}

/* ---- giving and taking -------------------------------------------------- */

static uint32_t n_waiting(const struct common_sync *s)
{
    return __atomic_load_n(&s->n_waiting, __ATOMIC_SEQ_CST);
}

static uint32_t n_idle(const struct common_sync *s)
{
    return __atomic_load_n(&s->n_idle, __ATOMIC_RELAXED);
}

static bool is_idle(const struct common_sync *s)
{
    return n_idle(s) >= COMMON_SYNC_IDLE;
}

/* n_given is also read by who has locked nothing: common_wait_begin. */
static void count_given(struct common_sync *s)
{
    __atomic_store_n(&s->n_given, s->n_given + 1, __ATOMIC_RELEASE);
}

static void put_giver(struct common_given *g, axp_giver by)
{
    g->at = by.at;
    g->row = by.row;
}

static axp_giver giver_of(const struct common_given *g)
{
    return (axp_giver){.at = g->at, .row = g->row};
}

/* Where it is kept who gave it now: where nobody is left who may have been woken;
 * else with what the same thread gave last; else in place of the oldest. */
static struct common_given *room_for(struct common_sync *s, axp_giver by)
{
    struct common_given *oldest = s->given, *same = NULL;
    uint64_t first = __atomic_load_n(&s->first, __ATOMIC_RELAXED);
    for (struct common_given *g = s->given; g < s->given + COMMON_SYNC_GIVEN;
         g++) {
        if (g->i < first) g->n_left = 0;
        if (!g->n_left) return g;
        if (g->i < oldest->i) oldest = g;
        if (g->row == by.row && (!same || g->i > same->i)) same = g;
    }
    if (!same) oldest->n_left = 0;
    return same ? same : oldest;
}

/* To as many as `n_most` of the n that wait. */
static void push(struct common_sync *s, axp_giver by, uint32_t n,
                 uint32_t n_most)
{
    if (!by.at || !lock(s)) return;
    struct common_given *g = room_for(s, by);
    uint32_t n_before = g->n_left < n ? g->n_left : n;
    g->n_left = n_before + (n_most < n - n_before ? n_most : n - n_before);
    put_giver(g, by);
    g->i = s->n_given;
    count_given(s);
    unlock(s);
}

/* How a lock is let go of. */
struct release {
    const void *object;
    uint32_t n_most;
    bool is_late; /* another one may have it by now */
};

/* Who has it alone has its place alone, and others wait for what is done there.
 * The first to let go of one that readers wait for took it before it had a place,
 * and alone: readers do not wait for each other. */
static void push_release(struct common_sync *s, const struct release *r,
                         axp_giver by, bool is_alone)
{
    bool is_locked = !is_alone || r->is_late;
    if (!by.at || (is_locked && !lock(s))) return;
    s->last = by;
    if (r->n_most > 1 && (is_alone || !s->n_given))
        s->alone = (struct common_alone){by, s->n_given};
    count_given(s);
    if (is_locked) unlock(s);
}

/* Who gave a mutex that nobody waits for ended no wait: neither did he who gave it
 * before him, so that is forgotten, and the clock need not be read while others
 * may want it. Somebody who is about to say that he waits will find it free. */
static bool forget_last(struct common_sync *s, const struct release *r)
{
    if (r->n_most != 1 || r->is_late) return false;
    s->last.at = 0;
    return true;
}

static void release(struct common_sync *s, const struct release *r)
{
    uint32_t n = n_waiting(s);
    bool is_alone = __atomic_load_n(&s->is_alone, __ATOMIC_RELAXED);
    uint64_t since =
        is_alone ? __atomic_load_n(&s->taken_at, __ATOMIC_RELAXED) : 0;
    __atomic_store_n(&s->is_alone, 0, __ATOMIC_RELAXED);
    if (!n && (is_idle(s) || (is_alone && forget_last(s, r)))) return;
    push_release(s, r, axp_sync_release(AXP_SYNC_LOCK, r->object, since, n),
                 is_alone);
}

/* A signal that nobody waits for does nothing; a post stays. */
static void give(struct common_sync *s, axp_sync_kind kind, const void *object,
                 uint32_t n_most)
{
    uint32_t n = n_waiting(s);
    if (n)
        push(s, axp_sync_give(kind, object, 0), n, n_most);
    else if (kind != AXP_SYNC_CONDITION && !is_idle(s))
        axp_sync_give(kind, object, 0);
}

void common_sync_give_slow(struct common_sync *s, axp_sync_kind kind,
                           const void *object, uint32_t n_most)
{
    int error = errno;
    if (kind == AXP_SYNC_LOCK)
        release(s, &(struct release){object, n_most, false});
    else
        give(s, kind, object, n_most);
    errno = error;
}

void common_sync_gave_lock(const void *object)
{
    struct common_sync *s = common_sync_of(object);
    int error = errno;
    if (s) release(s, &(struct release){object, 1, true});
    errno = error;
}

void common_sync_ended(const void *thread, bool is_detached)
{
    axp_giver by = axp_sync_give(AXP_SYNC_THREAD_END, thread, 0);
    struct common_sync *s =
        by.at && !is_detached ? common_sync_make(thread) : NULL;
    if (!s || !lock(s)) return;
    s->last = by;
    unlock(s);
}

/* Since when somebody has it is what its end will say. */
static void take_alone(struct common_sync *s, uint64_t now)
{
    __atomic_store_n(&s->is_alone, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&s->taken_at, now, __ATOMIC_RELAXED);
}

void common_sync_take_slow(struct common_sync *s, axp_sync_kind kind,
                           const void *object)
{
    bool is_quiet = is_idle(s);
    if (!is_quiet)
        __atomic_store_n(&s->n_idle, n_idle(s) + 1, __ATOMIC_RELAXED);
    if (kind == AXP_SYNC_LOCK) {
        take_alone(s, is_quiet ? 0 : axp_wait_begin());
    } else if (kind == AXP_SYNC_SEMAPHORE && !is_quiet) {
        int error = errno;
        axp_sync_take(kind, object, 0, NULL);
        errno = error;
    }
}

/* ---- waiting ------------------------------------------------------------ */

/* Where this thread waits. One that is cancelled there does not come back to say
 * that it is over, and neither does one whose handler jumps out: what we had
 * pushed for the C library to call (pthread_cleanup_push) would be in a frame
 * that is gone by then. */
static __thread struct common_stay here
    __attribute__((tls_model("initial-exec")));

/* What was given before the first of those that wait now came is nobody's any
 * more: a limit of time may have ended the wait that it was for. */
static void begin_waiting(struct common_sync *s)
{
    uint64_t n_given = __atomic_load_n(&s->n_given, __ATOMIC_ACQUIRE);
    if (!__atomic_fetch_add(&s->n_waiting, 1, __ATOMIC_SEQ_CST))
        __atomic_store_n(&s->first, n_given, __ATOMIC_RELAXED);
    __atomic_store_n(&s->n_idle, 0, __ATOMIC_RELAXED);
}

/* The clock is read last: a place is made in memory that may be new. */
struct common_wait common_wait_begin(axp_sync_kind kind, const void *object)
{
    int error = errno;
    struct common_wait wait = {.object = object, .kind = kind};
    struct common_sync *s = NULL;
    if (object && axp_wait_begin()) s = common_sync_make(object);
    if (s) {
        wait.stay.sync = s;
        wait.stay.life = __atomic_load_n(&s->life, __ATOMIC_ACQUIRE);
        wait.was_busy = !is_idle(s);
        begin_waiting(s);
        wait.n_given = __atomic_load_n(&s->n_given, __ATOMIC_ACQUIRE);
    }
    wait.around = here;
    here = wait.stay;
    wait.began = axp_wait_begin();
    errno = error;
    return wait;
}

static bool is_its(const struct common_stay *stay)
{
    return stay->sync &&
           __atomic_load_n(&stay->sync->life, __ATOMIC_ACQUIRE) == stay->life;
}

static void leave(const struct common_stay *stay)
{
    if (is_its(stay))
        __atomic_fetch_sub(&stay->sync->n_waiting, 1, __ATOMIC_SEQ_CST);
}

void common_wait_give_up(const struct common_wait *wait)
{
    here = wait->around;
    leave(&wait->stay);
}

void common_wait_no_more(void)
{
    leave(&here);
    here = (struct common_stay){0};
}

/* Nobody can be a round ahead of one who has not left this one, so that two
 * are enough. */
static axp_giver last_of(const struct common_wait *wait)
{
    const struct common_sync *s = common_sync_of(wait->object);
    if (!s || !wait->number) return (axp_giver){0};
    return giver_of(&s->given[wait->number & 1]);
}

/* Of those since then. */
static axp_giver take_oldest(struct common_sync *s, uint64_t first)
{
    struct common_given *oldest = NULL;
    for (struct common_given *g = s->given; g < s->given + COMMON_SYNC_GIVEN;
         g++)
        if (g->n_left && g->i >= first && (!oldest || g->i < oldest->i))
            oldest = g;
    if (!oldest) return (axp_giver){0};
    oldest->n_left--;
    return giver_of(oldest);
}

/* Of those given since a wait began the one that ended it.
 *
 *   alone    the newest: whoever had it last
 *   threads  itself, which may have been over before
 *   shared   who had it alone: readers that came with this one may have left
 *            already
 *   others   the oldest that no other who waited has taken */
static axp_giver choose(struct common_sync *s, const struct common_wait *wait)
{
    axp_sync_kind kind = wait->kind;
    uint64_t first = wait->n_given;
    if (kind == AXP_SYNC_THREAD_END) return s->last;
    if (kind != AXP_SYNC_LOCK && kind != AXP_SYNC_SHARED)
        return take_oldest(s, first);
    /* The one before it may have been given when nobody had said yet that he
     * waits, and let go of after that. */
    if (first && wait->was_busy) first--;
    if (kind == AXP_SYNC_LOCK)
        return first < s->n_given ? s->last : (axp_giver){0};
    return s->alone.i >= first ? s->alone.by : (axp_giver){0};
}

static axp_giver claim(struct common_sync *s, const struct common_wait *wait)
{
    if (wait->kind == AXP_SYNC_BARRIER) return last_of(wait);
    if (!s || !lock(s)) return (axp_giver){0};
    axp_giver by = choose(s, wait);
    if (wait->kind == AXP_SYNC_LOCK) take_alone(s, axp_wait_begin());
    unlock(s);
    return by;
}

/* A thread that was over before, and is joined at once. */
static bool was_there(const struct common_wait *wait, axp_giver by)
{
    return wait->kind == AXP_SYNC_THREAD_END && by.at < wait->began &&
           axp_wait_begin() - wait->began < axp_ticks(LEAST_NS);
}

void common_wait_end(const struct common_wait *wait, const char *name,
                     bool is_given)
{
    int error = errno;
    axp_giver by = {0};
    if (is_given)
        by = claim(is_its(&wait->stay) ? wait->stay.sync : NULL, wait);
    if (was_there(wait, by)) by.at = 0;
    common_wait_give_up(wait);
    axp_sync_waited(&(axp_sync_wait){.size = sizeof(axp_sync_wait),
                                     .kind = wait->kind,
                                     .object = wait->object,
                                     .number = wait->number,
                                     .began = wait->began,
                                     .by = by,
                                     .name = name,
                                     .least_ns = LEAST_NS,
                                     .is_vain = !is_given});
    errno = error;
}

/* ---- making barriers, arriving ----------------------------------------------------------- */

void common_barrier_made(const void *barrier, uint32_t n_members)
{
    common_sync_forget(barrier);
    struct common_sync *s = common_sync_make(barrier);
    if (s) __atomic_store_n(&s->n_members, n_members, __ATOMIC_RELEASE);
}

uint64_t common_barrier_arrive(const void *barrier, bool *is_last)
{
    struct common_sync *s = common_sync_of(barrier);
    uint32_t n = s ? __atomic_load_n(&s->n_members, __ATOMIC_ACQUIRE) : 0;
    *is_last = false;
    if (!n) return 0;
    uint64_t i = __atomic_fetch_add(&s->n_given, 1, __ATOMIC_ACQ_REL);
    uint64_t round = i / n + 1;
    *is_last = i % n == n - 1;
    axp_giver by = axp_sync_give(AXP_SYNC_BARRIER, barrier, round);
    if (*is_last) put_giver(&s->given[round & 1], by);
    return round;
}
