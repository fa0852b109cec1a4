/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The rules about how long steps take, on a clock moved by hand: what is found,
 * absent, named, and said to be regained, against what can be counted. */
#include "test_support.h"
#include "finding_support.h"

#include <math.h>
#include <pthread.h>

#include "model/model_view.h"

#define MS UINT64_C(1000000)

static void operation(axp_profiler *p, const char *name, uint64_t ns)
{
    axp_start(p, name);
    ts_tick(ns);
    axp_stop(p, name);
}

static axp_findings *steps(unsigned n,
                           void (*step)(axp_profiler *p, unsigned i))
{
    axp_profiler *p = ts_profiler();
    for (unsigned i = 0; i < n; i++) {
        step(p, i);
        axp_step(p);
    }
    return ts_analyze(p);
}

static bool is_found(unsigned n, void (*step)(axp_profiler *p, unsigned i),
                     axp_finding_type type)
{
    axp_findings *f = steps(n, step);
    bool is = ts_find(f, type);
    axp_findings_destroy(f);
    return is;
}

static void is_about(const axp_finding *x, const char *name, uint64_t saving)
{
    assert_non_null(x);
    assert_string_equal(x->name, name);
    ts_assert_between(0.999 * (double)saving, (double)x->saving_ns,
                      1.001 * (double)saving);
}

/* ---- outliers --------------------------------------------------------------------- */

static uint64_t extra; /* ns */

/* 10 ms, and in every tenth step a checkpoint. */
static void save(axp_profiler *p, unsigned i)
{
    operation(p, "compute", 10 * MS);
    if (i % 10 == 9) operation(p, "checkpoint", extra);
}

static void some_steps_are_slow(void **state)
{
    (void)state;
    extra = 15 * MS;
    axp_findings *f = steps(40, save);
    const axp_finding *x = ts_find(f, AXP_STEP_OUTLIERS);
    is_about(x, "checkpoint", 4 * 15 * MS);
    assert_int_equal(x->severity, AXP_MEDIUM); /* 60 of 460 ms */
    assert_true(fabs(ts_metric(x, "slow_steps") - 4) < 1e-9);
    assert_true(fabs(ts_metric(x, "p99_p50") - 2.5) < 1e-3);
    assert_true(fabs(ts_metric(x, "op_ms") - 15) < 0.01);
    assert_true(fabs(ts_metric(x, "op_usual_ms")) < 1e-3);
    assert_non_null(strstr(x->suggestion, "in every 10th step"));
    assert_null(ts_find(f, AXP_STEP_DRIFT));
    assert_null(ts_find(f, AXP_SLOW_START));
    axp_findings_destroy(f);
}

static void outliers_at_their_threshold(void **state)
{
    (void)state;
    extra = 10 * MS + MS / 100;
    assert_true(is_found(20, save, AXP_STEP_OUTLIERS));
    assert_false(is_found(19, save, AXP_STEP_OUTLIERS));
    extra = 9900000;
    assert_false(is_found(40, save, AXP_STEP_OUTLIERS));
}

static unsigned nth;

static void save_first(axp_profiler *p, unsigned i)
{
    operation(p, "compute", 10 * MS);
    if (i % nth == 0) operation(p, "checkpoint", 40 * MS);
}

/* The first is one of the slow ones, and no slow start. */
static void the_first_is_slow_as_others_are(void **state)
{
    (void)state;
    static const struct {
        unsigned nth;
        const char *said;
    } all[] = {{10, "every 10th"},
               {11, "every 11th"},
               {21, "every 21st"},
               {22, "every 22nd"},
               {23, "every 23rd"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        nth = all[i].nth;
        axp_findings *f = steps(5 * nth, save_first);
        assert_null(ts_find(f, AXP_SLOW_START));
        const axp_finding *x = ts_find(f, AXP_STEP_OUTLIERS);
        assert_non_null(x);
        assert_non_null(strstr(x->suggestion, all[i].said));
        axp_findings_destroy(f);
    }
}

static void save_often(axp_profiler *p, unsigned i)
{
    operation(p, "compute", 10 * MS);
    if (i % nth == nth - 1) operation(p, "checkpoint", 20 * MS);
}

/* What a third of the steps do is no exception. */
static void many_are_no_outliers(void **state)
{
    (void)state;
    nth = 5;
    assert_true(is_found(60, save_often, AXP_STEP_OUTLIERS));
    nth = 3;
    assert_false(is_found(60, save_often, AXP_STEP_OUTLIERS));
}

/* One in 200 is not in the slowest hundredth. */
static void seldom(axp_profiler *p, unsigned i)
{
    operation(p, "compute", i == 100 ? 50 * MS : 10 * MS);
}

static void one_in_many_is_no_outlier(void **state)
{
    (void)state;
    assert_false(is_found(200, seldom, AXP_STEP_OUTLIERS));
    assert_true(is_found(101, seldom, AXP_STEP_OUTLIERS) == false);
}

static void *work(void *p)
{
    operation(p, "attention", extra);
    return NULL;
}

/* Whoever marks the steps waits for what another thread does. */
static void wait_for_worker(axp_profiler *p, unsigned i)
{
    pthread_t thread;
    uint64_t scope = axp_begin(p, "wait for worker");
    axp_category(p, AXP_CAT_SYNC);
    extra = i % 10 == 9 ? 30 * MS : 10 * MS;
    assert_int_equal(pthread_create(&thread, NULL, work, p), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    axp_end(scope);
}

static void what_a_slow_step_waits_for(void **state)
{
    (void)state;
    axp_findings *f = steps(40, wait_for_worker);
    is_about(ts_find(f, AXP_STEP_OUTLIERS), "attention", 4 * 20 * MS);
    axp_findings_destroy(f);
}

/* ---- warm-up and the first step ------------------------------------------------------ */

static void warm_up(axp_profiler *p, unsigned i)
{
    if (!i) operation(p, "setup", 500 * MS);
    operation(p, "compute", 10 * MS);
    if (!i) operation(p, "compile", extra);
    if (i == 1) operation(p, "compile", extra / 2);
}

static void warm_up_is_no_outlier(void **state)
{
    (void)state;
    extra = 50 * MS;
    assert_false(is_found(40, warm_up, AXP_STEP_OUTLIERS));
    assert_false(is_found(40, warm_up, AXP_STEP_DRIFT));
}

static void a_slow_first_step(void **state)
{
    (void)state;
    extra = 50 * MS;
    axp_findings *f = steps(10, warm_up);
    const axp_finding *x = ts_find(f, AXP_SLOW_START);
    is_about(x, "compile", 50 * MS); /* without the setup */
    assert_true(x->saving_is_bound);
    assert_true(fabs(ts_metric(x, "first_p50") - 6) < 0.01);
    assert_int_equal(x->severity, AXP_MEDIUM);
    axp_findings_destroy(f);
    extra = 400 * MS; /* 41 times the median; 33 % of the run */
    f = steps(10, warm_up);
    x = ts_find(f, AXP_SLOW_START);
    is_about(x, "compile", 400 * MS);
    assert_int_equal(x->severity, AXP_HIGH);
    axp_findings_destroy(f);
}

static void a_slow_start_at_its_threshold(void **state)
{
    (void)state;
    extra = 20 * MS + MS / 10;
    assert_true(is_found(10, warm_up, AXP_SLOW_START));
    assert_true(is_found(5, warm_up, AXP_SLOW_START));
    assert_false(is_found(4, warm_up, AXP_SLOW_START));
    extra = 19900000;
    assert_false(is_found(10, warm_up, AXP_SLOW_START));
}

/* ---- drift ---------------------------------------------------------------------------- */

static void grow(axp_profiler *p, unsigned i)
{
    operation(p, "compute", 10 * MS);
    operation(p, "append", i * extra);
}

static void steps_that_grow_slower(void **state)
{
    (void)state;
    extra = MS / 10; /* 10 to 13 ms over 30 steps */
    axp_findings *f = steps(30, grow);
    const axp_finding *x = ts_find(f, AXP_STEP_DRIFT);
    /* medians: 10.4 of the first ten, 12.4 of the last; without it 10 each */
    is_about(x, "append", 435 * extra);
    assert_true(fabs(ts_metric(x, "drift") - 12.4 / 10.4) < 1e-3);
    assert_null(ts_find(f, AXP_STEP_OUTLIERS));
    axp_findings_destroy(f);
}

/* From none to 8.7 ms: 30 % of the run, all of which is that. */
/* All that a step does takes longer, and longer still in every tenth. */
static void grow_alike(axp_profiler *p, unsigned i)
{
    uint64_t part = MS + MS * i / 100;
    if (i % 10 == 9) part *= extra;
    operation(p, "forward", 2 * part);
    operation(p, "backward", 4 * part);
    operation(p, "update", part);
}

/* A processor that is slower, or steps that have more to do: no operation is to
 * blame, and how much can be had of it nobody knows. */
static void what_all_operations_do_alike(void **state)
{
    (void)state;
    static const axp_finding_type types[] = {AXP_STEP_DRIFT, AXP_STEP_OUTLIERS};
    for (size_t i = 0; i < 2; i++) {
        extra = i ? 4 : 1;
        axp_findings *f = steps(60, grow_alike);
        const axp_finding *x = ts_find(f, types[i]);
        assert_non_null(x);
        assert_string_equal(x->name, "every operation");
        assert_true(x->saving_is_bound);
        assert_int_equal(x->severity, AXP_MEDIUM);
        assert_non_null(strstr(x->suggestion, "no operation is to blame"));
        axp_findings_destroy(f);
    }
}

static void what_has_grown_is_slow_for_that(void **state)
{
    (void)state;
    extra = 3 * MS / 10;
    axp_findings *f = steps(30, grow);
    const axp_finding *x = ts_find(f, AXP_STEP_DRIFT);
    is_about(x, "append", 435 * extra);
    assert_null(ts_find_named(f, AXP_SLOW_OPERATION, "append"));
    assert_non_null(ts_find_named(f, AXP_SLOW_OPERATION, "compute"));
    ts_metric(x, "time_percentage"); /* its evidence */
    axp_findings_destroy(f);
}

static void grow_a_little(axp_profiler *p, unsigned i)
{
    operation(p, "compute", 10 * MS);
    operation(p, "append", 10 * MS + i * extra);
}

/* Of what it takes a tenth has grown: the rest is slow all the same. */
static void what_was_slow_before(void **state)
{
    (void)state;
    extra = MS / 8;
    axp_findings *f = steps(30, grow_a_little);
    is_about(ts_find(f, AXP_STEP_DRIFT), "append", 435 * extra);
    assert_non_null(ts_find_named(f, AXP_SLOW_OPERATION, "append"));
    axp_findings_destroy(f);
}

/* Noise around what does not grow in the first third: 9 and 11 ms in turns, then 4
 * more. */
static void at_once(axp_profiler *p, unsigned i)
{
    operation(p, "compute", i % 2 ? 9 * MS : 11 * MS);
    operation(p, "append", i < 20 ? 0 : 4 * MS);
}

static void what_grows_at_once(void **state)
{
    (void)state;
    axp_findings *f = steps(60, at_once);
    const axp_finding *x = ts_find(f, AXP_STEP_DRIFT);
    assert_non_null(x);
    assert_string_equal(x->name, "append");
    /* 4 ms of 40 steps; who takes the quickest for the usual adds 1 of 60 */
    ts_assert_between(160.0 * MS, (double)x->saving_ns, 220.0 * MS);
    axp_findings_destroy(f);
}

/* 44 ms more in all, of which the thread had no processor for so long. */
static bool drifts_without_processor(axp_ns ready)
{
    axp_profiler *p = ts_profiler();
    extra = MS / 10;
    for (unsigned i = 0; i < 30; i++) {
        grow(p, i);
        axp_step(p);
    }
    axp_view *v = ts_snapshot(p);
    assert_non_null(v);
    assert_true(v->n_threads == 1);
    v->threads[0].ready_ns = ready;
    axp_findings *f = axp_analyze(v, NULL);
    bool is = ts_find(f, AXP_STEP_DRIFT);
    axp_findings_destroy(f);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
    return is;
}

static void who_starves_does_not_drift(void **state)
{
    (void)state;
    assert_true(drifts_without_processor(10 * MS));
    assert_false(drifts_without_processor(30 * MS));
}

static void drift_at_its_threshold(void **state)
{
    (void)state;
    extra = 53000; /* 20 more of them: 1.0376 of 10.212, 10.4 % */
    assert_true(is_found(30, grow, AXP_STEP_DRIFT));
    extra = 50000; /* 9.8 % */
    assert_false(is_found(30, grow, AXP_STEP_DRIFT));
    extra = MS;
    assert_true(is_found(20, grow, AXP_STEP_DRIFT));
    assert_false(is_found(19, grow, AXP_STEP_DRIFT));
}

/* From 7 to 13 ms, whatever came before: a third of a few such has now and then a
 * median that is a tenth more than another's. */
static uint64_t chance;

static void by_chance(axp_profiler *p, unsigned i)
{
    (void)i;
    chance = chance * 6364136223846793005u + 1442695040888963407u;
    operation(p, "compute", 7 * MS + (chance >> 33) % (6 * MS));
}

static void chance_is_no_drift(void **state)
{
    unsigned n_found = 0;
    (void)state;
    chance = 1;
    for (int run = 0; run < 200; run++)
        n_found += is_found(40, by_chance, AXP_STEP_DRIFT);
    assert_in_range(n_found, 0, 2); /* 23 by the medians alone */
}

/* Twice as long from the middle on, and never twice the median. */
static void quickly(axp_profiler *p, unsigned i)
{
    operation(p, "compute", 10 * MS);
    operation(p, "append", i < 40 ? 0 : 30 * MS);
}

static void what_drifts_is_no_outlier(void **state)
{
    (void)state;
    axp_findings *f = steps(60, quickly);
    is_about(ts_find(f, AXP_STEP_DRIFT), "append", 20 * 30 * MS);
    assert_null(ts_find(f, AXP_STEP_OUTLIERS));
    axp_findings_destroy(f);
}

/* Two operations are longer then: the one that is named regains its own part. */
static void both_grow(axp_profiler *p, unsigned i)
{
    operation(p, "compute", 10 * MS);
    operation(p, "append", 3 * i * extra);
    operation(p, "scan", 2 * i * extra);
}

static void both_save(axp_profiler *p, unsigned i)
{
    save(p, i);
    if (i % 10 == 9) operation(p, "log", 10 * MS);
}

static void both_warm_up(axp_profiler *p, unsigned i)
{
    operation(p, "compute", 10 * MS);
    if (!i) operation(p, "compile", 50 * MS);
    if (!i) operation(p, "load", 30 * MS);
}

static void each_has_its_part(void **state)
{
    (void)state;
    extra = MS / 20;
    axp_findings *f = steps(30, both_grow);
    is_about(ts_find(f, AXP_STEP_DRIFT), "append", 435 * 3 * extra);
    axp_findings_destroy(f);
    extra = 15 * MS;
    f = steps(40, both_save);
    is_about(ts_find(f, AXP_STEP_OUTLIERS), "checkpoint", 4 * 15 * MS);
    axp_findings_destroy(f);
    f = steps(10, both_warm_up);
    is_about(ts_find(f, AXP_SLOW_START), "compile", 50 * MS);
    axp_findings_destroy(f);
}

static void even(axp_profiler *p, unsigned i)
{
    (void)i;
    operation(p, "compute", 10 * MS);
}

static void nothing_in_even_steps(void **state)
{
    (void)state;
    assert_false(is_found(100, even, AXP_STEP_OUTLIERS));
    assert_false(is_found(100, even, AXP_STEP_DRIFT));
    assert_false(is_found(100, even, AXP_SLOW_START));
}

int main(void)
{
    ts_use_fake_clock();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(some_steps_are_slow),
        cmocka_unit_test(outliers_at_their_threshold),
        cmocka_unit_test(the_first_is_slow_as_others_are),
        cmocka_unit_test(many_are_no_outliers),
        cmocka_unit_test(one_in_many_is_no_outlier),
        cmocka_unit_test(what_a_slow_step_waits_for),
        cmocka_unit_test(warm_up_is_no_outlier),
        cmocka_unit_test(a_slow_first_step),
        cmocka_unit_test(a_slow_start_at_its_threshold),
        cmocka_unit_test(steps_that_grow_slower),
        cmocka_unit_test(what_all_operations_do_alike),
        cmocka_unit_test(what_has_grown_is_slow_for_that),
        cmocka_unit_test(what_was_slow_before),
        cmocka_unit_test(what_grows_at_once),
        cmocka_unit_test(who_starves_does_not_drift),
        cmocka_unit_test(drift_at_its_threshold),
        cmocka_unit_test(chance_is_no_drift),
        cmocka_unit_test(what_drifts_is_no_outlier),
        cmocka_unit_test(each_has_its_part),
        cmocka_unit_test(nothing_in_even_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
