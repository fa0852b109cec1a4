/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Several files as one view: sums, names, rows, one time axis; other hosts and
 * other clocks. */
#include <sys/wait.h>

#include "file_support.h"

#include "file/file_open.h"
#include "file/file_write.h"
#include "model/model_stream.h"
#include "view_dump.h"

static void record_a(const char *path)
{
    axp_profiler *p = fs_record(path, (axp_options){.title = "a"});
    for (int i = 0; i < 10; i++) {
        AXP_SCOPE_IN(p, "shared");
        AXP_SCOPE_IN(p, "only a");
        axp_instant(p, "mark a");
    }
    axp_record_alloc(p, "buffer", 1000);
    axp_step(p);
    assert_int_equal(axp_finish(p), AXP_OK);
    axp_profiler_destroy(p);
}

static void record_b(const char *path)
{
    axp_profiler *p = fs_record(path, (axp_options){.title = "b"});
    axp_track *t = axp_track_create(p, "queue");
    for (int i = 0; i < 5; i++) {
        AXP_SCOPE_IN(p, "only b");
        AXP_SCOPE_IN(p, "shared");
        axp_track_span(t, "kernel", axp_now(p), axp_now(p) + 10, NULL);
    }
    axp_start(p, "open");
    axp_record_alloc(p, "buffer", 24);
    axp_record_alloc(p, "b's", 7);
    assert_int_equal(axp_finish(p), AXP_OK);
    axp_profiler_destroy(p);
}

static axp_view *open_two(const char *a, const char *b)
{
    const char *paths[] = {a, b};
    axp_view *v = NULL;
    if (axp_open(paths, 2, &v)) fail_msg("%s", axp_last_error());
    return v;
}

struct order {
    axp_ns last;
    uint64_t n, n_marks, n_kernels;
};

static int check_order(const axp_event_info *e, void *ctx)
{
    struct order *o = ctx;
    assert_true(e->time_ns >= o->last);
    o->last = e->time_ns;
    o->n++;
    o->n_marks += !strcmp(e->name, "mark a");
    o->n_kernels += !strcmp(e->name, "kernel");
    return 0;
}

static void two_files_are_one_view(void **state)
{
    (void)state;
    const char *a = fs_path("a.axp"), *b = fs_path("b.axp");
    record_b(b);
    record_a(a);
    axp_view *va = fs_open(a), *vb = fs_open(b), *v = open_two(a, b);
    assert_int_equal(ts_view_op(v, "shared").calls, 15);
    axp_ns sum =
        ts_view_op(va, "shared").total_ns + ts_view_op(vb, "shared").total_ns;
    /* ticks are added before they are converted */
    ts_assert_between((double)sum, (double)ts_view_op(v, "shared").total_ns,
                      (double)sum + 1);
    assert_int_equal(ts_view_op(v, "only a").calls, 10);
    assert_int_equal(ts_view_op(v, "only b").calls, 5);
    assert_int_equal(ts_view_op(v, "open").calls, 1);
    assert_int_equal(ts_node(v, "shared/only a").calls, 10);
    assert_int_equal(ts_node(v, "only b/shared").calls, 5);
    assert_int_equal(axp_view_memory(v).current_bytes, 1031);
    assert_int_equal(ts_memory_name(v, "buffer").current_bytes, 1024);
    assert_int_equal(ts_memory_name(v, "b's").current_bytes, 7);
    assert_int_equal(ts_leak(v, "buffer").bytes, 1024);
    assert_int_equal(axp_view_steps(v).count, 1);
    assert_int_equal(axp_view_threads(v, NULL, 0), 2);
    assert_int_equal(v->n_tracks, 1);
    assert_int_equal(ts_view_warnings(v, "joined_peaks"), 2);
    assert_int_equal(ts_view_warnings(v, "joined_hosts"), 0);
    assert_int_equal(axp_view_event_count(v),
                     axp_view_event_count(va) + axp_view_event_count(vb));
    struct order o = {0};
    assert_int_equal(axp_view_events(v, NULL, check_order, &o), AXP_OK);
    assert_int_equal(o.n, axp_view_event_count(v));
    assert_int_equal(o.n_marks, 10);
    assert_int_equal(o.n_kernels, 10);
    axp_view_destroy(va);
    axp_view_destroy(vb);
    axp_view_destroy(v);
}

/* What was recorded first comes first: ticks of one host are the same. */
static void one_host_has_one_clock(void **state)
{
    (void)state;
    const char *a = fs_path("a.axp"), *b = fs_path("b.axp");
    record_b(b);
    ts_sleep_ms(20);
    record_a(a);
    axp_view *v = open_two(a, b);
    axp_thread_info rows[2];
    assert_int_equal(axp_view_threads(v, rows, 2), 2);
    assert_true(rows[1].begin >= rows[0].begin + 20000000);
    assert_true(axp_view_duration(v) >= 20000000);
    axp_view_destroy(v);
}

static void a_child_of_a_fork_joins_its_parent(void **state)
{
    if (AXP_EMULATED) skip(); /* no threads in the child */
    (void)state;
    const char *path = fs_path("run.axp");
    axp_profiler *p = fs_record(path, (axp_options){0});
    {
        AXP_SCOPE_IN(p, "both");
    }
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        {
            AXP_SCOPE_IN(p, "both");
            AXP_SCOPE_IN(p, "child");
        }
        _exit(axp_finish(p) ? 1 : 0);
    }
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(axp_finish(p), AXP_OK);
    axp_profiler_destroy(p);
    const char *other = NULL;
    DIR *d = opendir(fs_folder);
    for (struct dirent *e; (e = readdir(d));)
        if (strstr(e->d_name, ".axp") && strcmp(e->d_name, "run.axp"))
            other = fs_path(e->d_name);
    closedir(d);
    assert_non_null(other);
    axp_view *v = open_two(path, other);
    assert_int_equal(ts_view_op(v, "both").calls, 2);
    assert_int_equal(ts_view_op(v, "child").calls, 1);
    axp_thread_info rows[2];
    assert_int_equal(axp_view_threads(v, rows, 2), 2);
    assert_true(rows[0].process_id != rows[1].process_id);
    struct axp__opened x, y;
    assert_int_equal(axp__trace_open(path, &x), AXP_OK);
    assert_int_equal(axp__trace_open(other, &y), AXP_OK);
    assert_memory_equal(x.file->head.run_id, y.file->head.run_id, 16);
    x.capture->release(x.capture);
    y.capture->release(y.capture);
    axp_view_destroy(v);
}

/* ---- other hosts ---------------------------------------------------------------------- */

/* The file as if another host had recorded it: its ticks count from elsewhere,
 * its clock is so many ns ahead. */
static void move_to_host(const char *path, uint64_t ahead_ns)
{
    size_t len;
    uint8_t *bytes = fs_read(path, &len);
    struct axp__file_head head;
    assert_int_equal(axp__file_head_get(bytes, &head), AXP__BLOCK_OK);
    head.boot_id[3] ^= 0x55;
    head.clock.realtime_ns += ahead_ns;
    axp__file_head_put(bytes, &head);
    fs_write(path, bytes, len);
    free(bytes);
}

static axp_thread_info thread_of(const axp_view *v, uint64_t events)
{
    axp_thread_info rows[8] = {0};
    size_t n = axp_view_threads(v, rows, 8);
    for (size_t i = 0; i < n && i < 8; i++)
        if (rows[i].events == events) return rows[i];
    fail_msg("no thread with %llu events", (unsigned long long)events);
    return rows[0];
}

static void hosts_meet_by_their_real_time(void **state)
{
    (void)state;
    const char *a = fs_path("a.axp"), *b = fs_path("b.axp");
    record_a(a);
    record_b(b);
    axp_view *near = open_two(a, b);
    move_to_host(b, 5000000000u); /* five seconds later */
    axp_view *far = open_two(a, b);
    assert_int_equal(ts_view_warnings(far, "joined_hosts"), 2);
    axp_view *vb = fs_open(b);
    axp_thread_info only;
    assert_int_equal(axp_view_threads(vb, &only, 1), 1);
    axp_thread_info x = thread_of(near, only.events);
    axp_thread_info y = thread_of(far, only.events);
    ts_assert_between(4.9e9, (double)(y.begin - x.begin), 5.1e9);
    ts_assert_between(-1000, (double)(y.busy_ns - x.busy_ns), 1000);
    struct order o = {0};
    assert_int_equal(axp_view_events(far, NULL, check_order, &o), AXP_OK);
    assert_int_equal(o.n, axp_view_event_count(far));
    assert_true(o.last > 4900000000u);
    axp_view_destroy(near);
    axp_view_destroy(far);
    axp_view_destroy(vb);
}

static void write_in_namespace(const char *path, const char *number,
                               const char *to)
{
    struct axp__opened o;
    assert_int_equal(axp__trace_open(path, &o), AXP_OK);
    struct axp__about_pair *pairs = malloc((o.about.n + 1) * sizeof *pairs);
    assert_non_null(pairs);
    memcpy(pairs, o.about.pair, o.about.n * sizeof *pairs);
    pairs[o.about.n] =
        (struct axp__about_pair){"pid_namespace", number, strlen(number)};
    struct axp__about about = {.pair = pairs, .n = o.about.n + 1};
    struct axp__to_write what = {.capture = o.capture,
                                 .head = &o.file->head,
                                 .about = &about,
                                 .epoch = o.epoch};
    assert_int_equal(axp__file_write(to, true, &what), AXP_OK);
    o.capture->release(o.capture);
    free(pairs);
}

static size_t processes_of(const char *a, const char *b)
{
    axp_view *v = open_two(a, b);
    size_t n = v->n_recorded;
    assert_int_equal(ts_view_op(v, "shared").calls, 15);
    axp_view_destroy(v);
    return n;
}

/* One number is one process, but for each namespace of them. */
static void numbers_of_other_namespaces_are_others(void **state)
{
    (void)state;
    const char *a = fs_path("a.axp"), *b = fs_path("b.axp");
    const char *inside = fs_path("inside.axp"), *also = fs_path("also.axp");
    record_a(a);
    record_b(b);
    write_in_namespace(b, "77", inside);
    write_in_namespace(a, "77", also);
    assert_int_equal(processes_of(a, b), 1);
    assert_int_equal(processes_of(also, inside), 1);
    write_in_namespace(a, "78", also);
    assert_int_equal(processes_of(also, inside), 2);
}

/* A clock that ticks half as often: the same nanoseconds. */
static void write_with_rate(const char *path, const char *to)
{
    struct axp__opened o;
    assert_int_equal(axp__trace_open(path, &o), AXP_OK);
    o.capture->rate_mult *= 2; /* each tick is twice as long */
    struct axp__to_write what = {.capture = o.capture,
                                 .head = &o.file->head,
                                 .about = &o.about,
                                 .epoch = o.epoch};
    assert_int_equal(axp__file_write(to, true, &what), AXP_OK);
    o.capture->release(o.capture);
}

static void other_rates_are_stretched(void **state)
{
    (void)state;
    const char *a = fs_path("a.axp"), *b = fs_path("b.axp");
    const char *slow = fs_path("slow.axp");
    record_a(a);
    record_b(b);
    write_with_rate(b, slow);
    move_to_host(slow, 0);
    axp_view *alone = fs_open(slow), *v = open_two(a, slow);
    axp_op x = ts_view_op(alone, "only b"), y = ts_view_op(v, "only b");
    assert_int_equal(x.calls, y.calls);
    ts_assert_between(0.98 * (double)x.total_ns, (double)y.total_ns,
                      1.02 * (double)x.total_ns + 10);
    ts_assert_between(0.95 * (double)x.p50_ns, (double)y.p50_ns,
                      1.05 * (double)x.p50_ns + 10);
    ts_assert_between(0.98 * (double)x.max_ns, (double)y.max_ns,
                      1.02 * (double)x.max_ns + 10);
    char *dump = vd_dump(v, false); /* its events too */
    free(dump);
    axp_view_destroy(alone);
    axp_view_destroy(v);
}

/* What a process left open ends with it, however long others go on. */
static void open_scopes_end_with_their_process(void **state)
{
    (void)state;
    const char *a = fs_path("a.axp"), *b = fs_path("b.axp");
    uint64_t before = ts_now_ns();
    record_b(b); /* has an open scope */
    uint64_t took = ts_now_ns() - before;
    ts_sleep_ms(30);
    record_a(a);
    axp_view *alone = fs_open(b), *v = open_two(b, a);
    axp_thread_info thread[2], one;
    ts_assert_between((double)ts_view_op(alone, "open").total_ns,
                      (double)ts_view_op(v, "open").total_ns,
                      (double)ts_view_op(alone, "open").total_ns + 1);
    assert_int_equal(axp_view_threads(v, thread, 2), 2);
    assert_int_equal(axp_view_threads(alone, &one, 1), 1);
    assert_int_equal(thread[0].end, one.end);
    assert_int_equal(thread[0].busy_ns, one.busy_ns);
    assert_true(ts_view_op(v, "open").total_ns < took + 10000000);
    double share = ts_view_op(alone, "open").time_share;
    ts_assert_between(share - 0.001, ts_view_op(v, "open").time_share,
                      share + 0.001);

    /* and in the timeline */
    struct axp__stream *s;
    const struct axp__record *r;
    axp_ns end = 0;
    assert_int_equal(axp__stream_open(v, 0, &s), AXP_OK);
    while ((r = axp__stream_next(s)))
        if (r->kind == AXP__R_END && r->flags & AXP__R_OPEN) end = r->time_ns;
    axp__stream_close(s);
    assert_int_equal(end, one.end);
    axp_view_destroy(alone);
    axp_view_destroy(v);
}

/* Process ids come again, on other hosts or in time: exports keep apart what
 * viewers would take for one. */
static void one_process_id_twice(void **state)
{
    (void)state;
    const char *a = fs_path("a.axp"), *b = fs_path("b.axp");
    char *text = NULL, expected[128];
    size_t len;
    record_a(a);
    record_b(b); /* this process, too */
    axp_view *v = open_two(a, b);
    FILE *f = open_memstream(&text, &len);
    assert_int_equal(axp_export_write(v, AXP_EXPORT_CHROME, f), AXP_OK);
    fclose(f);
    for (int i = 0; i < 2; i++) {
        long pid = i ? 2000000001 : (long)getpid();
        snprintf(expected, sizeof expected,
                 "\"process_name\",\"pid\":%ld,\"tid\":%ld,\"ts\":0,"
                 "\"args\":{\"name\":\"%s\"}",
                 pid, pid, i ? "b" : "a");
        if (!strstr(text, expected)) fail_msg("no %s", expected);
    }
    assert_non_null(strstr(text, "\"traceName\":\"a and 1 more\""));
    free(text);
    axp_view_destroy(v);
}

static void many_files(void **state)
{
    (void)state;
    const char *paths[8];
    char names[8][16];
    axp_view *v = NULL;
    for (int i = 0; i < 8; i++) {
        snprintf(names[i], sizeof names[i], "%d.axp", i);
        paths[i] = strdup(fs_path(names[i]));
        if (i % 2)
            record_a(paths[i]);
        else
            record_b(paths[i]);
    }
    assert_int_equal(axp_open(paths, 8, &v), AXP_OK);
    assert_int_equal(ts_view_op(v, "shared").calls, 4 * 15);
    assert_int_equal(axp_view_threads(v, NULL, 0), 8);
    assert_int_equal(v->n_tracks, 4);
    char *dump = vd_dump(v, true);
    free(dump);
    axp_view_destroy(v);
    /* one that is none fails all */
    fs_write(paths[7], "x", 1);
    v = NULL;
    assert_int_equal(axp_open(paths, 8, &v), AXP_E_FORMAT);
    assert_null(v);
    for (int i = 0; i < 8; i++)
        free((void *)(uintptr_t)paths[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FS_TEST(two_files_are_one_view),
        FS_TEST(one_host_has_one_clock),
        FS_TEST(a_child_of_a_fork_joins_its_parent),
        FS_TEST(hosts_meet_by_their_real_time),
        FS_TEST(numbers_of_other_namespaces_are_others),
        FS_TEST(other_rates_are_stretched),
        FS_TEST(open_scopes_end_with_their_process),
        FS_TEST(one_process_id_twice),
        FS_TEST(many_files),
    };
    return TS_RUN(tests);
}
