/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The C library's own functions behind the wrappers.
 *
 * Found when the library is loaded, or by the first call if that comes before:
 * an allocator of the user's may lock before any constructor has run.
 */
#ifndef PTHREAD_REAL_H
#define PTHREAD_REAL_H
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
#include <time.h>

/* REAL(name, parameters) */
#define PTHREAD_REAL_FUNCTIONS                                                 \
    REAL(pthread_mutex_lock, (pthread_mutex_t *))                              \
    REAL(pthread_mutex_trylock, (pthread_mutex_t *))                           \
    REAL(pthread_mutex_unlock, (pthread_mutex_t *))                            \
    REAL(pthread_mutex_timedlock,                                              \
         (pthread_mutex_t *, const struct timespec *))                         \
    REAL(pthread_mutex_clocklock,                                              \
         (pthread_mutex_t *, clockid_t, const struct timespec *))              \
    REAL(pthread_mutex_destroy, (pthread_mutex_t *))                           \
    REAL(pthread_rwlock_unlock, (pthread_rwlock_t *))                          \
    REAL(pthread_rwlock_destroy, (pthread_rwlock_t *))                         \
    REAL(pthread_rwlock_rdlock, (pthread_rwlock_t *))                          \
    REAL(pthread_rwlock_tryrdlock, (pthread_rwlock_t *))                       \
    REAL(pthread_rwlock_wrlock, (pthread_rwlock_t *))                          \
    REAL(pthread_rwlock_trywrlock, (pthread_rwlock_t *))                       \
    REAL(pthread_rwlock_timedrdlock,                                           \
         (pthread_rwlock_t *, const struct timespec *))                        \
    REAL(pthread_rwlock_timedwrlock,                                           \
         (pthread_rwlock_t *, const struct timespec *))                        \
    REAL(pthread_rwlock_clockrdlock,                                           \
         (pthread_rwlock_t *, clockid_t, const struct timespec *))             \
    REAL(pthread_rwlock_clockwrlock,                                           \
         (pthread_rwlock_t *, clockid_t, const struct timespec *))             \
    REAL(pthread_cond_wait, (pthread_cond_t *, pthread_mutex_t *))             \
    REAL(pthread_cond_timedwait,                                               \
         (pthread_cond_t *, pthread_mutex_t *, const struct timespec *))       \
    REAL(pthread_cond_clockwait, (pthread_cond_t *, pthread_mutex_t *,         \
                                  clockid_t, const struct timespec *))         \
    REAL(pthread_cond_signal, (pthread_cond_t *))                              \
    REAL(pthread_cond_broadcast, (pthread_cond_t *))                           \
    REAL(pthread_cond_destroy, (pthread_cond_t *))                             \
    REAL(pthread_barrier_init,                                                 \
         (pthread_barrier_t *, const pthread_barrierattr_t *, unsigned))       \
    REAL(pthread_barrier_wait, (pthread_barrier_t *))                          \
    REAL(pthread_barrier_destroy, (pthread_barrier_t *))                       \
    REAL(sem_post, (sem_t *))                                                  \
    REAL(sem_trywait, (sem_t *))                                               \
    REAL(sem_destroy, (sem_t *))                                               \
    REAL(sem_wait, (sem_t *))                                                  \
    REAL(sem_timedwait, (sem_t *, const struct timespec *))                    \
    REAL(sem_clockwait, (sem_t *, clockid_t, const struct timespec *))         \
    REAL(pthread_join, (pthread_t, void **))                                   \
    REAL(pthread_timedjoin_np, (pthread_t, void **, const struct timespec *))  \
    REAL(pthread_clockjoin_np,                                                 \
         (pthread_t, void **, clockid_t, const struct timespec *))             \
    REAL(pthread_create,                                                       \
         (pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))     \
    REAL(pthread_setname_np, (pthread_t, const char *))                        \
    REAL(mtx_lock, (mtx_t *))                                                  \
    REAL(mtx_trylock, (mtx_t *))                                               \
    REAL(mtx_unlock, (mtx_t *))                                                \
    REAL(mtx_timedlock, (mtx_t *, const struct timespec *))                    \
    REAL(cnd_signal, (cnd_t *))                                                \
    REAL(cnd_broadcast, (cnd_t *))                                             \
    REAL(cnd_wait, (cnd_t *, mtx_t *))                                         \
    REAL(cnd_timedwait, (cnd_t *, mtx_t *, const struct timespec *))           \
    REAL(thrd_join, (thrd_t, int *))                                           \
    REAL(thrd_create, (thrd_t *, thrd_start_t, void *))

struct pthread_real {
#define REAL(name, parameters) int(*name) parameters;
    PTHREAD_REAL_FUNCTIONS
#undef REAL
    void (*mtx_destroy)(mtx_t *);
    void (*cnd_destroy)(cnd_t *);
};

const struct pthread_real *pthread_real_load(void);

extern struct pthread_real pthread_real_functions;
extern int pthread_real_is_loaded;

static inline const struct pthread_real *pthread_real(void)
{
    if (__builtin_expect(
            __atomic_load_n(&pthread_real_is_loaded, __ATOMIC_ACQUIRE), 1))
        return &pthread_real_functions;
    return pthread_real_load();
}

#endif
