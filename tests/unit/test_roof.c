/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The roofline against sums by hand, on a machine and a clock of the test's
 * own: one thread computes 100 GFLOP/s of f32 and 50 of f64, four 400 and 200;
 * of a cache of 1 MiB each reads 100 GB/s and has 90 in a triad, of memory one 8
 * and 10, all 20 and 19. */
#include "test_support.h"
#include "finding_support.h"

#include <math.h>
#include <pthread.h>

#include "analyze/analyze.h"
#include "axprof/axprof_adapter.h"
#include "model/model_view.h"

#define MS 1000000u

static const char machine[] =
    "axprof-machine 1\n"
    "cpu A test\n"
    "arch none\n"
    "counts 4 4 4 4 1 1\n"
    "threads 5000 1000\n"
    "hz 3000000000 0\n"
    "compute f32 fma 100000000000 0 400000000000 0\n"
    "compute f32 old 10000000000 0 40000000000 0\n"
    "compute f64 fma 50000000000 0 200000000000 0\n"
    "memory L2 1048576 1 100000000000 0 400000000000 0 90000000000 0 "
    "380000000000 0\n"
    "memory memory 99999999999 4 8000000000 0 20000000000 0 10000000000 0 "
    "19000000000 0\n"
    "blas 64 64 64 20000000000 0 10000000000 0\n"
    "blas 512 512 512 80000000000 0 300000000000 0\n"
    "end\n";

static void work(axp_profiler *p, const char *name, axp_work w, uint64_t ns)
{
    axp_start_work(p, name, w);
    ts_tick(ns);
    axp_stop(p, name);
}

static void assert_near(double a, double b)
{
    ts_assert_between(b - fabs(b) * 1e-6, a, b + fabs(b) * 1e-6);
}

struct seen {
    axp_view *v;
    axp_findings *f;
};

static struct seen look(axp_profiler *p)
{
    struct seen s = {ts_snapshot(p), NULL};
    s.f = axp_analyze(s.v, NULL);
    assert_non_null(s.f);
    return s;
}

static void leave(struct seen s, axp_profiler *p)
{
    axp_findings_destroy(s.f);
    axp_view_destroy(s.v);
    axp_profiler_destroy(p);
}

static const struct axp__roof *roof(struct seen s, const char *name)
{
    for (size_t i = 0; i < s.v->n_ops; i++)
        if (!strcmp(s.v->ops[i].name, name)) return &s.f->roofs->at[i];
    fail_msg("no %s", name);
    return NULL;
}

static const axp_finding *finding(struct seen s, const char *name)
{
    for (size_t i = 0; i < axp_findings_count(s.f); i++)
        if (!strcmp(axp_findings_at(s.f, i)->name, name))
            return axp_findings_at(s.f, i);
    return NULL;
}

static void arithmetic(void **state)
{
    axp_profiler *p = ts_profiler();
    (void)state;
    work(p, "f32", (axp_work){.flops = 1e9, .dtype = AXP_F32}, 20 * MS);
    work(p, "f64", (axp_work){.flops = 1e9, .dtype = AXP_F64}, 40 * MS);
    work(p, "any", (axp_work){.flops = 1e9}, 20 * MS);
    work(p, "dense", (axp_work){.flops = 1e9, .bytes = 1e6}, 20 * MS);
    struct seen s = look(p);
    assert_near(roof(s, "f32")->roof_flops, 100e9);
    assert_near(roof(s, "f32")->share, 0.5);
    assert_int_equal(roof(s, "f32")->threads, 1);
    assert_string_equal(axp__roof_bound(roof(s, "f32")), "arithmetic");
    assert_near(roof(s, "f64")->roof_flops, 50e9);
    assert_near(roof(s, "f64")->share, 0.5);
    assert_near(roof(s, "any")->roof_flops, 100e9);
    assert_string_equal(axp__roof_bound(roof(s, "dense")), "arithmetic");
    /* 4e9 FLOPs in 100 ms, most of them f32 or not told */
    assert_near(s.f->roofs->run.flops, 4e9);
    assert_near(s.f->roofs->run.flops_per_s, 40e9);
    assert_near(s.f->roofs->run.peak, 400e9);
    leave(s, p);
}

static void bandwidth(void **state)
{
    axp_profiler *p = ts_profiler();
    (void)state;
    /* 1 FLOP a byte: memory allows 8 GFLOP/s; half of one: the cache 45 */
    work(p, "far", (axp_work){.flops = 1e8, .bytes = 1e8}, 20 * MS);
    for (int i = 0; i < 100; i++)
        work(p, "near", (axp_work){.flops = 5e5, .bytes = 1e6}, MS / 25);
    work(p, "moved", (axp_work){.bytes = 1e8}, 20 * MS);
    /* what all but fills a cache shares it with others, and is not held by it */
    work(p, "fills", (axp_work){.bytes = 1e6}, 20 * MS);
    work(p, "held", (axp_work){.bytes = 7e5}, 20 * MS);
    struct seen s = look(p);
    assert_string_equal(axp__roof_bound(roof(s, "fills")), "memory");
    assert_string_equal(axp__roof_bound(roof(s, "held")), "L2");
    assert_string_equal(axp__roof_bound(roof(s, "far")), "memory");
    assert_near(roof(s, "far")->roof_flops, 8e9);
    assert_near(roof(s, "far")->share, 0.625);
    assert_string_equal(axp__roof_bound(roof(s, "near")), "L2");
    assert_near(roof(s, "near")->roof_flops, 45e9);
    assert_near(roof(s, "near")->share, 12.5 / 45);
    assert_true(roof(s, "moved")->flops == 0);
    assert_near(roof(s, "moved")->roof_bytes, 8e9);
    assert_near(roof(s, "moved")->share, 0.625);
    leave(s, p);
}

/* How many of its bytes an operation writes nobody says: it has what reading
 * gives, and what moving has if it is faster than that. */
static void reads_and_writes(void **state)
{
    axp_profiler *p = ts_profiler();
    (void)state;
    work(p, "reads", (axp_work){.flops = 1e8, .bytes = 4e8}, 100 * MS);
    work(p, "is just", (axp_work){.bytes = 8.3e8}, 100 * MS);
    work(p, "writes", (axp_work){.bytes = 8.5e8}, 100 * MS);
    work(p, "both", (axp_work){.bytes = 1.04e9}, 100 * MS);
    work(p, "cached", (axp_work){.bytes = 1.06e9}, 100 * MS);
    work(p, "reads it", (axp_work){.bytes = 9.9e9}, 100 * MS);
    /* 2 GB/s and once 9: it can, and so it writes; once 50: it was cached */
    work(p, "seldom", (axp_work){.bytes = 9e7}, 45 * MS);
    work(p, "seldom", (axp_work){.bytes = 9e7}, 10 * MS);
    work(p, "once", (axp_work){.bytes = 1e8}, 50 * MS);
    work(p, "once", (axp_work){.bytes = 1e8}, 2 * MS);
    struct seen s = look(p);
    assert_near(roof(s, "seldom")->roof_bytes, 10e9);
    assert_near(roof(s, "once")->roof_bytes, 8e9);
    assert_near(roof(s, "reads")->share, 0.5);
    assert_near(roof(s, "is just")->roof_bytes, 8e9);
    assert_near(roof(s, "writes")->share, 0.85);
    assert_near(roof(s, "both")->roof_bytes, 10e9);
    assert_near(roof(s, "cached")->roof_bytes, 90e9);
    assert_near(roof(s, "reads it")->share, 0.99);
    leave(s, p);
}

/* More than memory can, but not more than a cache: it was there. More than
 * anything can: the declared work is wrong. */
static void too_fast(void **state)
{
    axp_profiler *p = ts_profiler();
    (void)state;
    work(p, "cached", (axp_work){.flops = 5e7, .bytes = 1e8}, 2 * MS);
    work(p, "wrong", (axp_work){.flops = 1e12}, 1000 * MS);
    work(p, "nearly", (axp_work){.flops = 1.04e9}, 10 * MS);
    struct seen s = look(p);
    assert_string_equal(axp__roof_bound(roof(s, "cached")), "L2");
    assert_near(roof(s, "cached")->share, 50.0 / 90);
    assert_false(roof(s, "cached")->is_impossible);
    assert_true(roof(s, "wrong")->is_impossible);
    assert_near(roof(s, "wrong")->share, 10);
    assert_false(roof(s, "nearly")->is_impossible);
    FILE *out = tmpfile();
    char text[20000] = "";
    assert_int_equal(axp_report_write(s.v, AXP_FORMAT_TEXT, out), AXP_OK);
    rewind(out);
    assert_true(fread(text, 1, sizeof text - 1, out) > 0);
    fclose(out);
    assert_non_null(strstr(text, "the declared work is wrong"));
    assert_non_null(strstr(text, "Roofline"));
    assert_non_null(strstr(text, "4 threads): wrong")); /* of the run as well */
    leave(s, p);
}

struct job {
    axp_profiler *p;
    const char *name;
    axp_work w;
    uint64_t ns;
};

static void *run_job(void *ctx)
{
    struct job *j = ctx;
    work(j->p, j->name, j->w, j->ns);
    return NULL;
}

static void on_thread(struct job j)
{
    pthread_t t;
    assert_int_equal(pthread_create(&t, NULL, run_job, &j), 0);
    pthread_join(t, NULL);
}

/* Two threads have the roof of two. */
static void threads(void **state)
{
    axp_profiler *p = ts_profiler();
    struct job compute = {p, "both", {.flops = 1e9}, 20 * MS};
    struct job move = {p, "move", {.bytes = 1e8}, 20 * MS};
    struct job mostly = {p, "mostly", {.flops = 1e9}, 20 * MS};
    struct job beside = {p, "mostly", {.flops = 1e6}, 20000};
    (void)state;
    on_thread(compute);
    on_thread(compute);
    on_thread(move);
    on_thread(move);
    on_thread(mostly);
    on_thread(beside);
    struct seen s = look(p);
    assert_int_equal(roof(s, "both")->threads, 2);
    assert_near(roof(s, "both")->flops, 100e9);
    assert_near(roof(s, "both")->roof_flops, 200e9);
    assert_int_equal(roof(s, "move")->threads, 2);
    assert_near(roof(s, "move")->bytes, 10e9);
    assert_near(roof(s, "move")->roof_bytes, 16e9);
    assert_int_equal(roof(s, "mostly")->threads, 1);
    leave(s, p);
}

/* A call does more than a thread can, and there are others. */
static void raised(void **state)
{
    axp_profiler *p = ts_profiler();
    (void)state;
    work(p, "many", (axp_work){.flops = 2.5e9}, 10 * MS); /* 250 GFLOP/s */
    for (int i = 0; i < 3; i++)
        on_thread((struct job){p, "else", {.flops = 0}, MS});
    struct seen s = look(p);
    assert_true(roof(s, "many")->is_raised);
    assert_false(roof(s, "many")->is_impossible);
    assert_int_equal(roof(s, "many")->threads, 4);
    assert_near(roof(s, "many")->share, 250.0 / 400);
    leave(s, p);
}

/* Each shape has what the machine allows it, whatever the others of its
 * operation are. */
static void shapes(void **state)
{
    axp_profiler *p = ts_profiler();
    axp_shape of[4];
    struct axp__roof r[4];
    (void)state;
    work(p, "mm", (axp_work){.flops = 1e9, .bytes = 1e6, .dims = {9, 9, 9}},
         20 * MS);
    work(p, "mm", (axp_work){.flops = 1e8, .bytes = 1e8, .dims = {9, 9, 1}},
         19 * MS);
    work(p, "mm", (axp_work){.flops = 9e9, .bytes = 1e6, .dims = {9, 1, 1}},
         18 * MS);
    struct seen s = look(p);
    axp_op op;
    assert_int_equal(axp_view_op(s.v, "mm", &op), AXP_OK);
    assert_int_equal(axp_view_shapes(s.v, &op, of, 4), 3);
    for (int i = 0; i < 3; i++)
        r[i] = axp__roof_of_shape(
            s.f->roofs, s.v, (size_t)(roof(s, "mm") - s.f->roofs->at), &of[i]);
    assert_near(r[0].roof_flops, 400e9 / 4 * roof(s, "mm")->threads);
    assert_string_equal(axp__roof_bound(&r[0]), "arithmetic");
    assert_near(r[0].share, 50e9 / r[0].roof_flops);
    assert_string_equal(axp__roof_bound(&r[1]), "memory");
    assert_near(r[1].flops, 1e8 / 19e-3);
    assert_true(r[1].roof_flops < 21e9 && !r[1].is_impossible);
    assert_true(r[2].is_impossible);
    of[0].n_dims = 0; /* others together are no shape */
    r[3] = axp__roof_of_shape(s.f->roofs, s.v,
                              (size_t)(roof(s, "mm") - s.f->roofs->at), &of[0]);
    assert_false(r[3].is_known);
    leave(s, p);
}

/* What is declared twice, by a scope and by one within, counts once. */
static void nested_work_counts_once(void **state)
{
    axp_profiler *p = ts_profiler();
    (void)state;
    axp_start_work(p, "layer", (axp_work){.flops = 1e9});
    work(p, "gemm", (axp_work){.flops = 1e9}, 20 * MS);
    axp_stop(p, "layer");
    struct seen s = look(p);
    assert_near(s.f->roofs->run.flops, 1e9);
    assert_near(roof(s, "layer")->share, 0.5);
    assert_near(roof(s, "gemm")->share, 0.5);
    leave(s, p);
}

static void no_work(void **state)
{
    axp_profiler *p = ts_profiler();
    (void)state;
    work(p, "none", (axp_work){0}, 10 * MS);
    work(p, "nan", (axp_work){.flops = NAN, .bytes = NAN}, 10 * MS);
    work(p, "inf", (axp_work){.flops = INFINITY, .bytes = 1}, 10 * MS);
    work(p, "minus", (axp_work){.flops = -1e9, .bytes = -5}, 10 * MS);
    work(p, "huge", (axp_work){.flops = 1e308, .bytes = 1e308}, 10 * MS);
    work(p, "huge", (axp_work){.flops = 1e308, .bytes = 1e308}, 10 * MS);
    work(p, "no time", (axp_work){.flops = 1e9, .bytes = 1e9}, 0);
    struct seen s = look(p);
    assert_false(roof(s, "none")->is_known);
    assert_false(roof(s, "nan")->is_known);
    assert_false(roof(s, "minus")->is_known);
    assert_false(roof(s, "no time")->is_known);
    for (size_t i = 0; i < s.v->n_ops; i++) {
        const struct axp__roof *r = &s.f->roofs->at[i];
        assert_true(isfinite(r->share) && r->share >= 0);
        assert_true(isfinite(r->roof_flops) && isfinite(r->roof_bytes));
    }
    const axp_format formats[] = {AXP_FORMAT_TEXT, AXP_FORMAT_JSON,
                                  AXP_FORMAT_MARKDOWN, AXP_FORMAT_HTML};
    for (int i = 0; i < 4; i++) {
        FILE *out = fopen("/dev/null", "w");
        assert_int_equal(axp_report_write(s.v, formats[i], out), AXP_OK);
        fclose(out);
    }
    leave(s, p);
}

/* The advice follows what binds it, and its shape. */
static void suggestions(void **state)
{
    axp_profiler *p = ts_profiler();
    (void)state;
    work(p, "moves", (axp_work){.flops = 1e8, .bytes = 1e8}, 40 * MS);
    work(p, "product",
         (axp_work){.flops = 1e9, .bytes = 1e6, .dims = {800, 800, 800}},
         50 * MS);
    work(p, "narrow",
         (axp_work){.flops = 1e9, .bytes = 1e6, .dims = {100000, 1600, 3}},
         50 * MS);
    /* a vector and a matrix: memory is its roof, and its shape why */
    work(p, "row",
         (axp_work){.flops = 2e7, .bytes = 4e7, .dims = {1, 10000, 1000}},
         20 * MS);
    /* a tensor whose squares are added up */
    work(p, "squares",
         (axp_work){.flops = 2e7, .bytes = 4e7, .dims = {4, 2500, 1000}},
         20 * MS);
    struct seen s = look(p);
    const axp_finding *f = finding(s, "moves");
    assert_non_null(f);
    assert_int_equal(f->type, AXP_LOW_THROUGHPUT);
    assert_null(strstr(f->suggestion, "BLAS"));
    assert_non_null(strstr(f->suggestion, "memory binds it"));
    assert_non_null(strstr(f->description, "31 % of the 8.00"));
    f = finding(s, "product"); /* the nearest that was measured */
    assert_near((double)f->saving_ns, 37.5 * MS); /* at its 80 GFLOP/s */
    assert_non_null(strstr(f->suggestion, "BLAS"));
    assert_non_null(strstr(f->suggestion, "512 x 512 x 512 in 3.355 ms on 1 "
                                          "thread of that machine, 80.0"));
    assert_non_null(strstr(f->suggestion, "800 x 800 x 800, now 50.000 ms"));
    assert_non_null(strstr(f->suggestion, "in about 12.500 ms"));
    assert_non_null(strstr(f->suggestion, "1 of the machine's 4 threads"));
    assert_null(strstr(finding(s, "narrow")->suggestion, "BLAS"));
    assert_non_null(strstr(finding(s, "narrow")->suggestion, "narrow"));
    assert_non_null(strstr(finding(s, "row")->suggestion, "narrow"));
    assert_null(strstr(finding(s, "squares")->suggestion, "product"));
    leave(s, p);
}

/* What a scope inside it does is not to be done by another library. */
static void work_inside(void **state)
{
    axp_profiler *p = ts_profiler();
    (void)state;
    const axp_work w = {.flops = 2e9, .bytes = 1e6, .dims = {1000, 1000, 1000}};
    axp_start_work(p, "layer", w);
    ts_tick(80 * MS);
    work(p, "sgemm", w, 25 * MS);
    axp_stop(p, "layer");
    struct seen s = look(p);
    const axp_finding *f = finding(s, "layer"); /* 19 % of the roof */
    assert_int_equal(f->type, AXP_LOW_THROUGHPUT);
    assert_null(strstr(f->suggestion, "BLAS"));
    assert_non_null(strstr(f->suggestion, "sgemm inside it does the work at "
                                          "80.0 GFLOP/s"));
    assert_non_null(strstr(f->suggestion, "80.000 ms of the 105.000 ms"));
    leave(s, p);
}

/* Threads that had a processor for a quarter of the time that they wanted one: a
 * fifth of the roof is four fifths of what they could. */
static void starved(void **state)
{
    axp_profiler *p = ts_profiler();
    (void)state;
    work(p, "near", (axp_work){.flops = 2e9}, 100 * MS); /* 20 % */
    work(p, "far", (axp_work){.flops = 1e9}, 100 * MS);  /* 10 % */
    axp_view *v = ts_snapshot(p);
    v->ran_ns = 50 * MS;
    v->ready_ns = 150 * MS;
    struct seen s = {v, axp_analyze(v, NULL)};
    assert_non_null(s.f);
    assert_near(roof(s, "near")->share, 0.2);
    assert_near(roof(s, "near")->ran_share, 0.8);
    assert_int_equal(finding(s, "near")->type, AXP_COMPUTE_BOUND);
    assert_int_equal(finding(s, "near")->severity, AXP_LOW);
    const axp_finding *f = finding(s, "far");
    assert_int_equal(f->type, AXP_LOW_THROUGHPUT);
    assert_near((double)f->saving_ns, 0.6 * 100 * MS);
    assert_non_null(strstr(f->description, "10 % of the 100"));
    assert_non_null(strstr(f->description, "only 25 % of the time"));
    leave(s, p);
}

/* Where the scope around it declared the work, its saving is the distance. */
static void work_above(void **state)
{
    axp_profiler *p = ts_profiler();
    (void)state;
    axp_start_work(p, "matmul", (axp_work){.flops = 8e9});
    ts_tick(MS);
    axp_start(p, "kernel");
    ts_tick(99 * MS);
    axp_stop(p, "kernel");
    axp_stop(p, "matmul");
    struct seen s = look(p);
    const axp_finding *f = finding(s, "kernel");
    assert_non_null(f);
    assert_int_equal(f->type, AXP_SLOW_OPERATION);
    assert_int_equal(f->severity, AXP_LOW); /* as fast as good code is */
    assert_true(f->saving_is_bound);
    assert_near((double)f->saving_ns, 99 * MS); /* by doing less */
    assert_near(ts_metric(f, "roof_share"), 0.8);
    const char *verdict = axp_findings_verdict(s.f);
    const char said[] = "Nothing to gain by more than 20 % with the same work";
    assert_int_equal(strncmp(verdict, said, sizeof said - 1), 0);
    assert_non_null(strstr(f->description, "reaches 80.0 of 100 GFLOP/s"));
    leave(s, p);
}

/* A text that is no machine is none. */
static void another_text(void **state)
{
    struct axp__machine m;
    (void)state;
    assert_true(axp__machine_get(&m, machine, strlen(machine)));
    axp_profiler *p = ts_profiler();
    struct seen s = look(p);
    assert_non_null(s.v->machine); /* the first of several counts */
    assert_string_equal(s.v->machine->cpu, "A test");
    leave(s, p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic),
        cmocka_unit_test(bandwidth),
        cmocka_unit_test(reads_and_writes),
        cmocka_unit_test(too_fast),
        cmocka_unit_test(threads),
        cmocka_unit_test(raised),
        cmocka_unit_test(shapes),
        cmocka_unit_test(nested_work_counts_once),
        cmocka_unit_test(no_work),
        cmocka_unit_test(suggestions),
        cmocka_unit_test(starved),
        cmocka_unit_test(work_inside),
        cmocka_unit_test(work_above),
        cmocka_unit_test(another_text),
    };
    ts_use_fake_clock();
    axp_outside_machine(machine);
    axp_outside_machine("axprof-machine 1\nrubbish");
    return TS_RUN(tests);
}
