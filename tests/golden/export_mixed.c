/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Writes every export of two larger runs, for test_export_readers.py, and what
 * the view says about them.
 *
 *   export_mixed FOLDER
 *
 * mixed: four threads that do everything there is, at random; cut: the same
 * with a timeline that keeps the newest 2000 events.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "axprof/axprof_read.h"

#define ROUNDS 600

struct worker {
    axp_profiler *p;
    axp_track *track;
    uint64_t seed, index;
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

static void allocate(axp_profiler *p, uint64_t x)
{
    void *at = (void *)(uintptr_t)((x >> 8 & 0xffff) << 12 | 1u << 30);
    axp_track_alloc(p, x & 16 ? "tensor" : "buffer", at, 64 + (x & 1023));
    if (x & 32) axp_track_free(p, at);
    axp_record_alloc(p, "by name", 100 + (x & 7));
    if (x & 64) axp_record_free(p, "by name", 50); /* half a block */
}

static void *work(void *arg)
{
    struct worker *w = arg;
    axp_profiler *p = w->p;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint64_t x = draw(&w->seed), at = i * 1000 + (x & 511);
        descend(p, x >> 40 & 0x3ff);
        if (x % 5 == 0) overlap(p);
        if (x % 3 == 0) allocate(p, x);
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
    if (w->index == 0) axp_stop(p, "handed over");
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

static void run(const char *folder, const char *name, uint64_t capacity)
{
    axp_profiler *p = axp_profiler_create(
        &(axp_options){.title = name, .timeline_capacity = capacity});
    pthread_t threads[3];
    struct worker workers[4];
    for (uint64_t i = 0; i < 4; i++)
        workers[i] =
            (struct worker){p, axp_track_create(p, i & 1 ? "odd" : "even"),
                            88172645463325252u + i, i};
    axp_start(p, "handed over");
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, work, &workers[i]);
    work(&workers[3]);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 5; i++) {
        axp_start(p, "inside a step");
        axp_stop(p, "inside a step");
        axp_step(p);
    }
    axp_finish(p);
    axp_view *v = axp_snapshot(p);
    if (!v) exit(1);
    export_all(v, folder, name);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    run(argv[1], "mixed", 0);
    run(argv[1], "cut", 2000);
    return 0;
}
