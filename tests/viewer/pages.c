/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Writes the pages that the browser tests open.
 *
 *   pages golden DIR          the six golden runs: NAME.html
 *   pages random DIR SEED N   a random run of about N events: random.html, and
 *                             random.json with what was recorded, kept here
 *                             beside the calls and not read back from a view
 *   pages devices DIR N       N rounds of memory on the host and on two devices:
 *                             devices.html, and devices.json with the levels
 *   pages big DIR N [BUDGET]  N events of a plain training loop: big.html;
 *                             prints how long the writing took
 */
#include "golden/golden_traces.h"

#include "viewer/random_run.h"

#define RANGES 12

static char path[4096];

static const char *in(const char *dir, const char *name)
{
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void check(axp_status status, const char *what)
{
    if (!status) return;
    fprintf(stderr, "%s: %s\n", what, axp_last_error());
    exit(1);
}

static void write_page(const axp_view *v, const char *to, uint64_t budget)
{
    axp_report_options o = {.max_events = budget};
    FILE *f = fopen(to, "wb");
    if (!f) {
        perror(to);
        exit(1);
    }
    check(axp_report_write_ex(v, AXP_FORMAT_HTML, &o, f), to);
    fclose(f);
}

static int write_golden(const char *dir)
{
    golden_init();
    for (size_t i = 0; i < GOLDEN_N; i++) {
        char name[64];
        axp_view *v = golden_view(i);
        snprintf(name, sizeof name, "%s.html", golden_names[i]);
        write_page(v, in(dir, name), 0);
        axp_view_destroy(v);
    }
    return 0;
}

/* ---- a random run, and what it did ------------------------------------------------ */

static void put_events(FILE *f, const struct run *r)
{
    fputs("{\"events\":[", f);
    for (size_t i = 0; i < r->n; i++) {
        const struct kept *k = &r->all[i];
        const char *kind = k->depth == LOOSE  ? "loose"
                           : k->depth == MARK ? "mark"
                                              : "slice";
        fprintf(f, "%s[\"%s\",%u,%llu,%llu,\"%s\",%d]", i ? ",\n" : "", kind,
                k->thread, (unsigned long long)k->start,
                (unsigned long long)k->dur,
                k->depth == MARK ? "mark" : name_of(k->name),
                k->depth < MARK ? (int)k->depth : 0);
    }
    fputs("]", f);
}

/* By definition: each event against each event that it lies in. */
static void put_range(FILE *f, const struct run *r, uint64_t from, uint64_t to)
{
    uint64_t(*sum)[3] = calloc(r->n_names, sizeof *sum);
    size_t open[MOST_DEPTH + 1];
    if (!sum) abort();
    for (size_t i = 0; i < r->n; i++) {
        const struct kept *k = &r->all[i];
        uint64_t a = k->start > from ? k->start : from;
        uint64_t b = k->start + k->dur < to ? k->start + k->dur : to;
        bool is_in = b > a || (!k->dur && k->start >= from && k->start < to);
        if (k->depth >= MARK) continue;
        open[k->depth] = i;
        if (!is_in) continue;
        bool is_recursive = false;
        for (uint32_t d = 0; d < k->depth; d++)
            is_recursive |= r->all[open[d]].name == k->name;
        sum[k->name][0]++;
        if (!is_recursive) sum[k->name][1] += b - a;
        sum[k->name][2] += b - a;
        if (k->depth) sum[r->all[open[k->depth - 1]].name][2] -= b - a;
    }
    fprintf(f, "{\"from\":%llu,\"to\":%llu,\"ops\":{", (unsigned long long)from,
            (unsigned long long)to);
    for (uint32_t i = 0, shown = 0; i < r->n_names; i++)
        if (sum[i][0])
            fprintf(f, "%s\"%s\":[%llu,%llu,%llu]", shown++ ? "," : "",
                    name_of(i), (unsigned long long)sum[i][0],
                    (unsigned long long)sum[i][1],
                    (unsigned long long)sum[i][2]);
    fputs("}}", f);
    free(sum);
}

static void put_truth(const char *to, struct run *r)
{
    FILE *f = fopen(to, "w");
    uint64_t last = r->all[r->n - 1].start + 1000000;
    if (!f) abort();
    put_events(f, r);
    fputs(",\"ranges\":[\n", f);
    for (int i = 0; i < RANGES; i++) {
        const struct kept *a = &r->all[roll(r, r->n)],
                          *b = &r->all[roll(r, r->n)];
        uint64_t from = a->start, end = b->start + b->dur;
        if (i % 3 == 0) from = roll(r, last), end = from + roll(r, last - from);
        if (end < from) end = from + 1000;
        fputs(i ? ",\n" : "", f);
        put_range(f, r, from, end);
    }
    fputs("]}\n", f);
    fclose(f);
}

static int write_random(const char *dir, uint64_t seed, size_t n)
{
    struct run r;
    ts_use_fake_clock();
    random_run(&r, seed, n);
    axp_view *v = axp_snapshot(r.p);
    if (!v) abort();
    write_page(v, in(dir, "random.html"), 0);
    put_truth(in(dir, "random.json"), &r);
    axp_view_destroy(v);
    axp_profiler_destroy(r.p);
    free(r.all);
    return 0;
}

/* ---- devices ------------------------------------------------------------------------ */

enum { DOMAINS = 3, BLOCKS = 40, KINDS = 4 };
static const char *const memory_names[KINDS] = {"weights", "activations",
                                                "buffer", "buffer 2"};

/* Counted beside the calls. */
struct level {
    uint64_t live[KINDS], all, peak, at_peak[KINDS], blocks[BLOCKS];
    int name_of[BLOCKS];
};

static void change(struct level *l, int name, uint64_t bytes, bool is_alloc)
{
    l->live[name] += is_alloc ? bytes : 0u - bytes;
    l->all += is_alloc ? bytes : 0u - bytes;
    if (l->all <= l->peak) return;
    l->peak = l->all;
    memcpy(l->at_peak, l->live, sizeof l->live);
}

/* One block more or less of a domain; track NULL: the host. */
static void step_memory(axp_profiler *p, axp_track *track, struct level *l,
                        uint64_t *seed)
{
    unsigned i = (unsigned)(ts_random(seed) % BLOCKS);
    uint64_t address = 0x10000 + i;
    bool is_alloc = !l->blocks[i];
    if (is_alloc) {
        l->blocks[i] = 1000 + ts_random(seed) % 100000;
        l->name_of[i] = (int)(ts_random(seed) % KINDS);
    }
    const char *name = memory_names[l->name_of[i]];
    change(l, l->name_of[i], l->blocks[i], is_alloc);
    if (track && is_alloc)
        axp_track_alloc_at(track, name, address, l->blocks[i], axp_now(p));
    else if (track)
        axp_track_free_at(track, address, axp_now(p));
    else if (is_alloc)
        axp_record_alloc(p, name, l->blocks[i]);
    else
        axp_record_free(p, name, l->blocks[i]);
    if (!is_alloc) l->blocks[i] = 0;
}

static void put_levels(const char *to, const struct level *all)
{
    static const char *const labels[] = {"Host", "cuda:0", "cuda:1"};
    FILE *f = fopen(to, "w");
    if (!f) abort();
    fputs("[", f);
    for (int d = 0; d < DOMAINS; d++) {
        fprintf(f, "%s{\"label\":\"%s\",\"current\":%llu,\"peak\":%llu",
                d ? ",\n" : "", labels[d], (unsigned long long)all[d].all,
                (unsigned long long)all[d].peak);
        fputs(",\"names\":{", f);
        for (int k = 0; k < KINDS; k++)
            fprintf(f, "%s\"%s%s%s\":[%llu,%llu]", k ? "," : "",
                    memory_names[k], d ? " on " : "", d ? labels[d] : "",
                    (unsigned long long)all[d].live[k],
                    (unsigned long long)all[d].at_peak[k]);
        fputs("}}", f);
    }
    fputs("]\n", f);
    fclose(f);
}

static int write_devices(const char *dir, size_t n)
{
    static struct level levels[DOMAINS];
    axp_track *tracks[DOMAINS] = {NULL};
    uint64_t seed = 7;
    ts_use_fake_clock();
    axp_profiler *p = axp_profiler_create(&(axp_options){.title = "devices"});
    if (!p) abort();
    for (int d = 1; d < DOMAINS; d++)
        tracks[d] = axp_track_create_ex(
            p, &(axp_track_options){.name = "memory",
                                    .device = d == 1 ? "cuda:0" : "cuda:1"});
    for (size_t i = 0; i < n; i++) {
        uint64_t t = axp_begin(p, "round");
        for (int d = 0; d < DOMAINS; d++) {
            ts_tick(100 + ts_random(&seed) % 1000);
            step_memory(p, tracks[d], &levels[d], &seed);
        }
        axp_end(t);
    }
    axp_view *v = axp_snapshot(p);
    if (!v) abort();
    write_page(v, in(dir, "devices.html"), 0);
    put_levels(in(dir, "devices.json"), levels);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
    return 0;
}

/* ---- many events -------------------------------------------------------------------- */

static void layer(axp_profiler *p, uint64_t *seed)
{
    static const char *const ops[] = {"layernorm", "qkv",  "scores",
                                      "softmax",   "proj", "residual",
                                      "fc1",       "gelu", "fc2"};
    uint64_t block = axp_begin(p, "block");
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        uint64_t t = axp_begin(p, ops[i]);
        ts_tick(2000 + ts_random(seed) % (4000 * (i + 1)));
        axp_end(t);
        ts_tick(100 + ts_random(seed) % 400);
    }
    axp_end(block);
}

static int write_big(const char *dir, uint64_t n, uint64_t budget)
{
    ts_use_fake_clock();
    axp_options o = {.title = "big", .memory_limit = (uint64_t)4 << 30};
    axp_profiler *p = axp_profiler_create(&o);
    uint64_t seed = 42;
    if (!p) abort();
    for (uint64_t i = 0; i < n; i += 122) {
        uint64_t t = axp_begin(p, "step");
        for (int l = 0; l < 12; l++)
            layer(p, &seed);
        axp_end(t);
        axp_counter(p, "loss", 1000.0 / (double)(i + 1));
        axp_step(p);
    }
    axp_view *v = axp_snapshot(p);
    struct timespec a, b;
    clock_t cpu = clock();
    if (!v) abort();
    clock_gettime(CLOCK_MONOTONIC, &a);
    write_page(v, in(dir, "big.html"), budget);
    clock_gettime(CLOCK_MONOTONIC, &b);
    double s =
        (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
    double n_written = (double)axp_view_event_count(v) / 2;
    printf(
        "%.0f events in %.2f s (%.2f s of processor time): %.2f M events/s\n",
        n_written, s, (double)(clock() - cpu) / CLOCKS_PER_SEC,
        n_written / 1e6 / s);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
    return 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 2 ? argv[1] : "";
    if (!strcmp(mode, "golden")) return write_golden(argv[2]);
    if (!strcmp(mode, "random") && argc == 5)
        return write_random(argv[2], strtoull(argv[3], NULL, 10),
                            strtoull(argv[4], NULL, 10));
    if (!strcmp(mode, "devices") && argc == 4)
        return write_devices(argv[2], strtoull(argv[3], NULL, 10));
    if (!strcmp(mode, "big") && argc >= 4)
        return write_big(argv[2], strtoull(argv[3], NULL, 10),
                         argc > 4 ? strtoull(argv[4], NULL, 10) : 0);
    fprintf(stderr, "usage: pages golden|random|devices|big DIR ...\n");
    return 2;
}
