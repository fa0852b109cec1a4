/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Run times; see timed_support.h. */
#include "timed_support.h"

#include <stdio.h>
#include <time.h>

static _Atomic uint64_t starved_ns;

double timed_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void timed_thread_done(void)
{
    unsigned long long ran, starved;
    FILE *f = fopen("/proc/thread-self/schedstat", "r");
    if (f && fscanf(f, "%llu %llu", &ran, &starved) == 2) starved_ns += starved;
    if (f) fclose(f);
}

void timed_print(double began)
{
    double took = timed_now() - began;
    timed_thread_done();
    printf("%.6f %.6f\n", took, 1e-9 * (double)starved_ns);
}
