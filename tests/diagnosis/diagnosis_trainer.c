/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Causes in one trainer of two threads. Both do half of each step's work and
 * meet at its end; a cause changes one thing and no other. */
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "diagnosis_cause.h"

#define STEPS 64
#define SCRATCH ((size_t)4 << 20)

/* How much of each cause is there. */
static struct {
    double lock, imbalance, read, churn, growth, slow, calls, serial;
} k;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int timer;
static bool is_split; /* the update is a phase of its own */

OPERATION(embed)
OPERATION(attention)
OPERATION(mlp)
OPERATION(mlp_backward)
OPERATION(attention_backward)
OPERATION(update)

/* ---- what may be at fault ------------------------------------------------------- */

OPERATION(reduce)

/* Both add to one gradient: under one lock, or each to its part. */
static void reduce_all(void)
{
    if (k.lock) {
        pthread_mutex_lock(&lock);
        reduce(1.5 * k.lock);
        pthread_mutex_unlock(&lock);
    }
    if (k.lock < 2) reduce(3 - 1.5 * k.lock);
}

/* A batch that is not there when it is asked for. */
static __attribute__((noinline)) void load_batch(void)
{
    uint64_t n, scope = cause_begin("load_batch");
    struct itimerspec in = {.it_value = {0, (long)(1.5e6 * k.read)}};
    cause_data();
    if (timerfd_settime(timer, 0, &in, NULL)) abort();
    if (read(timer, &n, sizeof n) != sizeof n) abort();
    axp_end(scope);
}

/* Room for what a step computes: new each time, or kept. */
static __attribute__((noinline)) void use_scratch(void)
{
    static __thread char *kept;
    size_t size = k.churn ? (size_t)(k.churn * SCRATCH) : SCRATCH;
    char *scratch = kept ? kept : malloc(size);
    if (!scratch) abort();
    for (size_t i = 0; i < size && !kept; i += 4096)
        scratch[i] = 1;
    CAUSE_USE(scratch);
    if (k.churn)
        free(scratch);
    else
        kept = scratch;
}

/* Losses with all that they were computed from, of which one number is
 * wanted. */
static __attribute__((noinline)) void keep_loss(void)
{
    static void *last;
    size_t size = k.growth ? (size_t)(k.growth * (256 << 10)) : 256 << 10;
    void **loss = malloc(size);
    if (!loss) abort();
    memset(loss, 1, size);
    *loss = last;
    CAUSE_USE(loss);
    if (k.growth)
        last = loss;
    else
        free(loss);
}

/* The same sum in one call, or in many, each of which costs something before
 * it does anything. */
static __attribute__((noinline)) void activate(void)
{
    int n = k.calls ? (int)(1000 * k.calls) : 1;
    for (int i = 0; i < n; i++) {
        uint64_t scope = cause_begin("activate");
        TIMED_SPIN((1.0 / n + 0.0025) * CAUSE_UNIT);
        axp_end(scope);
    }
}

/* The weights: each thread its half, or one thread some while the other waits. */
static void update_all(int me)
{
    if (is_split) pthread_barrier_wait(&cause_barrier);
    if (k.serial && me == 0) update(2 * k.serial);
    if (is_split) pthread_barrier_wait(&cause_barrier);
    if (k.serial < 2) update(2 - k.serial);
}

/* ---- the trainer ------------------------------------------------------------------ */

static void train(int me)
{
    double part = me ? 1 - 0.48 * k.imbalance : 1 + 0.48 * k.imbalance;
    for (int i = 0; i < STEPS; i++) {
        if (k.read && me == 0) load_batch();
        if (k.read) pthread_barrier_wait(&cause_barrier);
        use_scratch();
        embed(2 * part);
        attention((2 + 5 * k.slow) * part);
        mlp(2 * part);
        activate();
        mlp_backward(2 * part);
        attention_backward(2 * part);
        reduce_all();
        update_all(me);
        if (me == 0) keep_loss();
        pthread_barrier_wait(&cause_barrier);
        if (me == 0) cause_step();
    }
}

#define TRAINER(cause)                                                         \
    static void run_##cause(void)                                              \
    {                                                                          \
        k.cause = cause_k;                                                     \
        is_split = &k.cause == &k.serial;                                      \
        timer = timerfd_create(CLOCK_MONOTONIC, 0);                            \
        cause_pair(train);                                                     \
    }
TRAINER(lock)
TRAINER(imbalance)
TRAINER(read)
TRAINER(churn)
TRAINER(growth)
TRAINER(slow)
TRAINER(calls)
TRAINER(serial)

#define SHARED "embed|attention|mlp|mlp_backward|attention_backward"
const struct cause causes[] = {
    {"lock", "LockContention", "reduce", "reduce", run_lock, 0},
    {"imbalance", "LoadImbalance", SHARED, SHARED, run_imbalance, 0},
    {"read", "InputBound", "load_batch", "IoWait=*", run_read, 0},
    {"churn", "AllocationChurn", "use_scratch", NULL, run_churn, 0},
    {"growth", "MemoryGrowth", "keep_loss", NULL, run_growth, 0},
    {"slow", "SlowOperation", "attention", "attention", run_slow, 0},
    {"calls", "CallOverhead|HighCallCount", "activate", NULL, run_calls, 0},
    {"serial", "SerialPhase", "update", "update", run_serial, 0},
    {0}};
