/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How long it takes to find what is slow: all rules on call trees of 100,000
 * nodes. Exits 1 if a figure is missed.
 *
 *   axp_bench_rules [--paths N] [--shape N] [--no-fail]
 *
 * Trees of three shapes, with work, categories, steps and memory, so that rules
 * have something to look at; one of them also with peaks, so that all its work
 * has a roof. What is measured is the first axp_analyze of a view,
 * in the thread's own CPU time.
 */
#define _GNU_SOURCE
#include <axprof/axprof.h>
#include <axprof/axprof_read.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define TRIALS 5
#define TIMELINE 10000u /* events: how fast those are read is bench_graph's */
#define MOST_THREADS 8u
#define MOST_DEPTH 8u

struct shape {
    const char *name;
    unsigned depth; /* of a path: names of its levels are digits; 1: one name
                           a node */
    unsigned n_threads; /* that share the paths */
    bool has_peaks;
    double most_ms;
};

static unsigned n_paths = 100000;

struct worker {
    axp_profiler *p;
    const struct shape *shape;
    unsigned from, to;
    pthread_t thread;
};

/* ---- what is recorded ------------------------------------------------------------ */

static void leaf(struct worker *w, unsigned i, const char *name)
{
    static const axp_cat cats[] = {AXP_CAT_FORWARD, AXP_CAT_BACKWARD,
                                   AXP_CAT_DATA,    AXP_CAT_COMM,
                                   AXP_CAT_COPY,    AXP_CAT_IO};
    axp_work work = {.flops = 1000, .bytes = 4000, .dims = {10, 10, 10}};
    uint64_t scope = axp_begin(w->p, name);
    axp_category(w->p, cats[i % 6]);
    if (i % 2) axp_add_work(w->p, work);
    if (i % 16 == 0) axp_record_alloc(w->p, name, 64 + i);
    axp_end(scope);
}

static const char *name_of(const struct shape *s, unsigned path, unsigned level,
                           char out[32])
{
    for (unsigned k = level + 1; k < s->depth; k++)
        path /= 10;
    snprintf(out, 32, "op %u.%u", level, s->depth > 1 ? path % 10 : path);
    return out;
}

/* From which level on the path is another than the one before. */
static unsigned level_of(const struct worker *w, unsigned path)
{
    unsigned level = path == w->from ? 0 : w->shape->depth - 1;
    for (; level && path % 10 == 0; path /= 10)
        level--;
    return level;
}

/* Into each scope once: as many events as nodes. */
static void *walk(void *arg)
{
    struct worker *w = arg;
    unsigned last = w->shape->depth - 1, n_open = 0;
    uint64_t scopes[MOST_DEPTH];
    for (unsigned i = w->from; i < w->to; i++) {
        char name[32];
        for (unsigned keep = level_of(w, i); n_open > keep;)
            axp_end(scopes[--n_open]);
        for (; n_open < last; n_open++)
            scopes[n_open] =
                axp_begin(w->p, name_of(w->shape, i, n_open, name));
        leaf(w, i, name_of(w->shape, i, last, name));
        if (i % 1000 == 0 && !w->from) axp_step(w->p);
    }
    while (n_open)
        axp_end(scopes[--n_open]);
    return NULL;
}

static axp_profiler *record(const struct shape *s)
{
    axp_profiler *p = axp_profiler_create(
        &(axp_options){.title = "rules",
                       .timeline_capacity = TIMELINE,
                       .memory_limit = (uint64_t)256 << 20});
    struct worker workers[MOST_THREADS];
    unsigned part = n_paths / s->n_threads;
    for (unsigned i = 0; p && i < s->n_threads; i++) {
        workers[i] = (struct worker){p, s, i * part, (i + 1) * part, 0};
        if (pthread_create(&workers[i].thread, NULL, walk, &workers[i]))
            exit(1);
    }
    for (unsigned i = 0; p && i < s->n_threads; i++)
        pthread_join(workers[i].thread, NULL);
    return p;
}

/* ---- what is measured -------------------------------------------------------------- */

static bool measure(const struct shape *s)
{
    axp_profiler *p = record(s);
    double ms[TRIALS];
    size_t n_tree = 0, n_ops = 0, n_found = 0;
    static const char *const peaks[] = {"low_throughput.peak_gflops=100",
                                        "low_throughput.peak_gbps=20"};
    axp_thresholds given = {.set = peaks, .n_set = s->has_peaks ? 2 : 0};
    for (int i = 0; p && i < TRIALS; i++) {
        axp_view *v = axp_snapshot(p);
        double begin = bench_thread_ns();
        axp_findings *f = axp_analyze(v, &given);
        ms[i] = (bench_thread_ns() - begin) / 1e6;
        if (!f) {
            fprintf(stderr, "axp_bench_rules: %s\n", axp_last_error());
            return false;
        }
        n_tree = axp_view_tree(v, NULL, 0);
        n_ops = axp_view_ops(v, AXP_BY_SELF, NULL, 0);
        n_found = axp_findings_count(f);
        axp_findings_destroy(f);
        axp_view_destroy(v);
    }
    axp_profiler_destroy(p);
    double median = p ? bench_median(ms, TRIALS) : 0;
    printf(
        "%-28s %7zu nodes, %6zu operations, %3zu findings: %6.1f ms (≤ %.0f)\n",
        s->name, n_tree, n_ops, n_found, median, s->most_ms);
    return p && median <= s->most_ms;
}

int main(int argc, char **argv)
{
    static const struct shape shapes[] = {
        {"few names, deep", 5, 1, false, 50},
        {"a name a node", 1, 1, false, 50},
        {"a name a node, peaks", 1, 1, true, 50},
        {"few names, eight threads", 5, 8, false, 50},
    };
    bool may_fail = true, ok = true;
    size_t only = SIZE_MAX;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--no-fail")) may_fail = false;
        if (!strcmp(argv[i], "--paths") && i + 1 < argc)
            n_paths = (unsigned)strtoul(argv[++i], NULL, 10);
        if (!strcmp(argv[i], "--shape") && i + 1 < argc)
            only = strtoul(argv[++i], NULL, 10);
    }
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (only == SIZE_MAX || only == i) ok = measure(&shapes[i]) && ok;
    return ok || !may_fail ? 0 : 1;
}
