/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Functions of a program built with -finstrument-functions, as exact scopes.
 *
 * The compiler calls __cyg_profile_func_enter and _exit around every function;
 * the C library has empty ones, these stand before them. A begin gives a token
 * that its end must bring back: each thread keeps a stack of them.
 *
 * Unwinding  longjmp skips exits: an exit takes the newest entry of its own
 *            function and drops what lies above; the recorder closes that.
 * Signals    a handler may come at any point: where that is while the stack is
 *            looked at, its functions are counted and not recorded.
 *            One that leaves there by siglongjmp is found out by where the next
 *            frames lie; none comes while the stack grows. Where it runs on a
 *            stack of its own that lies above, nothing of its thread is recorded
 *            after it.
 * Muted      functions that are called too often for that (functions_mute.h)
 *            leave nothing on the stack; only if one is called by itself, its
 *            entry counts how many of its calls are open that it knows
 *            nothing of, so that their exits are not taken for its own.
 * Quiet      where the program filters its system calls a stack keeps the room that
 *            it has: calls that need more are skipped, as all are not recorded.
 * Cost       a lookup and a scope; of a muted function a comparison in each hook
 *            (functions_near.h); a thread's first call maps some pages.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <axprof/axprof_adapter.h>

#include "adapters/common/common_clock.h"
#include "adapters/common/common_map.h"
#include "adapters/common/common_place.h"
#include "functions_close.h"
#include "functions_mute.h"
#include "functions_sites.h"

#define HOOK                                                                   \
    __attribute__((visibility("default"), no_instrument_function, noinline))

struct call {
    const void *function;
    uint64_t token;
    uint64_t n_muted; /* of the same function, above it, without an entry */
};

/* A thread's open calls, in a mapping of its own. */
struct stack {
    size_t n, cap, bytes;
    struct functions_counts *counts;
    struct call calls[];
};

/* Of the calling thread. */
struct own {
    /* None while the stack is made or moved; never that of `top`. */
    const struct functions_near *near;
    struct stack *stack;             /* a handler may move it: see hold */
    struct functions_counts *counts; /* its own, which stay where they are */
    const void *top;    /* function of the innermost entry; NULL: none */
    unsigned busy;      /* the stack is looked at, made or moved … */
    unsigned n_skipped; /* … and calls not recorded meanwhile */
    uintptr_t held_at;  /* … in a frame that is here; else ANYWHERE */
};
#define ANYWHERE UINTPTR_MAX
static __thread struct own own __attribute__((tls_model("initial-exec"))) = {
    .near = functions_near_none, .held_at = ANYWHERE};
const struct functions_near functions_near_none[FUNCTIONS_NEAR];

/* ---- a thread's stack --------------------------------------------------- */

static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

static void free_stack(void *p)
{
    struct stack *s = p;
    if (functions_is_quiet) return; /* it stays mapped */
    own.busy++; /* what is called from here on is not recorded */
    own.near = functions_near_none;
    own.stack = NULL;
    own.counts = NULL;
    functions_counts_give(s->counts);
    common_unmap(s, s->bytes);
}

static void make_key(void)
{
    pthread_key_create(&key, free_stack);
}

static struct stack *resize(struct stack *old)
{
    size_t bytes = old ? 2 * old->bytes : 4096;
    struct stack *s =
        old ? common_map_widen(old, old->bytes, bytes) : common_map(bytes);
    if (!s) return NULL;
    if (!s->counts && !(s->counts = functions_counts_take())) {
        common_unmap(s, bytes);
        return NULL;
    }
    s->bytes = bytes;
    s->cap = (bytes - sizeof *s) / sizeof *s->calls;
    return s;
}

/* A handler that came in the middle might never come back (siglongjmp). */
static bool block_signals(uint64_t *before)
{
    uint64_t all = UINT64_MAX;
    return !syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, before, sizeof all);
}

static __attribute__((noinline)) struct stack *grow(void)
{
    int error = errno;
    uint64_t mask;
    if (functions_is_quiet) return NULL;
    bool is_blocked = block_signals(&mask);
    own.busy++;
    own.near = functions_near_none;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    struct stack *s = resize(own.stack);
    if (s) {
        own.stack = s;
        own.counts = s->counts;
        pthread_once(&key_once, make_key);
        pthread_setspecific(key, s);
    }
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (own.counts) own.near = own.counts->near;
    own.busy--;
    if (is_blocked)
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof mask);
    errno = error;
    return s;
}

const struct functions_counts *functions_counts_own(void)
{
    return own.counts;
}

/* ---- the hooks ---------------------------------------------------------- */

/* Or again, where another function was: that one's name stays there until this
 * one's is known, since another thread may be about to use it. */
static __attribute__((noinline)) uint64_t begin_first(struct functions_site *s)
{
    char text[COMMON_PLACE_MAX];
    uint64_t token = 0;
    if (axp_recording_is_open()) { /* the text asks for links */
        uint32_t module = functions_module(s->function);
        common_place(s->function, false, text);
        token = axp_function_begin(&s->site, text);
        if (token) __atomic_store_n(&s->module, module, __ATOMIC_RELAXED);
    }
    if (!token) functions_site_forget(s);
    return token;
}

static __attribute__((noinline)) void tell(const uint64_t *n_calls)
{
    int error = errno;
    struct functions_counts *c = own.stack->counts;
    functions_measure_again();
    functions_count_tell(c, (uint32_t)(n_calls - c->n_calls));
    errno = error;
}

static inline uint64_t begin(struct functions_site *site)
{
    if (__builtin_expect(functions_is_hot(site), 0)) {
        if (functions_is_forgotten(site)) return begin_first(site);
        functions_judge(site);
    }
    if (__builtin_expect(!__atomic_load_n(&site->site, __ATOMIC_RELAXED), 0))
        return begin_first(site);
    return axp_begin_site(&site->site, "\0\0"); /* the text is known */
}

/* A call of a muted function, whose calls this thread counts there. HOT */
static inline void count(uint64_t *n_calls)
{
    if (axp_is_recording() && __builtin_expect(functions_count(n_calls), 0))
        tell(n_calls);
}

HOOK void __cyg_profile_func_enter(void *function, void *call_site);
HOOK void __cyg_profile_func_exit(void *function, void *call_site);

/* While a stack is looked at it stays where it is: a handler that comes then is
 * skipped, since its calls may need more room. Nothing else is called between. */
static inline __attribute__((always_inline)) struct stack *hold(void)
{
    own.held_at = (uintptr_t)__builtin_frame_address(0);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    own.busy++;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return own.stack;
}

/* A handler that came before it was held, and held it too, must not leave its own
 * place to who goes on. */
static inline void let_go(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    own.busy--;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    own.held_at = ANYWHERE;
}

/* Whether a handler is running now on a stack of its own, or may be. */
static bool is_apart(void)
{
    int error = errno;
    stack_t s;
    bool is =
        functions_is_quiet || sigaltstack(NULL, &s) || s.ss_flags & SS_ONSTACK;
    errno = error;
    return is;
}

/* Who held the stack was interrupted by a handler that left it by siglongjmp: we
 * are where its frame was, or above, and not in the handler. What it was about to
 * change is made whole. */
static __attribute__((noinline)) void find_left(uintptr_t at)
{
    if (at < own.held_at || own.held_at == ANYWHERE || is_apart()) return;
    struct stack *s = own.stack;
    if (s) { /* else it was the thread's first call */
        own.top = s->n ? s->calls[s->n - 1].function : NULL;
        functions_near_remove(s->counts->near, own.top);
    }
    own.n_skipped = 0;
    let_go();
}

static void enter_muted(const void *function, uint32_t number)
{
    struct stack *s = hold();
    struct functions_counts *c = s->counts;
    uint64_t *n_calls = &c->n_calls[number];
    if (s->n && own.top == function)
        s->calls[s->n - 1].n_muted++;
    else
        functions_near_put(c->near, function, n_calls, &c->n_misses);
    let_go();
    count(n_calls);
}

#define NO_PLACE SIZE_MAX

/* Its place; none: a handler that came after there was room has left without
 * ending what it called (siglongjmp). */
static size_t put(const void *function)
{
    struct stack *s = hold();
    size_t at = NO_PLACE;
    if (s->n < s->cap) {
        at = s->n++;
        s->calls[at] = (struct call){.function = function};
        own.top = function;
    }
    let_go();
    return at;
}

/* What begins a scope may measure, and call these hooks for that. */
static void enter_recorded(const void *function, struct functions_site *site)
{
    size_t at = put(function);
    if (at == NO_PLACE) {
        own.n_skipped++;
        return;
    }
    uint64_t token = site && axp_is_recording() ? begin(site) : 0;
    struct stack *s = hold();
    s->calls[at].token = token;
    let_go();
}

static bool has_room(uint32_t n_calls)
{
    const struct stack *s = hold();
    bool has = s && s->n + n_calls <= s->cap;
    let_go();
    return has;
}

static __attribute__((noinline)) void enter_slow(const void *function)
{
    if (own.busy) find_left((uintptr_t)__builtin_frame_address(0));
    struct functions_site *site = functions_site(function);
    uint32_t number = site ? functions_muted(site) : 0;
    if (own.busy || (!has_room(!number) && !grow()))
        own.n_skipped++;
    else if (number)
        enter_muted(function, number);
    else
        enter_recorded(function, site);
}

void __cyg_profile_func_enter(void *function, void *call_site)
{
    const struct functions_near *near = &own.near[functions_near_at(function)];
    (void)call_site;
    if (__builtin_expect(near->function == function, 1))
        count(near->n_calls);
    else
        enter_slow(function);
}

/* What its begin gave; 0: nothing. */
static uint64_t take(struct stack *s, size_t at)
{
    struct call *call = &s->calls[at];
    if (call->n_muted) {
        call->n_muted--;
        return 0;
    }
    s->n = at;
    own.top = at ? s->calls[at - 1].function : NULL;
    functions_near_remove(s->counts->near, own.top);
    return call->token;
}

static uint64_t take_newest(struct stack *s, const void *function)
{
    const struct functions_site *site = functions_site(function);
    if (site && functions_muted(site)) return 0;
    for (size_t i = s->n; i-- > 0;)
        if (s->calls[i].function == function) return take(s, i);
    return 0;
}

static __attribute__((noinline)) void exit_slow(const void *function)
{
    if (own.busy) find_left((uintptr_t)__builtin_frame_address(0));
    if (own.n_skipped || !own.stack) {
        if (own.n_skipped) own.n_skipped--;
        return;
    }
    struct stack *s = hold();
    uint64_t token = s->n && own.top == function ? take(s, s->n - 1)
                                                 : take_newest(s, function);
    let_go();
    if (token) axp_end(token);
}

void __cyg_profile_func_exit(void *function, void *call_site)
{
    (void)call_site;
    if (__builtin_expect(
            own.near[functions_near_at(function)].function != function, 0))
        exit_slow(function);
}

/* ---- what a muted call takes -------------------------------------------- */

enum { BATCHES = 9, BATCH_CALLS = 512, NESTED = 8, FUNCTIONS = 64, APART = 16 };

static __attribute__((noipa)) void empty_hook(void *function, void *site)
{
    __asm__ volatile("" ::"r"(function), "r"(site));
}

typedef void hook(void *function, void *call_site);
/* Without the way through the linkage table, which empty ones do not have here,
 * and in a program both have. */
__attribute__((alias("__cyg_profile_func_enter"), visibility("hidden")))
hook own_enter;
__attribute__((alias("__cyg_profile_func_exit"), visibility("hidden")))
hook own_exit;

/* As programs call tiny functions: directly, many of them, some in each
 * other. */
static inline __attribute__((always_inline)) uint64_t time_batch(hook *enter,
                                                                 hook *exit,
                                                                 char *of)
{
    uint64_t from = common_clock_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < BATCH_CALLS; i += NESTED) {
        char *first = &of[i % FUNCTIONS * APART];
        for (int k = 0; k < NESTED; k++)
            enter(&first[k * APART], of);
        for (int k = NESTED; k-- > 0;)
            exit(&first[k * APART], of);
    }
    return common_clock_ns(CLOCK_MONOTONIC) - from;
}

/* The median of some batches: the shortest are those that caches and
 * predictors have learnt by heart. */
static inline __attribute__((always_inline)) uint64_t time_pairs(hook *enter,
                                                                 hook *exit,
                                                                 char *of)
{
    uint64_t took[BATCHES];
    for (int i = 0; i < BATCHES; i++) {
        uint64_t t = time_batch(enter, exit, of);
        int k = i;
        for (; k > 0 && took[k - 1] > t; k--)
            took[k] = took[k - 1];
        took[k] = t;
    }
    return took[BATCHES / 2];
}

uint64_t functions_measure(void)
{
    static char nothing[FUNCTIONS * APART]; /* that nobody calls */
    struct functions_counts *c = own.counts;
    for (int i = 0; i < FUNCTIONS; i++) {
        struct functions_site *site = functions_site(&nothing[i * APART]);
        if (!site) return 1;
        __atomic_store_n(&site->muted, FUNCTIONS_MEASURED, __ATOMIC_RELAXED);
    }
    /* So that the calls that follow are too few to be told. */
    c->n_calls[FUNCTIONS_MEASURED] = 0;
    uint64_t ours = time_pairs(own_enter, own_exit, nothing);
    uint64_t empty = time_pairs(empty_hook, empty_hook, nothing);
    for (int i = 0; i < FUNCTIONS; i++)
        functions_near_remove(c->near, &nothing[i * APART]);
    return ours > empty ? (ours - empty) * 1000 / BATCH_CALLS : 1;
}
