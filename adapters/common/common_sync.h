/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What threads wait for, and who gave it.
 *
 * An object (a lock, a condition …) gets a place here when somebody waits for
 * it for the first time: one that nobody ever waited for costs a look at one
 * line of the index. From then on it is on record who gives it to one who
 * waits, and of a lock since when he had it; of a semaphore each post and each
 * taking. That ends when it was taken COMMON_SYNC_IDLE times in a row without a
 * wait. A lock that is let go of when nobody waits leaves nothing: there are
 * programs that look at something under a lock without end.
 *
 * Who gave   is kept in the object's place until it was taken, written before the
 *            real call that gives, so that whoever was woken by that call finds
 *            it. Of more givers than there is room for the oldest are forgotten;
 *            one who gives often needs no more room than that.
 * Full       an object that finds no place has waits of which nobody knows who
 *            ended them.
 * Threads    places are locked by spinning, a bounded number of times: sem_post
 *            may be called by a handler that interrupted the holder. Who gets
 *            no lock leaves nothing. Whoever still has a lock alone when he
 *            gives it has its place alone, too, but for the count of those that
 *            wait: others wait for what he does there, and he locks nothing.
 * fork       the child forgets all of it.
 */
#ifndef COMMON_SYNC_H
#define COMMON_SYNC_H
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <axprof/axprof_adapter.h>

#define COMMON_SYNC_SETS 4096u
#define COMMON_SYNC_WAYS 2u
#define COMMON_SYNC_IDLE 1024u
/* Of 16 threads at least one waits. With these a place takes 7 lines. */
#define COMMON_SYNC_GIVEN 15u

/* All that a mutex needs is in its first line. */
struct common_sync {
    _Alignas(64) uint32_t spin;
    uint32_t n_waiting;
    uint32_t n_idle;    /* taken without a wait since the last one */
    uint32_t n_members; /* of a barrier */
    uint32_t is_alone;  /* who has it was seen to take it for itself */
    uint32_t life;      /* of the place: how often it was cleared */
    uint64_t taken_at;  /* by who has it alone, by the recorder's clock */
    uint64_t n_given;   /* of a barrier: arrivals */
    uint64_t first;     /* of those given that anybody who waits now may take */
    axp_giver last;     /* of a lock: who gave it last; of a thread: itself */
    struct common_alone { /* of a read-write lock: who last had it for itself */
        axp_giver by;
        uint64_t i; /* of those given */
    } alone;
    struct common_given { /* not of locks */
        uint64_t at;      /* of an axp_giver, and its row, without gaps */
        uint64_t i;       /* of those given */
        uint32_t row;
        uint32_t n_left; /* who may still have been woken by it */
    } given[COMMON_SYNC_GIVEN];
};

/* A place in the life that it had when somebody came to wait there. */
struct common_stay {
    struct common_sync *sync; /* NULL: no place */
    uint32_t life;
};

/* A wait that has begun. */
struct common_wait {
    const void *object;
    struct common_stay stay;
    struct common_stay around; /* whose, if a handler waits within a wait */
    uint64_t n_given;          /* before it */
    uint64_t number;           /* a barrier's round */
    uint64_t began;            /* by the recorder's clock; 0: not recorded */
    bool was_busy;             /* all who gave it before are on record */
    axp_sync_kind kind;
};

extern uintptr_t common_sync_index[COMMON_SYNC_SETS][COMMON_SYNC_WAYS];
extern struct common_sync common_syncs[COMMON_SYNC_SETS][COMMON_SYNC_WAYS];

static inline size_t common_sync_set(const void *object)
{
    uint64_t mixed = ((uintptr_t)object >> 3) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(mixed >> 52);
}
_Static_assert(COMMON_SYNC_SETS == 1u << (64 - 52), "sets");

/* NULL: nobody has waited for it. */
static inline struct common_sync *common_sync_of(const void *object)
{
    size_t set = common_sync_set(object);
    for (size_t way = 0; way < COMMON_SYNC_WAYS; way++)
        if (__atomic_load_n(&common_sync_index[set][way], __ATOMIC_ACQUIRE) ==
            (uintptr_t)object)
            return &common_syncs[set][way];
    return NULL;
}

/* Before the real call that gives it, to as many as `n_most`. */
void common_sync_give_slow(struct common_sync *s, axp_sync_kind kind,
                           const void *object, uint32_t n_most);
/* A mutex, after the real call that gave it: another may have it already. */
void common_sync_gave_lock(const void *object);
/* After the real call that took it at once. */
void common_sync_take_slow(struct common_sync *s, axp_sync_kind kind,
                           const void *object);
/* A place, made if there is none yet; NULL: no room. */
struct common_sync *common_sync_make(const void *object);
void common_sync_forget(const void *object);
/* The same, unless somebody else waits for it. */
void common_sync_forget_idle(const void *object);

/* object = NULL: it is not looked for. */
struct common_wait common_wait_begin(axp_sync_kind kind, const void *object);
/* is_given: it was not in vain, and had no other end (a signal, a limit). */
void common_wait_end(const struct common_wait *wait, const char *name,
                     bool is_given);

/* It is over, and nothing is recorded of it. */
void common_wait_give_up(const struct common_wait *wait);
/* The thread ends; it may have been cancelled in a wait, or have jumped out. */
void common_wait_no_more(void);

static inline void common_sync_give(axp_sync_kind kind, const void *object,
                                    uint32_t n_most)
{
    struct common_sync *s = common_sync_of(object);
    if (__builtin_expect(s != NULL, 0))
        common_sync_give_slow(s, kind, object, n_most);
}

static inline void common_sync_take(axp_sync_kind kind, const void *object)
{
    struct common_sync *s = common_sync_of(object);
    if (__builtin_expect(s != NULL, 0)) common_sync_take_slow(s, kind, object);
}

/* ---- barriers ----------------------------------------------------------- */
/* Of so many members. */
void common_barrier_made(const void *barrier, uint32_t n_members);
/* Which round this arrival is of, from 1; 0: nobody saw the barrier made. The
 * last of a round is the giver of all others. */
uint64_t common_barrier_arrive(const void *barrier, bool *is_last);

/* ---- threads ------------------------------------------------------------ */
static inline const void *common_thread(pthread_t thread)
{
    return (const void *)(uintptr_t)thread;
}
/* This one is over, but for what it does at its very end (destructors): whoever
 * joins it waits for that, if he comes later, and it has a place for him. */
void common_sync_ended(const void *thread, bool is_detached);

#endif
