/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Locks that threads give each other, with a recorder that is none: what their
 * places say of each wait is held against what the program knows. Built together
 * with common_sync.c alone, so that the race detector looks at it as well.
 *
 *   mutex   who ended a wait, if that is known, is who had it before
 *   late    the same lock, told after it was given (LLVM's OpenMP): of whoever
 *           is said to have given it, the moment is his
 *   shared  the same, of a read-write lock
 *   crowds  more wait than a place has room for givers: each knows who ended it
 */
#include <errno.h>
#include <stdlib.h>

#include "adapters/common/common_sync.h"
#include "stress_check.h"

#define N_THREADS 4u
#define N_ROUNDS 40
#define N_TIMES 200 /* less than COMMON_SYNC_IDLE of all of them */

static pthread_mutex_t mutex;
static pthread_rwlock_t rwlock;
static pthread_barrier_t all_there;
static uint32_t owner; /* who had the mutex last; 0: nobody */
static _Thread_local uint32_t me;
static _Thread_local uint64_t my_time;
static _Thread_local axp_giver ended_by;
static uint64_t n_known;

/* ---- the recorder -------------------------------------------------------- */

/* Each thread has moments of its own. */
uint64_t axp_wait_begin(void)
{
    return ++my_time << 8 | me;
}

uint64_t axp_ticks(axp_ns ns)
{
    return ns;
}

axp_giver axp_sync_release(axp_sync_kind kind, const void *object,
                           uint64_t since, bool is_wanted)
{
    (void)kind, (void)object, (void)since, (void)is_wanted;
    return (axp_giver){axp_wait_begin(), me};
}

axp_giver axp_sync_give(axp_sync_kind kind, const void *object, uint64_t number)
{
    return axp_sync_release(kind, object, number, true);
}

void axp_sync_take(axp_sync_kind kind, const void *object, uint64_t number,
                   const axp_giver *by)
{
    (void)kind, (void)object, (void)number, (void)by;
}

void axp_sync_waited(const axp_sync_wait *wait)
{
    ended_by = wait->by;
    if (!ended_by.at) return;
    CHECK((ended_by.at & 0xff) == ended_by.row);
    __atomic_fetch_add(&n_known, 1, __ATOMIC_RELAXED);
}

/* ---- threads ------------------------------------------------------------- */

#define TAKE(try_it, take_it, kind, object)                                    \
    do {                                                                       \
        ended_by = (axp_giver){0};                                             \
        if (try_it(object) == 0) {                                             \
            common_sync_take(kind, object);                                    \
            break;                                                             \
        }                                                                      \
        struct common_wait wait = common_wait_begin(kind, object);             \
        CHECK(take_it(object) == 0);                                           \
        common_wait_end(&wait, "wait", true);                                  \
    } while (0)

static void dawdle(unsigned i)
{
    if (i % 4 == 0) sched_yield();
}

static void use_mutex(unsigned i)
{
    TAKE(pthread_mutex_trylock, pthread_mutex_lock, AXP_SYNC_LOCK, &mutex);
    if (ended_by.at) CHECK(ended_by.row == owner);
    dawdle(i);
    owner = me;
    common_sync_give(AXP_SYNC_LOCK, &mutex, 1);
    pthread_mutex_unlock(&mutex);
}

static void use_late(unsigned i)
{
    TAKE(pthread_mutex_trylock, pthread_mutex_lock, AXP_SYNC_LOCK, &mutex);
    dawdle(i);
    pthread_mutex_unlock(&mutex);
    common_sync_gave_lock(&mutex);
}

static void use_shared(unsigned i)
{
    if (i % 3)
        TAKE(pthread_rwlock_tryrdlock, pthread_rwlock_rdlock, AXP_SYNC_SHARED,
             &rwlock);
    else
        TAKE(pthread_rwlock_trywrlock, pthread_rwlock_wrlock, AXP_SYNC_LOCK,
             &rwlock);
    dawdle(i);
    common_sync_give(AXP_SYNC_LOCK, &rwlock, UINT32_MAX);
    pthread_rwlock_unlock(&rwlock);
}

static void (*use)(unsigned);

static void *member(void *number)
{
    me = (uint32_t)(uintptr_t)number;
    pthread_barrier_wait(&all_there);
    for (unsigned i = 0; i < N_TIMES; i++)
        use(i + me);
    return NULL;
}

static void play(void)
{
    pthread_t threads[N_THREADS];
    owner = 0;
    for (uintptr_t i = 0; i < N_THREADS; i++)
        CHECK(!pthread_create(&threads[i], NULL, member, (void *)(i + 1)));
    for (unsigned i = 0; i < N_THREADS; i++)
        CHECK(!pthread_join(threads[i], NULL));
    common_sync_forget(&mutex);
    common_sync_forget(&rwlock);
}

static void try(const char *name, void (*what)(unsigned))
{
    use = what;
    n_known = 0;
    for (int round = 0; round < N_ROUNDS; round++)
        play();
    printf("%s: %llu waits whose end is known\n", name,
           (unsigned long long)n_known);
    CHECK(n_known > 0);
}

/* ---- crowds, played by one thread: who gives and who waits has a number ---- */

#define CROWD 40u
#define MANY 15u /* posts of as many threads */

static int object;

/* More than a place has room for, before any of those woken looks. */
static void one_gives_to_all(axp_sync_kind kind)
{
    struct common_wait waits[CROWD];
    for (unsigned i = 0; i < CROWD; i++)
        waits[i] = common_wait_begin(kind, &object);
    me = 7;
    for (unsigned i = 0; i < CROWD; i++)
        common_sync_give(kind, &object, 1);
    for (unsigned i = 0; i < CROWD; i++) {
        common_wait_end(&waits[i], "wait", true);
        CHECK_EQ(ended_by.row, 7);
    }
    common_sync_forget(&object);
}

/* Limits of time ended waits that were given to: who gave twice since is not
 * taken for the giver of one that another gave. */
static void given_in_vain(void)
{
    me = 7;
    for (unsigned i = 0; i < CROWD; i++) {
        struct common_wait late =
            common_wait_begin(AXP_SYNC_CONDITION, &object);
        common_sync_give(AXP_SYNC_CONDITION, &object, 1);
        common_wait_end(&late, "wait", false);
    }
    struct common_wait first = common_wait_begin(AXP_SYNC_CONDITION, &object);
    struct common_wait second = common_wait_begin(AXP_SYNC_CONDITION, &object);
    common_sync_give(AXP_SYNC_CONDITION, &object, 1);
    me = 8;
    common_sync_give(AXP_SYNC_CONDITION, &object, 1);
    common_wait_end(&first, "wait", true);
    CHECK_EQ(ended_by.row, 7);
    common_wait_end(&second, "wait", true);
    CHECK_EQ(ended_by.row, 8);
    common_sync_forget(&object);
}

static void many_give(unsigned n_waits)
{
    struct common_wait waits[MANY];
    for (unsigned i = 0; i < n_waits; i++)
        waits[i] = common_wait_begin(AXP_SYNC_SEMAPHORE, &object);
    for (me = 1; me <= MANY; me++)
        common_sync_give(AXP_SYNC_SEMAPHORE, &object, 1);
    for (unsigned i = 0; i < n_waits; i++) {
        common_wait_end(&waits[i], "wait", true);
        CHECK_EQ(ended_by.row, i + 1);
    }
    common_sync_forget(&object);
}

/* It was taken when nobody had waited for it yet; readers that were quicker have
 * let go of it by the time the others look. */
static void one_writes(void)
{
    struct common_wait waits[CROWD];
    for (unsigned i = 0; i < CROWD; i++)
        waits[i] = common_wait_begin(AXP_SYNC_SHARED, &object);
    for (unsigned i = 0; i < CROWD; i++) {
        me = 7 + i;
        common_sync_give(AXP_SYNC_LOCK, &object, UINT32_MAX);
        common_wait_end(&waits[i], "wait", true);
        CHECK_EQ(ended_by.row, 7);
    }
    common_sync_forget(&object);
}

static void try_crowds(void)
{
    one_gives_to_all(AXP_SYNC_SEMAPHORE);
    one_gives_to_all(AXP_SYNC_CONDITION);
    given_in_vain();
    many_give(1);
    many_give(MANY);
    one_writes();
}

int main(void)
{
    CHECK(!pthread_mutex_init(&mutex, NULL));
    CHECK(!pthread_rwlock_init(&rwlock, NULL));
    CHECK(!pthread_barrier_init(&all_there, NULL, N_THREADS));
    try("mutex", use_mutex);
    try("late", use_late);
    try("shared", use_shared);
    try_crowds();
    return 0;
}
