/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The functions behind the wrappers: found by the first call, which may come
 * before any constructor. */
#ifndef TIMER_REAL_H
#define TIMER_REAL_H
#include <pthread.h>
#include <signal.h>

struct timer_real {
    int (*pthread_create)(pthread_t *, const pthread_attr_t *,
                          void *(*)(void *), void *);
    int (*sigaction)(int, const struct sigaction *, struct sigaction *);
    sighandler_t (*signal)(int, sighandler_t);
};

const struct timer_real *timer_real(void);

#endif
