/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What it takes that a thread is followed; see sampling_toll.h. */
#include "sampling/sampling_toll.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base_order.h"
#include "os/os_clock.h"
#include "sampling/sampling_perf.h"

#define TRIES 12u

struct toll {
    double hz;
    uint64_t ns;
};

static void *end_at_once(void *none)
{
    return none;
}

/* 0: no thread can be started. */
static uint64_t start_one(void)
{
    pthread_t thread;
    uint64_t begin = axp__clock_of(CLOCK_MONOTONIC);
    if (pthread_create(&thread, NULL, end_at_once, NULL)) return 0;
    uint64_t end = axp__clock_of(CLOCK_MONOTONIC);
    pthread_join(thread, NULL);
    return end - begin;
}

static uint64_t start_some(void)
{
    uint64_t took[TRIES];
    for (size_t i = 0; i < TRIES; i++)
        took[i] = start_one();
    qsort(took, TRIES, sizeof *took, axp__by_u64);
    return took[0] ? took[TRIES / 4] : 0;
}

/* On a thread of its own, so that what it starts is followed and nobody else. */
static void *measure(void *ctx)
{
    struct toll *t = ctx;
    int error;
    struct axp__perf_options how = {
        .pid = (pid_t)syscall(SYS_gettid), .hz = t->hz, .is_blind = true};
    uint64_t without = start_some();
    struct axp__perf *p = axp__perf_open(&how, &error);
    uint64_t with = p && without ? start_some() : 0;
    axp__perf_close(p);
    t->ns = with > without ? with - without : 0;
    return NULL;
}

uint64_t axp__toll_ns(double hz)
{
    struct toll toll = {hz, 0};
    pthread_t thread;
    if (pthread_create(&thread, NULL, measure, &toll)) return 0;
    pthread_join(thread, NULL);
    return toll.ns;
}
