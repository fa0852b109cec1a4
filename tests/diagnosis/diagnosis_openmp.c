/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Causes in programs of OpenMP: uneven loops and tasks, critical sections, what
 * one thread does alone, regions that are too small, more threads than
 * processors. And a loop whose iterations are alike. */
#include <omp.h>

#include "diagnosis_cause.h"

#define STEPS 40
#define THREADS 2

/* Threads of a team stay: they are asked at the end. */
static void team_done(int n)
{
#pragma omp parallel num_threads(n)
    if (omp_get_thread_num()) timed_thread_done();
}

/* The same on each thread, in regions of which none is much. */
#define REGION(name)                                                           \
    static void name(double units)                                             \
    {                                                                          \
        _Pragma("omp parallel num_threads(THREADS)") cause_compute(units);     \
    }
REGION(compute_1)
REGION(compute_2)
REGION(compute_3)
REGION(compute_4)
REGION(compute_5)
REGION(compute_6)

static void compute_all(double units)
{
    static void (*const regions[])(double) = {compute_1, compute_2, compute_3,
                                              compute_4, compute_5, compute_6};
    for (int i = 0; i < 6; i++)
        regions[i](units / 6);
}

/* ---- work of unequal size ------------------------------------------------------------- */

OPERATION(attend)

/* The first half of the sequences is longer. */
static void run_loop(void)
{
    for (int i = 0; i < STEPS; i++) {
        compute_all(16);
#pragma omp parallel for num_threads(THREADS) schedule(static)
        for (int s = 0; s < 8; s++)
            attend(s < 4 ? 1 + 0.4 * cause_k : 1 - 0.4 * cause_k);
        cause_step();
    }
    team_done(THREADS);
}

OPERATION(visit_leaf)

/* A tree whose last leaf is much larger than the others. */
static void run_tasks(void)
{
    double last = 1 + 3 * cause_k, others = (8 - last) / 7;
    for (int i = 0; i < STEPS; i++) {
        compute_all(16);
#pragma omp parallel num_threads(THREADS)
#pragma omp single
        for (int leaf = 0; leaf < 8; leaf++) {
            double units = leaf < 7 ? others : last;
#pragma omp task firstprivate(units)
            visit_leaf(units);
        }
        cause_step();
    }
    team_done(THREADS);
}

/* ---- one at a time ---------------------------------------------------------------------- */

OPERATION(accumulate)

static void run_critical(void)
{
    for (int i = 0; i < STEPS; i++) {
#pragma omp parallel num_threads(THREADS)
        {
            cause_compute(10);
            if (cause_k < 2) accumulate(6 - 3 * cause_k);
            if (cause_k) {
#pragma omp critical
                accumulate(3 * cause_k);
            }
        }
        cause_step();
    }
    team_done(THREADS);
}

OPERATION(normalize)

static void run_alone(void)
{
    for (int i = 0; i < STEPS; i++) {
        compute_all(10);
        if (cause_k) normalize(4 * cause_k);
#pragma omp parallel for num_threads(THREADS) schedule(static)
        for (int t = 0; t < THREADS; t++)
            if (cause_k < 2) normalize(4 - 2 * cause_k);
        cause_step();
    }
    team_done(THREADS);
}

/* ---- regions ------------------------------------------------------------------------------- */

/* So many rows, in one region or in one each. */
static __attribute__((noinline)) void add_rows(int n)
{
    uint64_t scope = cause_begin("add_rows");
#pragma omp parallel for num_threads(THREADS) schedule(static)
    for (int i = 0; i < 2 * n; i++)
        TIMED_SPIN(0.005 * CAUSE_UNIT);
    axp_end(scope);
}

static void run_regions(void)
{
    int single = (int)(300 * cause_k);
    for (int i = 0; i < STEPS; i++) {
        compute_all(16);
        for (int r = 0; r < single; r++)
            add_rows(1);
        if (single < 600) add_rows(600 - single);
        cause_step();
    }
    team_done(THREADS);
}

static void run_oversubscribed(void)
{
    int n = cause_k ? (int)(8 * cause_k) : 1;
    for (int i = 0; i < STEPS; i++) {
#pragma omp parallel num_threads(THREADS *n)
        for (int part = 0; part < 4; part++) {
            cause_compute(4.0 / n);
#pragma omp barrier
        }
        cause_step();
    }
    team_done(THREADS * n);
}

/* ---- healthy -------------------------------------------------------------------------------- */

static void run_balanced(void)
{
    for (int i = 0; i < STEPS; i++) {
#pragma omp parallel for num_threads(THREADS) schedule(static)
        for (int s = 0; s < 8; s++)
            cause_compute(5);
        cause_step();
    }
    team_done(THREADS);
}

const struct cause causes[] = {
    {"loop", "LoadImbalance", "attend", "attend|run_loop:*", run_loop, 0},
    {"tasks", "LoadImbalance", "visit_leaf", "visit_leaf|run_tasks:*",
     run_tasks, 0},
    {"critical", "LockContention", "accumulate", "accumulate|run_critical:*",
     run_critical, 0},
    {"alone", "SerialPhase", "normalize", "normalize|run_alone:*", run_alone,
     0},
    {"regions", "CallOverhead|HighCallCount", "add_rows|add_rows:*", NULL,
     run_regions, 0},
    {"oversubscribed", "Oversubscription", "*", "*", run_oversubscribed, true},
    {"healthy_balanced", NULL, NULL, NULL, run_balanced, 0},
    {0}};
