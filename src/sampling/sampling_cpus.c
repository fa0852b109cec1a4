/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Asking for all CPUs; see sampling_cpus.h. */
#include "sampling/sampling_cpus.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

static void *ask(void *ctx)
{
    struct axp__cpus *c = ctx;
    memset(c->set, 0xff, sizeof c->set);
    c->is_known = !sched_setaffinity(0, sizeof c->set, c->set) &&
                  !sched_getaffinity(0, sizeof c->set, c->set);
    return NULL;
}

void axp__cpus_reach(struct axp__cpus *c)
{
    pthread_t thread;
    sigset_t all, before; /* signals are the program's */
    c->is_known = false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (!pthread_create(&thread, NULL, ask, c)) pthread_join(thread, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
