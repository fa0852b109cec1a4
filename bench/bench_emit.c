/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How fast exports are written: scopes and bytes a second to a file in memory
 * (/dev/shm), on one core. Exits 1 if a figure is missed.
 *
 *   axp_bench_emit [--scopes N] [--reps N] [--only FORMAT] [--no-fail]
 *
 * The trace is one thread's, pairs of nested scopes of eight names. Times are
 * the thread's own CPU time, the kernel's part included; the best of the
 * repetitions counts, since others use the machine too.
 */
#define _GNU_SOURCE
#include <axprof/axprof_read.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"

struct figure {
    axp_export_format format;
    double mb_s, m_scopes_s; /* to be reached; 0: none */
};

static const struct figure figures[] = {
    {AXP_EXPORT_CHROME, 600, 0},    {AXP_EXPORT_PERFETTO, 0, 15},
    {AXP_EXPORT_SPEEDSCOPE, 0, 0},  {AXP_EXPORT_CSV_EVENTS, 0, 0},
    {AXP_EXPORT_JSON_EVENTS, 0, 0},
};

static const char *const names[8] = {"attention", "layer_norm", "matmul",
                                     "softmax",   "gelu",       "embedding",
                                     "dropout",   "residual"};

static axp_view *record(uint64_t n_scopes)
{
    axp_options options = {.memory_limit = n_scopes * 24 + (64u << 20)};
    axp_profiler *p = axp_profiler_create(&options);
    if (!p) return NULL;
    for (uint64_t i = 0; i < n_scopes / 2; i++) {
        AXP_SCOPE_IN(p, names[i & 7]);
        AXP_SCOPE_IN(p, names[i >> 3 & 7]);
    }
    axp_view *v = axp_snapshot(p);
    axp_profiler_destroy(p);
    return v;
}

/* Seconds; negative: it failed. */
static double write_once(const axp_view *v, axp_export_format format,
                         const char *path, double *bytes)
{
    struct stat st;
    unlink(path); /* to free its memory is not part of this */
    double begin = bench_thread_ns();
    axp_status status = axp_export(v, path, format);
    double end = bench_thread_ns();
    if (status || stat(path, &st)) {
        fprintf(stderr, "axp_bench_emit: %s\n", axp_last_error());
        return -1;
    }
    *bytes = (double)st.st_size;
    return (end - begin) / 1e9;
}

/* False: missed, or failed. */
static bool run(const axp_view *v, const struct figure *f, int reps,
                const char *path)
{
    double best = 0, bytes = 0;
    double n_scopes = (double)axp_view_event_count(v) / 2;
    for (int i = 0; i < reps; i++) {
        double s = write_once(v, f->format, path, &bytes);
        if (s < 0) return false;
        if (!i || s < best) best = s;
    }
    double mb_s = bytes / 1e6 / best, m_scopes_s = n_scopes / 1e6 / best;
    bool ok = mb_s >= f->mb_s && m_scopes_s >= f->m_scopes_s;
    char must[32] = "";
    if (f->mb_s > 0) snprintf(must, sizeof must, ">= %.0f MB/s", f->mb_s);
    if (f->m_scopes_s > 0)
        snprintf(must, sizeof must, ">= %.0f M scopes/s", f->m_scopes_s);
    printf("%-12s %10.1f %10.1f %10.1f   %s %s\n",
           axp_export_format_name(f->format, NULL), bytes / n_scopes, mb_s,
           m_scopes_s, must,
           !*must ? ""
           : ok   ? "ok"
                  : "MISSED");
    fflush(stdout);
    return ok;
}

int main(int argc, char **argv)
{
    uint64_t n_scopes = 5000000;
    int reps = 5, missed = 0;
    bool may_fail = true;
    const char *only = NULL;
    char path[64];
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--scopes") && i + 1 < argc)
            n_scopes = strtoull(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--reps") && i + 1 < argc)
            reps = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--only") && i + 1 < argc)
            only = argv[++i];
        else if (!strcmp(argv[i], "--no-fail"))
            may_fail = false;
        else
            return fprintf(stderr, "axp_bench_emit: unknown '%s'\n", argv[i]),
                   2;
    }
    axp_view *v = record(n_scopes);
    if (!v) return fprintf(stderr, "%s\n", axp_last_error()), 1;
    snprintf(path, sizeof path, "/dev/shm/axp_bench_emit.%ld", (long)getpid());
    printf("exports of %.1f M scopes to %s, best of %d, thread CPU time\n\n",
           (double)axp_view_event_count(v) / 2e6, "/dev/shm", reps);
    printf("%-12s %10s %10s %10s   must be\n", "", "B/scope", "MB/s",
           "M scopes/s");
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (!only ||
            !strcmp(only, axp_export_format_name(figures[i].format, NULL)))
            missed += !run(v, &figures[i], reps, path);
    unlink(path);
    axp_view_destroy(v);
    return may_fail && missed ? 1 : 0;
}
