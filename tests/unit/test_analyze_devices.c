/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The rules about devices, copies and communication, on tracks that no device
 * filled: what is found, absent, and said to be regained. The clock is moved by
 * hand. */
#include "test_support.h"
#include "finding_support.h"

#include <math.h>

#define MS UINT64_C(1000000)
#define US UINT64_C(1000)

/* ---- a category ------------------------------------------------------------------- */

static axp_findings *compute_and(axp_cat cat, uint64_t ns, uint64_t compute_ns)
{
    axp_profiler *p = ts_profiler();
    for (int i = 0; i < 10; i++) {
        uint64_t scope = axp_begin(p, "exchange");
        axp_category(p, cat);
        ts_tick(ns);
        axp_end(scope);
        axp_start(p, "compute");
        ts_tick(compute_ns);
        axp_stop(p, "compute");
    }
    return ts_analyze(p);
}

static void is_bound_by(axp_cat cat, axp_finding_type type, const char *key)
{
    axp_findings *f = compute_and(cat, 20 * MS, 80 * MS);
    const axp_finding *x = ts_find(f, type);
    assert_non_null(x);
    assert_string_equal(x->name, "exchange");
    assert_true(fabs(x->saving_share - 0.2) < 1e-3);
    assert_true(fabs(ts_metric(x, key) - 20) < 0.1);
    assert_true(fabs(ts_metric(x, "hidden_percentage")) < 0.1);
    assert_int_equal(x->severity, AXP_HIGH);
    axp_findings_destroy(f);
    f = compute_and(cat, 80 * MS, 20 * MS); /* no more than can be hidden */
    x = ts_find(f, type);
    assert_non_null(x);
    assert_true(fabs(x->saving_share - 0.2) < 1e-3);
    axp_findings_destroy(f);
    f = compute_and(cat, 99 * MS, 901 * MS); /* below 10 % */
    assert_null(ts_find(f, type));
    axp_findings_destroy(f);
    f = compute_and(AXP_CAT_FORWARD, 20 * MS, 80 * MS);
    assert_null(ts_find(f, type));
    axp_findings_destroy(f);
}

static void communication(void **state)
{
    (void)state;
    is_bound_by(AXP_CAT_COMM, AXP_COMM_BOUND, "comm_percentage");
}

static void copies(void **state)
{
    (void)state;
    is_bound_by(AXP_CAT_COPY, AXP_COPY_BOUND, "copy_percentage");
}

/* ---- gaps --------------------------------------------------------------------------- */

/* So many kernels of 10 ms and so long between them; the host asks for each so
 * long before it begins. */
static axp_findings *kernels(unsigned n, axp_ns gap, axp_ns before)
{
    axp_profiler *p = ts_profiler();
    axp_track *track = axp_track_create_ex(
        p, &(axp_track_options){.name = "queue 0", .device = "gpu 0"});
    axp_ns begin = 100 * MS, now = 0;
    for (unsigned i = 1; i <= n; i++) {
        axp_ns at = begin - before;
        if (at > now) ts_tick(at - now);
        if (at > now) now = at;
        axp_start(p, "launch");
        axp_flow_out(p, i);
        axp_stop(p, "launch");
        axp_track_span_ex(track, &(axp_span){.name = "kernel",
                                             .begin = begin,
                                             .end = begin + 10 * MS,
                                             .flow = i});
        begin += 10 * MS + gap;
    }
    ts_tick(begin - now);
    return ts_analyze(p);
}

static bool is_idle(unsigned n, axp_ns gap)
{
    axp_findings *f = kernels(n, gap, 1);
    bool is = ts_find(f, AXP_DEVICE_IDLE);
    axp_findings_destroy(f);
    return is;
}

static void the_host_is_late(void **state)
{
    (void)state;
    axp_findings *f = kernels(21, 5 * MS, 1 * MS);
    const axp_finding *x = ts_find(f, AXP_DEVICE_IDLE);
    assert_non_null(x);
    assert_string_equal(x->name, "gpu 0");
    assert_true(x->saving_is_bound);
    ts_assert_between(99e6, (double)x->saving_ns, 101e6);     /* 20 gaps */
    assert_true(fabs(ts_metric(x, "host_late_ms") - 80) < 1); /* 4 of 5 ms */
    assert_true(fabs(ts_metric(x, "short_gaps_ms")) < 1e-6);
    assert_true(fabs(ts_metric(x, "idle_percentage") - 100 * 100.0 / 310) <
                0.1);
    assert_non_null(strstr(x->suggestion, "too late"));
    axp_findings_destroy(f);
}

static void gaps_are_short(void **state)
{
    (void)state;
    axp_findings *f = kernels(30, 20 * US, 5 * MS);
    assert_null(ts_find(f, AXP_DEVICE_IDLE)); /* 0.2 % */
    axp_findings_destroy(f);
}

static void idleness_at_its_threshold(void **state)
{
    (void)state;
    assert_true(is_idle(21, 1200000));  /* 20 · 1.2 of 234 ms */
    assert_false(is_idle(21, 1100000)); /* … 1.1 of 232: 9.5 % */
    assert_true(is_idle(20, 5 * MS));
    assert_false(is_idle(19, 5 * MS));
    assert_false(is_idle(30, 0));
}

/* ---- launches ------------------------------------------------------------------------- */

/* Kernels one after the other: the host launches each when it is done with the
 * launch before, the device begins when it has been asked and is done with the one
 * before. */
struct launches {
    unsigned n;
    axp_ns launch, kernel, rest; /* rest: of the host, after all of them */
    axp_cat category;
    bool is_nested; /* a scope within the launch */
    bool is_shared; /* one scope asks for all */
};

static void launch_one(axp_profiler *p, const struct launches *l, unsigned i)
{
    axp_ns before = l->launch / 2;
    if (!l->is_shared) axp_start(p, "launch");
    if (l->is_nested) axp_start(p, "prepare");
    ts_tick(before);
    if (l->is_nested) axp_stop(p, "prepare");
    axp_flow_out(p, i + 1);
    ts_tick(l->launch - before);
    if (!l->is_shared) axp_stop(p, "launch");
}

static axp_findings *launches(struct launches l)
{
    axp_profiler *p = ts_profiler();
    axp_track *track = axp_track_create_ex(
        p, &(axp_track_options){.name = "queue 0", .device = "gpu 0"});
    axp_ns now = 0, free_at = 0;
    if (l.is_shared) axp_start(p, "launch");
    for (unsigned i = 0; i < l.n; i++) {
        axp_ns asked = now + l.launch / 2;
        axp_ns begin = asked > free_at ? asked : free_at;
        launch_one(p, &l, i);
        now += l.launch;
        free_at = begin + l.kernel;
        axp_track_span_ex(track, &(axp_span){.name = "relu",
                                             .begin = begin,
                                             .end = free_at,
                                             .category = l.category,
                                             .flow = i + 1});
    }
    if (l.is_shared) axp_stop(p, "launch");
    axp_start(p, "rest");
    ts_tick(l.rest + (free_at > now ? free_at - now : 0));
    axp_stop(p, "rest");
    return ts_analyze(p);
}

static bool is_launch_bound(struct launches l)
{
    axp_findings *f = launches(l);
    bool is = ts_find(f, AXP_LAUNCH_BOUND);
    axp_findings_destroy(f);
    return is;
}

static void launches_set_the_pace(void **state)
{
    (void)state;
    axp_findings *f = launches(
        (struct launches){.n = 1000, .launch = 8 * US, .kernel = 2 * US});
    const axp_finding *x = ts_find(f, AXP_LAUNCH_BOUND);
    assert_non_null(x);
    assert_ptr_equal(x, axp_findings_at(f, 0));
    assert_string_equal(x->name, "relu");
    assert_string_equal(x->device, "gpu 0");
    assert_true(x->saving_is_bound);
    assert_int_equal(x->severity, AXP_HIGH);
    assert_true(fabs(ts_metric(x, "launch_us") - 8) < 0.1);
    assert_true(fabs(ts_metric(x, "span_us") - 2) < 1e-3);
    assert_true(ts_metric(x, "short_spans") == 1000);
    ts_assert_between(95, ts_metric(x, "launch_percentage"), 100);
    /* all kernels in one launch: 2 ms of 8, and no more than the device's gaps */
    ts_assert_between(5.9e6, (double)x->saving_ns, 6.1e6);
    assert_non_null(strstr(x->suggestion, "relu"));
    /* one cause, one finding: its gaps, and the calls of "launch" */
    assert_null(ts_find(f, AXP_DEVICE_IDLE));
    assert_null(ts_find(f, AXP_CALL_OVERHEAD));
    assert_true(ts_metric(x, "idle_percentage") > 70);
    axp_findings_destroy(f);
}

static void launches_at_their_thresholds(void **state)
{
    (void)state;
    struct launches l = {.n = 100, .launch = 8 * US, .kernel = 2 * US};
    l.rest = 800 * US * 31; /* of 32 parts one: 3.1 % */
    assert_true(is_launch_bound(l));
    l.rest = 800 * US * 35; /* 2.8 % */
    assert_false(is_launch_bound(l));
    l.rest = 0;
    l.n = 20;
    assert_true(is_launch_bound(l));
    l.n = 19;
    assert_false(is_launch_bound(l));
    l.n = 100;
    l.kernel = 7900;
    assert_true(is_launch_bound(l));
    l.kernel = 9 * US; /* longer than its launch: hidden */
    assert_false(is_launch_bound(l));
}

static void a_launch_is_medium_below_15_percent(void **state)
{
    (void)state;
    struct launches l = {.n = 100, .launch = 8 * US, .kernel = 100};
    l.rest = 7200 * US; /* a tenth are launches */
    axp_findings *f = launches(l);
    assert_int_equal(ts_find(f, AXP_LAUNCH_BOUND)->severity, AXP_MEDIUM);
    axp_findings_destroy(f);
}

static void what_is_no_launch(void **state)
{
    (void)state;
    struct launches l = {.n = 100, .launch = 8 * US, .kernel = 2 * US};
    l.is_nested = true; /* how long asking takes is not known then */
    assert_false(is_launch_bound(l));
    l.is_nested = false;
    l.is_shared = true;
    assert_false(is_launch_bound(l));
    l.is_shared = false;
    l.category = AXP_CAT_COPY;
    assert_false(is_launch_bound(l));
}

int main(void)
{
    ts_use_fake_clock();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(communication),
        cmocka_unit_test(copies),
        cmocka_unit_test(the_host_is_late),
        cmocka_unit_test(gaps_are_short),
        cmocka_unit_test(idleness_at_its_threshold),
        cmocka_unit_test(launches_set_the_pace),
        cmocka_unit_test(launches_at_their_thresholds),
        cmocka_unit_test(a_launch_is_medium_below_15_percent),
        cmocka_unit_test(what_is_no_launch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
