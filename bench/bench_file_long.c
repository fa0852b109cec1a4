/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A file of 100 M scopes, as the recorder and its drain leave it: how much
 * memory it takes to read all of it, and how long a report takes against that.
 *
 * The file lies in /dev/shm (some 300 MB), so that no disk is measured. It is
 * recorded at some 12 M scopes/s, which the drain keeps up with on a core of
 * its own. Reading is axp_open and a fold of the whole timeline; `axprof check`
 * does that and looks at every block once more.
 *
 * A child's peak counts what it had before it became another program: so
 * bench_long is called first, while this one is small.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "axprof/axprof.h"
#include "bench.h"
#include "bench_file.h"
#include "file/file_fold.h"
#include "file/file_open.h"

#define SCOPES 100000000u
#define LAYERS 8
#define A_STEP (1 + LAYERS * 13u)
#define STEPS (SCOPES / A_STEP + 1)
#define PAUSE_EVERY 1000u /* steps */

static const char *const path = "/dev/shm/axp-bench-long.axp";

static void one_layer(axp_profiler *p)
{
    AXP_SCOPE_IN(p, "layer");
    for (int i = 0; i < 3; i++) {
        AXP_SCOPE_IN(p, "attention");
        {
            AXP_SCOPE_IN(p, "matmul");
        }
        {
            AXP_SCOPE_IN(p, "softmax");
        }
        {
            AXP_SCOPE_IN(p, "norm");
        }
    }
}

static int record(void)
{
    axp_profiler *p =
        axp_profiler_create(&(axp_options){.path = path,
                                           .spool_limit = (uint64_t)4 << 30,
                                           .flags = AXP_OVERWRITE});
    if (!p) return 1;
    for (unsigned i = 0; i < STEPS; i++) {
        AXP_SCOPE_IN(p, "step");
        for (int k = 0; k < LAYERS; k++)
            one_layer(p);
        if (i % PAUSE_EVERY == 0)
            nanosleep(&(struct timespec){.tv_nsec = 7000000}, NULL);
    }
    return axp_finish(p) ? 1 : 0;
}

/* A child that records (argv NULL) or is another program; what it used. */
static struct rusage in_child(char *const *argv)
{
    struct rusage use;
    int status = 1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (!argv) _exit(record());
        int nowhere = open("/dev/null", O_WRONLY);
        dup2(nowhere, 1);
        execv(AXP_COMMAND, argv);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &use) != child || status) {
        fprintf(stderr, "axp_bench_file: %s failed\n",
                argv ? argv[1] : "recording 100 M scopes");
        unlink(path);
        exit(1);
    }
    return use;
}

static double cpu_s(const struct rusage *use)
{
    return (double)use->ru_utime.tv_sec + (double)use->ru_stime.tv_sec +
           1e-6 * (double)(use->ru_utime.tv_usec + use->ru_stime.tv_usec);
}

/* CPU time of reading all of it, in this process. */
static double read_s(void)
{
    struct axp__opened o;
    double from = bench_thread_ns();
    if (axp__trace_open(path, &o)) exit(1);
    struct axp__fold *f = axp__fold_create(o.capture, false);
    double s = (bench_thread_ns() - from) / 1e9;
    uint64_t n = 0;
    for (size_t i = 0; i < o.capture->n_chunks; i++)
        n += o.capture->chunks[i].n_events;
    if (!f || f->n_damaged || n != 2ull * STEPS * A_STEP) {
        fprintf(stderr,
                "axp_bench_file: %llu events of 100 M scopes are there\n",
                (unsigned long long)n);
        unlink(path);
        exit(1);
    }
    axp__fold_destroy(f);
    o.capture->release(o.capture);
    return s;
}

void bench_long(void)
{
    char *const check[] = {"axprof", "check", (char *)(uintptr_t)path, NULL};
    char *const report[] = {"axprof", "report", (char *)(uintptr_t)path, NULL};
    in_child(NULL);
    struct rusage checked = in_child(check), reported = in_child(report);
    double s = read_s();
    unlink(path);
    bench_show("read", "100 M scopes", s, "s", 0);
    bench_show("axprof check", "100 M scopes", cpu_s(&checked), "s", 0);
    bench_show("… resident memory", "", (double)checked.ru_maxrss / 1024, "MiB",
               300);
    bench_show("axprof report", "100 M scopes", cpu_s(&reported), "s", 0);
    bench_show("… against reading it", "", cpu_s(&reported) / s, "times", 1.2);
}
