/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Runs the cases and prints the table. Exits 1 if a figure is missed.
 *
 *   axp_bench [--reps N] [--only TEXT] [--no-fail]
 */
#define _GNU_SOURCE
#include <axprof/axprof.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bench.h"

#define MAX_REPS 31
#define TRIES 3 /* of a figure that is missed */

struct half {
    double (*run)(uint64_t);
    uint64_t n;
    double ns;
    pthread_barrier_t *both;
};

static void *run_half(void *arg)
{
    struct half *h = arg;
    pthread_barrier_wait(h->both);
    h->ns = h->run(h->n);
    return NULL;
}

double bench_on_two(double (*run)(uint64_t), uint64_t n)
{
    pthread_barrier_t both;
    pthread_t other;
    struct half a = {run, n, 0, &both}, b = a;
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&other, NULL, run_half, &b);
    run_half(&a);
    pthread_join(other, NULL);
    pthread_barrier_destroy(&both);
    return (a.ns + b.ns) / 2;
}

static void print_machine(void)
{
    struct utsname u;
    char line[256], cpu[128] = "unknown CPU";
    FILE *f = popen("LC_ALL=C lscpu 2>/dev/null", "r");
    uname(&u);
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "Model name: %127[^\n]", cpu) == 1) break;
    if (f) pclose(f);
    printf("machine  %s, %s, %ld cores, Linux %s\n", u.machine, cpu,
           sysconf(_SC_NPROCESSORS_ONLN), u.release);
}

struct figure { /* medians of the repetitions */
    double ns, floor_ns, ratio, least, most;
};

static struct figure measure(const struct bench_case *c, int reps)
{
    double ratio[MAX_REPS], ns[MAX_REPS], floor_ns[MAX_REPS];
    uint64_t floor_n = 5000000;
    for (int i = 0; i < reps; i++) {
        double before = c->is_pair ? bench_on_two(bench_floor, floor_n)
                                   : bench_floor(floor_n);
        ns[i] = c->is_pair ? bench_on_two(c->run, c->n) : c->run(c->n);
        double after = c->is_pair ? bench_on_two(bench_floor, floor_n)
                                  : bench_floor(floor_n);
        floor_ns[i] = (before + after) / 2;
        ratio[i] = ns[i] / floor_ns[i];
    }
    struct figure f = {bench_median(ns, reps), bench_median(floor_ns, reps),
                       bench_median(ratio, reps), 0, 0};
    f.least = ratio[0]; /* they are in order now */
    f.most = ratio[reps - 1];
    return f;
}

/* False: the figure was missed, three times: what neighbours on the same
 * processor do comes and goes. *last_ns is that of the case before. */
static bool run_case(const struct bench_case *c, int reps, double *last_ns)
{
    struct figure f;
    double limit = c->limit;
    bool ok = false;
    int tries = 0;
    char must[32] = "";
#if defined(__x86_64__)
    if (c->limit_x > 0) limit = c->limit_x;
#endif
    while (!ok && tries++ < TRIES) {
        f = measure(c, reps);
        ok = c->of_last > 0 ? f.ns <= c->of_last * *last_ns
                            : limit <= 0 || f.ratio <= limit;
    }
    if (limit > 0) snprintf(must, sizeof must, "<= %.2f", limit);
    if (c->of_last > 0)
        snprintf(must, sizeof must, "<= %.1f of it", c->of_last);
    *last_ns = f.ns;
    printf("%-36s %8.2f %8.2f %7.2f %6.2f..%-6.2f %8s %s", c->name, f.ns,
           f.floor_ns, f.ratio, f.least, f.most, must,
           !*must ? ""
           : ok   ? "ok"
                  : "MISSED");
    printf(ok && tries > 1 ? ", at try %d\n" : "\n", tries);
    fflush(stdout);
    return ok;
}

static int run_all(const struct bench_case *cases, int reps, const char *only)
{
    int missed = 0;
    double last_ns = 0;
    for (; cases->name; cases++)
        if (!only || strstr(cases->name, only))
            missed += !run_case(cases, reps, &last_ns);
    return missed;
}

static int usage(const char *bad)
{
    fprintf(stderr,
            "axp_bench: unknown argument '%s'\n"
            "usage: axp_bench [--reps N] [--only TEXT] [--no-fail]\n",
            bad);
    return 2;
}

int main(int argc, char **argv)
{
    int reps = 7, missed = 0;
    bool may_fail = true;
    const char *only = NULL;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--reps") && i + 1 < argc)
            reps = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--only") && i + 1 < argc)
            only = argv[++i];
        else if (!strcmp(argv[i], "--no-fail"))
            may_fail = false;
        else
            return usage(argv[i]);
    }
    if (reps < 1 || reps > MAX_REPS) return usage("--reps");
    print_machine();
    if (!only) missed += !bench_scopes_exact();
    printf("method   median of %d, thread CPU time; floor = two raw clock "
           "reads (bench/floor.c)\n\n",
           reps);
    printf("%-36s %8s %8s %7s %14s %8s\n", "", "ns", "floor ns", "ratio",
           "spread", "must be");
    missed += run_all(bench_scopes, reps, only);
    missed += run_all(bench_memory, reps, only);

    if (missed) printf("\n%d figures missed\n", missed);
    return may_fail && missed ? 1 : 0;
}
