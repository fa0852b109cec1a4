/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a thread has: its lanes, its cache of names, its last error.
 *
 * Found by one initial-exec TLS pointer (beside it two hints), so that the first touch
 * allocates nothing and works inside malloc and in handlers. The block is a
 * mapping of its own that fork wipes: in a child every field is 0, which
 * leads each call to its slow path.
 *
 * Inside   every event marks the thread: a scope of the global profiler by
 *          taking `hot` away (one store), any other by `busy`. A signal
 *          handler that finds the mark drops its own event; whoever closes a
 *          profiler waits until it is gone, with a barrier on that side
 *          alone (record_close.c).
 * Errands  what a thread is about beside its own lane stands in its block: who
 *          takes something away that others may be looking at asks all
 *          blocks. A thread that dies on the way has its block cleared, so
 *          nobody waits for it for ever.
 * The end  of a thread is told by a pthread key, where setting it cannot
 *          allocate. Other keys' destructors may still record after ours:
 *          ours re-arms itself to run last, then orphans the lanes. Of other
 *          threads it is found out by those that come later (a new thread, a
 *          capture, a finish): the kernel no longer knows the thread, or its
 *          id is the caller's own. Only then is a block used again.
 */
#ifndef AXP_RECORD_THREAD_H
#define AXP_RECORD_THREAD_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "axprof/axprof.h"
#include "base/base_atomic.h"
#include "base/base_text.h"

#define AXP__NAME_CACHE 512u
#define AXP__NAME_WAYS 4u /* where a name may lie: 64 fit without a quarrel */
#define AXP__NEAR_LANES 8u
#define AXP__SHAPE_CACHE_BITS 7

/* What stood at a client's pointer when it was last used as a name: checked
 * at each use, since buffers are used again. Short names are compared as two
 * words, of which the mask picks the bytes up to and with the final 0. One so near
 * the end of its page that both words are not in it counts as long. */
struct axp__cached_name {
    const char *short_at; /* the pointer; NULL: long, compare the text */
    uint32_t id;
    uint32_t reserved;
    uint64_t word[2], mask[2];
    const char *long_at;
    const char *text;
} __attribute__((aligned(64)));

/* The name of an operation with those dims: record_shape.h. */
struct axp__cached_shape {
    uint64_t dims[3];
    uint32_t op, name; /* 0: none */
    double flops, bytes;
    uint32_t dtype;
    bool has_work; /* these three are in the name, too */
};

/* The name of a wait, by where its text lies. */
#define AXP__WAIT_CACHE 8u
struct axp__cached_wait {
    const char *at; /* NULL: none */
    uint32_t id;
};

enum axp__thread_life {
    AXP__THREAD_NONE, /* not yet, or wiped */
    AXP__THREAD_ALIVE,
    AXP__THREAD_ENDED,   /* an event may still come */
    AXP__THREAD_TAKEN,   /* being ended, or made another's */
    AXP__THREAD_LIFE = 3 /* the bits of these; above them, which life it is */
};

enum axp__errand {
    AXP__ENTERING,  /* on the general way into a profiler, perhaps no lane */
    AXP__SEARCHING, /* looking through other threads' lanes of a profiler */
    AXP__LOGGING,   /* copying a name into the process's spools */
    AXP__SWITCHING, /* enabling a profiler, or disabling it */
    AXP__N_ERRANDS
};

struct axp__frame;
struct axp__thread {
    /* The innermost open scope of the global lane; NULL while an event is
     * under way, or without such a lane. Not to be looked into before the
     * lane's lim was seen: what it points to may be gone with a reset. */
    struct axp__frame *hot;
    uint32_t busy;
    uint32_t life;            /* enum axp__thread_life; 0: not to be used */
    struct axp__lane *global; /* = lanes[0], once there is one */
    /* Where the last allocation went; NULL once the thread takes a lane. */
    const axp_profiler *alloc_handle;
    struct axp__lane *alloc_lane;
    struct axp__lane **lanes; /* by the profiler's index; NULL: none yet */
    uint32_t n_lanes;
    uint32_t n_rearmed;
    uint32_t victim;    /* which way of the cache gives way next */
    uint32_t is_armed;  /* its end will be told */
    uint32_t name;      /* that it was given while it had no lane; 0: none */
    uint32_t is_inside; /* of what waits by itself: axp_wait_inside */
    uint64_t tid;
    struct axp__thread *next;           /* of all blocks */
    const void *errand[AXP__N_ERRANDS]; /* at what; NULL: not */
    struct axp__lane *near_lanes[AXP__NEAR_LANES];
    struct axp__cached_name names[AXP__NAME_CACHE];
    struct axp__cached_shape shapes[1 << AXP__SHAPE_CACHE_BITS];
    struct axp__cached_wait waits[AXP__WAIT_CACHE];
    char error[768];
};

#define AXP__TLS                                                               \
    __thread __attribute__((tls_model("initial-exec"), visibility("hidden")))
struct axp__own {
    /* Never NULL: a thread without a block has one that is not alive. */
    struct axp__thread *thread;
    /* What its block most likely has as `global` and `hot`: hints, so that
     * what lies there is loaded without waiting for the block, and compared
     * with the block's before anything is changed. A fork does not wipe them.
     * Never NULL, which the block's may be: then they are not equal. */
    struct axp__lane *global;
    struct axp__frame *hot;
};
extern AXP__TLS struct axp__own axp__own;
#define axp__tls axp__own.thread

/* Where loads that wait for each other show: record_hot.h. */
#if defined(__x86_64__) && !defined(AXP__TSAN)
#define AXP__HAS_HINTS 1
#else
#define AXP__HAS_HINTS 0
#endif

/* The calling thread's block, made when it has none; NULL without memory. */
struct axp__thread *axp__thread_get(void);
struct axp__thread *axp__thread_get_own(void);
/* Ends what threads left behind whose end nobody was told of. No recording
 * call: it asks the kernel about every thread. */
void axp__thread_end_dead(void);
/* Whether any thread is on such an errand there. After a barrier: one that is
 * not seen here will find what the caller has changed. */
bool axp__thread_is_any_at(enum axp__errand e, const void *what);
/* Once, as early as can be: the key, in the copy that owns the process. */
void axp__thread_make_key(void);

/* By the thread itself, inside an event. */
static inline void axp__thread_set_global(struct axp__thread *t,
                                          struct axp__lane *lane)
{
    if (lane) axp__put(&axp__own.global, lane);
    axp__put(&t->global, lane);
}

/* Sets out, or comes back (what: as it was before); returns what was. */
static inline const void *axp__thread_set_errand(struct axp__thread *t,
                                                 enum axp__errand e,
                                                 const void *what)
{
    const void *before = axp__get(&t->errand[e]);
    if (what) {
        axp__put(&t->errand[e], what);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    } else {
        axp__put_release(&t->errand[e], NULL);
    }
    return before;
}

/* Room for a lane at this index; false without memory. */
bool axp__thread_reserve(struct axp__thread *t, uint32_t index);

/* The id of a name, through the thread's cache; counts what is wrong with it
 * on nobody. NULL and "" give AXP__NAME_UNNAMED. */
uint32_t axp__thread_name_slow(struct axp__thread *t, const char *name);

static inline struct axp__cached_name *axp__thread_cached(struct axp__thread *t,
                                                          const char *name)
{
    /* Once would do for random pointers, but not for strides. */
    uint64_t x = (uintptr_t)name * 0x9e3779b97f4a7c15u;
    return &t->names[(x ^ x >> 32) * 0xd6e8feb86659fd93u >> 55];
}

static inline struct axp__cached_name *axp__thread_cached_near(
    struct axp__thread *t, const struct axp__cached_name *home, unsigned way)
{
    return &t->names[(unsigned)(home - t->names) ^ way];
}

/* The id of a short name that is cached; 0: ask axp__thread_find_name. It may
 * end before 16 bytes: cache_name saw that the load stays within its page. HOT */
__attribute__((no_sanitize("address"))) static inline uint32_t
axp__thread_peek_name(struct axp__thread *t, const char *name)
{
    uint64_t w[2];
    struct axp__cached_name *home = axp__thread_cached(t, name), *c = home;
    for (unsigned i = 1; axp__unlikely(c->short_at != name); i++) {
        if (i == AXP__NAME_WAYS) return 0;
        c = axp__thread_cached_near(t, home, i);
    }
    if (axp__unlikely(!name)) return 0;
    __builtin_memcpy(w, name, 16);
    uint64_t differs =
        ((w[0] ^ c->word[0]) & c->mask[0]) | ((w[1] ^ c->word[1]) & c->mask[1]);
    return axp__likely(!differs) ? c->id : 0;
}

/* The id of any name that is cached, compared as a text; 0: none. */
uint32_t axp__thread_find_name(struct axp__thread *t, const char *name);

static inline uint32_t axp__thread_name_id(struct axp__thread *t,
                                           const char *name)
{
    uint32_t id = axp__thread_peek_name(t, name);
    return axp__likely(id != 0) ? id : axp__thread_name_slow(t, name);
}

/* Sets what axp_last_error says; returns status. */
__attribute__((format(printf, 2, 3), visibility("default"))) axp_status
axp__fail(axp_status status, const char *format, ...);
#ifdef __clang_analyzer__ /* sees no other file: it returns what it is given */
#define axp__fail(status, ...) (axp__fail(status, __VA_ARGS__), (status))
#endif

/* Whether the thread is in the middle of an event. */
static inline bool axp__thread_is_inside(const struct axp__thread *t)
{
#ifdef AXP__TSAN
    if (__atomic_load_n(&t->busy, __ATOMIC_ACQUIRE)) return true;
    return axp__get(&t->global) && !__atomic_load_n(&t->hot, __ATOMIC_ACQUIRE);
#else
    return axp__get(&t->busy) || (axp__get(&t->global) && !axp__get(&t->hot));
#endif
}

static inline void axp__thread_enter(struct axp__thread *t)
{
    axp__put(&t->busy, 1);
    axp__put(&t->hot, NULL);
    axp__signal_fence();
}

#endif
