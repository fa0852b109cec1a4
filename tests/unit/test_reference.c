/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The behaviour of the reference crate (its README and the table "From the
 * specification to C"), step by step in C. Times come from sleeps: lower
 * bounds alone. */
#include "test_support.h"

#include <math.h>

static void basic_profiling(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_start(p, "forward_pass");
    ts_sleep_ms(10);
    axp_stop(p, "forward_pass");
    assert_true(axp_total_time(p, "forward_pass") >= 10000000);
    assert_int_equal(axp_avg_time(p, "forward_pass"),
                     axp_total_time(p, "forward_pass"));
    axp_start(p, "forward_pass");
    axp_stop(p, "forward_pass");
    assert_int_equal(axp_call_count(p, "forward_pass"), 2);
    assert_int_equal(axp_avg_time(p, "forward_pass"),
                     axp_total_time(p, "forward_pass") / 2);
    axp_profiler_destroy(p);
}

static void memory_tracking(void **state)
{
    (void)state;
    const size_t mb = 1024 * 1024;
    axp_profiler *p = ts_profiler();
    axp_record_alloc(p, "weights", 4 * mb);
    axp_record_alloc(p, "activations", 2 * mb);
    assert_int_equal(axp_current_memory(p), 6 * mb);
    assert_int_equal(axp_peak_memory(p), 6 * mb);
    axp_record_free(p, "activations", 2 * mb);
    assert_int_equal(axp_current_memory(p), 4 * mb);
    assert_int_equal(axp_peak_memory(p), 6 * mb);
    axp_view *v = ts_snapshot(p);
    axp_leak leak[2];
    assert_int_equal(axp_view_leaks(v, leak, 2), 1);
    assert_string_equal(leak[0].name, "weights");
    assert_int_equal(leak[0].bytes, 4 * mb);
    assert_int_equal(ts_memory_name(v, "activations").n_frees, 1);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

static void scope_profiling(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    {
        AXP_SCOPE_IN(p, "expensive_operation");
        ts_sleep_ms(5);
        assert_int_equal(axp_call_count(p, "expensive_operation"), 1);
    }
    axp_ns after = axp_total_time(p, "expensive_operation");
    assert_true(after >= 5000000);
    ts_sleep_ms(1);
    assert_int_equal(axp_total_time(p, "expensive_operation"), after);
    axp_profiler_destroy(p);
}

static void enabling_and_disabling(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    assert_true(axp_is_enabled(p));
    axp_set_enabled(p, false);
    assert_false(axp_is_enabled(p));
    axp_start(p, "disabled_op");
    axp_stop(p, "disabled_op");
    axp_record_alloc(p, "disabled", 100);
    assert_int_equal(axp_total_time(p, "disabled_op"), 0);
    assert_int_equal(axp_current_memory(p), 0);
    axp_set_enabled(p, true);
    axp_start(p, "op");
    axp_stop(p, "op");
    assert_int_equal(axp_call_count(p, "op"), 1);
    axp_profiler_destroy(p);
}

static void resetting(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_start(p, "op");
    axp_stop(p, "op");
    axp_record_alloc(p, "m", 1024);
    axp_reset(p);
    assert_int_equal(axp_total_time(p, "op"), 0);
    assert_int_equal(axp_current_memory(p), 0);
    assert_int_equal(axp_peak_memory(p), 0);
    axp_profiler_destroy(p);
}

static void the_global_profiler(void **state)
{
    (void)state;
    AXP_START("global_operation");
    ts_sleep_ms(1);
    AXP_STOP("global_operation");
    AXP_ALLOC("global_tensor", 1024);
    assert_true(axp_total_time(axp_global(), "global_operation") >= 1000000);
    assert_int_equal(axp_current_memory(axp_global()), 1024);
    AXP_FREE("global_tensor", 1024);
    assert_int_equal(axp_current_memory(axp_global()), 0);
}

static void compute_statistics(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_start_work(p, "matmul", (axp_work){.flops = 2e9, .bytes = 4e6});
    ts_sleep_ms(5);
    axp_stop(p, "matmul");
    for (int i = 0; i < 3; i++) {
        axp_start(p, "relu");
        axp_stop(p, "relu");
    }
    axp_view *v = ts_snapshot(p);
    axp_op top[1];
    assert_int_equal(axp_view_ops(v, AXP_BY_TIME, top, 1), 2);
    assert_string_equal(top[0].name, "matmul");
    double seconds = (double)top[0].total_ns / 1e9;
    ts_assert_between(0.999 * 2 / seconds, axp_op_gflops(top),
                      1.001 * 2 / seconds);
    ts_assert_between(0.999 * 0.004 / seconds, axp_op_gbps(top),
                      1.001 * 0.004 / seconds);
    axp_view_ops(v, AXP_BY_CALLS, top, 1);
    assert_string_equal(top[0].name, "relu");
    assert_true(isnan(axp_op_gflops(top)));
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

static void nested_operations(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_start(p, "outer");
    ts_sleep_ms(2);
    axp_start(p, "inner");
    ts_sleep_ms(3);
    axp_stop(p, "inner");
    axp_stop(p, "outer");
    assert_true(axp_total_time(p, "outer") >= axp_total_time(p, "inner"));
    assert_true(axp_total_time(p, "inner") >= 3000000);
    assert_true(axp_total_time(p, "outer") >= 5000000);
    axp_profiler_destroy(p);
}

static int count(const axp_event_info *e, void *ctx)
{
    (void)e;
    ++*(uint64_t *)ctx;
    return 0;
}

static void the_timeline(void **state)
{
    (void)state;
    const axp_event_type instant = AXP_EVENT_INSTANT;
    axp_profiler *p =
        axp_profiler_create(&(axp_options){.timeline_capacity = 5});
    for (int i = 0; i < 10; i++)
        axp_event(p, "epoch", AXP_EVENT_CUSTOM, "{\"loss\": 1}");
    axp_instant(p, "checkpoint");
    axp_view *v = ts_snapshot(p);
    uint64_t by_name = 0, by_type = 0;
    assert_int_equal(axp_view_event_count(v), 5);
    axp_view_events(v, &(axp_event_filter){.name = "epoch"}, count, &by_name);
    axp_view_events(v, &(axp_event_filter){.type = &instant}, count, &by_type);
    assert_int_equal(by_name, 4);
    assert_int_equal(by_type, 1);
    assert_true(axp_view_duration(v) > 0);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

static void *use_shared(void *arg)
{
    for (int i = 0; i < 100; i++) {
        axp_start(arg, "shared");
        axp_stop(arg, "shared");
        axp_record_alloc(arg, "shared", 8);
    }
    return NULL;
}

static void thread_safety(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    pthread_t t[8];
    for (int i = 0; i < 8; i++)
        t[i] = ts_spawn(use_shared, p);
    for (int i = 0; i < 8; i++)
        ts_join(t[i]);
    assert_int_equal(axp_call_count(p, "shared"), 800);
    assert_int_equal(axp_current_memory(p), 6400);
    axp_profiler_destroy(p);
}

static void an_unknown_operation(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_view *v = ts_snapshot(p);
    axp_op op;
    assert_int_equal(axp_view_op(v, "nope", &op), AXP_E_NOT_FOUND);
    assert_int_equal(axp_total_time(p, "nope"), 0);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(basic_profiling),
        cmocka_unit_test(memory_tracking),
        cmocka_unit_test(scope_profiling),
        cmocka_unit_test(enabling_and_disabling),
        cmocka_unit_test(resetting),
        cmocka_unit_test(the_global_profiler),
        cmocka_unit_test(compute_statistics),
        cmocka_unit_test(nested_operations),
        cmocka_unit_test(the_timeline),
        cmocka_unit_test(thread_safety),
        cmocka_unit_test(an_unknown_operation),
    };
    return TS_RUN(tests);
}
