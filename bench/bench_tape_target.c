/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What bench_tape.c runs: a program that records scopes to a trace file, in
 * one of four shapes. Linked with rt alone it leaves raw blocks; linked with
 * libaxprof, packed ones.
 *
 *   bench_tape_target SHAPE N SPOOL_BYTES       (AXPROF_OUT names the file)
 *
 * Prints: ns a scope, ns of the floor, scopes, events that the recorder says
 * it cut, seconds. Times are the recording thread's own CPU time.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "record/record_lane.h"
#include "record/record_profiler.h"
#include "record/record_tape.h"

#define BURST 1000000u
#define A_MS 10000u /* scopes, for 10 M a second */
#define FLOOR 5000000u

static double wall_s(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void pause_s(double s)
{
    struct timespec ts = {(time_t)s, (long)((s - (double)(time_t)s) * 1e9)};
    if (s > 0) nanosleep(&ts, NULL);
}

/* The sum of the CPU time, in ns. */
static double scopes(uint64_t n)
{
    double from = bench_thread_ns();
    for (uint64_t i = 0; i < n; i++) {
        AXP_SCOPE("scope");
        bench_keep(i);
    }
    return bench_thread_ns() - from;
}

static double no_pause(uint64_t n)
{
    return scopes(n);
}

/* The drain catches up in between. */
static double bursts(uint64_t n)
{
    double ns = 0;
    for (uint64_t i = 0; i < n; i += BURST) {
        ns += scopes(BURST);
        pause_s(0.15);
    }
    return ns;
}

/* So many each millisecond; who is late catches up. */
static double paced(uint64_t n)
{
    double ns = 0, begin = wall_s();
    for (uint64_t i = 0; i < n; i += A_MS) {
        pause_s(begin + (double)i / (A_MS * 1e3) - wall_s());
        ns += scopes(A_MS);
    }
    return ns;
}

static void *half(void *arg)
{
    *(double *)arg = scopes((uint64_t) * (double *)arg);
    return NULL;
}

static double two_threads(uint64_t n)
{
    double a = (double)(n / 2), b = (double)(n - n / 2);
    pthread_t other;
    if (pthread_create(&other, NULL, half, &b)) exit(1);
    half(&a);
    pthread_join(other, NULL);
    return a + b;
}

/* What went to no chunk, and what lay in chunks that were taken again. */
static uint64_t count_cut(void)
{
    struct axp__prof *p = axp__prof_of(axp_global());
    uint64_t n = p->n_merged_unlogged + axp__get(&p->pool.n_cut_events);
    for (struct axp__lane *l = p->lanes; l; l = l->next) {
        n += axp__get(&l->n_unlogged);
        if (!l->chunk) n += (uint64_t)(l->cur - l->words) - l->n_extra;
    }
    return n;
}

static const struct shape {
    const char *name;
    double (*run)(uint64_t n);
} shapes[] = {{"bursts", bursts},
              {"no pause", no_pause},
              {"paced", paced},
              {"two threads", two_threads}};

int main(int argc, char **argv)
{
    struct axp__tape *tape = axp__prof_of(axp_global())->tape;
    const struct shape *shape = NULL;
    for (size_t i = 0; argc == 4 && i < sizeof shapes / sizeof *shapes; i++)
        if (!strcmp(argv[1], shapes[i].name)) shape = &shapes[i];
    if (!shape || !tape) return 2;
    uint64_t n = strtoull(argv[2], NULL, 10);
    tape->spool_limit = strtoull(argv[3], NULL, 10); /* before it opens */
    double floor_ns = bench_floor(FLOOR);
    double from = wall_s();
    double ns = shape->run(n) / (double)n;
    double s = wall_s() - from;
    floor_ns = (floor_ns + bench_floor(FLOOR)) / 2;
    if (axp_finish(axp_global())) {
        fprintf(stderr, "bench_tape_target: %s\n", axp_last_error());
        return 1;
    }
    printf("%.4f %.4f %" PRIu64 " %" PRIu64 " %.3f\n", ns, floor_ns, n,
           count_cut(), s);
    return 0;
}
