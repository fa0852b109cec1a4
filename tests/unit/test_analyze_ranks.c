/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Ranks that are read together: which one is found to be slow, at what, and what
 * it is said to cost. Each is a file that a profiler wrote with its own RANK; the
 * clock is moved by hand and set back for the next. */
#include "file_support.h"
#include "finding_support.h"

#define MS UINT64_C(1000000)
#define MOST_RANKS 8
#define STEPS 10

struct job {
    size_t n;
    double forward_ms[MOST_RANKS]; /* a step; backward is 20 */
    double apart_ms;               /* of their beginnings */
    bool has_no_ranks;
    double exchange_ms; /* what it takes when all are there */
};

static double slowest(const struct job *j)
{
    double most = 0;
    for (size_t i = 0; i < j->n; i++)
        most = fmax(most, j->forward_ms[i]);
    return most;
}

static void do_for(axp_profiler *p, const char *name, axp_cat cat, double ms)
{
    uint64_t scope = axp_begin(p, name);
    if (cat) axp_category(p, cat);
    ts_tick((uint64_t)(ms * (double)MS));
    axp_end(scope);
}

static const char *const layers[] = {"layer 3", "layer 2", "layer 1",
                                     "layer 0"};

static const char *record(const struct job *j, size_t rank)
{
    char text[16];
    snprintf(text, sizeof text, "r%zu.axp", rank);
    const char *path = fs_path(text);
    ts_set_clock(1000 * MS + (uint64_t)(j->apart_ms * (double)MS) * rank);
    snprintf(text, sizeof text, "%zu", rank);
    setenv("RANK", text, 1);
    if (j->has_no_ranks) unsetenv("RANK");
    axp_profiler *p =
        fs_record(path, (axp_options){.title = "job", .flags = AXP_OVERWRITE});
    for (int i = 0; i < STEPS; i++) {
        do_for(p, "forward", AXP_CAT_FORWARD, j->forward_ms[rank]);
        for (int k = 0; k < 4; k++)
            do_for(p, layers[k], AXP_CAT_BACKWARD, 5);
        do_for(p, "all_reduce", AXP_CAT_COMM,
               slowest(j) - j->forward_ms[rank] + j->exchange_ms);
    }
    unsetenv("RANK");
    assert_int_equal(axp_finish(p), AXP_OK);
    axp_profiler_destroy(p);
    return path;
}

static axp_findings *analyze(const struct job *j)
{
    const char *paths[MOST_RANKS];
    axp_view *v = NULL;
    for (size_t i = 0; i < j->n; i++)
        paths[i] = record(j, i);
    if (axp_open(paths, j->n, &v)) fail_msg("%s", axp_last_error());
    axp_findings *f = axp_analyze(v, NULL);
    if (!f) fail_msg("no findings: %s", axp_last_error());
    axp_view_destroy(v);
    return f;
}

static bool is_found(const struct job *j)
{
    axp_findings *f = analyze(j);
    bool is = ts_find(f, AXP_LOAD_IMBALANCE);
    axp_findings_destroy(f);
    return is;
}

static void a_straggler_is_named(void **state)
{
    (void)state;
    struct job j = {.n = 5, .forward_ms = {20, 20.1, 34, 20.2, 20}};
    j.exchange_ms = 1;
    axp_findings *f = analyze(&j);
    const axp_finding *x = ts_find(f, AXP_LOAD_IMBALANCE);
    assert_non_null(x);
    assert_string_equal(x->name, "forward");
    assert_ptr_equal(x, axp_findings_at(f, 0));
    assert_true(ts_metric(x, "rank") == 2);
    assert_true(ts_metric(x, "ranks") == 5);
    ts_assert_between(1.349, ts_metric(x, "slow_to_fast"), 1.351); /* 54 / 40 */
    /* median 40.1, distances 0.1 0 13.9 0.1 0.1: their median 0.1 */
    double z = 0.6745 * 13.9 / 0.1;
    ts_assert_between(z - 1, ts_metric(x, "modified_z"), z + 1);
    /* 10 steps of 54 − (54 + 160.3) / 5 */
    ts_assert_between(111.3e6, (double)x->saving_ns, 111.5e6);
    assert_int_equal(x->severity, AXP_HIGH); /* of 550 ms */
    assert_non_null(strstr(x->description, "stands out from the others"));
    assert_null(strstr(x->description, "none stands out"));
    assert_non_null(strstr(x->suggestion, "rank 2"));
    /* that the others wait for it in their communication is not its fault */
    assert_null(ts_find(f, AXP_COMM_BOUND));
    axp_findings_destroy(f);
}

static void communication_itself_is_still_found(void **state)
{
    (void)state;
    struct job j = {.n = 4, .forward_ms = {20, 20, 30, 20}};
    j.exchange_ms = 25;
    axp_findings *f = analyze(&j);
    const axp_finding *x = ts_find(f, AXP_COMM_BOUND);
    assert_non_null(x);
    /* 250 ms of 750: what all of them need, not what three wait */
    ts_assert_between(0.32, x->saving_share, 0.345);
    assert_non_null(ts_find(f, AXP_LOAD_IMBALANCE));
    axp_findings_destroy(f);
}

static void none_stands_out(void **state)
{
    (void)state;
    struct job j = {.n = 4, .forward_ms = {10, 20, 30, 40}};
    axp_findings *f = analyze(&j);
    const axp_finding *x = ts_find(f, AXP_LOAD_IMBALANCE);
    assert_non_null(x);
    assert_true(ts_metric(x, "rank") == 3);
    /* median 45, distances 15 5 5 15: 10 */
    ts_assert_between(1.01, ts_metric(x, "modified_z"), 1.0119);
    assert_non_null(strstr(x->description, "none stands out"));
    axp_findings_destroy(f);
}

/* Of 39, 40, 41, 40 and one more the median is 40 and that of distances 1. */
static bool stands_out(double forward_ms)
{
    struct job j = {.n = 5, .forward_ms = {19, 20, 21, 20, forward_ms}};
    axp_findings *f = analyze(&j);
    const axp_finding *x = ts_find(f, AXP_LOAD_IMBALANCE);
    assert_non_null(x);
    bool is = !strstr(x->description, "none stands out");
    axp_findings_destroy(f);
    return is;
}

static void z_at_its_threshold(void **state)
{
    (void)state;
    assert_true(stands_out(20 + 3.6 / 0.6745));
    assert_false(stands_out(20 + 3.4 / 0.6745));
}

static void two_ranks(void **state)
{
    (void)state;
    struct job j = {.n = 2, .forward_ms = {20, 30}};
    axp_findings *f = analyze(&j);
    const axp_finding *x = ts_find(f, AXP_LOAD_IMBALANCE);
    assert_non_null(x);
    for (size_t i = 0; i < x->n_metrics; i++)
        assert_string_not_equal(x->metrics[i].key, "modified_z");
    axp_findings_destroy(f);
}

static void at_the_thresholds(void **state)
{
    (void)state;
    struct job j = {.n = 4, .forward_ms = {20, 20, 20, 20}};
    assert_false(is_found(&j));
    j.forward_ms[1] = 24.1; /* 44.1 of 40; three quarters of 4.1 of 44.1: 7 % */
    assert_true(is_found(&j));
    j.forward_ms[1] = 23.9;
    assert_false(is_found(&j));
    j.forward_ms[1] = 24.1;
    j.exchange_ms = 15; /* 5.2 % of 59.1, then 4.7 of 65 */
    assert_true(is_found(&j));
    j.exchange_ms = 21;
    assert_false(is_found(&j));
}

static void what_are_no_ranks(void **state)
{
    (void)state;
    struct job j = {.n = 4, .forward_ms = {20, 20, 40, 20}};
    assert_true(is_found(&j));
    j.has_no_ranks = true;
    assert_false(is_found(&j));
    j.has_no_ranks = false;
    j.apart_ms = 1000; /* one after the other */
    assert_false(is_found(&j));
}

int main(void)
{
    ts_use_fake_clock();
    const struct CMUnitTest tests[] = {
        FS_TEST(a_straggler_is_named),
        FS_TEST(communication_itself_is_still_found),
        FS_TEST(none_stands_out),
        FS_TEST(z_at_its_threshold),
        FS_TEST(two_ranks),
        FS_TEST(at_the_thresholds),
        FS_TEST(what_are_no_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
