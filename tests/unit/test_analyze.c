/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The rules, at and around their thresholds, on a clock moved by hand: what is
 * found, how severe it is, and what fixing it would give back. */
#include "test_support.h"
#include "finding_support.h"
#include "model/model_view.h"

#include <math.h>

#define MS 1000000u

static void scope(axp_profiler *p, const char *name, uint64_t ns)
{
    axp_start(p, name);
    ts_tick(ns);
    axp_stop(p, name);
}

static axp_findings *analyze(axp_profiler *p, const axp_thresholds *t)
{
    axp_view *v = ts_snapshot(p);
    axp_findings *f = axp_analyze(v, t);
    if (!f) fail_msg("no findings: %s", axp_last_error());
    ts_check_few(v);
    axp_view_destroy(v); /* findings outlive it */
    return f;
}

static const axp_finding *find(const axp_findings *f, axp_finding_type type,
                               const char *name)
{
    for (size_t i = 0; i < axp_findings_count(f); i++) {
        const axp_finding *x = axp_findings_at(f, i);
        if (x->type == type && (!name || !strcmp(x->name, name))) return x;
    }
    return NULL;
}

static void assert_near(double a, double b)
{
    ts_assert_between(b - 1e-6 - fabs(b) * 1e-6, a, b + 1e-6 + fabs(b) * 1e-6);
}

/* ---- the reference tests --------------------------------------------------- */

static void slow_operation_detection(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    for (int i = 0; i < 100; i++)
        scope(p, "slow_op", 80 * MS);
    for (int i = 0; i < 1000; i++)
        scope(p, "fast_op", 2 * MS);
    axp_findings *f = analyze(p, NULL);
    const axp_finding *slow = axp_findings_at(f, 0);
    assert_int_equal(slow->type, AXP_SLOW_OPERATION);
    assert_string_equal(slow->type_name, "SlowOperation");
    assert_string_equal(slow->name, "slow_op");
    assert_int_equal(slow->severity, AXP_CRITICAL);
    assert_near(ts_metric(slow, "time_percentage"), 80);
    assert_near(ts_metric(slow, "total_time_ms"), 8000);
    assert_near(ts_metric(slow, "call_count"), 100);
    assert_true(slow->saving_is_bound);
    assert_int_equal(slow->saving_ns, 8000 * (uint64_t)MS);
    assert_near(slow->saving_share, 0.8);
    const axp_finding *fast = find(f, AXP_SLOW_OPERATION, "fast_op");
    assert_non_null(fast); /* exactly 20 % */
    assert_int_equal(fast->severity, AXP_LOW);
    axp_findings_destroy(f);
    axp_profiler_destroy(p);
}

static void memory_hotspot_and_leak_detection(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_record_alloc(p, "rest", 1200000000);
    axp_record_free(p, "rest", 1000000000);
    axp_record_alloc(p, "big_tensor", 800000000); /* the peak: 80 % of it */
    axp_record_free(p, "big_tensor", 500000000);
    axp_findings *f = analyze(p, NULL);
    assert_null(find(f, AXP_MEMORY_HOTSPOT, "big_tensor"));
    axp_findings_destroy(f);
    axp_reset(p);

    axp_record_alloc(p, "rest", 200000000);
    axp_record_alloc(p, "big_tensor", 800000000);
    axp_record_free(p, "big_tensor", 500000000);
    f = analyze(p, NULL);
    const axp_finding *hot = find(f, AXP_MEMORY_HOTSPOT, NULL);
    assert_non_null(hot);
    assert_string_equal(hot->name, "big_tensor");
    assert_int_equal(hot->severity, AXP_HIGH);
    assert_near(ts_metric(hot, "memory_percentage"), 80);
    assert_near(ts_metric(hot, "memory_bytes"), 800000000);
    const axp_finding *leak = find(f, AXP_MEMORY_LEAK, NULL);
    assert_non_null(leak);
    assert_int_equal(leak->severity, AXP_CRITICAL);
    assert_near(ts_metric(leak, "leak_percentage"), 50);
    assert_near(ts_metric(leak, "leaked_bytes"), 500000000);
    assert_near(leak->saving_share, 0);
    axp_findings_destroy(f);
    axp_profiler_destroy(p);
}

static void summary_generation(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    char *text = NULL;
    size_t len;
    scope(p, "slow_op", 8 * MS);
    axp_findings *f = analyze(p, NULL);
    FILE *to = open_memstream(&text, &len);
    assert_int_equal(axp_findings_write(f, to), AXP_OK);
    fclose(to);
    assert_non_null(strstr(text, "1 bottleneck"));
    assert_non_null(strstr(text, "[CRITICAL] SlowOperation: slow_op"));
    free(text);
    axp_findings_destroy(f);

    axp_reset(p);
    f = analyze(p, NULL);
    to = open_memstream(&text, &len);
    assert_int_equal(axp_findings_write(f, to), AXP_OK);
    fclose(to);
    assert_non_null(strstr(text, "Nothing could be judged"));
    free(text);
    axp_findings_destroy(f);
    axp_profiler_destroy(p);
}

/* ---- bands ------------------------------------------------------------------- */

/* What a name with so many per mille of the time, and others, gives. */
static int slow_severity(unsigned per_mille)
{
    axp_profiler *p = ts_profiler();
    char other[16];
    int severity = -1;
    scope(p, "op", per_mille * (uint64_t)1000);
    for (unsigned i = 0; i < 10; i++) {
        snprintf(other, sizeof other, "other %u", i);
        scope(p, other, (1000 - per_mille) * (uint64_t)100);
    }
    axp_findings *f = analyze(p, NULL);
    const axp_finding *x = find(f, AXP_SLOW_OPERATION, "op");
    if (x) severity = x->severity;
    axp_findings_destroy(f);
    axp_profiler_destroy(p);
    return severity;
}

static void bands_of_slow_operations(void **state)
{
    (void)state;
    const struct {
        unsigned per_mille;
        int severity;
    } want[] = {{199, -1},         {200, AXP_LOW},     {249, AXP_LOW},
                {250, AXP_MEDIUM}, {349, AXP_MEDIUM},  {350, AXP_HIGH},
                {499, AXP_HIGH},   {500, AXP_CRITICAL}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        assert_int_equal(slow_severity(want[i].per_mille), want[i].severity);
}

static int hotspot_severity(unsigned percent, uint64_t unit)
{
    axp_profiler *p = ts_profiler();
    char name[16];
    int severity = -1;
    axp_record_alloc(p, "op", percent * 10 * unit);
    for (unsigned i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "other %u", i);
        axp_record_alloc(p, name, (100 - percent) * unit);
    }
    axp_findings *f = analyze(p, NULL);
    const axp_finding *x = find(f, AXP_MEMORY_HOTSPOT, "op");
    if (x) severity = x->severity;
    axp_findings_destroy(f);
    axp_profiler_destroy(p);
    return severity;
}

/* Of 100 times `unit` bytes a part is not freed; the heap has its own peak. */
static int leak_of(unsigned percent, uint64_t unit, uint64_t heap_peak,
                   unsigned n_steps)
{
    axp_profiler *p = ts_profiler();
    int severity = -1;
    for (unsigned i = 0; i < n_steps; i++) {
        ts_tick(MS);
        axp_step(p);
    }
    axp_record_alloc(p, "op", 100 * unit);
    if (percent < 100) axp_record_free(p, "op", (100 - percent) * unit);
    axp_view *v = ts_snapshot(p);
    v->heap.peak_bytes = heap_peak;
    axp_findings *f = axp_analyze(v, NULL);
    axp_view_destroy(v);
    const axp_finding *x = find(f, AXP_MEMORY_LEAK, "op");
    if (x) severity = x->severity;
    axp_findings_destroy(f);
    axp_profiler_destroy(p);
    return severity;
}

static int leak_severity(unsigned percent)
{
    return leak_of(percent, 1000000, 0, 0);
}

/* What was not freed weighs as much as it takes of the program's memory. */
static void a_leak_weighs_its_bytes(void **state)
{
    const uint64_t mb = 1000000;
    (void)state;
    assert_int_equal(leak_of(100, 1, 100 * mb, 0), AXP_LOW); /* 100 B */
    assert_int_equal(leak_of(100, 1, 0, 0), AXP_LOW);
    assert_int_equal(leak_of(100, 9999, 0, 0), AXP_LOW); /* under 1 MB */
    assert_int_equal(leak_of(100, mb / 20, 100 * mb, 0), AXP_LOW); /* 5 % */
    assert_int_equal(leak_of(100, mb / 10, 100 * mb, 0), AXP_MEDIUM);
    assert_int_equal(leak_of(100, mb / 4, 100 * mb, 0), AXP_HIGH);
    assert_int_equal(leak_of(100, mb / 2, 100 * mb, 0), AXP_CRITICAL);
    /* In steps it grows: by 1000 more it is 50 times as much. */
    assert_int_equal(leak_of(100, mb / 100, 100 * mb, 20), AXP_CRITICAL);
    assert_int_equal(leak_of(100, 1, 100 * mb, 20), AXP_LOW);
}

static void bands_of_memory(void **state)
{
    const uint64_t large = 1000000; /* 300 MB and more */
    (void)state;
    assert_int_equal(hotspot_severity(60, 10000), AXP_LOW); /* 6 MB */
    assert_int_equal(hotspot_severity(29, large), -1);
    assert_int_equal(hotspot_severity(30, large), AXP_LOW);
    assert_int_equal(hotspot_severity(44, large), AXP_LOW);
    assert_int_equal(hotspot_severity(45, large), AXP_MEDIUM);
    assert_int_equal(hotspot_severity(60, large), AXP_HIGH);
    assert_int_equal(leak_severity(5), -1); /* more than 5 */
    assert_int_equal(leak_severity(6), AXP_LOW);
    assert_int_equal(leak_severity(10), AXP_MEDIUM);
    assert_int_equal(leak_severity(25), AXP_HIGH);
    assert_int_equal(leak_severity(49), AXP_HIGH);
    assert_int_equal(leak_severity(50), AXP_CRITICAL);
}

static int count_severity(unsigned calls, uint64_t each_ns, uint64_t other_ns)
{
    axp_profiler *p = ts_profiler();
    int severity = -1;
    for (unsigned i = 0; i < calls; i++)
        scope(p, "op", each_ns);
    scope(p, "other", other_ns);
    axp_findings *f = analyze(p, NULL);
    const axp_finding *x = find(f, AXP_HIGH_CALL_COUNT, "op");
    if (x) {
        severity = x->severity;
        assert_near(ts_metric(x, "call_count"), calls);
        assert_near(ts_metric(x, "avg_time_ns"), (double)each_ns);
    }
    axp_findings_destroy(f);
    axp_profiler_destroy(p);
    return severity;
}

static void bands_of_call_counts(void **state)
{
    (void)state;
    assert_int_equal(count_severity(9999, 100, 0), -1);
    assert_int_equal(count_severity(10000, 100, 0), AXP_LOW);
    assert_int_equal(count_severity(50000, 100, 0), AXP_MEDIUM);
    assert_int_equal(count_severity(100000, 100, 0), AXP_HIGH);
    /* below 1 % of the wall time nothing is worth more than a mention */
    assert_int_equal(count_severity(100000, 100, 2000 * (uint64_t)MS), AXP_LOW);
    /* nor is it above what all of it is worth: 4.8, 9 and 17 % */
    assert_int_equal(count_severity(100000, 100, 200 * MS), AXP_LOW);
    assert_int_equal(count_severity(100000, 100, 100 * MS), AXP_MEDIUM);
    assert_int_equal(count_severity(100000, 100, 50 * MS), AXP_HIGH);
}

/* ---- throughput ------------------------------------------------------------------ */

static void low_throughput(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_start_work(p, "naive", (axp_work){.flops = 5e6, .bytes = 1e6});
    ts_tick(10 * MS); /* 0.5 GFLOP/s */
    axp_stop(p, "naive");
    axp_start_work(p, "good", (axp_work){.flops = 1e9, .bytes = 1e6});
    ts_tick(10 * MS); /* 100 GFLOP/s */
    axp_stop(p, "good");
    axp_findings *f = analyze(p, NULL);
    const axp_finding *x = find(f, AXP_LOW_THROUGHPUT, NULL);
    assert_non_null(x);
    assert_string_equal(x->name, "naive");
    assert_int_equal(x->severity, AXP_MEDIUM);
    assert_true(x->saving_is_bound);
    assert_near(ts_metric(x, "gflops_per_sec"), 0.5);
    assert_near(ts_metric(x, "total_gflops"), 0.005);
    /* the slow operation is its evidence */
    assert_null(find(f, AXP_SLOW_OPERATION, "naive"));
    assert_near(ts_metric(x, "time_percentage"), 50);
    assert_non_null(find(f, AXP_SLOW_OPERATION, "good"));
    axp_findings_destroy(f);

    /* With the machine's peaks what could be regained is known. */
    const char *const set[] = {"low_throughput.peak_gflops=200",
                               "low_throughput.peak_gbps=10"};
    const axp_thresholds peaks = {.set = set, .n_set = 2};
    f = analyze(p, &peaks);
    x = find(f, AXP_LOW_THROUGHPUT, "naive"); /* roof: 5 FLOP/B x 10 GB/s */
    assert_non_null(x);
    assert_false(x->saving_is_bound);
    assert_near((double)x->saving_ns, (1 - 0.5 / 50) * 10 * MS);
    assert_int_equal(x->severity, AXP_CRITICAL);
    /* 100 of 200: not below half, but a slow operation */
    assert_null(find(f, AXP_LOW_THROUGHPUT, "good"));
    x = find(f, AXP_SLOW_OPERATION, "good");
    assert_near((double)x->saving_ns, 10 * MS);
    assert_true(x->saving_is_bound); /* half of a roof is what good code does */
    assert_int_equal(x->severity, AXP_LOW);
    axp_findings_destroy(f);

    const char *const higher[] = {"low_throughput.peak_gflops=201",
                                  "low_throughput.peak_gbps=10"};
    f = analyze(p, &(axp_thresholds){.set = higher, .n_set = 2});
    x = find(f, AXP_LOW_THROUGHPUT, "good"); /* and less is not */
    assert_non_null(x);
    assert_false(x->saving_is_bound);
    assert_int_equal(x->severity, AXP_HIGH);
    axp_findings_destroy(f);
    axp_profiler_destroy(p);
}

/* Whether a slow operation is said that takes so long of 100 ms. */
static bool is_slow_work_said(uint64_t ns)
{
    axp_profiler *p = ts_profiler();
    axp_start_work(p, "dot", (axp_work){.flops = 3, .bytes = 16});
    ts_tick(ns);
    axp_stop(p, "dot");
    scope(p, "rest", 100 * MS - ns);
    axp_findings *f = analyze(p, NULL);
    bool is = find(f, AXP_LOW_THROUGHPUT, "dot");
    axp_findings_destroy(f);
    axp_profiler_destroy(p);
    return is;
}

static void low_throughput_of_nothing(void **state)
{
    (void)state;
    assert_true(is_slow_work_said(110000));
    assert_false(is_slow_work_said(90000)); /* 0.09 % of the run */
}

/* What a scope declares is done in one below it, as in a region of OpenMP: the
 * finding is about the one that declared it, and all of that time. */
static void work_that_is_done_below(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_start_work(p, "product", (axp_work){.flops = 4e9});
    ts_tick(10 * MS);
    scope(p, "loop", 390 * MS); /* 10 GFLOP/s */
    axp_stop(p, "product");
    scope(p, "rest", 600 * MS);
    const char *const set[] = {"low_throughput.peak_gflops=100"};
    axp_findings *f = analyze(p, &(axp_thresholds){.set = set, .n_set = 1});
    const axp_finding *x = find(f, AXP_LOW_THROUGHPUT, "product");
    assert_non_null(x);
    assert_near((double)x->saving_ns, 0.9 * 390 * MS);
    assert_int_equal(x->severity, AXP_CRITICAL);
    assert_null(find(f, AXP_SLOW_OPERATION, "loop")); /* the same time */
    axp_findings_destroy(f);
    axp_profiler_destroy(p);
}

/* Most of the time at 95 % of the peak: nothing to act on. */
static void close_to_the_roof(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_start_work(p, "gemm", (axp_work){.flops = 95e9});
    ts_tick(900 * MS);
    axp_stop(p, "gemm");
    scope(p, "rest", 100 * MS);
    const char *const set[] = {"low_throughput.peak_gflops=111.2"};
    axp_findings *f = analyze(p, &(axp_thresholds){.set = set, .n_set = 1});
    const axp_finding *x = find(f, AXP_COMPUTE_BOUND, "gemm");
    assert_non_null(x);
    assert_int_equal(x->severity, AXP_LOW);
    assert_near((double)x->saving_ns, 900 * MS); /* by doing less */
    assert_near(ts_metric(x, "time_percentage"),
                90); /* of the slow operation */
    assert_null(find(f, AXP_SLOW_OPERATION, "gemm"));
    axp_findings_destroy(f);
    axp_profiler_destroy(p);
}

/* ---- one cause, one finding --------------------------------------------------------- */

static void short_calls_speak_for_a_slow_operation(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    for (int i = 0; i < 60000; i++)
        scope(p, "tiny", 1000);
    axp_findings *f = analyze(p, NULL);
    assert_int_equal(axp_findings_count(f), 1);
    const axp_finding *x = axp_findings_at(f, 0);
    assert_int_equal(x->type, AXP_HIGH_CALL_COUNT);
    assert_near(ts_metric(x, "time_percentage"), 100);
    axp_findings_destroy(f);
    axp_reset(p);

    for (int i = 0; i < 10000; i++)
        scope(p, "long", 30000);
    f = analyze(p, NULL);
    assert_int_equal(axp_findings_count(f), 1);
    x = axp_findings_at(f, 0);
    assert_int_equal(x->type, AXP_SLOW_OPERATION);
    assert_near(ts_metric(x, "avg_time_ns"), 30000);
    axp_findings_destroy(f);
    axp_profiler_destroy(p);
}

/* ---- savings ---------------------------------------------------------------------------- */

struct job {
    axp_profiler *p;
    const char *name;
};

static pthread_barrier_t barrier;

/* Both threads are there for the whole time; a name with b moves the clock. */
static void *side_by_side(void *arg)
{
    const struct job *job = arg;
    axp_start(job->p, job->name);
    pthread_barrier_wait(&barrier);
    if (job->name[0] == 'b') ts_tick(10 * MS);
    pthread_barrier_wait(&barrier);
    axp_stop(job->p, job->name);
    return NULL;
}

static axp_findings *two_threads(axp_profiler *p, const char *a, const char *b)
{
    struct job jobs[2] = {{p, a}, {p, b}};
    pthread_t t[2];
    pthread_barrier_init(&barrier, NULL, 2);
    for (int i = 0; i < 2; i++)
        t[i] = ts_spawn(side_by_side, &jobs[i]);
    for (int i = 0; i < 2; i++)
        ts_join(t[i]);
    pthread_barrier_destroy(&barrier);
    return analyze(p, NULL);
}

static void savings_are_wall_time(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_findings *f = two_threads(p, "both", "both"); /* 20 ms in all */
    const axp_finding *x = find(f, AXP_SLOW_OPERATION, "both");
    assert_non_null(x); /* 40 ms of the two threads are 20 ms of wall time */
    assert_near((double)x->saving_ns, 20.0 * MS);
    assert_near(x->saving_share, 1);
    axp_findings_destroy(f);
    axp_profiler_destroy(p);
}

static void savings_are_shared(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_findings *f = two_threads(p, "a", "b");
    assert_int_equal(axp_findings_count(f), 2);
    double sum = axp_findings_at(f, 0)->saving_share +
                 axp_findings_at(f, 1)->saving_share;
    assert_near(sum, 1);
    assert_near(axp_findings_at(f, 0)->saving_share, 0.5);
    axp_findings_destroy(f);
    axp_profiler_destroy(p);
}

/* Threads that have ended long ago are merged; their time counts once. */
static void *one_scope(void *arg)
{
    scope(arg, "merged", 1 * MS);
    return NULL;
}

static void savings_of_merged_threads(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    for (int i = 0; i < 100; i++)
        ts_run(one_scope, p);
    axp_findings *f = analyze(p, NULL);
    const axp_finding *x = find(f, AXP_SLOW_OPERATION, "merged");
    assert_non_null(x);
    ts_assert_between(0.9 * 100 * MS, (double)x->saving_ns, 100.0 * MS);
    axp_findings_destroy(f);
    axp_profiler_destroy(p);
}

/* Whatever ran where, for however long: no finding promises more than its
 * operation's own time, and all together no more than the wall time. */
struct random_thread {
    axp_profiler *p;
    uint64_t *seed;
};

static void *random_scopes(void *arg)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    struct random_thread *r = arg;
    unsigned n = ts_random(r->seed) % 4;
    for (unsigned i = 0; i < n; i++) {
        const char *name = names[ts_random(r->seed) % 6];
        uint64_t idle = ts_random(r->seed) % 3 ? 0 : ts_random(r->seed) % MS;
        axp_start(r->p, name);
        ts_tick(ts_random(r->seed) % (1u << ts_random(r->seed) % 24));
        axp_stop(r->p, name);
        ts_tick(idle);
    }
    axp_instant(r->p, "here");
    return NULL;
}

static void check_savings(axp_profiler *p)
{
    static const char *const set[] = {
        "slow_operation.percent=0.001", "slow_operation.min_wall_percent=0",
        "high_call_count.calls=1", "low_throughput.wall_percent=0"};
    axp_view *v = ts_snapshot(p);
    axp_findings *f = axp_analyze(v, &(axp_thresholds){.set = set, .n_set = 4});
    axp_ns sum = 0, wall = axp_view_duration(v);
    for (size_t i = 0; i < axp_findings_count(f); i++) {
        const axp_finding *x = axp_findings_at(f, i);
        axp_op op;
        if (!x->saving_ns) continue;
        assert_int_equal(axp_view_op(v, x->name, &op), AXP_OK);
        assert_true(x->saving_ns <= op.self_ns);
        sum += x->saving_ns;
    }
    assert_true(sum <= wall + axp_findings_count(f));
    axp_findings_destroy(f);
    axp_view_destroy(v);
}

static void no_saving_is_more_than_own_time(void **state)
{
    (void)state;
    uint64_t seed = 12;
    for (int round = 0; round < 30; round++) {
        axp_profiler *p = ts_profiler();
        struct random_thread r = {p, &seed};
        unsigned n = 1 + ts_random(&seed) % 120;
        for (unsigned i = 0; i < n; i++) {
            ts_run(random_scopes, &r);
            if (!(ts_random(&seed) % 4)) random_scopes(&r);
        }
        check_savings(p);
        axp_profiler_destroy(p);
    }
}

/* 400 threads, each mostly idle but for one: what ran on which of those that
 * were merged is not known. */
static void *mostly_idle(void *arg)
{
    struct random_thread *r = arg;
    scope(r->p, "work", *r->seed * MS);
    axp_instant(r->p, "begins to idle");
    ts_tick(2 * MS);
    axp_instant(r->p, "ends");
    return NULL;
}

static void *idle_alone(void *arg)
{
    struct random_thread *r = arg;
    axp_instant(r->p, "begins to idle");
    ts_tick(5 * MS);
    axp_instant(r->p, "ends");
    return NULL;
}

static void savings_of_few_among_merged(void **state)
{
    (void)state;
    uint64_t ms = 3;
    axp_profiler *p = ts_profiler();
    struct random_thread r = {p, &ms};
    for (int i = 0; i < 400; i++)
        ts_run(i % 8 ? idle_alone : mostly_idle, &r);
    check_savings(p);
    axp_profiler_destroy(p);
}

/* A short thread's own business is no bottleneck of the run. */
static void *short_life(void *arg)
{
    scope(arg, "brief", 5 * MS);
    return NULL;
}

static void what_is_small_in_the_run(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    scope(p, "main", 500 * MS);
    ts_run(short_life, p);
    scope(p, "main", 500 * MS);
    axp_findings *f = analyze(p, NULL);
    assert_null(find(f, AXP_SLOW_OPERATION, "brief"));
    axp_findings_destroy(f);
    const char *const set[] = {"slow_operation.min_wall_percent=0.1"};
    f = analyze(p, &(axp_thresholds){.set = set, .n_set = 1});
    const axp_finding *x = find(f, AXP_SLOW_OPERATION, "brief");
    assert_non_null(x);
    assert_int_equal(x->severity, AXP_LOW); /* 100 % of its thread */
    axp_findings_destroy(f);
    axp_profiler_destroy(p);
}

/* ---- memory with steps ------------------------------------------------------------------- */

static void what_is_retained_is_no_leak(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_record_alloc(p, "weights", 1000);
    axp_record_alloc(p, "growing", 100);
    for (int i = 0; i < 3; i++) {
        ts_tick(MS);
        axp_step(p);
        axp_record_alloc(p, "growing", 100);
    }
    axp_findings *f = analyze(p, NULL);
    const axp_finding *x = find(f, AXP_MEMORY_LEAK, NULL);
    assert_non_null(x);
    assert_string_equal(x->name, "growing");
    assert_near(ts_metric(x, "leaked_bytes"), 400);
    assert_non_null(strstr(x->description, "not counted"));
    axp_findings_destroy(f);
    axp_profiler_destroy(p);
}

static void small_leaks_add_up(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    char name[16];
    for (unsigned i = 0; i < 50; i++) {
        snprintf(name, sizeof name, "tensor %u", i);
        axp_record_alloc(p, name, 100);
        axp_record_free(p, name, i == 7 ? 80 : 90);
    }
    axp_findings *f = analyze(p, NULL);
    const axp_finding *x = find(f, AXP_MEMORY_LEAK, NULL);
    assert_non_null(x);
    assert_string_equal(x->name, "tensor 7");
    assert_near(ts_metric(x, "leaked_bytes"), 510);
    axp_findings_destroy(f);
    const char *const ignore[] = {"memory_leak:tensor 7"};
    f = analyze(p, &(axp_thresholds){.ignore = ignore, .n_ignore = 1});
    x = find(f, AXP_MEMORY_LEAK, NULL);
    assert_string_equal(x->name, "tensor 0");
    assert_near(ts_metric(x, "leaked_bytes"), 490);
    axp_findings_destroy(f);
    axp_profiler_destroy(p);
}

/* ---- thresholds ------------------------------------------------------------------------------ */

static size_t count_with(axp_profiler *p, axp_thresholds t)
{
    axp_findings *f = analyze(p, &t);
    size_t n = axp_findings_count(f);
    axp_findings_destroy(f);
    return n;
}

static void thresholds_by_field_and_string(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    scope(p, "a", 60 * MS);
    scope(p, "b", 40 * MS);
    const char *const set[] = {"slow_operation.percent=50"};
    const char *const rule[] = {"slow_operation"};
    const char *const one[] = {"slow_operation:a"};
    assert_int_equal(count_with(p, (axp_thresholds){0}), 2);
    assert_int_equal(count_with(p, (axp_thresholds){.slow_op_pct = 50}), 1);
    assert_int_equal(count_with(p, (axp_thresholds){.set = set, .n_set = 1}),
                     1);
    /* strings over fields */
    assert_int_equal(
        count_with(p,
                   (axp_thresholds){.slow_op_pct = 99, .set = set, .n_set = 1}),
        1);
    assert_int_equal(
        count_with(p, (axp_thresholds){.ignore = rule, .n_ignore = 1}), 0);
    assert_int_equal(
        count_with(p, (axp_thresholds){.ignore = one, .n_ignore = 1}), 1);
    axp_profiler_destroy(p);
}

static void thresholds_that_are_not_understood(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "slow_operation",
        "slow_operation.percent",
        "slow_operation.percent=",
        "slow_operation.percent=x",
        "slow_operation.percent=1x",
        "slow_operation.percent=-1",
        "slow_operation.percent=nan",
        "slow_operation.percent=inf",
        "slow_operation.percentage=1",
        "slow.percent=1",
        "=1",
    };
    axp_profiler *p = ts_profiler();
    axp_view *v = ts_snapshot(p);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_null(
            axp_analyze(v, &(axp_thresholds){.set = &bad[i], .n_set = 1}));
        assert_non_null(strstr(axp_last_error(), "is no threshold"));
        assert_int_equal(axp_report_write_ex(
                             v, AXP_FORMAT_TEXT,
                             &(axp_report_options){
                                 .thresholds = &(axp_thresholds){.set = &bad[i],
                                                                 .n_set = 1}},
                             stderr),
                         AXP_E_INVALID);
    }
    static const char *const ignored[] = {"slow", "", ":a", "slow_operationx"};
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) {
        assert_null(axp_analyze(
            v, &(axp_thresholds){.ignore = &ignored[i], .n_ignore = 1}));
        assert_non_null(strstr(axp_last_error(), "slow_operation"));
    }
    assert_null(axp_analyze(v, &(axp_thresholds){.leak_pct = -1}));
    assert_null(axp_analyze(v, &(axp_thresholds){.min_gflops = NAN}));
    assert_null(axp_analyze(NULL, NULL));
    assert_int_equal(axp_findings_count(NULL), 0);
    assert_null(axp_findings_at(NULL, 0));
    axp_findings_destroy(NULL);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

static void ranked_by_severity_then_saving_then_name(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    scope(p, "a", 30 * MS);
    scope(p, "b", 70 * MS);
    axp_record_alloc(p, "x", 3500000);
    axp_record_alloc(p, "y", 6500000);
    axp_findings *f = analyze(p, NULL);
    static const char *const want[] = {"b", "y", "a", "x", "y"};
    static const axp_finding_type types[] = {
        AXP_SLOW_OPERATION, AXP_MEMORY_LEAK, AXP_SLOW_OPERATION,
        AXP_MEMORY_HOTSPOT, AXP_MEMORY_HOTSPOT};
    assert_int_equal(axp_findings_count(f), 5);
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(axp_findings_at(f, i)->name, want[i]);
        assert_int_equal(axp_findings_at(f, i)->type, types[i]);
    }
    assert_null(axp_findings_at(f, 5));
    for (size_t i = 1; i < 5; i++)
        assert_true(axp_findings_at(f, i)->severity <=
                    axp_findings_at(f, i - 1)->severity);
    axp_findings_destroy(f);
    axp_profiler_destroy(p);
}

int main(void)
{
    ts_use_fake_clock();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_operation_detection),
        cmocka_unit_test(memory_hotspot_and_leak_detection),
        cmocka_unit_test(summary_generation),
        cmocka_unit_test(bands_of_slow_operations),
        cmocka_unit_test(bands_of_memory),
        cmocka_unit_test(bands_of_call_counts),
        cmocka_unit_test(low_throughput),
        cmocka_unit_test(low_throughput_of_nothing),
        cmocka_unit_test(work_that_is_done_below),
        cmocka_unit_test(close_to_the_roof),
        cmocka_unit_test(short_calls_speak_for_a_slow_operation),
        cmocka_unit_test(savings_are_wall_time),
        cmocka_unit_test(savings_are_shared),
        cmocka_unit_test(savings_of_merged_threads),
        cmocka_unit_test(no_saving_is_more_than_own_time),
        cmocka_unit_test(savings_of_few_among_merged),
        cmocka_unit_test(what_is_small_in_the_run),
        cmocka_unit_test(a_leak_weighs_its_bytes),
        cmocka_unit_test(what_is_retained_is_no_leak),
        cmocka_unit_test(small_leaks_add_up),
        cmocka_unit_test(thresholds_by_field_and_string),
        cmocka_unit_test(thresholds_that_are_not_understood),
        cmocka_unit_test(ranked_by_severity_then_saving_then_name),
    };
    return TS_RUN(tests);
}
