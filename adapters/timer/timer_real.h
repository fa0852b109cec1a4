/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The functions behind the wrappers: found by the first call, which may come
 * before any constructor. */
#ifndef TIMER_REAL_H
#define TIMER_REAL_H
#include <pthread.h>
#include <signal.h>
#include <threads.h>

/* REAL(result, name, parameters) */
#define TIMER_REAL_FUNCTIONS                                                   \
    REAL(int, sigaction, (int, const struct sigaction *, struct sigaction *))  \
    REAL(int, pthread_create,                                                  \
         (pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))     \
    REAL(int, thrd_create, (thrd_t *, thrd_start_t, void *))                   \
    REAL(sighandler_t, signal, (int, sighandler_t))                            \
    REAL(sighandler_t, ssignal, (int, sighandler_t))                           \
    REAL(sighandler_t, bsd_signal, (int, sighandler_t))                        \
    REAL(sighandler_t, sysv_signal, (int, sighandler_t))                       \
    REAL(sighandler_t, __sysv_signal, (int, sighandler_t))                     \
    REAL(sighandler_t, sigset, (int, sighandler_t))                            \
    REAL(int, sigwait, (const sigset_t *, int *))                              \
    REAL(int, sigwaitinfo, (const sigset_t *, siginfo_t *))                    \
    REAL(int, sigtimedwait,                                                    \
         (const sigset_t *, siginfo_t *, const struct timespec *))             \
    REAL(int, signalfd, (int, const sigset_t *, int))                          \
    REAL(int, sigpending, (sigset_t *))

struct timer_real {
#define REAL(result, name, parameters) result(*name) parameters;
    TIMER_REAL_FUNCTIONS
#undef REAL
};

const struct timer_real *timer_real(void);

#endif
