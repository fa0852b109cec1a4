/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads that do one thing at once; see machine_crew.h. */
#include "machine/machine_crew.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "machine/machine_cpu.h"
#include "os/os_clock.h"

#define SPINS 20000 /* before a thread that waits lets others go on */

struct worker {
    struct axp__crew *crew;
    pthread_t thread;
    uint32_t index;
    int cpu; /* -1: any */
    double begin, end;
    double ran; /* of that time, on a processor */
};

struct axp__crew {
    pthread_mutex_t mutex;
    pthread_cond_t work, done;
    uint64_t turn; /* what is to be done has this number */
    bool is_over;
    uint32_t n_wanted, n_left;
    axp__crew_fn fn;
    void *ctx;
    atomic_uint n_here; /* of those that will begin together */
    uint32_t n;
    struct worker workers[];
};

double axp__crew_now(void)
{
    return (double)axp__clock_of(CLOCK_MONOTONIC) * 1e-9;
}

static double processor_time(void)
{
    return (double)axp__clock_of(CLOCK_THREAD_CPUTIME_ID) * 1e-9;
}

/* ---- a thread ------------------------------------------------------------- */

static void sit_on(int cpu)
{
    cpu_set_t *set = cpu < 0 ? NULL : CPU_ALLOC((size_t)cpu + 1);
    if (!set) return;
    size_t size = CPU_ALLOC_SIZE((size_t)cpu + 1);
    CPU_ZERO_S(size, set);
    CPU_SET_S((size_t)cpu, size, set);
    (void)sched_setaffinity(0, size, set); /* else it runs anywhere */
    CPU_FREE(set);
}

static void wait_for_others(struct axp__crew *p)
{
    atomic_fetch_add(&p->n_here, 1);
    for (int i = 0; atomic_load(&p->n_here) < p->n_wanted; i++)
        if (i > SPINS) sched_yield();
}

static void *work(void *ctx)
{
    struct worker *w = ctx;
    struct axp__crew *p = w->crew;
    uint64_t turn = 0;
    sit_on(w->cpu);
    pthread_mutex_lock(&p->mutex);
    for (;;) {
        while (p->turn == turn && !p->is_over)
            pthread_cond_wait(&p->work, &p->mutex);
        if (p->is_over) break;
        turn = p->turn;
        if (w->index >= p->n_wanted) continue;
        pthread_mutex_unlock(&p->mutex);
        wait_for_others(p);
        double ran = processor_time();
        w->begin = axp__crew_now();
        p->fn(p->ctx, w->index);
        w->end = axp__crew_now();
        w->ran = processor_time() - ran;
        pthread_mutex_lock(&p->mutex);
        if (!--p->n_left) pthread_cond_signal(&p->done);
    }
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

/* ---- all of them ----------------------------------------------------------- */

struct axp__crew *axp__crew_create(uint32_t n_threads)
{
    int cpus[AXP__MOST_CPUS];
    size_t n_cpus = axp__cpu_allowed(cpus, AXP__MOST_CPUS);
    struct axp__crew *p = calloc(1, sizeof *p + n_threads * sizeof *p->workers);
    sigset_t all, before; /* signals are the program's */
    if (!p) return NULL;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->done, NULL);
    for (uint32_t i = 0; i < n_threads; i++) {
        p->workers[i] = (struct worker){
            .crew = p, .index = i, .cpu = i < n_cpus ? cpus[i] : -1};
        if (pthread_create(&p->workers[i].thread, NULL, work, &p->workers[i]))
            break;
        p->n++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (p->n) return p;
    axp__crew_destroy(p);
    return NULL;
}

uint32_t axp__crew_size(const struct axp__crew *p)
{
    return p->n;
}

void axp__crew_destroy(struct axp__crew *p)
{
    if (!p) return;
    pthread_mutex_lock(&p->mutex);
    p->is_over = true;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->mutex);
    for (uint32_t i = 0; i < p->n; i++)
        pthread_join(p->workers[i].thread, NULL);
    pthread_cond_destroy(&p->work);
    pthread_cond_destroy(&p->done);
    pthread_mutex_destroy(&p->mutex);
    free(p);
}

double axp__crew_run(struct axp__crew *p, uint32_t n, axp__crew_fn fn,
                     void *ctx)
{
    pthread_mutex_lock(&p->mutex);
    p->fn = fn;
    p->ctx = ctx;
    p->n_wanted = p->n_left = n < p->n ? n : p->n;
    atomic_store(&p->n_here, 0);
    p->turn++;
    pthread_cond_broadcast(&p->work);
    while (p->n_left)
        pthread_cond_wait(&p->done, &p->mutex);
    double begin = p->workers[0].begin, end = p->workers[0].end;
    for (uint32_t i = 1; i < p->n_wanted; i++) {
        if (p->workers[i].begin < begin) begin = p->workers[i].begin;
        if (p->workers[i].end > end) end = p->workers[i].end;
    }
    pthread_mutex_unlock(&p->mutex);
    return end - begin;
}

double axp__crew_ran(const struct axp__crew *p)
{
    double ran = p->workers[0].ran;
    for (uint32_t i = 1; i < p->n_wanted; i++)
        if (p->workers[i].ran < ran) ran = p->workers[i].ran;
    return ran;
}

double axp__crew_lost(const struct axp__crew *p)
{
    double begin = p->workers[0].begin, lost = 0;
    for (uint32_t i = 1; i < p->n_wanted; i++)
        if (p->workers[i].begin < begin) begin = p->workers[i].begin;
    for (uint32_t i = 0; i < p->n_wanted; i++) {
        double all = p->workers[i].end - begin;
        double part = all > 0 ? 1 - p->workers[i].ran / all : 0;
        if (part > lost) lost = part;
    }
    return lost < 1 ? lost : 1;
}
