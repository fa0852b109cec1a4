/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads that ended become one: past 32 of them their tallies are merged,
 * and nothing that they counted may change by it. (Calls, times and
 * histograms of random trees: test_tally_fold.) */
#include "test_support.h"

#define THREADS 100u

static void *work(void *arg)
{
    axp_profiler *p = arg;
    axp_thread_name(p, "worker");
    axp_start_work(p, "op", (axp_work){.flops = 100, .bytes = 10});
    axp_category(p, AXP_CAT_FORWARD);
    ts_tick(10);
    axp_start(p, "part");
    ts_tick(5);
    axp_record_alloc(p, "memory", 8);
    axp_stop(p, "part");
    axp_stop(p, "op");
    axp_record_free(p, "memory", 8);
    axp_counter(p, "counter", 1);
    axp_step(p);
    return NULL;
}

static void many_ended_threads(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    for (unsigned i = 0; i < THREADS; i++)
        ts_run(work, p);
    axp_view *v = ts_snapshot(p);
    axp_op op = ts_view_op(v, "op"), part = ts_view_op(v, "part");
    assert_int_equal(op.calls, THREADS);
    assert_int_equal(op.total_ns, 15 * THREADS);
    assert_int_equal(op.self_ns, 10 * THREADS);
    assert_int_equal(op.min_ns, 15);
    assert_int_equal(op.max_ns, 15);
    assert_int_equal(op.p50_ns, 15);
    assert_true(op.flops == 100.0 * THREADS && op.bytes == 10.0 * THREADS);
    assert_int_equal(op.n_flops_calls, THREADS);
    assert_int_equal(op.flops_ns, 15 * THREADS);
    assert_int_equal(op.category, AXP_CAT_FORWARD);
    assert_int_equal(part.category, AXP_CAT_FORWARD);
    ts_assert_between(0.66, op.time_share, 0.67);
    assert_int_equal(ts_node(v, "op/part").calls, THREADS);
    assert_int_equal(ts_node(v, "op/part").allocated_bytes, 8 * THREADS);
    assert_int_equal(axp_view_memory(v).n_allocs, THREADS);
    assert_int_equal(axp_view_memory(v).total_freed, 8 * THREADS);
    assert_int_equal(axp_view_steps(v).count, THREADS);
    assert_int_equal(axp_view_steps(v).max_ns, 15);
    assert_int_equal(axp_view_threads(v, NULL, 0), THREADS);
    assert_int_equal(axp_view_event_count(v) + axp_view_cut_count(v),
                     8 * THREADS);
    axp_view_destroy(v);
    assert_int_equal(ts_all_warnings(p), 0);
    axp_profiler_destroy(p);
}

static void rows_of_merged_threads_keep_their_facts(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    for (unsigned i = 0; i < THREADS; i++)
        ts_run(work, p);
    axp_thread_info *t = calloc(THREADS, sizeof *t);
    axp_view *v = ts_snapshot(p);
    assert_int_equal(axp_view_threads(v, t, THREADS), THREADS);
    for (unsigned i = 0; i < THREADS; i++) {
        assert_string_equal(t[i].name, "worker");
        assert_int_equal(t[i].begin, 15 * i);
        assert_int_equal(t[i].end, 15 * i + 15);
        assert_int_equal(t[i].busy_ns, 15);
        assert_int_equal(t[i].events, 8);
    }
    axp_view_destroy(v);
    free(t);
    axp_profiler_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_ended_threads),
        cmocka_unit_test(rows_of_merged_threads_keep_their_facts),
    };
    ts_use_fake_clock();
    return TS_RUN(tests);
}
