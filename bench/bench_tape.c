/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Recording to a trace file: what a scope costs meanwhile, and whether the
 * drain keeps up.
 *
 *   axp_bench_tape [--long] [--packing] [--only TEXT] [--dir DIR] [--no-fail]
 *
 *   bursts       1 M scopes at a time, with pauses for the drain
 *   no pause     50 M scopes on one thread, the drain on another core
 *   paced        10 M scopes a second, spool_limit 256 MiB: 5 s, or 60 s
 *   two threads  as fast as they can: 40 M scopes, or 600 M
 *
 * Each in a process of its own (bench_tape_target.c), once with the drain that
 * packs (libaxprof) and once with the one that does not (rt alone). --long:
 * the longer ones, packed. --packing: the packed ones alone. Files lie in
 * /dev/shm, or in DIR: on a busy machine up to 10 GB of them (--long).
 *
 * Events are counted independently: those that the program recorded; those
 * that the recorder says it cut; and those in the file, each word decoded.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "axprof/axprof_read.h"
#include "bench.h"
#include "file/file_open.h"
#include "wire/wire_decode.h"

#define MAX_REPS 5
#define MILLION 1000000u
#define MIB ((uint64_t)1 << 20)

struct tape_case {
    const char *shape;
    uint64_t n, long_n; /* long_n 0: the same */
    uint64_t spool_bytes;
    double limit; /* of the ratio to the floor; 0: none */
    bool may_cut;
    double rate; /* that it must reach, scopes a second; 0: none */
    int reps;
};

static const struct tape_case cases[] = {
    {"bursts", 9 * MILLION, 0, 1024 * MIB, 1.25, false, 0, 5},
    {"no pause", 50 * MILLION, 0, 1024 * MIB, 1.6, false, 0, 3},
    {"paced", 50 * MILLION, 600 * MILLION, 256 * MIB, 0, false, 9.9e6, 1},
    {"two threads", 40 * MILLION, 600 * MILLION, 256 * MIB, 0, true, 0, 1},
};

struct result {
    double ns, floor_ns, seconds;
    uint64_t n, n_cut, n_written, bytes;
};

static int n_missed;
static char path[256];

static void give_up(const char *why)
{
    fprintf(stderr, "axp_bench_tape: %s\n", why);
    (void)unlink(path);
    exit(1);
}

/* Each word of the file. */
static uint64_t count_in_file(void)
{
    struct axp__opened o;
    struct axp__decoder d;
    struct axp__wire_event e;
    uint64_t n = 0;
    if (axp__trace_open(path, &o)) give_up(axp_last_error());
    for (size_t i = 0; i < o.capture->n_chunks; i++)
        for (uint32_t k = 0; k <= o.capture->chunks[i].n_more; k++) {
            struct axp__cap_words w;
            if (!axp__words_load(&o.capture->chunks[i], k, &w)) continue;
            axp__decoder_init(&d, w.words, w.n_words, w.base_ticks);
            while (axp__decoder_next(&d, &e))
                n += axp__word_events(e.kind, e.kind == AXP__W_EXT ? e.ext : 0);
            axp__words_unload(&w);
        }
    o.capture->release(o.capture);
    return n;
}

static struct result run_once(const struct tape_case *c, bool is_packing,
                              uint64_t n)
{
    struct result r = {0};
    struct stat st = {0};
    char command[512];
    (void)unlink(path);
    snprintf(command, sizeof command,
             "AXPROF_OUT=%s exec '%s' '%s' %" PRIu64 " %" PRIu64, path,
             is_packing ? AXP_TARGET_PACKING : AXP_TARGET_RAW, c->shape, n,
             c->spool_bytes);
    FILE *out = popen(command, "r");
    bool ok = out && fscanf(out, "%lf %lf %" SCNu64 " %" SCNu64 " %lf", &r.ns,
                            &r.floor_ns, &r.n, &r.n_cut, &r.seconds) == 5;
    if (!out || pclose(out) || !ok) give_up("bench_tape_target failed");
    r.n_written = count_in_file();
    if (!stat(path, &st)) r.bytes = (uint64_t)st.st_size;
    (void)unlink(path);
    return r;
}

static void judge(bool ok, const char *must)
{
    n_missed += !ok;
    printf("  %-24s %s\n", must, ok ? "ok" : "MISSED");
    fflush(stdout);
}

static void judge_counts(const struct tape_case *c, const struct result *r)
{
    bool is_sum = r->n_written + r->n_cut == 2 * r->n;
    printf("%28s %" PRIu64 " events = %" PRIu64 " written + %" PRIu64
           " cut; %.1f bytes a scope;",
           "", 2 * r->n, r->n_written, r->n_cut,
           r->n_written ? 2.0 * (double)r->bytes / (double)r->n_written : 0);
    judge(c->may_cut ? is_sum : is_sum && !r->n_cut,
          c->may_cut ? "must be equal" : "must be equal, none cut");
}

static void run_case(const struct tape_case *c, bool is_packing, bool is_long)
{
    double ratio[MAX_REPS], ns[MAX_REPS], rate[MAX_REPS];
    uint64_t n = is_long && c->long_n ? c->long_n : c->n;
    char must[32] = "";
    for (int i = 0; i < c->reps; i++) {
        struct result r = run_once(c, is_packing, n);
        ns[i] = r.ns;
        ratio[i] = r.ns / r.floor_ns;
        rate[i] = (double)r.n / r.seconds;
        judge_counts(c, &r);
    }
    double of = bench_median(ratio, c->reps);
    printf("%-14s %-8s %4.0f M %8.2f ns a scope  %6.2f floors "
           "(%.2f..%.2f)  %5.1f M/s",
           c->shape, is_packing ? "packing" : "raw", (double)n / 1e6,
           bench_median(ns, c->reps), of, ratio[0], ratio[c->reps - 1],
           bench_median(rate, c->reps) / 1e6);
    if (c->limit > 0) {
        snprintf(must, sizeof must, "must be <= %.2f", c->limit);
        judge(of <= c->limit, must);
    } else if (c->rate > 0) {
        snprintf(must, sizeof must, "must be >= %.1f M/s", c->rate / 1e6);
        judge(rate[0] >= c->rate, must);
    } else {
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    bool may_fail = true, is_long = false, is_raw = true;
    const char *only = NULL, *folder = "/dev/shm";
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--long"))
            is_long = true;
        else if (!strcmp(argv[i], "--no-fail"))
            may_fail = false;
        else if (!strcmp(argv[i], "--packing"))
            is_raw = false;
        else if (!strcmp(argv[i], "--only") && i + 1 < argc)
            only = argv[++i];
        else if (!strcmp(argv[i], "--dir") && i + 1 < argc)
            folder = argv[++i];
        else {
            fprintf(stderr, "usage: axp_bench_tape [--long] [--packing] "
                            "[--only TEXT] [--dir DIR] "
                            "[--no-fail]\n");
            return 2;
        }
    }
    snprintf(path, sizeof path, "%s/axp-bench-%ld.axp", folder, (long)getpid());
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (only && !strstr(cases[i].shape, only)) continue;
        run_case(&cases[i], true, is_long);
        if (is_raw && !is_long) run_case(&cases[i], false, false);
    }
    if (n_missed) printf("%d figures missed\n", n_missed);
    return may_fail && n_missed ? 1 : 0;
}
