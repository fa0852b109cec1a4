/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What must hold for the findings of any program, tried with random ones: times
 * ten times as long, a thread that does nothing, an operation in two halves, the
 * same once more; and of their replays, that nothing changed is the run. The clock is moved by hand. */
#include <pthread.h>

#include "axprof/axprof_whatif.h"
#include "finding_support.h"

#define OPS 6u
#define STEPS 30u
#define SEEDS 25u

struct program {
    uint64_t seed;
    uint64_t times; /* as long */
    bool has_idle;  /* a thread that marks its begin and end */
    bool is_split;  /* every operation takes half its time under "… too" */
};

static const struct {
    const char *name, *half;
    axp_cat category;
} ops[OPS] = {{"load", "load too", AXP_CAT_DATA},
              {"forward", "forward too", AXP_CAT_FORWARD},
              {"backward", "backward too", AXP_CAT_BACKWARD},
              {"exchange", "exchange too", AXP_CAT_COMM},
              {"save", "save too", AXP_CAT_IO},
              {"update", "update too", AXP_CAT_OPTIMIZER}};

static void do_for(axp_profiler *p, const char *name, axp_cat category,
                   uint64_t ns)
{
    uint64_t scope = axp_begin(p, name);
    axp_category(p, category);
    ts_tick(ns);
    axp_end(scope);
}

/* In every step each as long as its mean says, give or take a tenth; some steps
 * twice as long. */
static void run(axp_profiler *p, const struct program *of)
{
    uint64_t seed = of->seed, mean_us[OPS];
    for (unsigned i = 0; i < OPS; i++)
        mean_us[i] = 1000 + ts_random(&seed) % 40000;
    for (unsigned k = 0; k < STEPS; k++) {
        unsigned slow = ts_random(&seed) % 12 ? OPS : (unsigned)(k % OPS);
        for (unsigned i = 0; i < OPS; i++) {
            uint64_t us = mean_us[i] * (90 + ts_random(&seed) % 21) / 100;
            uint64_t half = us / 2 * 1000 * of->times * (i == slow ? 3 : 1);
            const char *other = of->is_split ? ops[i].half : ops[i].name;
            do_for(p, ops[i].name, ops[i].category, half);
            do_for(p, other, ops[i].category, half);
        }
        axp_step(p);
    }
}

struct idle {
    axp_profiler *p;
    pthread_barrier_t begun, ending;
};

static void *be_idle(void *arg)
{
    struct idle *idle = arg;
    axp_instant(idle->p, "here");
    pthread_barrier_wait(&idle->begun);
    pthread_barrier_wait(&idle->ending);
    axp_instant(idle->p, "there");
    return NULL;
}

static axp_profiler *record(struct program of)
{
    axp_profiler *p = ts_profiler();
    struct idle idle = {.p = p};
    pthread_t thread;
    if (!of.times) of.times = 1;
    if (of.has_idle) {
        pthread_barrier_init(&idle.begun, NULL, 2);
        pthread_barrier_init(&idle.ending, NULL, 2);
        assert_int_equal(pthread_create(&thread, NULL, be_idle, &idle), 0);
        pthread_barrier_wait(&idle.begun);
    }
    run(p, &of);
    if (of.has_idle) {
        pthread_barrier_wait(&idle.ending);
        pthread_join(thread, NULL);
        pthread_barrier_destroy(&idle.begun);
        pthread_barrier_destroy(&idle.ending);
    }
    return p;
}

static axp_findings *findings_of(struct program of)
{
    return ts_analyze(record(of));
}

static void assert_same(const axp_findings *a, const axp_findings *b)
{
    assert_int_equal(axp_findings_count(a), axp_findings_count(b));
    for (size_t i = 0; i < axp_findings_count(a); i++) {
        const axp_finding *x = axp_findings_at(a, i);
        const axp_finding *y = axp_findings_at(b, i);
        assert_int_equal(x->type, y->type);
        assert_string_equal(x->name, y->name);
        assert_int_equal(x->severity, y->severity);
        assert_int_equal(x->saving_is_bound, y->saving_is_bound);
        assert_true(fabs(x->saving_share - y->saving_share) < 1e-6);
    }
}

static void compare(struct program changed)
{
    size_t n = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        changed.seed = seed;
        axp_findings *a = findings_of((struct program){.seed = seed});
        axp_findings *b = findings_of(changed);
        assert_same(a, b);
        n += axp_findings_count(a);
        axp_findings_destroy(a);
        axp_findings_destroy(b);
    }
    assert_true(n > SEEDS); /* or there was nothing to compare */
}

static void times_ten_times_as_long_change_nothing(void **state)
{
    (void)state;
    compare((struct program){.times = 10});
}

static void an_idle_thread_changes_nothing(void **state)
{
    (void)state;
    compare((struct program){.has_idle = true});
}

/* To the byte. */
static void the_same_is_found_again(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        axp_findings *a = findings_of((struct program){.seed = seed});
        axp_findings *b = findings_of((struct program){.seed = seed});
        assert_same(a, b);
        assert_string_equal(axp_findings_verdict(a), axp_findings_verdict(b));
        for (size_t i = 0; i < axp_findings_count(a); i++) {
            const axp_finding *x = axp_findings_at(a, i);
            const axp_finding *y = axp_findings_at(b, i);
            assert_string_equal(x->description, y->description);
            assert_string_equal(x->suggestion, y->suggestion);
            assert_int_equal(x->saving_ns, y->saving_ns);
        }
        axp_findings_destroy(a);
        axp_findings_destroy(b);
    }
}

/* Of what is well above its threshold, each half regains half. */
static void two_names_regain_half_each(void **state)
{
    (void)state;
    static const axp_finding_type types[] = {AXP_IO_WAIT, AXP_COMM_BOUND};
    static const unsigned op_of[] = {4, 3};
    unsigned n = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        axp_findings *a = findings_of((struct program){.seed = seed});
        axp_findings *b =
            findings_of((struct program){.seed = seed, .is_split = true});
        for (int k = 0; k < 2; k++) {
            const char *name = ops[op_of[k]].name, *half = ops[op_of[k]].half;
            const axp_finding *x = ts_find_named(a, types[k], name);
            const axp_finding *y = ts_find_named(b, types[k], name);
            const axp_finding *z = ts_find_named(b, types[k], half);
            if (!x || x->saving_share < 0.21) continue; /* twice 10 % */
            assert_non_null(y);
            assert_non_null(z);
            assert_true(fabs(y->saving_share - x->saving_share / 2) < 0.002);
            assert_true(fabs(z->saving_share - x->saving_share / 2) < 0.002);
            n++;
        }
        axp_findings_destroy(a);
        axp_findings_destroy(b);
    }
    assert_true(n >= 5);
}

/* Whether nothing is asked for, or that each operation takes as long as it did:
 * then all of it is run again, in which each has its time. */
static void nothing_changed_takes_as_long(void **state)
{
    (void)state;
    static const char *const same[] = {"load=1",     "forward=1", "backward=1",
                                       "exchange=1", "save=1",    "update=1"};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        axp_profiler *p =
            record((struct program){.seed = seed, .has_idle = seed % 2});
        axp_view *v = ts_snapshot(p);
        axp_graph *g = axp_graph_create(v);
        assert_non_null(g);
        for (size_t n = 0; n <= OPS; n++) {
            axp_whatif_options o = {.scale = same, .n_scale = n};
            axp_replay *r = NULL;
            assert_int_equal(axp_whatif(g, &o, &r), AXP_OK);
            double wall = (double)axp_view_duration(v);
            ts_assert_between(0.99 * wall, (double)axp_replay_total(r).wall_ns,
                              1.01 * wall);
            axp_replay_destroy(r);
        }
        axp_graph_destroy(g);
        axp_view_destroy(v);
        axp_profiler_destroy(p);
    }
}

int main(void)
{
    ts_use_fake_clock();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_ten_times_as_long_change_nothing),
        cmocka_unit_test(an_idle_thread_changes_nothing),
        cmocka_unit_test(the_same_is_found_again),
        cmocka_unit_test(two_names_regain_half_each),
        cmocka_unit_test(nothing_changed_takes_as_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
