/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The rules about devices, copies and communication, on tracks that no device
 * filled: what is found, absent, and said to be regained. The clock is moved by
 * hand. */
#include "test_support.h"
#include "finding_support.h"

#include <math.h>

#define MS UINT64_C(1000000)
#define US UINT64_C(1000)

static axp_findings *analyze(axp_profiler *p)
{
    axp_view *v = ts_snapshot(p);
    axp_findings *f = axp_analyze(v, NULL);
    if (!f) fail_msg("no findings: %s", axp_last_error());
    axp_view_destroy(v);
    axp_profiler_destroy(p);
    return f;
}

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
    return analyze(p);
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
    return analyze(p);
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

int main(void)
{
    ts_use_fake_clock();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(communication),
        cmocka_unit_test(copies),
        cmocka_unit_test(the_host_is_late),
        cmocka_unit_test(gaps_are_short),
        cmocka_unit_test(idleness_at_its_threshold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
