/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Trace files: bytes a scope, and how fast they are packed, unpacked, folded
 * again and opened.
 *
 *   axp_bench_file [--no-fail]
 *
 * Timelines: examples/gpt's (a small model, so that some seconds give 400,000
 * scopes; and its default run, for the bytes alone), and made ones with
 * log-uniform durations of 100 ns to 1 ms:
 *
 *   64 names, random  one after the other
 *   random tree       a tree of 4096 places drawn at random, 64 names, up to 8
 *                     deep, walked at random: histograms miss the cache
 *   random nesting    any of 64 names under any other, up to 8 deep: most scopes
 *                     have a place of their own until there is no room for more
 *
 * And a file of 100 M scopes (bench_file_long.c), and one with 10 M references
 * to stacks (bench_file_stacks.c). Files are in the page cache.
 * Times are the thread's CPU time, the median of some runs, and beside them
 * their ratio to the floor (bench/floor.c). Bytes a scope are those of the
 * whole timeline; of gpt's default run also those of its scopes alone
 * (bench_file_scopes.c).
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "axprof/axprof_file.h"
#include "axprof/axprof_read.h"
#include "bench.h"
#include "bench_file.h"
#include "file/file_fold.h"
#include "file/file_open.h"
#include "file/file_walk.h"
#include "file/file_pack.h"
#include "file/file_write.h"
#include "wire/wire_block.h"

#define SCOPES 1000000u
#define RUNS 7
#define NAMES 64u
#define FIRST_NAME 3u
#define DEPTH 8u
#define PLACES 4096u

static int n_missed;
static double floor_ns;
static char folder[64];

void bench_show(const char *what, const char *of, double value,
                const char *unit, double limit)
{
    bool ok = limit <= 0 || value <= limit;
    n_missed += !ok;
    printf("%-28s %-18s %8.2f %-10s", what, of, value, unit);
    if (limit > 0) printf(" must be <= %.2f  %s", limit, ok ? "ok" : "MISSED");
    printf("\n");
    fflush(stdout);
}

/* Time a scope, beside its ratio to the floor, which is what must hold. */
static void show_time(const char *what, const char *of, double ns, double limit)
{
    printf("%-28s %-18s %8.2f ns\n", what, of, ns);
    if (limit > 0) bench_show(what, of, ns / floor_ns, "floors", limit);
}

/* ---- timelines --------------------------------------------------------------------- */

static uint64_t rng = 88172645463325252u;

static uint64_t random64(void)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    return rng ^= rng << 17;
}

static uint64_t duration(void)
{
    double u = (double)(random64() >> 11) * 0x1p-53;
    return (uint64_t)(100 * pow(1e4, u));
}

struct maker {
    struct axp__chunk *chunks;
    size_t n;
    uint64_t now;
};

static void put(struct maker *m, enum axp__word_kind kind, uint32_t name)
{
    struct axp__chunk *c = &m->chunks[m->n ? m->n - 1 : 0];
    if (!m->n || c->n_words == AXP__CHUNK_WORDS) {
        c = &m->chunks[m->n++];
        c->seq = m->n;
        c->row = 1;
        c->epoch = 1;
        c->base_ticks = m->now;
    }
    c->words[c->n_words++] = axp__word(kind, name, m->now - c->base_ticks);
    c->n_events++;
}

static void make_flat(struct maker *m, uint64_t n)
{
    while (n--) {
        uint32_t name = FIRST_NAME + (uint32_t)(random64() % NAMES);
        put(m, AXP__W_BEGIN, name);
        m->now += duration();
        put(m, AXP__W_END, name);
        m->now += 20 + random64() % 12;
    }
}

/* A walk: from each scope on into another one or back, as the coin falls;
 * `next` chooses the place to go to. */
struct place {
    uint32_t name, first, n; /* its children lie side by side */
};

static const struct place *any_child(const struct place *tree,
                                     const struct place *at)
{
    return at->n ? &tree[at->first + random64() % at->n] : NULL;
}

static const struct place *anything(const struct place *tree,
                                    const struct place *at)
{
    static struct place places[NAMES];
    (void)tree;
    (void)at;
    struct place *to = &places[random64() % NAMES];
    to->name = FIRST_NAME + (uint32_t)(to - places);
    return to;
}

typedef const struct place *next_fn(const struct place *, const struct place *);

static void walk(struct maker *m, uint64_t n, const struct place *tree,
                 next_fn *next)
{
    const struct place *open[DEPTH + 1] = {tree}, *to;
    uint32_t depth = 0;
    while (n || depth) {
        m->now += 10 + duration() / (1 + depth);
        to = n && depth < DEPTH && (!depth || random64() % 2)
                 ? next(tree, open[depth])
                 : NULL;
        if (to) {
            open[++depth] = to;
            put(m, AXP__W_BEGIN, to->name);
            n--;
        } else {
            put(m, AXP__W_END, open[depth--]->name);
        }
    }
}

/* Up to 8 children each, by levels, until there are enough places. */
static void make_tree(struct maker *m, uint64_t n)
{
    static struct place tree[PLACES];
    uint32_t n_places = 1;
    for (uint32_t i = 0; i < n_places; i++) {
        tree[i].first = n_places;
        for (uint64_t k = i ? random64() % 8 : 8; k && n_places < PLACES; k--)
            tree[n_places++].name = FIRST_NAME + (uint32_t)(random64() % NAMES);
        tree[i].n = n_places - tree[i].first;
    }
    walk(m, n, tree, any_child);
}

static void make_nesting(struct maker *m, uint64_t n)
{
    walk(m, n, NULL, anything);
}

static struct axp__cap_name name_at(const struct axp__capture *c, uint32_t id)
{
    static char text[NAMES + FIRST_NAME][12];
    (void)c;
    if (id >= NAMES + FIRST_NAME) id = 0;
    snprintf(text[id], sizeof text[id], "op %u", id);
    return (struct axp__cap_name){.text = text[id]};
}

/* A file of what was made; without accumulators, so that opening folds. */
static void write_made(const struct maker *m, const char *path)
{
    struct axp__capture c = {.title = "bench",
                             .rank = -1,
                             .rate_mult = (uint64_t)1 << 32,
                             .has_timeline = true,
                             .n_names = NAMES + FIRST_NAME,
                             .name_at = name_at};
    struct axp__cap_chunk *list = calloc(m->n, sizeof *list);
    for (size_t i = 0; i < m->n; i++)
        list[i] = (struct axp__cap_chunk){.row = 1,
                                          .seq = i + 1,
                                          .base_ticks = m->chunks[i].base_ticks,
                                          .words = m->chunks[i].words,
                                          .n_words = m->chunks[i].n_words,
                                          .n_events = m->chunks[i].n_events};
    struct axp__cap_row row = {.id = 1, .tid = 1, .rank = -1};
    c.rows = &row;
    c.n_rows = 1;
    c.chunks = list;
    c.n_chunks = m->n;
    struct axp__file_head head = {.version = AXP__FILE_VERSION, .rank = -1};
    struct axp__to_write what = {
        .capture = &c, .head = &head, .epoch = 1, .is_stateless = true};
    if (axp__file_write(path, true, &what)) {
        fprintf(stderr, "axp_bench_file: %s\n", axp_last_error());
        exit(1);
    }
    free(list);
}

static void run_gpt(const char *path, char *const options[])
{
    pid_t child = fork();
    if (child == 0) {
        int nowhere = open("/dev/null", O_WRONLY);
        dup2(nowhere, 1);
        setenv("AXPROF_OUT", path, 1);
        setenv("OMP_NUM_THREADS", "2", 1);
        setenv("OMP_WAIT_POLICY", "passive", 1);
        execv(AXP_GPT, options);
        _exit(127);
    }
    int status = 1;
    if (child < 0 || waitpid(child, &status, 0) != child || status ||
        axp_file_pack(path, NULL)) {
        fprintf(stderr, "axp_bench_file: %s did not leave a trace: %s\n",
                AXP_GPT, axp_last_error());
        exit(1);
    }
}

/* ---- measuring ---------------------------------------------------------------------- */

static uint64_t count_scopes(const struct axp__capture *c)
{
    uint64_t n = 0;
    for (size_t i = 0; i < c->n_lanes; i++)
        for (uint32_t k = 0; k < c->lanes[i].n_nodes; k++)
            n += c->lanes[i].nodes[k].calls;
    return n;
}

static void measure_bytes(const char *path, const char *of, double limit)
{
    struct axp__opened o;
    uint64_t bytes = 0;
    if (axp__trace_open(path, &o)) exit(1);
    struct axp__file_walk walk;
    axp__file_walk_begin(&walk, o.file);
    while (axp__file_walk_next(&walk))
        if (axp__block_is_timeline(&walk.entry.block))
            bytes += axp__block_span(&walk.entry.block);
    bench_show("timeline, bytes a scope", of,
               (double)bytes / (double)count_scopes(o.capture), "bytes", limit);
    o.capture->release(o.capture);
}

static void measure_scopes(const char *path, const char *of, double limit)
{
    struct axp__opened o;
    if (axp__trace_open(path, &o)) exit(1);
    double bytes = (double)bench_scopes_bytes(o.capture);
    bench_show("… without other events", of,
               bytes / (double)count_scopes(o.capture), "bytes", limit);
    o.capture->release(o.capture);
}

static void measure_fold(const char *path, const char *of, double limit)
{
    struct axp__opened o;
    double ns[RUNS];
    if (axp__trace_open(path, &o)) exit(1);
    uint64_t n = count_scopes(o.capture);
    for (int i = 0; i < RUNS; i++) {
        double from = bench_thread_ns();
        struct axp__fold *f = axp__fold_create(o.capture, false);
        ns[i] = (bench_thread_ns() - from) / (double)n;
        if (!f || f->n_damaged) exit(1);
        axp__fold_destroy(f);
    }
    o.capture->release(o.capture);
    show_time("decode and fold a scope", of, bench_median(ns, RUNS), limit);
}

static void measure_load(const char *path, const char *of)
{
    struct axp__opened o;
    double ns[RUNS];
    if (axp__trace_open(path, &o)) exit(1);
    uint64_t n = count_scopes(o.capture), sum = 0;
    for (int i = 0; i < RUNS; i++) {
        double from = bench_thread_ns();
        for (size_t k = 0; k < o.capture->n_chunks; k++)
            for (uint32_t j = 0; j <= o.capture->chunks[k].n_more; j++) {
                struct axp__cap_words w;
                if (!axp__words_load(&o.capture->chunks[k], j, &w)) exit(1);
                sum += w.n_words;
                axp__words_unload(&w);
            }
        ns[i] = (bench_thread_ns() - from) / (double)n;
    }
    bench_keep(sum);
    o.capture->release(o.capture);
    show_time("unpack a scope", of, bench_median(ns, RUNS), 0);
}

static void measure_pack(const struct maker *m, const char *of, uint64_t n)
{
    struct axp__packer *p = axp__packer_create();
    size_t cap = (size_t)AXP__PACK_CHUNKS * AXP__CHUNK_BYTES;
    uint8_t *out = malloc(cap);
    const struct axp__chunk *list[AXP__PACK_CHUNKS];
    double ns[RUNS];
    for (int i = 0; i < RUNS; i++) {
        double from = bench_thread_ns();
        for (size_t k = 0; k < m->n; k += AXP__PACK_CHUNKS) {
            size_t some =
                m->n - k < AXP__PACK_CHUNKS ? m->n - k : AXP__PACK_CHUNKS;
            for (size_t j = 0; j < some; j++)
                list[j] = &m->chunks[k + j];
            if (!axp__packer_pack(p, list, some, out, cap)) exit(1);
        }
        ns[i] = (bench_thread_ns() - from) / (double)n;
    }
    axp__packer_destroy(p);
    free(out);
    show_time("pack a scope", of, bench_median(ns, RUNS), 0);
}

static double open_ns(const char *path)
{
    double ns[RUNS];
    FILE *nowhere = fopen("/dev/null", "w");
    for (int i = 0; i < RUNS; i++) {
        double from = bench_thread_ns();
        axp_view *v;
        if (axp_open(&path, 1, &v) || axp_file_info_write(&path, 1, nowhere))
            exit(1);
        axp_view_destroy(v);
        ns[i] = bench_thread_ns() - from;
    }
    fclose(nowhere);
    return bench_median(ns, RUNS);
}

/* Opening a file, and one that is 16 times as long. */
static void measure_open(struct maker *m, const char *path)
{
    double ns[2];
    for (int i = 0; i < 2; i++) {
        struct maker some = *m;
        if (i == 0) some.n = m->n / 16;
        write_made(&some, path);
        if (axp_file_pack(path, NULL)) exit(1); /* with statistics */
        ns[i] = open_ns(path);
    }
    bench_show("open and info, long file", "", ns[1] / 1e3, "us", 0);
    bench_show("… against 1/16 of it", "", ns[1] / ns[0], "times", 1.5);
}

static void measure_crc(void)
{
    static uint8_t bytes[1 << 20];
    double ns[2][RUNS];
    for (int i = 0; i < RUNS; i++)
        for (int k = 0; k < 2; k++) {
            double from = bench_thread_ns();
            bench_keep(k ? axp__crc32c_by_table(0, bytes, sizeof bytes)
                         : axp__crc32c(0, bytes, sizeof bytes));
            ns[k][i] = (bench_thread_ns() - from) / (double)sizeof bytes;
        }
    bench_show("checksum a byte", "", bench_median(ns[0], RUNS), "ns", 0);
    bench_show("checksum a byte", "by tables", bench_median(ns[1], RUNS), "ns",
               0);
}

static void measure_made(const char *of, void (*make)(struct maker *, uint64_t),
                         double bytes_limit, double fold_limit)
{
    struct maker m = {.now = 1000000000};
    char path[96];
    m.chunks = calloc(2 * SCOPES / AXP__CHUNK_WORDS + 2, sizeof *m.chunks);
    if (!m.chunks) exit(1);
    make(&m, SCOPES);
    snprintf(path, sizeof path, "%s/made.axp", folder);
    write_made(&m, path);
    measure_bytes(path, of, bytes_limit);
    measure_pack(&m, of, SCOPES);
    measure_load(path, of);
    measure_fold(path, of, fold_limit);
    if (make == make_flat) measure_open(&m, path);
    unlink(path);
    free(m.chunks);
}

static void measure_gpt(void)
{
    char path[96];
    char *const small[] = {"gpt",   "--steps", "3000",    "--width", "32",
                           "--seq", "16",      "--batch", "2",       NULL};
    char *const usual[] = {"gpt", NULL};
    snprintf(path, sizeof path, "%s/gpt.axp", folder);
    run_gpt(path, small);
    measure_bytes(path, "gpt, small", 3.5);
    measure_load(path, "gpt, small");
    measure_fold(path, "gpt, small", 1.5);
    unlink(path);
    run_gpt(path, usual);
    measure_bytes(path, "gpt, as it comes", 0);
    measure_scopes(path, "gpt, as it comes", 3.5);
    unlink(path);
}

int main(int argc, char **argv)
{
    double floors[RUNS];
    bool may_fail = argc < 2 || strcmp(argv[1], "--no-fail") != 0;
    snprintf(folder, sizeof folder, "/tmp/axp-bench-XXXXXX");
    if (!mkdtemp(folder)) return 1;
    for (int i = 0; i < RUNS; i++)
        floors[i] = bench_floor(2000000);
    floor_ns = bench_median(floors, RUNS);
    printf("floor: two raw clock reads, %.2f ns\n\n", floor_ns);
    bench_long(); /* first: see there */
    measure_crc();
    measure_gpt();
    measure_made("64 names, random", make_flat, 6.5, 0);
    measure_made("random tree", make_tree, 0, 4);
    measure_made("random nesting", make_nesting, 0, 0);
    bench_stacks(); /* last: it has a clock of its own */
    rmdir(folder);
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    printf("\nlargest resident memory: %.1f MiB\n",
           (double)use.ru_maxrss / 1024);
    if (n_missed) printf("%d figures missed\n", n_missed);
    return may_fail && n_missed ? 1 : 0;
}
