/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Causes in what threads hold while others want it. The work is the same at
 * every intensity; how much of it is done with the lock held is not. */
#include "diagnosis_cause.h"

#define STEPS 60

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* ---- a writer that rebuilds while readers wait -------------------------------------- */

static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;

OPERATION(rebuild_table)

/* The writer comes a little earlier than the reader, who has more to do. */
static void read_and_write(int me)
{
    for (int i = 0; i < STEPS; i++) {
        cause_compute(me ? 6 : 5);
        if (me) {
            pthread_rwlock_rdlock(&table);
            cause_compute(7);
            pthread_rwlock_unlock(&table);
        } else {
            pthread_rwlock_wrlock(&table);
            if (cause_k) rebuild_table(2 * cause_k);
            pthread_rwlock_unlock(&table);
            if (cause_k < 2) rebuild_table(4 - 2 * cause_k);
        }
        pthread_barrier_wait(&cause_barrier);
    }
}

static void run_rwlock(void)
{
    cause_pair(read_and_write);
}

/* ---- a queue whose items are made with its lock held --------------------------------- */

OPERATION(prepare_item)

static void take_items(int me)
{
    double held = cause_k ? 4 + 1.5 * cause_k : 0;
    static int n_left = 2 * STEPS;
    (void)me;
    for (bool is_left = true; is_left;) {
        pthread_mutex_lock(&mutex);
        is_left = n_left-- > 0;
        if (is_left && held) prepare_item(held);
        pthread_mutex_unlock(&mutex);
        if (is_left) cause_compute(8 - held);
    }
}

static void run_queue(void)
{
    cause_pair(take_items);
}

/* ---- a lock that is held for a moment, and very often ------------------------------- */

static __attribute__((noinline)) void count_tokens(void)
{
    uint64_t scope = cause_begin("count_tokens");
    int shared = (int)(500 * cause_k);
    for (int i = 0; i < 1000; i++) {
        if (i < shared) pthread_mutex_lock(&mutex);
        TIMED_SPIN(0.01 * CAUSE_UNIT);
        if (i < shared) pthread_mutex_unlock(&mutex);
    }
    axp_end(scope);
}

static void count(int me)
{
    (void)me;
    for (int i = 0; i < STEPS / 2; i++) {
        cause_compute(10);
        count_tokens();
        pthread_barrier_wait(&cause_barrier);
    }
}

static void run_moments(void)
{
    cause_pair(count);
}

/* ---- a stage that the next one waits for ----------------------------------------------- */

static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int n_ready;

OPERATION(encode)

static void change_ready(int by)
{
    pthread_mutex_lock(&mutex);
    while (by > 0 ? n_ready == 2 : n_ready == 0)
        pthread_cond_wait(&changed, &mutex);
    n_ready += by;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

static void pass_on(int me)
{
    for (int i = 0; i < STEPS; i++) {
        if (me) {
            cause_compute(6);
            encode(1 + 6 * cause_k);
            change_ready(1);
        } else {
            change_ready(-1);
            cause_compute(7);
        }
    }
}

static void run_stage(void)
{
    cause_pair(pass_on);
}

const struct cause causes[] = {
    {"rwlock", "LockContention", "rebuild_table", "rebuild_table", run_rwlock,
     0},
    {"queue", "LockContention", "prepare_item", "prepare_item", run_queue, 0},
    {"moments", "LockContention", "count_tokens", "count_tokens", run_moments,
     0},
    {"stage", "SlowOperation", "encode", "encode", run_stage, 0},
    {0}};
