/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program of somebody who never compiles it again. The executables beside it
 * were made of it, and of the headers of that time, by make_client; they run
 * with every later library (test_kept). It makes every public call that was
 * there, and says what is not as it was.
 *
 *   client FOLDER    where it may write
 */
#include <axprof/axprof_adapter.h>
#include <axprof/axprof_file.h>
#include <axprof/axprof_read.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int n_wrong;
#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition)) {                                                    \
            printf("line %d: not %s\n", __LINE__, #condition);                 \
            n_wrong++;                                                         \
        }                                                                      \
    } while (0)

static void listen(int level, const char *message, void *ctx)
{
    if (level == AXP_LOG_INFO && message) ++*(int *)ctx;
}

/* ---- recording --------------------------------------------------------------- */

static void by_macro(int i)
{
    AXP_FUNCTION();
    AXP_SCOPE("step");
    {
        AXP_SCOPE_WORK("matmul", .flops = 2e6, .bytes = 3e4, .dtype = AXP_F32,
                       .dims = {100, 100, 100});
        AXP_CATEGORY(AXP_CAT_FORWARD);
        AXP_ADD_WORK(.flops = 1);
    }
    {
        AXP_SCOPE_WORK("copy", .bytes = 4096);
        AXP_SCOPE_NAME(i % 2 ? "odd" : "even");
    }
    AXP_START("named");
    AXP_STOP("named");
    AXP_START_WORK("worked", .flops = 5);
    AXP_STOP("worked");
    AXP_ALLOC("bytes", 100);
    AXP_FREE("bytes", 60);
    AXP_TRACK_ALLOC_KIND("weights", (void *)(uintptr_t)(64 + 64 * i), 64,
                         AXP_MEM_WEIGHT);
    AXP_COUNTER("loss", 10.0 - i);
    AXP_INSTANT("moment");
    AXP_EVENT("custom", AXP_EVENT_CUSTOM, "metadata");
    AXP_ASYNC_BEGIN("request", (uint64_t)i);
    AXP_ASYNC_END("request", (uint64_t)i);
    AXP_FLOW_OUT((uint64_t)i);
    AXP_FLOW_IN((uint64_t)i);
    AXP_STEP();
}

static void by_call(axp_profiler *p)
{
    static uint32_t site;
    char block[16];
    uint64_t token = axp_begin(p, axp_name("token and more", 5));
    axp_end(token);
    axp_end(axp_begin_site(&site, "place\0client.c\00012"));
    axp_start_work(p, "call", (axp_work){.flops = 7, .dtype = AXP_F64});
    axp_add_work(p, (axp_work){.bytes = 8});
    axp_category(p, AXP_CAT_IO);
    axp_stop(p, "call");
    axp_track_alloc(p, "block", block, sizeof block);
    axp_track_free(p, block);
    void *const stack[] = {(void *)by_call, (void *)axp_now};
    axp_alloc alloc = {.size = sizeof alloc,
                       .name = "full",
                       .bytes = 32,
                       .kind = AXP_MEM_CACHE,
                       .stack = stack,
                       .n_frames = 2};
    axp_record_alloc_ex(p, &alloc);
    axp_event(p, "event", AXP_EVENT_CUSTOM, NULL);
    axp_counter(p, "counter", 1.5);
    axp_thread_name(p, "main");
    axp_step(p);
    axp_track *t = axp_track_create(p, "queue");
    axp_work work = {.flops = 1e3};
    axp_track_span(t, "kernel", 10, 30, &work);
    axp_track_alloc_at(t, "buffer", 0x1000, 256, 10);
    axp_track_free_at(t, 0x1000, 20);
}

static void on_device(axp_profiler *p)
{
    axp_track_options o = {.size = sizeof o, .name = "stream", .device = "gpu"};
    axp_track *t = axp_track_create_ex(p, &o);
    axp_work work = {.flops = 5, .dims = {4, 4}};
    axp_span span = {.size = sizeof span,
                     .name = "call",
                     .begin = 5,
                     .end = 12,
                     .work = &work,
                     .work_size = sizeof work,
                     .category = AXP_CAT_COPY,
                     .flow = 9,
                     .step = 1};
    axp_track_span_ex(t, &span);
    axp_alloc_at alloc = {.size = sizeof alloc,
                          .name = "full",
                          .address = 0x2000,
                          .bytes = 512,
                          .at = 6,
                          .kind = AXP_MEM_ACTIVATION};
    axp_track_alloc_at_ex(t, &alloc);
}

static void by_adapter(axp_profiler *p)
{
    static uint32_t site;
    axp_wait_end(axp_wait_begin(), "lock wait");
    axp_end(axp_function_begin(&site, "/bin/x+0x10\0/bin/x\0000"));
    axp_outside_counter(p, "outside", 2);
    axp_process_begin(p, "child", 42);
    axp_process_end(p, "child", 42);
}

/* ---- reading ------------------------------------------------------------------ */

static void read_ops(const axp_view *v)
{
    axp_op op, ops[64];
    size_t n = axp_view_ops(v, AXP_BY_CALLS, ops, 64);
    CHECK(n >= 3 && n < 64);
    for (size_t i = 1; i < n && i < 64; i++)
        CHECK(ops[i - 1].calls >= ops[i].calls);
    CHECK(axp_view_op(v, "call", &op) == AXP_OK);
    CHECK(op.calls == 1 && op.flops == 7 && op.bytes == 8);
    CHECK(op.dtype == AXP_F64 && op.category == AXP_CAT_IO);
    CHECK(op.n_flops_calls == 1 && !op.is_wait && !op.is_sampled);
    CHECK(op.total_ns >= op.self_ns && op.max_ns >= op.min_ns);
    CHECK(axp_op_gflops(&op) > 0 || isnan(axp_op_gflops(&op)));
    CHECK(axp_view_op(v, "kernel", &op) == AXP_OK && op.total_ns == 20);
    CHECK(axp_view_op(v, "nobody", &op) == AXP_E_NOT_FOUND);
    CHECK(strstr(axp_last_error(), "nobody") != NULL);
    bool has_device_call = false;
    for (size_t i = 0; i < n && i < 64; i++)
        if (ops[i].device && !strcmp(ops[i].device, "gpu"))
            has_device_call = ops[i].total_ns == 7 && ops[i].flops == 5;
    CHECK(has_device_call);
    axp_tree_node tree[64];
    n = axp_view_tree(v, tree, 64);
    CHECK(n > 1 && tree[0].parent == -1);
    for (size_t i = 1; i < n && i < 64; i++)
        CHECK(tree[i].parent >= 0 && (size_t)tree[i].parent < i);
}

static void read_rows(const axp_view *v)
{
    axp_thread_info threads[8];
    axp_track_info tracks[8];
    axp_counter_info counters[8];
    axp_process_info processes[8];
    CHECK(axp_view_threads(v, threads, 8) == 1);
    CHECK(!strcmp(threads[0].name, "main") && threads[0].rank == -1);
    CHECK(threads[0].begin <= threads[0].end && threads[0].events > 0);
    CHECK(axp_view_tracks(v, tracks, 8) == 2);
    for (int i = 0; i < 2; i++)
        CHECK(tracks[i].device ? tracks[i].busy_ns == 7
                               : !strcmp(tracks[i].name, "queue") &&
                                     tracks[i].busy_ns == 20);
    CHECK(axp_view_counters(v, counters, 8) == 2);
    for (int i = 0; i < 2; i++)
        CHECK(counters[i].count == 1 && counters[i].last == counters[i].mean);
    CHECK(axp_view_processes(v, processes, 8) == 1);
    CHECK(!strcmp(processes[0].name, "child") && processes[0].count == 1);
    CHECK(axp_view_steps(v).count == 1);
    CHECK(axp_view_duration(v) > 0 && axp_view_damage(v) == 0);
}

static void read_memory(const axp_view *v)
{
    axp_memory m = axp_view_memory(v);
    CHECK(m.current_bytes == 32 && m.n_allocs >= 2 && m.peak_bytes >= 32);
    axp_memory_name names[8];
    size_t n = axp_view_memory_names(v, names, 8);
    CHECK(n >= 2 && n < 8);
    axp_memory_domain domains[4];
    CHECK(axp_view_memory_domains(v, domains, 4) == 2);
    CHECK(!domains[0].device && domains[0].memory.current_bytes == 32);
    CHECK(domains[1].device && domains[1].memory.peak_bytes == 512);
    axp_leak leaks[8];
    CHECK(axp_view_leaks(v, leaks, 8) == 2);
    CHECK(!strcmp(leaks[0].name, "full") && leaks[0].bytes == 512);
    CHECK(!strcmp(leaks[1].name, "full") && leaks[1].bytes == 32);
}

static int see_stack(const axp_memory_stack *m, void *ctx)
{
    if (m->stack && m->n_allocs == 1) *(uint32_t *)ctx = m->stack;
    return 0;
}

static int see_sample(const axp_sample *s, void *ctx)
{
    *(bool *)ctx = s != NULL;
    return 0;
}

static void read_stacks(const axp_view *v)
{
    uint32_t stack = 0;
    bool has_sample = false;
    axp_frame frames[8];
    CHECK(axp_view_memory_stacks(v, see_stack, &stack) == AXP_OK && stack);
    CHECK(axp_view_stack(v, stack, frames, 8) >= 2);
    CHECK(frames[0].module || frames[0].offset);
    CHECK(axp_view_samples(v, see_sample, &has_sample) == AXP_OK);
    CHECK(!has_sample && axp_view_sample_count(v) == 0);
}

static int count_event(const axp_event_info *e, void *ctx)
{
    if (e->name && e->type == AXP_EVENT_CUSTOM) ++*(int *)ctx;
    return 0;
}

static void read_events(const axp_view *v)
{
    int n = 0;
    axp_event_filter filter = {.size = sizeof filter, .name = "event"};
    CHECK(axp_view_events(v, &filter, count_event, &n) == AXP_OK && n == 1);
    CHECK(axp_view_event_count(v) > 5 && axp_view_cut_count(v) == 0);
    CHECK(axp_view_span(v, "kernel") == 20);
    axp_warning warnings[16];
    CHECK(axp_view_warnings(v, warnings, 16) < 16);
}

static void write_all(const axp_view *v)
{
    const char *set[] = {"slow_operation.percent=99"};
    axp_thresholds thresholds = {
        .size = sizeof thresholds, .set = set, .n_set = 1};
    axp_findings *f = axp_analyze(v, &thresholds);
    CHECK(f != NULL);
    for (size_t i = 0; i < axp_findings_count(f); i++)
        CHECK(axp_findings_at(f, i)->type_name && axp_findings_at(f, i)->name);
    axp_findings_destroy(f);
    FILE *to = tmpfile();
    axp_report_options options = {
        .size = sizeof options, .width = 100, .thresholds = &thresholds};
    for (int i = AXP_FORMAT_TEXT; to && i <= AXP_FORMAT_HTML; i++)
        CHECK(axp_report_write_ex(v, (axp_format)i, &options, to) == AXP_OK);
    for (int i = AXP_EXPORT_CHROME; to && i <= AXP_EXPORT_OPENMETRICS; i++) {
        CHECK(axp_export_write(v, (axp_export_format)i, to) == AXP_OK);
        CHECK(axp_export_format_name((axp_export_format)i, NULL) != NULL);
    }
    CHECK(to && ftell(to) > 10000);
    if (to) fclose(to);
}

static void read_all(const axp_view *v)
{
    read_ops(v);
    read_rows(v);
    read_memory(v);
    read_events(v);
    read_stacks(v);
    write_all(v);
}

/* ---- files -------------------------------------------------------------------- */

static void read_file(const char *path)
{
    axp_view *v = NULL;
    axp_open_options options = {.size = sizeof options};
    CHECK(axp_open_ex(&path, 1, &options, &v) == AXP_OK);
    if (!v) return;
    read_all(v);
    axp_view_destroy(v);
    FILE *to = tmpfile();
    CHECK(to && axp_file_check(path, to) == AXP_OK);
    CHECK(to && axp_file_info_write(&path, 1, to) == AXP_OK);
    CHECK(axp_file_pack(path, NULL) == AXP_OK && !axp_file_is_empty(path));
    if (to) fclose(to);
}

static void record_to(const char *path)
{
    int n_said = 0;
    axp_options o = {.size = sizeof o,
                     .title = "kept",
                     .path = path,
                     .memory_limit = 16 << 20,
                     .flags = AXP_OVERWRITE,
                     .log = listen,
                     .log_ctx = &n_said};
    axp_profiler *p = axp_profiler_create(&o);
    CHECK(p != NULL && axp_is_enabled(p));
    by_call(p);
    on_device(p);
    by_adapter(p);
    CHECK(axp_flush(p) == AXP_OK);
    CHECK(axp_call_count(p, "call") == 1 && axp_current_memory(p) == 32);
    CHECK(axp_total_time(p, "call") >= axp_avg_time(p, "call"));
    CHECK(axp_now(p) > 0 && axp_peak_memory(p) >= 32);
    axp_view *v = axp_snapshot(p);
    CHECK(v != NULL);
    if (v) read_all(v);
    axp_view_destroy(v);
    CHECK(axp_finish(p) == AXP_OK && n_said > 0);
    axp_profiler_destroy(p);
    read_file(path);
}

int main(int argc, char **argv)
{
    char path[4096], number[32];
    if (argc != 2) return 2;
    snprintf(path, sizeof path, "%s/kept.axp", argv[1]);
    for (int i = 0; i < 10; i++)
        by_macro(i);
    CHECK(axp_call_count(axp_global(), "matmul") == 10);
    CHECK(axp_call_count(axp_global(), "by_macro") == 10);
    CHECK(axp_call_count(axp_global(), "even") == 5);
    CHECK(axp_call_count(axp_global(), "request") == 10);
    CHECK(axp_current_memory(axp_global()) == 10 * 40 + 10 * 64);
    record_to(path);
    axp_set_enabled(axp_global(), false);
    by_macro(0);
    CHECK(axp_call_count(axp_global(), "matmul") == 10);
    axp_reset(axp_global());
    CHECK(axp_call_count(axp_global(), "matmul") == 0);
    CHECK(strcmp(axp_format_bytes(number, sizeof number, 1536), "1.50 KB") ==
          0);
    CHECK(strcmp(axp_format_ns(number, sizeof number, 1500), "1.500 us") == 0);
    CHECK(axp_version()[0] >= '0' && axp_strerror(AXP_E_IO)[0] != 0);
    if (!n_wrong) printf("all as it was, with axprof %s\n", axp_version());
    return n_wrong != 0;
}
