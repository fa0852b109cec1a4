/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The rules about steps: data that they wait for, and memory that they allocate
 * again or never free. On a clock moved by hand; blocks are numbers. */
#include "test_support.h"

#include <math.h>

#include "axprof/axprof_adapter.h"
#include "finding_support.h"

#define MS UINT64_C(1000000)
#define KB ((size_t)1024)

/* ---- input ---------------------------------------------------------------------- */

static void operation(axp_profiler *p, const char *name, uint64_t ns)
{
    axp_start(p, name);
    ts_tick(ns);
    axp_stop(p, name);
}

/* Steps that load for so long, and compute for so long. */
static axp_findings *load(uint64_t load_ns, uint64_t compute_ns, axp_cat cat,
                          bool has_steps)
{
    axp_profiler *p = ts_profiler();
    for (int i = 0; i < 10; i++) {
        uint64_t scope = axp_begin(p, "load");
        axp_category(p, cat);
        ts_tick(load_ns);
        axp_end(scope);
        operation(p, "compute", compute_ns);
        if (has_steps) axp_step(p);
    }
    axp_findings *f = ts_analyze_now(p);
    axp_profiler_destroy(p);
    return f;
}

static bool is_input_bound(uint64_t load_ns, uint64_t compute_ns, axp_cat cat,
                           bool has_steps)
{
    axp_findings *f = load(load_ns, compute_ns, cat, has_steps);
    bool is = ts_find(f, AXP_INPUT_BOUND);
    axp_findings_destroy(f);
    return is;
}

static void steps_wait_for_data(void **state)
{
    (void)state;
    axp_findings *f = load(3 * MS, 7 * MS, AXP_CAT_DATA, true);
    const axp_finding *x = ts_find(f, AXP_INPUT_BOUND);
    assert_non_null(x);
    assert_string_equal(x->name, "load");
    assert_int_equal(x->severity, AXP_HIGH);
    assert_false(x->saving_is_bound);
    assert_true(fabs(x->saving_share - 0.3) < 1e-3);
    assert_true(fabs(ts_metric(x, "input_percentage") - 30) < 0.1);
    assert_true(fabs(ts_metric(x, "step_input_ms") - 3) < 1e-3);
    assert_non_null(strstr(x->suggestion, "3.000 ms"));
    for (size_t i = 0; i < axp_findings_count(f); i++) /* one cause, one */
        assert_true(axp_findings_at(f, i)->type == AXP_INPUT_BOUND ||
                    strcmp(axp_findings_at(f, i)->name, "load") != 0);
    axp_findings_destroy(f);
}

static void input_at_its_threshold(void **state)
{
    (void)state;
    assert_true(is_input_bound(51 * MS, 949 * MS, AXP_CAT_DATA, true));
    assert_false(is_input_bound(49 * MS, 951 * MS, AXP_CAT_DATA, true));
    assert_false(is_input_bound(300 * MS, 700 * MS, AXP_CAT_FORWARD, true));
    assert_false(is_input_bound(300 * MS, 700 * MS, AXP_CAT_DATA, false));
}

/* What takes longer than all else cannot hide behind it. */
static void no_more_than_can_be_hidden(void **state)
{
    (void)state;
    axp_findings *f = load(8 * MS, 2 * MS, AXP_CAT_DATA, true);
    const axp_finding *x = ts_find(f, AXP_INPUT_BOUND);
    assert_non_null(x);
    assert_true(fabs(x->saving_share - 0.2) < 1e-3);
    axp_findings_destroy(f);
}

/* ---- memory ----------------------------------------------------------------------- */

static size_t weights = 1024 * KB; /* that lie there */

/* What a step does, of so many. */
static axp_findings *steps(unsigned n, void (*step)(unsigned i))
{
    axp_reset(axp_global());
    ts_allocate("weights", 0, weights);
    for (unsigned i = 1; i <= n; i++) {
        ts_tick(MS);
        step(i);
        axp_step(axp_global());
    }
    axp_findings *f = ts_analyze_now(axp_global());
    for (unsigned i = 0; i <= 3 * n; i++)
        axp_heap_free(ts_block(i));
    return f;
}

static size_t size; /* of a step's block */

static void grow(unsigned i)
{
    ts_allocate("history", i, size);
}

static void fill(unsigned i)
{
    if (i < 40) ts_allocate("cache", i, size);
}

static void use_again(unsigned i)
{
    ts_allocate("scratch", i, size);
    ts_tick(MS);
    axp_heap_free(ts_block(i));
}

static bool is_found(unsigned n, void (*step)(unsigned i),
                     axp_finding_type type)
{
    axp_findings *f = steps(n, step);
    bool is = ts_find(f, type);
    axp_findings_destroy(f);
    return is;
}

static void memory_that_grows(void **state)
{
    (void)state;
    size = 16 * KB;
    axp_findings *f = steps(64, grow); /* to 1 MB, half of the peak */
    const axp_finding *x = ts_find(f, AXP_MEMORY_GROWTH);
    assert_non_null(x);
    assert_string_equal(x->name, "history");
    assert_int_equal(x->severity, AXP_CRITICAL);
    assert_true(fabs(ts_metric(x, "bytes_per_step") - 16384) < 1);
    assert_true(fabs(ts_metric(x, "memory_bytes") - 1048576) < 1);
    assert_null(ts_find(f, AXP_ALLOCATION_CHURN));
    axp_findings_destroy(f);
}

static void growth_at_its_threshold(void **state)
{
    (void)state;
    size = 16 * KB;
    assert_true(is_found(20, grow, AXP_MEMORY_GROWTH));
    assert_false(is_found(19, grow, AXP_MEMORY_GROWTH));
    size = 870; /* 64 of them are 5.04 % of the peak … */
    assert_true(is_found(64, grow, AXP_MEMORY_GROWTH));
    size = 850; /* … 4.9 % */
    assert_false(is_found(64, grow, AXP_MEMORY_GROWTH));
}

static void a_cache_that_fills_up_does_not_grow(void **state)
{
    (void)state;
    size = 16 * KB;
    assert_false(is_found(256, fill, AXP_MEMORY_GROWTH));
}

/* An arena's, which no malloc knows: by its name alone. */
static void grow_by_name(unsigned i)
{
    axp_track_alloc(axp_global(), "arena", ts_block(5000 + i), size);
    if (i < 40)
        axp_track_alloc(axp_global(), "cache", ts_block(9000 + i), size);
}

static void named_memory_that_grows(void **state)
{
    (void)state;
    size = 16 * KB;
    axp_findings *f = steps(256, grow_by_name);
    const axp_finding *x = ts_find(f, AXP_MEMORY_GROWTH);
    assert_non_null(x);
    assert_string_equal(x->name, "arena");
    assert_true(fabs(ts_metric(x, "bytes_per_step") - 16384) < 1);
    assert_true(fabs(ts_metric(x, "memory_bytes") - 256 * 16384) < 1);
    assert_null(ts_find_named(f, AXP_MEMORY_GROWTH, "cache"));
    axp_findings_destroy(f);
    assert_false(is_found(19, grow_by_name, AXP_MEMORY_GROWTH));
}

/* Where no allocator is looked at. */
static void named_memory_without_a_heap(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    for (unsigned i = 0; i < 64; i++) {
        ts_tick(MS);
        axp_track_alloc(p, "arena", ts_block(i), 16 * KB);
        axp_step(p);
    }
    axp_findings *f = ts_analyze_now(p);
    assert_non_null(ts_find_named(f, AXP_MEMORY_GROWTH, "arena"));
    axp_findings_destroy(f);
    axp_profiler_destroy(p);
}

/* Of a device, on a track of it. */
static axp_track *queue;
static void grow_on_device(unsigned i)
{
    axp_alloc_at a = {.size = sizeof a,
                      .name = "kv",
                      .address = 1 + i,
                      .bytes = size,
                      .at = axp_now(axp_global())};
    if (i == 1)
        queue = axp_track_create_ex(
            axp_global(),
            &(axp_track_options){.size = sizeof(axp_track_options),
                                 .name = "queue",
                                 .device = "dev:0"});
    axp_track_alloc_at_ex(queue, &a);
}

static void memory_of_a_device_that_grows(void **state)
{
    (void)state;
    size = 16 * KB;
    axp_findings *f = steps(64, grow_on_device);
    const axp_finding *x = ts_find(f, AXP_MEMORY_GROWTH);
    assert_non_null(x);
    assert_string_equal(x->name, "kv");
    assert_string_equal(x->device, "dev:0");
    axp_findings_destroy(f);
}

static void memory_that_is_allocated_again(void **state)
{
    (void)state;
    size = 1024 * KB;
    axp_findings *f = steps(64, use_again);
    const axp_finding *x = ts_find(f, AXP_ALLOCATION_CHURN);
    assert_non_null(x);
    assert_string_equal(x->name, "scratch");
    assert_int_equal(x->severity, AXP_MEDIUM); /* half of the peak */
    assert_true(fabs(ts_metric(x, "bytes_per_step") - 1048576) < 1);
    assert_true(fabs(ts_metric(x, "allocs_per_step") - 1) < 1e-6);
    assert_null(ts_find(f, AXP_MEMORY_GROWTH));
    axp_findings_destroy(f);
}

static void churn_at_its_threshold(void **state)
{
    (void)state;
    size = 116 * KB; /* 10.2 % of the peak */
    assert_true(is_found(20, use_again, AXP_ALLOCATION_CHURN));
    assert_false(is_found(19, use_again, AXP_ALLOCATION_CHURN));
    size = 112 * KB; /* 9.9 % */
    assert_false(is_found(20, use_again, AXP_ALLOCATION_CHURN));
}

/* A program that has next to nothing: what a library uses and gives back is a
 * large part of it, and costs nothing. */
static void churn_of_next_to_nothing(void **state)
{
    (void)state;
    weights = 4 * KB;
    size = 63 * KB;
    assert_false(is_found(20, use_again, AXP_ALLOCATION_CHURN));
    size = 64 * KB;
    assert_true(is_found(20, use_again, AXP_ALLOCATION_CHURN));
    weights = 1024 * KB;
}

int main(void)
{
    ts_use_fake_clock();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_wait_for_data),
        cmocka_unit_test(input_at_its_threshold),
        cmocka_unit_test(no_more_than_can_be_hidden),
        cmocka_unit_test(memory_that_grows),
        cmocka_unit_test(growth_at_its_threshold),
        cmocka_unit_test(a_cache_that_fills_up_does_not_grow),
        cmocka_unit_test(named_memory_that_grows),
        cmocka_unit_test(named_memory_without_a_heap),
        cmocka_unit_test(memory_of_a_device_that_grows),
        cmocka_unit_test(memory_that_is_allocated_again),
        cmocka_unit_test(churn_at_its_threshold),
        cmocka_unit_test(churn_of_next_to_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
