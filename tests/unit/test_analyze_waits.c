/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The rules about waits that no other thread of the program ends: for who knows
 * whom, for the kernel, for a processor. On a clock moved by hand, with samples
 * written by hand. */
#include "test_support.h"

#include <math.h>
#include <pthread.h>
#include <unistd.h>

#include "model/model_functions.h"
#include "model/model_view.h"
#include "axprof/axprof_adapter.h"
#include "finding_support.h"

#define MS UINT64_C(1000000)
#define MOST_SAMPLES 4000u

static void operation(axp_profiler *p, const char *name, axp_cat cat,
                      uint64_t ns)
{
    uint64_t scope = axp_begin(p, name);
    axp_category(p, cat);
    ts_tick(ns);
    axp_end(scope);
}

/* Ten times so long of each category, and a step at the end of each if asked. */
struct round {
    uint64_t sync, io, data, compute;
    bool has_steps;
};

static axp_view *rounds(const struct round *r)
{
    axp_profiler *p = ts_profiler();
    for (int i = 0; i < 10; i++) {
        if (r->data) operation(p, "load", AXP_CAT_DATA, r->data);
        if (r->io) operation(p, "log", AXP_CAT_IO, r->io);
        operation(p, "compute", AXP_CAT_FORWARD, r->compute);
        if (r->sync) operation(p, "synchronize", AXP_CAT_SYNC, r->sync);
        if (r->has_steps) axp_step(p);
    }
    axp_view *v = ts_snapshot(p);
    axp_profiler_destroy(p);
    return v;
}

static bool is_found(struct round r, axp_finding_type type)
{
    axp_findings *f = ts_analyze_view(rounds(&r));
    bool is = ts_find(f, type);
    axp_findings_destroy(f);
    return is;
}

/* ---- waits for who knows whom ------------------------------------------------------- */

static void a_wait_without_a_cause(void **state)
{
    (void)state;
    struct round r = {.sync = 20 * MS, .compute = 80 * MS};
    axp_findings *f = ts_analyze_view(rounds(&r));
    const axp_finding *x = ts_find(f, AXP_SYNC_WAIT);
    assert_non_null(x);
    assert_string_equal(x->name, "synchronize");
    assert_true(x->saving_is_bound);
    assert_int_equal(x->severity, AXP_HIGH);
    assert_true(fabs(x->saving_share - 0.2) < 1e-3);
    assert_true(fabs(ts_metric(x, "wait_percentage") - 20) < 0.1);
    assert_non_null(strstr(x->suggestion, "synchronize"));
    assert_non_null(strstr(x->suggestion, "200.0"));
    for (size_t i = 0; i < axp_findings_count(f); i++) /* one cause, one */
        assert_true(axp_findings_at(f, i)->type == AXP_SYNC_WAIT ||
                    strcmp(axp_findings_at(f, i)->name, "synchronize") != 0);
    axp_findings_destroy(f);
}

static void a_wait_at_its_threshold(void **state)
{
    (void)state;
    assert_true(is_found((struct round){.sync = 51 * MS, .compute = 949 * MS},
                         AXP_SYNC_WAIT));
    assert_false(is_found((struct round){.sync = 49 * MS, .compute = 951 * MS},
                          AXP_SYNC_WAIT));
}

/* Whoever names a cause speaks instead. */
static void a_wait_beside_a_cause(void **state)
{
    (void)state;
    struct round r = {20 * MS, 0, 20 * MS, 60 * MS, true};
    assert_true(is_found(r, AXP_INPUT_BOUND));
    assert_false(is_found(r, AXP_SYNC_WAIT));
    r.has_steps = false;
    assert_false(is_found(r, AXP_INPUT_BOUND));
    assert_true(is_found(r, AXP_SYNC_WAIT));
}

static uint64_t worked; /* ns */

static void *work(void *p)
{
    operation(p, "step", AXP_CAT_FORWARD, worked);
    ts_tick(100 * MS - worked);
    return NULL;
}

/* The first thread waits 100 ms, for so long of which another works. */
static axp_findings *wait_for(uint64_t ns)
{
    axp_profiler *p = ts_profiler();
    pthread_t thread;
    worked = ns;
    uint64_t scope = axp_begin(p, "synchronize");
    axp_category(p, AXP_CAT_SYNC);
    assert_int_equal(pthread_create(&thread, NULL, work, p), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    axp_end(scope);
    operation(p, "compute", AXP_CAT_FORWARD, 100 * MS);
    axp_view *v = ts_snapshot(p);
    axp_profiler_destroy(p);
    return ts_analyze_view(v);
}

/* What is done meanwhile is what it is for. */
static void a_wait_that_another_thread_explains(void **state)
{
    (void)state;
    axp_findings *f = wait_for(100 * MS);
    assert_null(ts_find(f, AXP_SYNC_WAIT));
    for (size_t i = 0; i < axp_findings_count(f); i++)
        assert_string_not_equal(axp_findings_at(f, i)->name, "synchronize");
    axp_findings_destroy(f);
}

/* ---- for the kernel -------------------------------------------------------------------- */

static struct axp__cap_sample samples[MOST_SAMPLES];

static bool load_samples(const struct axp__cap_samples *from,
                         struct axp__cap_sample *out)
{
    memcpy(out, samples, from->n * sizeof *out);
    return true;
}

/* As if axprof run had looked on. */
static void see(axp_view *v, uint32_t n)
{
    static struct axp__cap_samples block = {.load = load_samples};
    block.n = n;
    v->capture->samples = &block;
    v->capture->n_samples = 1;
    assert_true(axp__view_add_functions(v)); /* as when a file is opened */
}

static struct axp__cap_sample sample(const axp_view *v, axp_ns end, axp_ns ns,
                                     axp_sample_kind kind)
{
    return (struct axp__cap_sample){.ticks = v->capture->start_ticks + end,
                                    .tid = v->threads[0].id,
                                    .weight = ns,
                                    .kind = kind,
                                    .process = v->threads[0].process_id};
}

static void declared_io(void **state)
{
    (void)state;
    struct round r = {.io = 30 * MS, .compute = 70 * MS};
    axp_findings *f = ts_analyze_view(rounds(&r));
    const axp_finding *x = ts_find(f, AXP_IO_WAIT);
    assert_non_null(x);
    assert_string_equal(x->name, "log");
    assert_true(fabs(x->saving_share - 0.3) < 1e-3);
    assert_int_equal(x->severity, AXP_HIGH);
    assert_non_null(strstr(x->suggestion, "30.000 ms a call"));
    axp_findings_destroy(f);
    assert_true(is_found((struct round){.io = 51 * MS, .compute = 949 * MS},
                         AXP_IO_WAIT));
    assert_false(is_found((struct round){.io = 49 * MS, .compute = 951 * MS},
                          AXP_IO_WAIT));
}

/* In each round "load" is off its processor for so long; in steps the data are
 * what is waited for. */
static axp_findings *blocked(uint64_t ns, axp_sample_kind kind, bool has_steps)
{
    struct round r = {
        .data = 40 * MS, .compute = 60 * MS, .has_steps = has_steps};
    axp_view *v = rounds(&r);
    axp_ns begin = v->begin_ns;
    for (uint32_t i = 0; i < 10; i++)
        samples[i] = sample(v, begin + i * 100 * MS + 35 * MS, ns, kind);
    see(v, 10);
    return ts_analyze_view(v);
}

static void seen_io(void **state)
{
    (void)state;
    axp_findings *f = blocked(30 * MS, AXP_SAMPLE_WAITED, false);
    const axp_finding *x = ts_find(f, AXP_IO_WAIT);
    assert_non_null(x);
    assert_string_equal(x->name, "load");
    assert_true(fabs(ts_metric(x, "blocked_ms") - 300) < 0.1);
    assert_true(fabs(x->saving_share - 0.3) < 1e-2); /* not its 10 ms of work */
    assert_non_null(strstr(x->description, "10 times"));
    axp_findings_destroy(f);
    f = blocked(4 * MS, AXP_SAMPLE_WAITED, false); /* 4 % */
    assert_null(ts_find(f, AXP_IO_WAIT));
    axp_findings_destroy(f);
    f = blocked(30 * MS, AXP_SAMPLE_READY, false); /* without a processor */
    assert_null(ts_find(f, AXP_IO_WAIT));
    axp_findings_destroy(f);
    f = blocked(30 * MS, AXP_SAMPLE_WAITED, true);
    assert_null(ts_find(f, AXP_IO_WAIT)); /* its evidence */
    x = ts_find(f, AXP_INPUT_BOUND);
    assert_non_null(x);
    assert_true(fabs(ts_metric(x, "blocked_ms") - 300) < 0.1);
    axp_findings_destroy(f);
}

/* ---- for a processor ---------------------------------------------------------------------- */

/* A second of which so many threads run at once, and so many more want to; each
 * is another thread a tenth of a second later, if they are short. */
static axp_findings *crowd_of(unsigned running, unsigned ready, uint64_t n_cpus,
                              bool is_short)
{
    struct round r = {.compute = 100 * MS};
    axp_view *v = rounds(&r);
    uint32_t n = 0;
    v->capture->about.n_cpus = n_cpus;
    for (unsigned k = 0; k < running + ready; k++)
        for (axp_ns at = 10; at <= 1000; at += 10) {
            struct axp__cap_sample *s = &samples[n++];
            assert_true(n <= MOST_SAMPLES);
            *s = sample(v, v->begin_ns + at * MS, 10 * MS,
                        k < running ? AXP_SAMPLE_CPU : AXP_SAMPLE_READY);
            if (k) s->tid += 100000 + k; /* recorded nothing */
            if (is_short) s->tid += 1000 * ((at - 1) / 100 + 1);
        }
    v->ran_ns = running * 1000 * MS;
    v->ready_ns = ready * 1000 * MS;
    see(v, n);
    return ts_analyze_view(v);
}

static axp_findings *crowd(unsigned running, unsigned ready, uint64_t n_cpus)
{
    return crowd_of(running, ready, n_cpus, false);
}

static bool is_crowded(unsigned running, unsigned ready, uint64_t n_cpus)
{
    axp_findings *f = crowd(running, ready, n_cpus);
    bool is = ts_find(f, AXP_OVERSUBSCRIPTION);
    axp_findings_destroy(f);
    return is;
}

static void more_threads_than_processors(void **state)
{
    (void)state;
    axp_findings *f = crowd(2, 3, 2);
    const axp_finding *x = ts_find(f, AXP_OVERSUBSCRIPTION);
    assert_non_null(x);
    assert_true(x->saving_is_bound);
    assert_true(fabs(ts_metric(x, "threads") - 5) < 1e-9);
    assert_true(fabs(ts_metric(x, "processors") - 2) < 1e-9);
    assert_true(fabs(ts_metric(x, "runnable") - 5) < 0.01);
    assert_true(fabs(ts_metric(x, "ready_ms") - 3000) < 1);
    /* Both processors did what had to be done all the time. */
    assert_int_equal(x->saving_ns, 0);
    axp_findings_destroy(f);
    assert_false(is_crowded(2, 0, 2));
    assert_false(is_crowded(1, 3, 2)); /* others had the second one */
    assert_false(is_crowded(2, 3, 8)); /* … the six */
    assert_false(is_crowded(2, 3, 0)); /* not known */
}

/* A damaged file may claim so. */
static void samples_long_after_the_end(void **state)
{
    struct round r = {.compute = 100 * MS};
    (void)state;
    axp_view *v = rounds(&r);
    v->capture->about.n_cpus = 1;
    for (uint32_t i = 0; i < 4; i++) {
        samples[i] = sample(v, v->begin_ns + 10 * MS, 10 * MS,
                            i % 2 ? AXP_SAMPLE_CPU : AXP_SAMPLE_READY);
        if (i > 1) samples[i].ticks = UINT64_MAX - i;
    }
    v->ran_ns = v->ready_ns = 1000 * MS;
    see(v, 4);
    axp_findings_destroy(ts_analyze_view(v));
}

/* Whoever had the second processor: of 16 threads 14 cannot run on two. */
static void far_more_threads_than_processors(void **state)
{
    (void)state;
    axp_findings *f = crowd(1, 15, 2);
    const axp_finding *x = ts_find(f, AXP_OVERSUBSCRIPTION);
    assert_non_null(x);
    assert_true(fabs(ts_metric(x, "runnable") - 16) < 0.01);
    assert_true(fabs(ts_metric(x, "ready_ms") - 14000) < 1);
    axp_findings_destroy(f);
}

/* Two threads for two processors, of which others have a part, and a third one
 * that runs for a moment: the others are in the way, and not these. */
static void others_take_a_part(void **state)
{
    (void)state;
    struct round r = {.compute = 100 * MS};
    axp_view *v = rounds(&r);
    uint32_t n = 0;
    v->capture->about.n_cpus = 2;
    for (unsigned k = 0; k < 2; k++)
        for (axp_ns at = 4; at <= 1000; at += 4) {
            axp_ns time = v->begin_ns + at * MS - 2 * k * MS;
            axp_ns ran =
                3400 + 400 * (at / 12 % 2); /* us; as exact as samples are */
            samples[n] = sample(v, time - 600000, ran * 1000, AXP_SAMPLE_CPU);
            samples[n + 1] = sample(v, time, 600000, AXP_SAMPLE_READY);
            samples[n].tid += 100000 + k;
            samples[n + 1].tid += 100000 + k;
            n += 2;
        }
    samples[n] = sample(v, v->begin_ns + 500 * MS, 2 * MS, AXP_SAMPLE_CPU);
    samples[n++].tid += 100002;
    assert_true(n <= MOST_SAMPLES);
    v->ran_ns = 1702 * MS;
    v->ready_ns = 300 * MS;
    see(v, n);
    axp_findings *f = ts_analyze_view(v);
    assert_null(ts_find(f, AXP_OVERSUBSCRIPTION));
    axp_findings_destroy(f);
}

/* Woken again and again, as at barriers, and no sample says since when. */
static void who_is_woken_stands_ready(void **state)
{
    (void)state;
    struct round r = {.compute = 100 * MS};
    for (axp_ns ready_ns = 0; ready_ns <= 9000 * MS; ready_ns += 9000 * MS) {
        axp_view *v = rounds(&r);
        uint32_t n = 0;
        v->capture->about.n_cpus = 2;
        for (axp_ns at = 10; at <= 1000; at += 10)
            for (unsigned k = 0; k < 2; k++, n++) {
                samples[n] =
                    sample(v, v->begin_ns + at * MS, 10 * MS, AXP_SAMPLE_CPU);
                samples[n].tid += 100000 + (unsigned)(at / 10 % 8) * 2 + k;
            }
        v->ran_ns = 2000 * MS;
        v->ready_ns = ready_ns;
        see(v, n);
        axp_findings *f = ts_analyze_view(v);
        const axp_finding *x = ts_find(f, AXP_OVERSUBSCRIPTION);
        assert_int_equal(x != NULL, ready_ns > 0);
        if (x) assert_true(fabs(ts_metric(x, "ready_ms") - 9000) < 1);
        axp_findings_destroy(f);
    }
}

/* Thread 0 lacks a processor for 500 ms, 150 of them because two others of the
 * program have both; whoever had the second one later, it was not them. */
static void no_more_than_they_stood_ready(void **state)
{
    (void)state;
    axp_profiler *p = axp_global();
    pthread_t thread;
    uint32_t n = 0;
    axp_reset(p);
    operation(p, "first", AXP_CAT_FORWARD, MS);
    worked = 0; /* a second thread, and a hint that waits are told: a graph */
    assert_int_equal(pthread_create(&thread, NULL, work, p), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)axp_sync_give(AXP_SYNC_SEMAPHORE, &n, 0);
    operation(p, "compute", AXP_CAT_FORWARD, 1000 * MS);
    axp_view *v = ts_snapshot(p);
    v->capture->about.n_cpus = 2;
    for (unsigned k = 0; k < 3; k++)
        for (axp_ns at = 2; at <= (k ? 150 : 500); at += 2) {
            struct axp__cap_sample *s = &samples[n++];
            assert_true(n <= MOST_SAMPLES);
            *s = sample(v, v->begin_ns + at * MS, 2 * MS,
                        k ? AXP_SAMPLE_CPU : AXP_SAMPLE_READY);
            if (k) s->tid += 100000 + k;
        }
    v->ran_ns = 300 * MS;
    v->ready_ns = 500 * MS;
    see(v, n);
    axp_findings *f = ts_analyze_view(v);
    const axp_finding *x = ts_find(f, AXP_OVERSUBSCRIPTION);
    assert_non_null(x);
    assert_true(ts_metric(x, "ready_ms") < 160);
    assert_true(x->saving_ns > 100 * (axp_ns)MS);
    assert_true((double)x->saving_ns <= 1e6 * ts_metric(x, "ready_ms") + 1);
    axp_findings_destroy(f);
}

/* Three stand ready from the beginning on, beside two that have both processors
 * for half of the time; what is known of the three is told when they get one. */
static void who_stands_ready_is_counted(void **state)
{
    (void)state;
    struct round r = {.compute = 100 * MS};
    axp_view *v = rounds(&r);
    uint32_t n = 0;
    v->capture->about.n_cpus = 2;
    for (unsigned k = 0; k < 2; k++)
        for (axp_ns at = 10; at <= 500; at += 10) {
            struct axp__cap_sample *s = &samples[n++];
            *s = sample(v, v->begin_ns + at * MS, 10 * MS, AXP_SAMPLE_CPU);
            if (k) s->tid += 100000 + k;
        }
    for (unsigned k = 2; k < 5; k++) {
        struct axp__cap_sample *s = &samples[n++];
        *s = sample(v, v->begin_ns + 900 * MS, 900 * MS, AXP_SAMPLE_READY);
        s->tid += 100000 + k;
    }
    v->ran_ns = 1000 * MS;
    v->ready_ns = 2700 * MS;
    see(v, n);
    axp_findings *f = ts_analyze_view(v);
    const axp_finding *x = ts_find(f, AXP_OVERSUBSCRIPTION);
    assert_non_null(x);
    assert_true(fabs(ts_metric(x, "threads") - 5) < 1e-9);
    assert_true(fabs(ts_metric(x, "runnable") - 5) < 0.1);
    axp_findings_destroy(f);
}

/* Nobody starts two instead of fifty that follow each other. */
static void short_ones_at_a_time(void **state)
{
    (void)state;
    axp_findings *f = crowd(2, 3, 2);
    const axp_finding *x = ts_find(f, AXP_OVERSUBSCRIPTION);
    assert_non_null(x);
    assert_non_null(strstr(x->suggestion, "instead of 5"));
    assert_non_null(strstr(x->suggestion, "start 2 threads"));
    axp_findings_destroy(f);
    f = crowd_of(2, 3, 2, true);
    x = ts_find(f, AXP_OVERSUBSCRIPTION);
    assert_non_null(x);
    assert_true(fabs(ts_metric(x, "threads") - 50) < 1e-9);
    assert_non_null(strstr(x->suggestion, "2 threads or processes"));
    assert_non_null(strstr(x->suggestion, "instead of 5.0"));
    assert_null(strstr(x->description, "50"));
    axp_findings_destroy(f);
}

int main(void)
{
    ts_use_fake_clock();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_without_a_cause),
        cmocka_unit_test(a_wait_at_its_threshold),
        cmocka_unit_test(a_wait_beside_a_cause),
        cmocka_unit_test(a_wait_that_another_thread_explains),
        cmocka_unit_test(declared_io),
        cmocka_unit_test(seen_io),
        cmocka_unit_test(more_threads_than_processors),
        cmocka_unit_test(samples_long_after_the_end),
        cmocka_unit_test(far_more_threads_than_processors),
        cmocka_unit_test(others_take_a_part),
        cmocka_unit_test(who_is_woken_stands_ready),
        cmocka_unit_test(no_more_than_they_stood_ready),
        cmocka_unit_test(who_stands_ready_is_counted),
        cmocka_unit_test(short_ones_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
