/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Every macro records in the global profiler what its function does; off, all
 * but names of threads are silent. */
#include "finding_support.h"

#include <string.h>

static void use_every_macro(const char *name, void *block)
{
    AXP_THREAD_NAME("a thread");
    AXP_SCOPE("scope");
    AXP_SCOPE_NAME(name);
    AXP_SCOPE_IN(axp_global(), "scope in");
    AXP_FUNCTION();
    AXP_SCOPE_WORK("scope work", .flops = 10);
    AXP_CATEGORY(AXP_CAT_DATA);
    AXP_ADD_WORK(.flops = 5, .bytes = 7);
    AXP_START("pair");
    AXP_STOP("pair");
    AXP_START_WORK("pair work", .bytes = 3);
    AXP_STOP("pair work");
    AXP_ALLOC("by name", 100);
    AXP_FREE("by name", 40);
    AXP_TRACK_ALLOC("by address", block, 1000);
    AXP_TRACK_FREE(block);
    AXP_TRACK_ALLOC_KIND("with a kind", block, 500, AXP_MEM_WEIGHT);
    AXP_TRACK_FREE(block);
    AXP_COUNTER("counter", 2.5);
    AXP_INSTANT("instant");
    AXP_EVENT("event", AXP_EVENT_CUSTOM, "metadata");
    AXP_ASYNC_BEGIN("async", 1);
    AXP_ASYNC_END("async", 1);
    AXP_FLOW_OUT(2);
    AXP_FLOW_IN(2);
    AXP_STEP();
    AXP_CALL(axp_flush(axp_global()));
}

static int count_event(const axp_event_info *event, void *ctx)
{
    unsigned *seen = ctx;
    seen[0] += !strcmp(event->name, "instant");
    seen[1] += !strcmp(event->name, "event") && event->metadata &&
               !strcmp(event->metadata, "metadata");
    return 0;
}

static axp_op op_of(const axp_view *v, const char *name)
{
    axp_op op = {0};
    assert_int_equal(axp_view_op(v, name, &op), AXP_OK);
    assert_int_equal(op.calls, 1);
    return op;
}

static void check_scopes(const axp_view *v)
{
    op_of(v, "scope");
    op_of(v, "by variable");
    op_of(v, "scope in");
    op_of(v, "use_every_macro");
    op_of(v, "pair");
    op_of(v, "async");
    axp_op work = op_of(v, "scope work");
    assert_true(work.flops == 15 && work.bytes == 7);
    assert_int_equal(work.category, AXP_CAT_DATA);
    assert_true(op_of(v, "pair work").bytes == 3);
}

static void check_memory(const axp_view *v)
{
    axp_memory_name names[8];
    size_t n = axp_view_memory_names(v, names, 8);
    assert_int_equal(n, 3);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(names[i].name, "with a kind"))
            assert_int_equal(names[i].kind, AXP_MEM_WEIGHT);
    axp_memory all = axp_view_memory(v);
    assert_int_equal(all.current_bytes, 60);
    assert_int_equal(all.total_allocated, 1600);
}

static void record_what_the_functions_do(void **state)
{
    (void)state;
    int block;
    unsigned seen[2] = {0};
    axp_counter_info counters[4];
    axp_thread_info threads[4];
    use_every_macro("by variable", &block);
    axp_view *v = ts_snapshot(axp_global());
    check_scopes(v);
    check_memory(v);
    assert_int_equal(axp_view_steps(v).count, 1);
    assert_int_equal(axp_view_counters(v, counters, 4), 1);
    assert_true(counters[0].last == 2.5);
    assert_int_equal(axp_view_events(v, NULL, count_event, seen), AXP_OK);
    assert_true(seen[0] == 1 && seen[1] == 1);
    assert_int_equal(axp_view_threads(v, threads, 4), 1);
    assert_string_equal(threads[0].name, "a thread");
    axp_view_destroy(v);
}

/* What is not freed is said with where it was told of. */
static void memory_has_a_place(void **state)
{
    (void)state;
    axp_reset(axp_global());
    int line = __LINE__ + 1;
    AXP_ALLOC("kept", 10000000);
    axp_view *v = ts_snapshot(axp_global());
    axp_findings *f = axp_analyze(v, NULL);
    const axp_finding *x = ts_find_named(f, AXP_MEMORY_LEAK, "kept");
    assert_non_null(x);
    assert_non_null(x->file);
    assert_non_null(strstr(x->file, "test_macros.c"));
    assert_int_equal(x->line, line);
    axp_findings_destroy(f);
    axp_view_destroy(v);
}

static void off_they_record_nothing(void **state)
{
    (void)state;
    int block;
    axp_reset(axp_global());
    axp_set_enabled(axp_global(), false);
    use_every_macro("by variable", &block);
    axp_set_enabled(axp_global(), true);
    axp_view *v = ts_snapshot(axp_global());
    assert_int_equal(axp_view_ops(v, AXP_BY_TIME, NULL, 0), 0);
    assert_int_equal(axp_view_memory(v).total_allocated, 0);
    assert_int_equal(axp_view_steps(v).count, 0);
    assert_int_equal(axp_view_warnings(v, NULL, 0), 0);
    axp_view_destroy(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(record_what_the_functions_do),
        cmocka_unit_test(memory_has_a_place),
        cmocka_unit_test(off_they_record_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
