/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Small trainers whose operations can really be made faster, so that what a
 * replay predicts can be compared with what comes of it.
 *
 *   whatif_program MODE [NAME=FACTOR | even]...
 *
 * Work is a fixed number of dependent additions: it takes the same processor
 * time whatever goes on around it. Prints how many seconds the run took, and
 * for how many its threads wanted a processor and had none. */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <axprof/axprof.h>

#include "timed_support.h"

#define UNIT 1000000 /* additions: about 0.4 ms */
#define STEPS 60

static int n_changes;
static char **changes;
static bool is_even;

/* How often an operation's work is done, of 1. */
static double factor_of(const char *name)
{
    size_t len = strlen(name);
    double factor = 1;
    for (int i = 0; i < n_changes; i++)
        if (!strncmp(changes[i], name, len) && changes[i][len] == '=')
            factor *= atof(changes[i] + len + 1);
    return factor;
}

static void operation(const char *name, double units)
{
    uint64_t scope = axp_begin(axp_global(), name);
    TIMED_SPIN(units * factor_of(name) * UNIT);
    axp_end(scope);
}

/* ---- two threads and a barrier in each step ---------------------------------- */

static pthread_barrier_t barrier;

/* Work of unequal size, and a part that one thread does alone. */
static void train(int me)
{
    for (int i = 0; i < STEPS; i++) {
        operation("forward", me ? 8 : 6);
        operation("backward", me ? 6 : 9);
        pthread_barrier_wait(&barrier);
        if (me == 0) operation("optimizer", 5);
        pthread_barrier_wait(&barrier);
        if (me == 0) axp_step(axp_global());
    }
}

/* ---- a lock that both want --------------------------------------------------------- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void contend(int me)
{
    (void)me;
    for (int i = 0; i < STEPS; i++) {
        operation("compute", 5);
        pthread_mutex_lock(&mutex);
        operation("update", 9);
        pthread_mutex_unlock(&mutex);
    }
}

/* ---- nine tenths on one thread ------------------------------------------------------- */

static void divide(int me)
{
    double part = is_even ? 10 : me ? 2 : 18;
    for (int i = 0; i < STEPS; i++) {
        operation("shard", part);
        pthread_barrier_wait(&barrier);
    }
}

static void divide_once(int me)
{
    operation("shard", STEPS * (is_even ? 10 : me ? 2 : 18));
}

/* ---- a loader that works ahead --------------------------------------------------------- */

static sem_t full, empty;

static void load_ahead(int me)
{
    for (int i = 0; i < STEPS; i++) {
        if (me) {
            sem_wait(&empty);
            operation("load", 6);
            sem_post(&full);
        } else {
            sem_wait(&full);
            sem_post(&empty);
            operation("step", 12);
        }
    }
}

static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int n_ready;

static void change_ready(int by)
{
    pthread_mutex_lock(&mutex);
    while (by > 0 ? n_ready == 2 : n_ready == 0)
        pthread_cond_wait(&changed, &mutex);
    n_ready += by;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

/* The consumer is the faster one, and waits. */
static void load_late(int me)
{
    for (int i = 0; i < STEPS; i++) {
        if (me) {
            operation("load", 12);
            change_ready(1);
        } else {
            change_ready(-1);
            operation("step", 6);
        }
    }
}

/* ---- something from outside in each step ------------------------------------------------- */

static void read_in_step(int me)
{
    for (int i = 0; i < STEPS && !me; i++) {
        uint64_t scope = axp_begin(axp_global(), "read_batch");
        struct timespec t = {0, (long)(3e6 * factor_of("read_batch"))};
        if (t.tv_nsec) nanosleep(&t, NULL);
        axp_end(scope);
        operation("step", 12);
        axp_step(axp_global());
    }
}

/* ---- all of them --------------------------------------------------------------------------- */

static const struct mode {
    const char *name;
    void (*run)(int me);
} modes[] = {{"trainer", train},      {"lock", contend},
             {"imbalance", divide},   {"shares", divide_once},
             {"loader", load_ahead},  {"late", load_late},
             {"reader", read_in_step}};

static const struct mode *mode;

static void *first_main(void *unused)
{
    mode->run(0);
    timed_thread_done();
    return unused;
}

static void *second_main(void *unused)
{
    mode->run(1);
    timed_thread_done();
    return unused;
}

/* The shares are two threads' that are joined; else main is the first. */
static int run(void)
{
    pthread_t first, second;
    bool is_joined = mode->run == divide_once;
    if (pthread_create(&second, NULL, second_main, NULL)) return 1;
    if (is_joined && pthread_create(&first, NULL, first_main, NULL)) return 1;
    if (is_joined)
        pthread_join(first, NULL);
    else
        mode->run(0);
    return pthread_join(second, NULL);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(argv[1], modes[i].name)) mode = &modes[i];
    if (!mode) return 2;
    changes = argv + 2;
    n_changes = argc - 2;
    for (int i = 0; i < n_changes; i++)
        is_even |= !strcmp(changes[i], "even");
    pthread_barrier_init(&barrier, NULL, 2);
    sem_init(&full, 0, 0);
    sem_init(&empty, 0, 2);
    double began = timed_now();
    if (run()) return 1;
    timed_print(began);
    return 0;
}
