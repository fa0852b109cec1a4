/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Causes in how work is divided among threads: unevenly, not at all, in pieces
 * that are smaller than a thread is worth. And a parent that only waits. */
#include <math.h>

#include "diagnosis_cause.h"

#define ROUNDS 40

/* ---- uneven shares of threads that are joined ---------------------------------------- */

static void *share_main(void *argument)
{
    cause_compute(*(double *)argument);
    return NULL;
}

static void run_shares(void)
{
    double units[2] = {12 + 4 * cause_k, 12 - 4 * cause_k};
    pthread_t threads[2];
    for (int i = 0; i < ROUNDS; i++) {
        for (int t = 0; t < 2; t++)
            cause_start(&threads[t], share_main, &units[t]);
        for (int t = 0; t < 2; t++)
            pthread_join(threads[t], NULL);
    }
}

/* ---- rows that take ever longer, divided by their number --------------------------------- */

#define ROWS 64

OPERATION(multiply_row)

static void triangle(int me)
{
    double sum = 0;
    for (int r = 0; r < ROWS; r++)
        sum += pow((r + 0.5) / ROWS, cause_k);
    for (int i = 0; i < ROUNDS; i++) {
        cause_compute(24);
        pthread_barrier_wait(&cause_barrier);
        for (int r = me * ROWS / 2; r < (me + 1) * ROWS / 2; r++)
            multiply_row(10 * pow((r + 0.5) / ROWS, cause_k) / sum);
        pthread_barrier_wait(&cause_barrier);
    }
}

static void run_triangle(void)
{
    cause_pair(triangle);
}

/* ---- a pool that waits for its master -------------------------------------------------------- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int n_given, n_done;

OPERATION(merge)

static void wait_for(const int *count, int least)
{
    pthread_mutex_lock(&mutex);
    while (*count < least)
        pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
}

static void add_to(int *count)
{
    pthread_mutex_lock(&mutex);
    ++*count;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

static void chunk(void)
{
    cause_compute(14);
    if (cause_k < 2) merge(3 - 1.5 * cause_k);
}

static void pool(int me)
{
    for (int i = 1; i <= ROUNDS; i++) {
        if (me) {
            wait_for(&n_given, i);
            chunk();
            add_to(&n_done);
        } else {
            add_to(&n_given);
            chunk();
            wait_for(&n_done, i);
            if (cause_k) merge(3 * cause_k);
        }
    }
}

static void run_pool(void)
{
    cause_pair(pool);
}

/* ---- a thread for each small task -------------------------------------------------------------- */

static void *task_main(void *unused)
{
    TIMED_SPIN(0.125 * CAUSE_UNIT);
    return unused;
}

static __attribute__((noinline)) void run_task(bool is_thread)
{
    uint64_t scope = cause_begin("run_task");
    pthread_t thread;
    if (!is_thread)
        task_main(NULL);
    else if (!pthread_create(&thread, NULL, task_main, NULL))
        pthread_join(thread, NULL);
    axp_end(scope);
}

static void run_threads(void)
{
    for (int i = 0; i < 40; i++) {
        cause_compute(20);
        for (int t = 0; t < 40; t++)
            run_task(t % 4 < 2 * cause_k);
    }
}

/* ---- healthy: a parent that waits for its workers ------------------------------------------- */

static void *worker_main(void *argument)
{
    for (int i = 0; i < ROUNDS; i++) {
        cause_compute(20);
    }
    return argument;
}

static void run_parent(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        cause_start(&threads[i], worker_main, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

#define LAYERS "layer_1|layer_2|layer_3|layer_4|layer_5|layer_6|layer_7|layer_8"
const struct cause causes[] = {
    {"shares", "LoadImbalance", LAYERS, LAYERS, run_shares, 0},
    {"triangle", "LoadImbalance", "multiply_row", "multiply_row", run_triangle,
     0},
    {"pool", "SerialPhase", "merge", "merge", run_pool, 0},
    {"threads", "CallOverhead|SlowOperation", "run_task", NULL, run_threads, 0},
    {"healthy_parent", NULL, NULL, NULL, run_parent, 0},
    {0}};
