/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Waits: how long, for what, and who ended them. Those of more than 10 us are
 * scopes of category sync.
 *
 * A lock that is free is taken by trying, which costs what locking costs:
 * nothing is measured then. Else two clock reads surround the real call.
 *
 * C11's      functions (mtx_lock and its kin) are wrapped as well: the C library
 *            does not call the others for them by name.
 *
 * Not here   what the C library locks inside itself, and futexes called
 *            directly (libgomp's barriers): those do not pass through here.
 */
#include <errno.h>
#include <limits.h>

#include "pthread_real.h"
#include "adapters/common/common_sync.h"

#define WRAPPER __attribute__((visibility("default")))

static const char for_mutex[] = "mutex wait",
                  for_condition[] = "condition wait",
                  for_semaphore[] = "semaphore wait",
                  for_barrier[] = "barrier wait", for_join[] = "join wait",
                  for_reading[] = "read lock wait",
                  for_writing[] = "write lock wait";

/* ---- locks and semaphores ----------------------------------------------- */

#define TRY(function, kind, type)                                              \
    WRAPPER int function(type *object)                                         \
    {                                                                          \
        int rc = pthread_real()->function(object);                             \
        if (rc == 0) common_sync_take(kind, object);                           \
        return rc;                                                             \
    }

TRY(pthread_mutex_trylock, AXP_SYNC_LOCK, pthread_mutex_t)
TRY(mtx_trylock, AXP_SYNC_LOCK, mtx_t)
TRY(pthread_rwlock_trywrlock, AXP_SYNC_LOCK, pthread_rwlock_t)
TRY(pthread_rwlock_tryrdlock, AXP_SYNC_SHARED, pthread_rwlock_t)
TRY(sem_trywait, AXP_SYNC_SEMAPHORE, sem_t)

/* What the C library refuses before it looks whether it must wait. */
static bool is_clock(clockid_t clock)
{
    return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}

static bool is_time(const struct timespec *until)
{
    return until && until->tv_nsec >= 0 && until->tv_nsec < 1000000000;
}

/* A try that fails may set errno, which a wait that succeeds does not. */
#define TAKE(function, is_valid, try_function, is_busy, kind, text,            \
             parameters, arguments)                                            \
    WRAPPER int function parameters                                            \
    {                                                                          \
        const struct pthread_real *real = pthread_real();                      \
        if (!(is_valid)) return real->function arguments;                      \
        int error = errno, rc = real->try_function(object);                    \
        if (rc == 0) common_sync_take(kind, object);                           \
        if (!(is_busy)) return rc;                                             \
        errno = error;                                                         \
        struct common_wait wait = common_wait_begin(kind, object);             \
        rc = real->function arguments;                                         \
        common_wait_end(&wait, text, rc == 0);                                 \
        return rc;                                                             \
    }
#define MUTEX(function, is_valid, parameters, arguments)                       \
    TAKE(function, is_valid, pthread_mutex_trylock, rc == EBUSY,               \
         AXP_SYNC_LOCK, for_mutex, parameters, arguments)
#define C11_MUTEX(function, is_valid, parameters, arguments)                   \
    TAKE(function, is_valid, mtx_trylock, rc == thrd_busy, AXP_SYNC_LOCK,      \
         for_mutex, parameters, arguments)
#define READ(function, is_valid, parameters, arguments)                        \
    TAKE(function, is_valid, pthread_rwlock_tryrdlock, rc == EBUSY,            \
         AXP_SYNC_SHARED, for_reading, parameters, arguments)
#define WRITE(function, is_valid, parameters, arguments)                       \
    TAKE(function, is_valid, pthread_rwlock_trywrlock, rc == EBUSY,            \
         AXP_SYNC_LOCK, for_writing, parameters, arguments)
/* One that is there is a point of cancellation too. */
#define SEMAPHORE(function, is_valid, parameters, arguments)                   \
    WRAPPER int function parameters                                            \
    {                                                                          \
        const struct pthread_real *real = pthread_real();                      \
        if (!(is_valid)) return real->function arguments;                      \
        pthread_testcancel();                                                  \
        int error = errno, rc = real->sem_trywait(object);                     \
        if (rc == 0) common_sync_take(AXP_SYNC_SEMAPHORE, object);             \
        if (rc == 0 || errno != EAGAIN) return rc;                             \
        errno = error;                                                         \
        struct common_wait wait =                                              \
            common_wait_begin(AXP_SYNC_SEMAPHORE, object);                     \
        rc = real->function arguments;                                         \
        common_wait_end(&wait, for_semaphore, rc == 0);                        \
        return rc;                                                             \
    }

#define UNTIL const struct timespec *until

MUTEX(pthread_mutex_lock, true, (pthread_mutex_t * object), (object))
MUTEX(pthread_mutex_timedlock, is_time(until),
      (pthread_mutex_t * object, UNTIL), (object, until))
MUTEX(pthread_mutex_clocklock, is_clock(clock) && is_time(until),
      (pthread_mutex_t * object, clockid_t clock, UNTIL),
      (object, clock, until))
C11_MUTEX(mtx_lock, true, (mtx_t * object), (object))
C11_MUTEX(mtx_timedlock, is_time(until), (mtx_t * object, UNTIL),
          (object, until))
READ(pthread_rwlock_rdlock, true, (pthread_rwlock_t * object), (object))
READ(pthread_rwlock_timedrdlock, is_time(until),
     (pthread_rwlock_t * object, UNTIL), (object, until))
READ(pthread_rwlock_clockrdlock, is_clock(clock) && is_time(until),
     (pthread_rwlock_t * object, clockid_t clock, UNTIL),
     (object, clock, until))
WRITE(pthread_rwlock_wrlock, true, (pthread_rwlock_t * object), (object))
WRITE(pthread_rwlock_timedwrlock, is_time(until),
      (pthread_rwlock_t * object, UNTIL), (object, until))
WRITE(pthread_rwlock_clockwrlock, is_clock(clock) && is_time(until),
      (pthread_rwlock_t * object, clockid_t clock, UNTIL),
      (object, clock, until))
SEMAPHORE(sem_wait, true, (sem_t * object), (object))
SEMAPHORE(sem_timedwait, is_time(until), (sem_t * object, UNTIL),
          (object, until))
SEMAPHORE(sem_clockwait, is_clock(clock) && is_time(until),
          (sem_t * object, clockid_t clock, UNTIL), (object, clock, until))

/* ---- giving ------------------------------------------------------------- */

/* Most give what nobody has waited for: that way has no frame of its own. */
#define GIVE(function, kind, n_most, type)                                     \
    static __attribute__((noinline)) int function##_awaited(                   \
        type *object, struct common_sync *s)                                   \
    {                                                                          \
        common_sync_give_slow(s, kind, object, n_most);                        \
        return pthread_real()->function(object);                               \
    }                                                                          \
    WRAPPER int function(type *object)                                         \
    {                                                                          \
        struct common_sync *s = common_sync_of(object);                        \
        if (__builtin_expect(s != NULL, 0))                                    \
            return function##_awaited(object, s);                              \
        return pthread_real()->function(object);                               \
    }

GIVE(pthread_mutex_unlock, AXP_SYNC_LOCK, 1, pthread_mutex_t)
GIVE(mtx_unlock, AXP_SYNC_LOCK, 1, mtx_t)
GIVE(pthread_rwlock_unlock, AXP_SYNC_LOCK, UINT_MAX, pthread_rwlock_t)
GIVE(sem_post, AXP_SYNC_SEMAPHORE, 1, sem_t)
GIVE(pthread_cond_signal, AXP_SYNC_CONDITION, 1, pthread_cond_t)
GIVE(pthread_cond_broadcast, AXP_SYNC_CONDITION, UINT_MAX, pthread_cond_t)
GIVE(cnd_signal, AXP_SYNC_CONDITION, 1, cnd_t)
GIVE(cnd_broadcast, AXP_SYNC_CONDITION, UINT_MAX, cnd_t)

#define FORGET(function, type)                                                 \
    WRAPPER int function(type *object)                                         \
    {                                                                          \
        common_sync_forget(object);                                            \
        return pthread_real()->function(object);                               \
    }

FORGET(pthread_mutex_destroy, pthread_mutex_t)
FORGET(pthread_rwlock_destroy, pthread_rwlock_t)
FORGET(pthread_cond_destroy, pthread_cond_t)
FORGET(pthread_barrier_destroy, pthread_barrier_t)
FORGET(sem_destroy, sem_t)

WRAPPER void mtx_destroy(mtx_t *object)
{
    common_sync_forget(object);
    pthread_real()->mtx_destroy(object);
}

WRAPPER void cnd_destroy(cnd_t *object)
{
    common_sync_forget(object);
    pthread_real()->cnd_destroy(object);
}

/* ---- conditions --------------------------------------------------------- */

/* The mutex is given and taken again inside, where nobody else sees it. */
#define CONDITION(function, parameters, arguments)                             \
    WRAPPER int function parameters                                            \
    {                                                                          \
        const struct pthread_real *real = pthread_real();                      \
        common_sync_give(AXP_SYNC_LOCK, m, 1);                                 \
        struct common_wait wait = common_wait_begin(AXP_SYNC_CONDITION, c);    \
        int rc = real->function arguments;                                     \
        common_wait_end(&wait, for_condition, rc == 0);                        \
        common_sync_take(AXP_SYNC_LOCK, m);                                    \
        return rc;                                                             \
    }

CONDITION(pthread_cond_wait, (pthread_cond_t * c, pthread_mutex_t *m), (c, m))
CONDITION(pthread_cond_timedwait,
          (pthread_cond_t * c, pthread_mutex_t *m, UNTIL), (c, m, until))
CONDITION(pthread_cond_clockwait,
          (pthread_cond_t * c, pthread_mutex_t *m, clockid_t clock, UNTIL),
          (c, m, clock, until))
CONDITION(cnd_wait, (cnd_t * c, mtx_t *m), (c, m))
CONDITION(cnd_timedwait, (cnd_t * c, mtx_t *m, UNTIL), (c, m, until))

/* ---- barriers ----------------------------------------------------------- */

WRAPPER int pthread_barrier_init(pthread_barrier_t *barrier,
                                 const pthread_barrierattr_t *attr,
                                 unsigned n_members)
{
    int rc = pthread_real()->pthread_barrier_init(barrier, attr, n_members);
    int sharing = PTHREAD_PROCESS_PRIVATE;
    if (attr) pthread_barrierattr_getpshared(attr, &sharing);
    /* Of one that others arrive at too, nobody here knows who is last. */
    if (rc == 0 && sharing == PTHREAD_PROCESS_PRIVATE)
        common_barrier_made(barrier, n_members);
    return rc;
}

/* Every arrival is on record: the waits of a round belong together, and end
 * with its last. */
WRAPPER int pthread_barrier_wait(pthread_barrier_t *barrier)
{
    const struct pthread_real *real = pthread_real();
    struct common_wait wait = common_wait_begin(AXP_SYNC_BARRIER, NULL);
    bool is_last;
    wait.object = barrier;
    wait.number = common_barrier_arrive(barrier, &is_last);
    int rc = real->pthread_barrier_wait(barrier);
    if (!is_last) common_wait_end(&wait, for_barrier, true);
    return rc;
}

/* ---- threads ------------------------------------------------------------ */

#define JOIN(function, parameters, arguments)                                  \
    WRAPPER int function parameters                                            \
    {                                                                          \
        const struct pthread_real *real = pthread_real();                      \
        const void *object = common_thread(thread);                            \
        struct common_wait wait =                                              \
            common_wait_begin(AXP_SYNC_THREAD_END, object);                    \
        int rc = real->function arguments;                                     \
        common_wait_end(&wait, for_join, rc == 0);                             \
        if (rc == 0) common_sync_forget_idle(object);                          \
        return rc;                                                             \
    }

JOIN(pthread_join, (pthread_t thread, void **result), (thread, result))
JOIN(pthread_timedjoin_np, (pthread_t thread, void **result, UNTIL),
     (thread, result, until))
JOIN(pthread_clockjoin_np,
     (pthread_t thread, void **result, clockid_t clock, UNTIL),
     (thread, result, clock, until))
JOIN(thrd_join, (thrd_t thread, int *result), (thread, result))
