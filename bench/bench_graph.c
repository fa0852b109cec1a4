/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How fast a timeline becomes a graph and is replayed, and how much memory that
 * takes. Exits 1 if a figure is missed.
 *
 *   axp_bench_graph [--scopes N] [--syncs N] [--no-fail]
 *
 * A child records to a file: two threads, scopes of sixteen names three deep, a
 * barrier that both come to after every so many. Times are the thread's own CPU
 * time; memory is what is resident beyond the opened view.
 */
#define _GNU_SOURCE
#include <axprof/axprof_adapter.h>
#include <axprof/axprof_whatif.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define LEAST_M_SCOPES_S 20.0
#define MOST_MB 500.0

static uint64_t n_scopes = 100000000, n_syncs = 1000000;

/* ---- what is recorded ---------------------------------------------------------- */

static const char *const names[16] = {
    "attention", "layer_norm", "matmul", "softmax", "gelu", "embedding",
    "dropout",   "residual",   "a",      "b",       "c",    "d",
    "e",         "f",          "g",      "h"};
static uint64_t arrivals;
static axp_giver givers[2];

static void come(void)
{
    uint64_t began = axp_wait_begin();
    uint64_t i = __atomic_fetch_add(&arrivals, 1, __ATOMIC_ACQ_REL);
    uint64_t round = i / 2 + 1;
    axp_giver by = axp_sync_give(AXP_SYNC_BARRIER, &arrivals, round);
    if (i & 1) {
        givers[round & 1] = by;
        __atomic_fetch_add(&arrivals, 0, __ATOMIC_ACQ_REL);
        return;
    }
    while (__atomic_load_n(&arrivals, __ATOMIC_ACQUIRE) < 2 * round)
        sched_yield();
    axp_sync_waited(&(axp_sync_wait){.size = sizeof(axp_sync_wait),
                                     .kind = AXP_SYNC_BARRIER,
                                     .object = &arrivals,
                                     .number = round,
                                     .began = began,
                                     .by = givers[round & 1],
                                     .name = "barrier wait",
                                     .least_ns = 10000});
}

static void *work(void *unused)
{
    axp_profiler *p = axp_global();
    uint64_t n_rounds = n_syncs / 2, each = n_scopes / 2 / n_rounds;
    for (uint64_t r = 0; r < n_rounds; r++) {
        for (uint64_t i = 0; i < each / 4; i++) {
            AXP_SCOPE_IN(p, names[i & 7]);
            AXP_SCOPE_IN(p, names[8 + (i & 7)]);
            {
                AXP_SCOPE_IN(p, names[(i + 3) & 15]);
            }
            {
                AXP_SCOPE_IN(p, names[(i + 5) & 15]);
            }
        }
        come();
    }
    return unused;
}

static int record(void)
{
    pthread_t other;
    if (pthread_create(&other, NULL, work, NULL)) return 1;
    work(NULL);
    return pthread_join(other, NULL);
}

/* ---- what is measured ------------------------------------------------------------ */

static double resident_mb(const char *which)
{
    char line[128];
    double kb = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, which, strlen(which)))
            kb = strtod(line + strlen(which), NULL);
    if (f) fclose(f);
    return kb / 1024;
}

static bool measure(const char *path)
{
    axp_view *v = NULL;
    axp_replay *r = NULL;
    axp_graph *g = NULL;
    const char *half = "matmul=0.5";
    axp_whatif_options o = {.size = sizeof o, .scale = &half, .n_scale = 1};
    if (axp_open(&path, 1, &v)) {
        fprintf(stderr, "axp_bench_graph: %s\n", axp_last_error());
        return false;
    }
    double before = resident_mb("VmRSS:"), begin = bench_thread_ns();
    g = axp_graph_create(v);
    double built = bench_thread_ns();
    bool ok = g && !axp_whatif(g, &o, &r);
    double replayed = bench_thread_ns();
    double mb = resident_mb("VmHWM:") - before;
    double scopes = (double)axp_view_event_count(v) / 2 / 1e6;
    double speed = scopes / ((replayed - begin) / 1e9);
    axp_replay_info t = axp_replay_total(r);
    printf("%.1f M scopes, %llu waits: built in %.2f s, replayed in %.2f s: "
           "%.1f M scopes/s (≥ %.0f), %.0f MB (≤ %.0f)\n",
           scopes, (unsigned long long)t.n_waits, (built - begin) / 1e9,
           (replayed - built) / 1e9, speed, LEAST_M_SCOPES_S, mb, MOST_MB);
    if (!ok) fprintf(stderr, "axp_bench_graph: %s\n", axp_last_error());
    axp_replay_destroy(r);
    axp_graph_destroy(g);
    axp_view_destroy(v);
    return ok && speed >= LEAST_M_SCOPES_S && mb <= MOST_MB;
}

int main(int argc, char **argv)
{
    bool may_fail = true;
    if (getenv("AXP_BENCH_GRAPH_CHILD")) {
        n_scopes = strtoull(argv[1], NULL, 10);
        n_syncs = strtoull(argv[2], NULL, 10);
        return record();
    }
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--no-fail")) may_fail = false;
        if (!strcmp(argv[i], "--scopes") && i + 1 < argc)
            n_scopes = strtoull(argv[++i], NULL, 10);
        if (!strcmp(argv[i], "--syncs") && i + 1 < argc)
            n_syncs = strtoull(argv[++i], NULL, 10);
    }
    if (n_syncs < 2 || n_scopes < 4 * n_syncs) return 2;
    char path[64], scopes[32], syncs[32];
    snprintf(path, sizeof path, "/tmp/axp_bench_graph-%d.axp", (int)getpid());
    snprintf(scopes, sizeof scopes, "%llu", (unsigned long long)n_scopes);
    snprintf(syncs, sizeof syncs, "%llu", (unsigned long long)n_syncs);
    pid_t child = fork();
    if (!child) {
        setenv("AXPROF_OUT", path, 1);
        setenv("AXP_BENCH_GRAPH_CHILD", "1", 1);
        execl("/proc/self/exe", argv[0], scopes, syncs, NULL);
        _exit(127);
    }
    int status = 0;
    bool ok = child > 0 && waitpid(child, &status, 0) == child && !status &&
              measure(path);
    unlink(path);
    return ok || !may_fail ? 0 : 1;
}
