/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What recording takes is taken off where it was spent, stated, and nobody
 * else's fault: on a clock moved by hand, with a scope that costs 25 ns inside
 * and 30 around. */
#include "test_support.h"

#include "record/record_process.h"
#include "tally/tally_capture.h"

enum { INSIDE = 25, AROUND = 30 };

static void set_cost(uint64_t around, uint64_t inside)
{
    axp__process()->own_cost =
        (uint64_t)1 << 63 |
        axp__own_cost_pack((struct axp__own_cost){around, inside, 0});
}

/* A scope that takes `ns`, and what recording it takes. */
static void call(const char *name, uint64_t ns)
{
    ts_tick(AROUND / 2);
    uint64_t token = axp_begin(axp_global(), name);
    ts_tick(INSIDE + ns);
    axp_end(token);
    ts_tick(AROUND / 2);
}

static void run(unsigned n, uint64_t ns)
{
    axp_reset(axp_global());
    uint64_t outer = axp_begin(axp_global(), "outer");
    ts_tick(INSIDE);
    for (unsigned i = 0; i < n; i++)
        call("inner", ns);
    call("work", 100000);
    axp_end(outer);
}

static bool is_found(axp_view *v, const char *name)
{
    axp_findings *f = axp_analyze(v, NULL);
    bool found = false;
    for (size_t i = 0; i < axp_findings_count(f); i++)
        found |= !strcmp(axp_findings_at(f, i)->name, name);
    axp_findings_destroy(f);
    return found;
}

static const axp_warning *warning(axp_view *v, const char *code)
{
    static axp_warning all[32];
    size_t n = axp_view_warnings(v, all, 32);
    for (size_t i = 0; i < n && i < 32; i++)
        if (!strcmp(all[i].code, code)) return &all[i];
    return NULL;
}

static void own_time_has_nothing_of_ours(void **state)
{
    (void)state;
    run(20000, 0);
    axp_view *v = ts_snapshot(axp_global());
    assert_int_equal(ts_view_op(v, "outer").self_ns, 0);
    assert_int_equal(ts_view_op(v, "inner").self_ns, 0);
    assert_int_equal(ts_view_op(v, "work").self_ns, 100000);
    assert_int_equal(ts_node(v, "outer").self_ns, 0);
    assert_int_equal(ts_node(v, "outer/inner").self_ns, 0);
    axp_view_destroy(v);
}

static void it_is_stated(void **state)
{
    (void)state;
    run(20000, 0); /* 1.1 ms of 1.2 */
    axp_view *v = ts_snapshot(axp_global());
    const axp_warning *w = warning(v, "own_overhead");
    assert_non_null(w);
    assert_non_null(strstr(w->text, "91.7 %"));
    w = warning(v, "doubtful_times");
    assert_non_null(w);
    assert_string_equal(w->name, "outer");
    axp_view_destroy(v);
    run(100, 0); /* 5 µs of 105 */
    v = ts_snapshot(axp_global());
    assert_non_null(warning(v, "own_overhead"));
    assert_null(warning(v, "doubtful_times"));
    axp_view_destroy(v);
}

/* What is left is compared with what is left. */
static void shares_are_of_what_is_not_ours(void **state)
{
    (void)state;
    run(3000, 0); /* 165 µs beside 100 */
    axp_view *v = ts_snapshot(axp_global());
    ts_assert_between(0.99, ts_view_op(v, "work").time_share, 1);
    axp_view_destroy(v);
}

static void our_time_is_no_finding(void **state)
{
    (void)state;
    run(20000, 1);
    axp_view *v = ts_snapshot(axp_global());
    assert_false(is_found(v, "inner"));
    axp_view_destroy(v);
    run(20000, 200);
    v = ts_snapshot(axp_global());
    assert_true(is_found(v, "inner"));
    axp_view_destroy(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_time_has_nothing_of_ours),
        cmocka_unit_test(it_is_stated),
        cmocka_unit_test(shares_are_of_what_is_not_ours),
        cmocka_unit_test(our_time_is_no_finding),
    };
    ts_use_fake_clock();
    set_cost(AROUND, INSIDE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
