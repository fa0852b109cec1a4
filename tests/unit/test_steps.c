/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Steps: statistics of all of them, in memory that does not grow. The clock
 * is moved by hand. */
#include "test_support.h"

#include "record/record_profiler.h"
#include "tally/tally_step.h"

static void no_steps_no_statistics(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_view *v = ts_snapshot(p);
    axp_step_stats s = axp_view_steps(v);
    assert_int_equal(s.count, 0);
    assert_int_equal(s.max_ns, 0);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

static axp_step_stats steps_of(axp_profiler *p)
{
    axp_view *v = ts_snapshot(p);
    axp_step_stats s = axp_view_steps(v);
    axp_view_destroy(v);
    return s;
}

static void statistics_of_known_steps(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    for (uint64_t i = 1; i <= 1000; i++) { /* 10, 20 … 10000 */
        ts_tick(10 * i);
        axp_step(p);
    }
    axp_step_stats s = steps_of(p);
    assert_int_equal(s.count, 1000);
    assert_int_equal(s.min_ns, 10); /* the first runs from the start */
    assert_int_equal(s.max_ns, 10000);
    assert_int_equal(s.avg_ns, 5005);
    ts_assert_between(4850, (double)s.p50_ns, 5150);
    ts_assert_between(9215, (double)s.p95_ns, 9785);
    ts_assert_between(9603, (double)s.p99_ns, 10000);
    axp_profiler_destroy(p);
}

static void *step_there(void *arg)
{
    ts_tick(50);
    axp_step(arg);
    return NULL;
}

/* A step is the process's: it begins where the last ended, anywhere. */
static void steps_of_several_threads_are_one_row(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    for (int i = 0; i < 100; i++) {
        ts_run(step_there, p);
        ts_tick(50);
        axp_step(p);
    }
    axp_step_stats s = steps_of(p);
    assert_int_equal(s.count, 200);
    assert_int_equal(s.min_ns, 50);
    assert_int_equal(s.max_ns, 50);
    assert_int_equal(s.avg_ns, 50);
    axp_profiler_destroy(p);
}

static void millions_of_steps_are_bounded(void **state)
{
    (void)state;
    const uint64_t n = TS_SLOW ? 200000 : 3000000;
    axp_profiler *p =
        axp_profiler_create(&(axp_options){.timeline_capacity = 1000});
    for (uint64_t i = 0; i < 1000; i++) {
        ts_tick(7);
        axp_step(p);
    }
    uint64_t used = axp__prof_of(p)->budget.used_bytes;
    for (uint64_t i = 1000; i < n; i++) {
        ts_tick(7);
        axp_step(p);
    }
    assert_int_equal(axp__prof_of(p)->budget.used_bytes, used);
    axp_step_stats s = steps_of(p);
    assert_int_equal(s.count, n);
    assert_int_equal(s.avg_ns, 7);
    assert_int_equal(s.p99_ns, 7);
    axp_profiler_destroy(p);
}

/* What a file says: a recorder counts them. */
static void one_index_again_and_again(void **state)
{
    (void)state;
    static struct axp__tally_seed seed;
    struct axp__budget budget = {.limit_bytes = 1 << 20};
    struct axp__tally t;
    axp__tally_init(&t, &seed, &budget, 1);
    for (uint64_t i = 0; i < 1000; i++)
        assert_true(axp__tally_add_step(
            &t, &(struct axp__step){.begin_ticks = i, .end_ticks = i + 3}));
    assert_int_equal(axp__tally_steps(&t)->stats.loose_calls, 1000);
    assert_int_equal(axp__tally_steps(&t)->n_sampled, AXP__STEPS_SAMPLED);
    axp__tally_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_steps_no_statistics),
        cmocka_unit_test(statistics_of_known_steps),
        cmocka_unit_test(steps_of_several_threads_are_one_row),
        cmocka_unit_test(millions_of_steps_are_bounded),
        cmocka_unit_test(one_index_again_and_again),
    };
    ts_use_fake_clock();
    return TS_RUN(tests);
}
