/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Waits of more than 10 us, as scopes of category sync.
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
#include <stdint.h>

#include <axprof/axprof_adapter.h>

#include "pthread_real.h"

#define WRAPPER __attribute__((visibility("default")))
#define LEAST_NS 10000u

struct wait {
    uint64_t began; /* the recorder's clock */
    uint64_t ns;
};

static uint64_t clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct wait begin(void)
{
    return (struct wait){axp_wait_begin(), clock_ns()};
}

static void end(const struct wait *wait, const char *name)
{
    int error = errno;
    if (clock_ns() - wait->ns >= LEAST_NS) axp_wait_end(wait->began, name);
    errno = error;
}

/* ---- what can be tried first -------------------------------------------- */

#define LOCK(function, try_function, busy, type, text)                         \
    WRAPPER int function(type *lock)                                           \
    {                                                                          \
        const struct pthread_real *real = pthread_real();                      \
        int rc = real->try_function(lock);                                     \
        if (rc != (busy)) return rc;                                           \
        struct wait wait = begin();                                            \
        rc = real->function(lock);                                             \
        end(&wait, text);                                                      \
        return rc;                                                             \
    }

LOCK(pthread_mutex_lock, pthread_mutex_trylock, EBUSY, pthread_mutex_t,
     "mutex wait")
LOCK(mtx_lock, mtx_trylock, thrd_busy, mtx_t, "mutex wait")
LOCK(pthread_rwlock_wrlock, pthread_rwlock_trywrlock, EBUSY, pthread_rwlock_t,
     "write lock wait")
LOCK(pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, EBUSY, pthread_rwlock_t,
     "read lock wait")

/* ---- what is waited for anyway ------------------------------------------ */

#define WAIT(function, text, parameters, arguments)                            \
    WRAPPER int function parameters                                            \
    {                                                                          \
        const struct pthread_real *real = pthread_real();                      \
        struct wait wait = begin();                                            \
        int rc = real->function arguments;                                     \
        end(&wait, text);                                                      \
        return rc;                                                             \
    }

WAIT(pthread_mutex_timedlock, "mutex wait",
     (pthread_mutex_t * m, const struct timespec *until), (m, until))
WAIT(pthread_mutex_clocklock, "mutex wait",
     (pthread_mutex_t * m, clockid_t clock, const struct timespec *until),
     (m, clock, until))
WAIT(mtx_timedlock, "mutex wait", (mtx_t * m, const struct timespec *until),
     (m, until))
WAIT(pthread_rwlock_timedrdlock, "read lock wait",
     (pthread_rwlock_t * l, const struct timespec *until), (l, until))
WAIT(pthread_rwlock_timedwrlock, "write lock wait",
     (pthread_rwlock_t * l, const struct timespec *until), (l, until))
WAIT(pthread_rwlock_clockrdlock, "read lock wait",
     (pthread_rwlock_t * l, clockid_t clock, const struct timespec *until),
     (l, clock, until))
WAIT(pthread_rwlock_clockwrlock, "write lock wait",
     (pthread_rwlock_t * l, clockid_t clock, const struct timespec *until),
     (l, clock, until))
WAIT(pthread_cond_wait, "condition wait",
     (pthread_cond_t * c, pthread_mutex_t *m), (c, m))
WAIT(pthread_cond_timedwait, "condition wait",
     (pthread_cond_t * c, pthread_mutex_t *m, const struct timespec *until),
     (c, m, until))
WAIT(pthread_cond_clockwait, "condition wait",
     (pthread_cond_t * c, pthread_mutex_t *m, clockid_t clock,
      const struct timespec *until),
     (c, m, clock, until))
WAIT(cnd_wait, "condition wait", (cnd_t * c, mtx_t *m), (c, m))
WAIT(cnd_timedwait, "condition wait",
     (cnd_t * c, mtx_t *m, const struct timespec *until), (c, m, until))
WAIT(pthread_barrier_wait, "barrier wait", (pthread_barrier_t * b), (b))
WAIT(sem_wait, "semaphore wait", (sem_t * s), (s))
WAIT(sem_timedwait, "semaphore wait", (sem_t * s, const struct timespec *until),
     (s, until))
WAIT(sem_clockwait, "semaphore wait",
     (sem_t * s, clockid_t clock, const struct timespec *until),
     (s, clock, until))
WAIT(pthread_join, "join wait", (pthread_t thread, void **result),
     (thread, result))
WAIT(thrd_join, "join wait", (thrd_t thread, int *result), (thread, result))
