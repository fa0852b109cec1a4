/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Writes every export of some larger runs, for test_export_readers.py, and what
 * the view says about them.
 *
 *   export_mixed FOLDER
 *
 * mixed    four threads that do everything there is, at random
 * cut      the same with a timeline that keeps the newest 2000 events
 * file     the same as mixed, recorded to file.axp and read from there; also
 *          its reports, and on standard output its summary
 * ranks    three processes with ranks, and a child that one of them forked:
 *          ranks.*.axp, read together, with reports. Each notes what the real-time clock
 *          says before and after it marks an instant.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "axprof/axprof_read.h"

#define ROUNDS 600
#define ROUNDS_OF_RANKS 100

#ifndef AXP_EMULATED
#define AXP_EMULATED 0
#endif
#ifdef __SANITIZE_THREAD__
#define AXP_DETECTOR 1
#else
#define AXP_DETECTOR 0
#endif
/* The child of a threaded process, under qemu, or under the race detector,
 * which looks away there and has no threads. */
static bool has_no_threads;

struct worker {
    axp_profiler *p;
    axp_track *track;
    uint64_t seed, index, n_rounds;
};

static uint64_t draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void descend(axp_profiler *p, uint64_t x)
{
    AXP_SCOPE_IN(p, x & 1 ? "left" : "right");
    if (x & 2) axp_category(p, AXP_CAT_FORWARD);
    if (x & 4)
        axp_add_work(p, (axp_work){.flops = 100,
                                   .bytes = 10,
                                   .dtype = AXP_F16,
                                   .dims = {3, 4, 5}});
    if (x >> 3) descend(p, x >> 3);
}

static void overlap(axp_profiler *p)
{
    axp_start(p, "first");
    axp_start(p, "second");
    axp_stop(p, "first");
    axp_stop(p, "second");
}

/* No two threads have an address in common. */
static void allocate(axp_profiler *p, uint64_t x, uint64_t thread)
{
    void *at =
        (void *)(uintptr_t)((x >> 8 & 0xffff) << 12 | (thread + 1) << 30);
    axp_track_alloc(p, x & 16 ? "tensor" : "buffer", at, 64 + (x & 1023));
    if (x & 32) axp_track_free(p, at);
    axp_record_alloc(p, "by name", 100 + (x & 7));
    if (x & 64) axp_record_free(p, "by name", 50); /* half a block */
}

static void *work(void *arg)
{
    struct worker *w = arg;
    axp_profiler *p = w->p;
    for (uint64_t i = 0; i < w->n_rounds; i++) {
        uint64_t x = draw(&w->seed), at = i * 1000 + (x & 511);
        descend(p, x >> 40 & 0x3ff);
        if (x % 5 == 0) overlap(p);
        if (x % 3 == 0) allocate(p, x, w->index);
        if (x % 7 == 0) axp_counter(p, "value", (double)(x & 255) / 4);
        if (x % 11 == 0) axp_instant(p, "mark");
        if (x % 13 == 0) axp_event(p, "note", AXP_EVENT_CUSTOM, "a \"b\"\n");
        axp_track_span(w->track, x & 128 ? "kernel" : "copy", at,
                       at + (x >> 9 & 2047), &(axp_work){.bytes = 8});
        if (x % 4 == 0) axp_async_begin(p, "request", w->seed ^ i);
        if (x % 8 == 0) axp_async_end(p, "request", w->seed ^ i);
        axp_flow_out(p, i << 8 | w->index);
        axp_flow_in(p, i << 8 | w->index);
    }
    if (w->index == 0 && !has_no_threads) axp_stop(p, "handed over");
    axp_start(p, "left open");
    return NULL;
}

static int count(const axp_event_info *e, void *ctx)
{
    ++((uint64_t *)ctx)[e->type];
    return 0;
}

static void write_facts(const axp_view *v, const char *path)
{
    uint64_t n[8] = {0}, self = 0, tree_calls = 0;
    size_t n_tree = axp_view_tree(v, NULL, 0);
    axp_tree_node *tree = calloc(n_tree + 1, sizeof *tree);
    FILE *f = fopen(path, "w");
    if (!f || !tree || axp_view_events(v, NULL, count, n)) exit(1);
    axp_view_tree(v, tree, n_tree);
    for (size_t i = 1; i < n_tree; i++) {
        self += tree[i].self_ns;
        tree_calls += tree[i].calls;
    }
    axp_memory m = axp_view_memory(v);
    static const char *const types[] = {"start", "end",    "instant", "alloc",
                                        "free",  "custom", "counter", "step"};
    fprintf(f, "{");
    for (int i = 0; i < 8; i++)
        fprintf(f, "\"%s\": %llu, ", types[i], (unsigned long long)n[i]);
    fprintf(f,
            "\"events\": %llu, \"cut\": %llu, \"self_ns\": %llu, "
            "\"tree_calls\": %llu, \"ops\": %zu, \"current_bytes\": %llu, "
            "\"total_allocated\": %llu, \"threads\": %zu}\n",
            (unsigned long long)axp_view_event_count(v),
            (unsigned long long)axp_view_cut_count(v), (unsigned long long)self,
            (unsigned long long)tree_calls, axp_view_ops(v, AXP_BY_SELF, 0, 0),
            (unsigned long long)m.current_bytes,
            (unsigned long long)m.total_allocated, axp_view_threads(v, 0, 0));
    fclose(f);
    free(tree);
}

static void export_all(const axp_view *v, const char *folder, const char *name)
{
    char path[600];
    const char *format;
    for (int i = 0;
         (format = axp_export_format_name((axp_export_format)i, NULL)); i++) {
        snprintf(path, sizeof path, "%s/%s.%s", folder, name, format);
        if (!axp_export(v, path, (axp_export_format)i)) continue;
        fprintf(stderr, "%s: %s\n", path, axp_last_error());
        exit(1);
    }
    snprintf(path, sizeof path, "%s/%s.facts", folder, name);
    write_facts(v, path);
}

/* Everything there is, on four threads and four tracks. */
static void record(axp_profiler *p, uint64_t n_rounds)
{
    pthread_t threads[3];
    struct worker workers[4];
    for (uint64_t i = 0; i < 4; i++)
        workers[i] =
            (struct worker){p, axp_track_create(p, i & 1 ? "odd" : "even"),
                            88172645463325252u + i, i, n_rounds};
    if (!has_no_threads) axp_start(p, "handed over");
    for (int i = 0; i < 3; i++)
        if (has_no_threads)
            work(&workers[i]);
        else
            pthread_create(&threads[i], NULL, work, &workers[i]);
    work(&workers[3]);
    for (int i = 0; i < 3; i++)
        if (!has_no_threads) pthread_join(threads[i], NULL);
    for (int i = 0; i < 5; i++) {
        axp_start(p, "inside a step");
        axp_stop(p, "inside a step");
        axp_step(p);
    }
}

static void run(const char *folder, const char *name, uint64_t capacity)
{
    axp_profiler *p = axp_profiler_create(
        &(axp_options){.title = name, .timeline_capacity = capacity});
    record(p, ROUNDS);
    axp_finish(p);
    axp_view *v = axp_snapshot(p);
    if (!v) exit(1);
    export_all(v, folder, name);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

/* ---- from files ---------------------------------------------------------------- */

#define N_RANKS 3
#define N_PROCESSES (N_RANKS + 1)

struct member { /* one of several processes, as it describes itself */
    char path[600], title[32];
    int pid, rank;
    uint64_t before_ns, after_ns; /* real time around the instant "here" */
};

static axp_profiler *create(const char *path, const char *title)
{
    axp_profiler *p = axp_profiler_create(
        &(axp_options){.path = path, .title = title, .flags = AXP_OVERWRITE});
    if (p) return p;
    fprintf(stderr, "%s: %s\n", path, axp_last_error());
    exit(1);
}

static void report_all(const axp_view *v, const char *folder, const char *name)
{
    static const char *const names[] = {"text", "json", "markdown", "html"};
    char path[600];
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s-report.%s", folder, name, names[i]);
        if (axp_report_export(v, path, (axp_format)i)) exit(1);
    }
}

static void run_file(const char *folder)
{
    char path[600];
    const char *paths[] = {path};
    axp_view *v = NULL;
    snprintf(path, sizeof path, "%s/file.axp", folder);
    axp_profiler *p = create(path, "file");
    record(p, ROUNDS);
    axp_finish(p);
    axp_print_summary(p);
    axp_profiler_destroy(p);
    if (axp_open(paths, 1, &v)) exit(1);
    export_all(v, folder, "file");
    report_all(v, folder, "file");
    axp_view_destroy(v);
}

static uint64_t real_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void be_member(struct member *m, axp_profiler *p)
{
    m->pid = getpid();
    usleep(50000 * (unsigned)(m->rank + 1)); /* far apart in time */
    m->before_ns = real_ns();
    axp_instant(p, "here");
    m->after_ns = real_ns();
    record(p, ROUNDS_OF_RANKS);
    _exit(axp_finish(p) ? 1 : 0); /* what a fork copied is not looked at */
}

static void be_rank(const char *folder, struct member *m)
{
    char rank[8];
    snprintf(rank, sizeof rank, "%d", m->rank);
    setenv("RANK", rank, 1);
    snprintf(m->title, sizeof m->title, "train \"%d\"", m->rank);
    snprintf(m->path, sizeof m->path, "%s/ranks.%d.axp", folder, m->rank);
    axp_profiler *p = create(m->path, m->title);
    if (m->rank == N_RANKS - 1) { /* its child records too, on its own */
        struct member *child = m + 1;
        *child = *m;
        fflush(NULL);
        axp_flush(p); /* so that the drain sleeps: while it begins it allocates,
                         and a sanitizer's child would inherit its lock */
        pid_t pid = fork();
        has_no_threads = !pid && (AXP_EMULATED || AXP_DETECTOR);
        if (!pid) be_member(child, p);
        if (pid < 0 || waitpid(pid, NULL, 0) != pid) exit(1);
    }
    be_member(m, p);
}

static void write_members(const struct member *members, const char *folder)
{
    char path[600];
    snprintf(path, sizeof path, "%s/ranks.members", folder);
    FILE *f = fopen(path, "w");
    if (!f) exit(1);
    for (int i = 0; i < N_PROCESSES; i++)
        fprintf(f, "%d %d %llu %llu %s\n", members[i].pid, members[i].rank,
                (unsigned long long)members[i].before_ns,
                (unsigned long long)members[i].after_ns, members[i].title);
    fclose(f);
}

static void run_ranks(const char *folder)
{
    struct member *members =
        mmap(NULL, N_PROCESSES * sizeof *members, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const char *paths[N_PROCESSES];
    char child[640];
    axp_view *v = NULL;
    int status;
    if (members == MAP_FAILED) exit(1);
    for (int i = 0; i < N_RANKS; i++) {
        members[i].rank = i;
        fflush(NULL);
        if (!fork()) be_rank(folder, &members[i]);
    }
    while (wait(&status) > 0)
        if (status) exit(1);
    for (int i = 0; i < N_RANKS; i++)
        paths[i] = members[i].path;
    snprintf(child, sizeof child, "%s/ranks.%d-%d.axp", folder, N_RANKS - 1,
             members[N_RANKS].pid);
    paths[N_RANKS] = child;
    if (axp_open(paths, N_PROCESSES, &v)) {
        fprintf(stderr, "%s\n", axp_last_error());
        exit(1);
    }
    export_all(v, folder, "ranks");
    report_all(v, folder, "ranks");
    write_members(members, folder);
    axp_view_destroy(v);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    run_ranks(argv[1]); /* before there are threads: for emulators */
    run(argv[1], "mixed", 0);
    run(argv[1], "cut", 2000);
    run_file(argv[1]);
    return 0;
}
