/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Causes that show in how long steps take, one beside the other; and calls that
 * are too small. */
#include <time.h>

#include "diagnosis_cause.h"

#define STEPS 100

OPERATION(build_plan)

/* What the first step needs in its midst it makes, for all: anew, or from what
 * was kept. */
static void run_start(void)
{
    for (int i = 0; i < STEPS; i++) {
        cause_compute(5);
        if (i == 0) build_plan(1 + 180 * cause_k);
        cause_compute(5);
        cause_step();
    }
}

OPERATION(save_checkpoint)

static void run_outliers(void)
{
    for (int i = 0; i < STEPS; i++) {
        cause_compute(10);
        if (i % 25 == 24) save_checkpoint(1 + 40 * cause_k);
        cause_step();
    }
}

OPERATION(scan_history)

static void run_drift(void)
{
    for (int i = 0; i < STEPS; i++) {
        cause_compute(10);
        scan_history(0.5 + cause_k * 6 * i / STEPS);
        cause_step();
    }
}

/* A result that is looked for once in a while, not waited for. */
static __attribute__((noinline)) void poll_result(double ms)
{
    uint64_t scope = cause_begin("poll_result");
    struct timespec t = {0, 100000};
    for (double end = timed_now() + 1e-3 * ms; timed_now() < end;)
        nanosleep(&t, NULL);
    axp_end(scope);
}

static void run_poll(void)
{
    for (int i = 0; i < STEPS; i++) {
        cause_compute(10);
        if (cause_k) poll_result(cause_k);
        cause_step();
    }
}

/* ---- calls ------------------------------------------------------------------------- */

/* So many rows in all: one a call, or many a call. What a call costs before it
 * does anything is 1.6 microseconds, a row 0.8. */
static __attribute__((noinline)) void scale_rows(int n)
{
    uint64_t scope = cause_begin("scale_rows");
    TIMED_SPIN((0.008 + 0.004 * n) * CAUSE_UNIT);
    axp_end(scope);
}

static void run_rows(void)
{
    int single = (int)(600 * cause_k);
    for (int i = 0; i < 60; i++) {
        cause_compute(24);
        for (int r = 0; r < single; r++)
            scale_rows(1);
        if (single < 1200) scale_rows(1200 - single);
        cause_step();
    }
}

/* The same of calls that take longer, and fewer of them. */
static __attribute__((noinline)) void dispatch(int n)
{
    uint64_t scope = cause_begin("dispatch");
    TIMED_SPIN((0.04 + 0.02 * n) * CAUSE_UNIT);
    axp_end(scope);
}

static void run_dispatch(void)
{
    int single = (int)(120 * cause_k);
    for (int i = 0; i < 60; i++) {
        cause_compute(24);
        for (int r = 0; r < single; r++)
            dispatch(1);
        if (single < 240) dispatch(240 - single);
        cause_step();
    }
}

const struct cause causes[] = {
    {"start", "SlowStart", "build_plan", NULL, run_start, 0},
    {"outliers", "StepOutliers", "save_checkpoint", NULL, run_outliers, 0},
    {"drift", "StepDrift", "scan_history", NULL, run_drift, 0},
    {"poll", "SyncWait|IoWait|SlowOperation", "poll_result", NULL, run_poll, 0},
    {"rows", "CallOverhead|HighCallCount", "scale_rows",
     "SlowOperation=scale_rows", run_rows, 0},
    {"dispatch", "CallOverhead|HighCallCount", "dispatch",
     "SlowOperation=dispatch", run_dispatch, 0},
    {0}};
