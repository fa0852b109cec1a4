/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Kinds are types: a program that calls its scopes, counters, threads, tracks
 * and memory what axprof calls its own finds each where it put it, live, in a
 * file and joined; and what axprof records of its own under the same texts is
 * told from it. */
#include "axprof/axprof_adapter.h"
#include "file_support.h"
#include "wire/wire_kind.h"

static const char *const texts[] = {"process batch",
                                    "process ",
                                    "(other)",
                                    "(root)",
                                    "(unnamed)",
                                    "(unknown)",
                                    "(seen from outside)",
                                    "process.cpu_cores",
                                    "process.rss_bytes",
                                    "cgroup.memory_bytes",
                                    "mutex wait",
                                    "thread begins",
                                    "program+0x1149",
                                    "axprof drain",
                                    "step"};
#define N_TEXTS (sizeof texts / sizeof *texts)

static void *use_texts(void *arg)
{
    axp_profiler *p = arg;
    axp_thread_name(p, "(seen from outside)");
    for (size_t i = 0; i < N_TEXTS; i++) {
        axp_start(p, texts[i]);
        axp_record_alloc(p, texts[i], 100 + i);
        axp_stop(p, texts[i]);
        axp_async_begin(p, texts[i], 7);
        axp_async_end(p, texts[i], 7);
        axp_counter(p, texts[i], (double)i);
        axp_instant(p, texts[i]);
        axp_event(p, texts[i], AXP_EVENT_CUSTOM, texts[i]);
        axp_track *t = axp_track_create(p, texts[i]);
        axp_track_span(t, texts[i], 10, 20, NULL);
    }
    return NULL;
}

/* What whoever looks from outside records, under the same texts. */
static void *look_on(void *arg)
{
    axp_profiler *p = arg;
    axp_outside_row(p);
    for (size_t i = 0; i < N_TEXTS; i++) {
        axp_process_begin(p, texts[i], i);
        axp_process_end(p, texts[i], i);
        axp_outside_counter(p, texts[i], 1000 + (double)i);
    }
    return NULL;
}

static bool is_name(const char *name, const char *text)
{
    return !strcmp(name, text);
}

#define ROOM (4 * N_TEXTS)

static void check_ops(const axp_view *v)
{
    axp_op ops[ROOM];
    size_t n = axp_view_ops(v, AXP_BY_SELF, ops, ROOM);
    assert_int_equal(n, N_TEXTS);
    for (size_t i = 0; i < N_TEXTS; i++) {
        axp_op op;
        assert_int_equal(axp_view_op(v, texts[i], &op), AXP_OK);
        assert_int_equal(op.calls, 3); /* scope, async span, span on a track */
        assert_false(op.is_wait);
    }
}

static void check_counters(const axp_view *v, bool is_outside)
{
    axp_counter_info all[ROOM];
    size_t n = axp_view_counters(v, all, ROOM), seen = 0;
    assert_int_equal(n, N_TEXTS * (is_outside ? 2 : 1));
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < N_TEXTS; k++) {
            if (!is_name(all[i].name, texts[k])) continue;
            double want = (double)k + (all[i].is_outside ? 1000 : 0);
            assert_true(all[i].last == want && all[i].count == 1);
            seen++;
        }
    assert_int_equal(seen, n);
}

static int count(const axp_event_info *e, void *n)
{
    (void)e;
    ++*(size_t *)n;
    return 0;
}

/* The program's: 2 of a scope, 2 of an async span, 2 on a track, an allocation, a
 * counter, an instant and an event. */
static void check_events(const axp_view *v)
{
    size_t n = 0;
    assert_int_equal(axp_view_events(v, NULL, count, &n), AXP_OK);
    assert_int_equal(n, N_TEXTS * 10);
    assert_int_equal(axp_view_event_count(v), n);
}

static void check(const axp_view *v, bool is_outside)
{
    check_events(v);
    axp_memory_name memory[ROOM];
    axp_track_info tracks[ROOM];
    axp_thread_info threads[4];
    axp_process_info processes[ROOM];
    check_ops(v);
    check_counters(v, is_outside);
    assert_int_equal(axp_view_memory_names(v, memory, ROOM), N_TEXTS);
    assert_int_equal(axp_view_tracks(v, tracks, ROOM), N_TEXTS);
    assert_int_equal(axp_view_threads(v, threads, 4), 1);
    assert_string_equal(threads[0].name, "(seen from outside)");
    size_t n = axp_view_processes(v, processes, ROOM);
    assert_int_equal(n, is_outside ? N_TEXTS : 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(processes[i].count, 1);
}

static void a_program_may_use_any_text(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    ts_run(use_texts, p);
    axp_view *v = axp_snapshot(p);
    check(v, false);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

static void ours_are_beside_it(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    ts_run(use_texts, p);
    ts_run(look_on, p);
    axp_view *v = axp_snapshot(p);
    check(v, true);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

static void in_files_and_joined(void **state)
{
    (void)state;
    const char *inside = fs_path("inside.axp");
    const char *outside = fs_path("outside.axp");
    axp_profiler *p = fs_record(inside, (axp_options){0});
    axp_profiler *q = fs_record(outside, (axp_options){0});
    ts_run(look_on, q);
    ts_run(use_texts, p);
    axp_profiler_destroy(p);
    axp_profiler_destroy(q);
    axp_view *v = fs_open(inside);
    check(v, false);
    axp_view_destroy(v);
    const char *const orders[2][2] = {{inside, outside}, {outside, inside}};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(axp_open(orders[i], 2, &v), AXP_OK);
        check(v, true);
        axp_view_destroy(v);
    }
}

/* A wait is told by the call that recorded it, and is no slow operation: where it is
 * not known what it waits for, SyncWait says that. */
static void *wait_long(void *arg)
{
    (void)arg;
    for (int i = 0; i < 3; i++) {
        uint64_t began = axp_wait_begin();
        ts_tick(2000000);
        axp_wait_end(began, "mutex wait");
    }
    AXP_START("mutex wait");
    ts_tick(6000000);
    AXP_STOP("mutex wait");
    return NULL;
}

static void a_wait_is_told_from_a_scope(void **state)
{
    (void)state;
    axp_reset(axp_global());
    ts_run(wait_long, NULL);
    axp_view *v = axp_snapshot(axp_global());
    axp_op ops[4];
    axp_thread_info threads[4];
    assert_int_equal(axp_view_ops(v, AXP_BY_SELF, ops, 4), 2);
    assert_string_equal(ops[0].name, "mutex wait");
    assert_string_equal(ops[1].name, "mutex wait");
    int wait = ops[0].is_wait ? 0 : 1;
    assert_true(ops[wait].is_wait && !ops[!wait].is_wait);
    assert_int_equal(ops[wait].calls, 3);
    assert_int_equal(ops[!wait].calls, 1);
    assert_int_equal(axp_view_threads(v, threads, 4), 1);
    assert_true(threads[0].wait_ns >= ops[wait].self_ns);
    assert_true(threads[0].wait_ns < threads[0].busy_ns);
    axp_findings *f = axp_analyze(v, NULL);
    bool has_type[2] = {false, false};
    assert_int_equal(axp_findings_count(f), 2);
    for (size_t i = 0; i < 2; i++) {
        axp_finding_type type = axp_findings_at(f, i)->type;
        assert_true(type == AXP_SLOW_OPERATION || type == AXP_SYNC_WAIT);
        has_type[type == AXP_SYNC_WAIT] = true;
    }
    assert_true(has_type[0] && has_type[1]);
    axp_findings_destroy(f);
    axp_view_destroy(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_may_use_any_text),
        cmocka_unit_test(ours_are_beside_it),
        FS_TEST(in_files_and_joined),
        cmocka_unit_test(a_wait_is_told_from_a_scope),
    };
    ts_use_fake_clock();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
