/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The rules about work, at and around their thresholds, on a clock moved by hand
 * and a machine of the test's own: one thread computes 100 GFLOP/s of f32 and 400
 * of bf16, four 400 and 1600; of a cache of 1 MiB each reads 100 GB/s and has 90 in
 * a triad, of memory one 8 and 10, all 20 and 19; its BLAS reaches 20 with 64 x 64 x
 * 64 and 80 with 512. */
#include "test_support.h"

#include <math.h>
#include <pthread.h>

#include "axprof/axprof_adapter.h"
#include "finding_support.h"

#define MS UINT64_C(1000000)
#define US UINT64_C(1000)

static const char machine[] =
    "axprof-machine 1\n"
    "cpu A test\n"
    "arch none\n"
    "counts 4 4 4 4 1 1\n"
    "threads 5000 1000\n"
    "hz 3000000000 0\n"
    "library libtest.so.0 Test 1.0\n"
    "compute f32 fma 100000000000 0 400000000000 0\n"
    "compute f64 fma 50000000000 0 200000000000 0\n"
    "compute bf16 mm 400000000000 0 1600000000000 0\n"
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

static void rest(axp_profiler *p, uint64_t ns)
{
    char name[16];
    for (int i = 0; i < 10; i++) { /* each too short for a finding */
        snprintf(name, sizeof name, "rest %d", i);
        work(p, name, (axp_work){0}, ns / 10);
    }
}

static const axp_finding *find(const axp_findings *f, const char *name)
{
    for (size_t i = 0; i < axp_findings_count(f); i++)
        if (!strcmp(axp_findings_at(f, i)->name, name))
            return axp_findings_at(f, i);
    return NULL;
}

/* The one finding about it: of that type. */
static const axp_finding *only(const axp_findings *f, const char *name,
                               axp_finding_type type)
{
    const axp_finding *x = find(f, name);
    if (!x) fail_msg("nothing about %s", name);
    assert_int_equal(x->type, type);
    for (size_t i = 0; i < axp_findings_count(f); i++)
        assert_true(axp_findings_at(f, i) == x ||
                    strcmp(axp_findings_at(f, i)->name, name) != 0);
    return x;
}

static void assert_near(double a, double b)
{
    ts_assert_between(b - fabs(b) * 1e-3, a, b + fabs(b) * 1e-3);
}

/* Of the type of the finding about "op", which does that for 1 s of 10; -1: it
 * has none. */
static int type_of(axp_work w, uint64_t ns)
{
    axp_profiler *p = ts_profiler();
    work(p, "op", w, ns);
    rest(p, 10000 * MS - ns);
    axp_findings *f = ts_analyze(p);
    const axp_finding *x = find(f, "op");
    int type = x ? (int)x->type : -1;
    axp_findings_destroy(f);
    return type;
}

/* ---- what binds it ---------------------------------------------------------------- */

static void bound_by_memory(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    /* 9 of 10 GB/s with 2 FLOPs a byte, where 10 are needed */
    work(p, "axpy", (axp_work){.flops = 18e9, .bytes = 9e9, .dtype = AXP_F32},
         1000 * MS);
    axp_findings *f = ts_analyze(p);
    const axp_finding *x = only(f, "axpy", AXP_MEMORY_BOUND);
    assert_int_equal(x->severity, AXP_LOW);
    assert_true(x->saving_is_bound);
    assert_near((double)x->saving_ns, 1000 * MS); /* all of it */
    ts_says(x->description, "moves 9.00 GB/s, 90 % of the 10.0 that memory");
    ts_says(x->description, "2.00 FLOP a byte, where 10.0 are needed");
    ts_says(x->suggestion, "a call moves 8.38 GB");
    ts_says(x->suggestion, "as bf16");
    ts_says(x->suggestion, "other threads bring it to 20.0 GB/s");
    assert_null(strstr(x->suggestion, "BLAS"));
    assert_near(ts_metric(x, "time_percentage"),
                100); /* slow, as its evidence */
    axp_findings_destroy(f);
}

struct sweep {
    axp_profiler *p;
    double bytes;
};

static void *sweep(void *ctx)
{
    const struct sweep *s = ctx;
    work(s->p, "sweep", (axp_work){.bytes = s->bytes, .dtype = AXP_F64},
         1000 * MS);
    return NULL;
}

/* So many threads, each with that many bytes a second. */
static axp_findings *swept(int threads, double bytes)
{
    axp_profiler *p = ts_profiler();
    struct sweep s = {p, bytes};
    for (int i = 0; i < threads; i++) {
        pthread_t t;
        assert_int_equal(pthread_create(&t, NULL, sweep, &s), 0);
        pthread_join(t, NULL);
    }
    return ts_analyze(p);
}

/* One has up to 10 GB/s and four 20, so that three have 20 too. */
static void memory_is_full(void **state)
{
    (void)state;
    axp_findings *f = swept(3, 6e9);
    const axp_finding *x = only(f, "sweep", AXP_BANDWIDTH_SATURATED);
    assert_int_equal(x->severity, AXP_LOW);
    assert_true(x->saving_is_bound);
    ts_says(x->description, "3 threads at once move 18.0 GB/s, 95 % of the "
                            "19.0 that memory gives to however many; one "
                            "alone has up to 10.0");
    ts_says(x->suggestion, "more threads gain nothing, and 2 may be as fast: "
                           "only fewer bytes");
    ts_says(x->suggestion, "as f32");
    assert_near(ts_metric(x, "threads_that_fill"), 2);
    assert_near(ts_metric(x, "gb_per_sec"), 18);
    axp_findings_destroy(f);
    f = swept(3, 4.4e9); /* 69 %: threads have something else to wait for */
    (void)only(f, "sweep", AXP_SLOW_OPERATION);
    axp_findings_destroy(f);
    f = swept(2, 8e9); /* each has what one can have */
    x = only(f, "sweep", AXP_MEMORY_BOUND);
    ts_says(x->description, "that memory gives on 2 threads");
    axp_findings_destroy(f);
}

static void bounds_at_their_thresholds(void **state)
{
    (void)state;
    const uint64_t s = 1000 * MS;
    assert_int_equal(type_of((axp_work){.bytes = 5.61e9}, s), AXP_MEMORY_BOUND);
    assert_int_equal(type_of((axp_work){.bytes = 5.59e9}, s), -1);
    assert_int_equal(type_of((axp_work){.bytes = 4.01e9}, s), -1);
    assert_int_equal(type_of((axp_work){.bytes = 3.99e9}, s),
                     AXP_LATENCY_BOUND);
    assert_int_equal(type_of((axp_work){.flops = 70.1e9}, s),
                     AXP_COMPUTE_BOUND);
    assert_int_equal(type_of((axp_work){.flops = 69.9e9}, s), -1);
    assert_int_equal(type_of((axp_work){.flops = 49.9e9}, s),
                     AXP_LOW_THROUGHPUT);
    /* of less than a tenth of the run nothing is said, of a twentieth */
    assert_int_equal(type_of((axp_work){.flops = 89.1e9}, 990 * MS), -1);
    assert_int_equal(type_of((axp_work){.bytes = 1e9}, 510 * MS),
                     AXP_LATENCY_BOUND);
    assert_int_equal(type_of((axp_work){.bytes = 1e9}, 490 * MS), -1);
}

static void bound_by_arithmetic(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    work(p, "poly", (axp_work){.flops = 45e9, .dtype = AXP_F64}, 1000 * MS);
    axp_findings *f = ts_analyze(p);
    const axp_finding *x = only(f, "poly", AXP_COMPUTE_BOUND);
    assert_int_equal(x->severity, AXP_LOW);
    assert_near((double)x->saving_ns, 1000 * MS);
    ts_says(x->description,
            "computes 45.0 GFLOP/s, 90 % of the 50.0 that arithmetic of f64");
    ts_says(x->suggestion, "1 of 4 threads, which all together reach 200");
    axp_findings_destroy(f);
}

/* Neither: the evidence of LowThroughput, and alone where FLOPs are unknown. */
static void bound_by_latency(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    work(p, "chase", (axp_work){.flops = 1e9, .bytes = 1e9}, 1000 * MS);
    work(p, "gather", (axp_work){.bytes = 2e9}, 1000 * MS);
    axp_findings *f = ts_analyze(p);
    const axp_finding *x = only(f, "chase", AXP_LOW_THROUGHPUT);
    ts_says(x->description, "13 % of the 8.00 that the bandwidth of memory");
    ts_says(x->description,
            "bandwidth is busy to 13 %, arithmetic to 1.0 %: neither binds it");
    x = only(f, "gather", AXP_LATENCY_BOUND);
    assert_true(x->saving_is_bound);
    assert_near((double)x->saving_ns, 1000 * MS);
    assert_int_equal(x->severity, AXP_MEDIUM);
    ts_says(x->description, "moves 2.00 GB/s, 25 % of the 8.00");
    ts_says(x->suggestion, "in 1.000 s, for which 250.000 ms would do");
    axp_findings_destroy(f);
}

/* ---- too much ---------------------------------------------------------------------- */

static void more_than_is_possible(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    for (int i = 0; i < 20000;
         i++) /* short, slow and often: all of it at once */
        work(p, "wrong", (axp_work){.flops = 8e6}, 10 * US);
    work(p, "right", (axp_work){.flops = 9e9}, 100 * MS);
    work(p, "moved", (axp_work){.bytes = 1e12}, 1000 * MS);
    axp_findings *f = ts_analyze(p);
    const axp_finding *x = only(f, "wrong", AXP_IMPLAUSIBLE_WORK);
    assert_int_equal(x->severity, AXP_MEDIUM);
    assert_int_equal(x->saving_ns, 0);
    assert_near(ts_metric(x, "roof_share"),
                8); /* of one thread; all have half */
    ts_says(x->description, "declares 800 GFLOP/s, 8.00 times the 100");
    ts_says(x->suggestion, "a call of 10.000 us can do 1.00 million FLOPs "
                           "at most, and declares 8.00 million;");
    assert_near(ts_metric(x, "call_count"), 20000); /* evidence */
    assert_int_not_equal(find(f, "right") ? (int)find(f, "right")->type : -1,
                         AXP_IMPLAUSIBLE_WORK);
    x = only(f, "moved", AXP_IMPLAUSIBLE_WORK); /* 1000 of the cache's 100 */
    ts_says(x->description, "declares 1000 GB/s, 10.0 times the 100 that "
                            "the bandwidth of L2");
    ts_says(x->suggestion, " MB at most, and declares 1.00e6 MB;");
    axp_findings_destroy(f);
}

static void implausible_at_its_threshold(void **state)
{
    (void)state;
    const uint64_t s = 1000 * MS;
    /* What four threads can is no proof of anything: a library may have them. */
    assert_int_equal(type_of((axp_work){.flops = 300e9}, s), AXP_COMPUTE_BOUND);
    assert_int_equal(type_of((axp_work){.flops = 419e9}, s), AXP_COMPUTE_BOUND);
    assert_int_equal(type_of((axp_work){.flops = 421e9}, s),
                     AXP_IMPLAUSIBLE_WORK);
}

/* ---- precision --------------------------------------------------------------------- */

static const uint32_t cube[6] = {1000, 1000, 1000};

static axp_work product(const uint32_t dims[6], axp_dtype dtype)
{
    axp_work w = {.flops = 2.0 * dims[0] * dims[1] * dims[2], .dtype = dtype};
    memcpy(w.dims, dims, sizeof w.dims);
    return w;
}

static void single_precision(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    work(p, "gemm", product(cube, AXP_F32), 25 * MS); /* 80 % of the roof */
    rest(p, 75 * MS);
    axp_findings *f = ts_analyze(p);
    const axp_finding *x = only(f, "gemm", AXP_PRECISION);
    assert_int_equal(x->severity, AXP_LOW);
    assert_true(x->saving_is_bound);
    assert_near((double)x->saving_ns, 0.75 * 25 * MS);
    assert_near(ts_metric(x, "faster_times"), 4);
    assert_near(ts_metric(x, "f32_percentage"), 25);
    ts_says(x->description, "compute bf16 4.00 times as fast (mm)");
    ts_says(x->description, "80 % of the 100"); /* compute bound */
    ts_says(x->suggestion, "gemm in bf16, with sums in f32");
    axp_findings_destroy(f);
}

static void double_precision(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    work(p, "gemm", product(cube, AXP_F64), 50 * MS); /* 80 % of the roof */
    rest(p, 50 * MS);
    axp_findings *f = ts_analyze(p);
    const axp_finding *x = only(f, "gemm", AXP_PRECISION);
    assert_int_equal(x->severity, AXP_LOW);
    assert_true(x->saving_is_bound);
    assert_near((double)x->saving_ns, 0.5 * 50 * MS);
    assert_near(ts_metric(x, "faster_times"), 2);
    assert_near(ts_metric(x, "f64_percentage"), 50);
    ts_says(x->description,
            "multiplies f64 matrices at 80 % of the roof of 50");
    ts_says(x->suggestion, "try the operands of gemm in f32 and compare");
    axp_findings_destroy(f);
}

static int precision_type(axp_work w, uint64_t ns, uint64_t other_ns)
{
    axp_profiler *p = ts_profiler();
    work(p, "gemm", w, ns);
    rest(p, other_ns);
    axp_findings *f = ts_analyze(p);
    const axp_finding *x = find(f, "gemm");
    int type = x ? (int)x->type : -1;
    axp_findings_destroy(f);
    return type;
}

/* Peaks are given by hand, so that no other type's is known, whatever is asked. */
static void precision_of_no_machine(void **state)
{
    (void)state;
    const char *set[] = {"low_throughput.peak_gflops=100",
                         "low_throughput.peak_gbps=100", "precision.times=0"};
    axp_profiler *p = ts_profiler();
    work(p, "gemm", product(cube, AXP_F32), 25 * MS);
    axp_view *v = axp_snapshot(p);
    axp_findings *f = axp_analyze(
        v, &(axp_thresholds){
               .size = sizeof(axp_thresholds), .set = set, .n_set = 3});
    assert_non_null(f);
    for (size_t i = 0; i < axp_findings_count(f); i++)
        assert_int_not_equal(axp_findings_at(f, i)->type, AXP_PRECISION);
    axp_findings_destroy(f);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

static void precision_at_its_threshold(void **state)
{
    (void)state;
    axp_work f32 = product(cube, AXP_F32), slab = f32;
    assert_int_equal(precision_type(f32, 25 * MS, 99 * MS), AXP_PRECISION);
    assert_int_equal(precision_type(f32, 25 * MS, 101 * MS), AXP_COMPUTE_BOUND);
    assert_int_equal(precision_type(product(cube, AXP_F64), 50 * MS, 199 * MS),
                     AXP_PRECISION);
    assert_int_equal(precision_type(product(cube, AXP_F64), 50 * MS, 201 * MS),
                     AXP_COMPUTE_BOUND);
    assert_int_equal(precision_type(product(cube, AXP_BF16), 6 * MS, MS),
                     AXP_COMPUTE_BOUND);
    slab.flops *= 10; /* a tensor of that shape, not a product */
    assert_int_equal(precision_type(slab, 250 * MS, 10 * MS),
                     AXP_COMPUTE_BOUND);
    slab = f32;
    slab.bytes = 4e9; /* all of them are read: squares that are added up */
    assert_int_equal(precision_type(slab, 400 * MS, 10 * MS), AXP_MEMORY_BOUND);
    /* far from the roof the code is slow, not the type */
    assert_int_equal(precision_type(f32, 50 * MS, 10 * MS), AXP_LOW_THROUGHPUT);
}

/* ---- shapes ------------------------------------------------------------------------- */

static void shapes_that_fit_no_vector(void **state)
{
    (void)state;
    const uint32_t odd[6] = {511, 511, 509}, even[6] = {512, 512, 512};
    axp_profiler *p = ts_profiler();
    work(p, "gemm", product(even, AXP_F32), 4 * MS); /* 67 GFLOP/s */
    for (int i = 0; i < 10; i++)
        work(p, "gemm", product(odd, AXP_F32), 10 * MS); /* 26.6 */
    axp_findings *f = ts_analyze(p);
    const axp_finding *x = only(f, "gemm", AXP_SHAPE_UNFRIENDLY);
    double more = 512.0 * 512 * 512 / (511.0 * 511 * 509);
    double is = 2.0 * 511 * 511 * 509 / 0.01,
           could = 2.0 * 512 * 512 * 512 / 0.004;
    assert_near((double)x->saving_ns, 100 * MS * (1 - is / (could / more)));
    assert_false(x->saving_is_bound);
    assert_near(ts_metric(x, "friendly_gflops"), could / 1e9);
    ts_says(x->description, "511 x 511 x 509 reaches 26.6 GFLOP/s");
    ts_says(x->description,
            "one of 512 x 512 x 512 of the same operation 67.1");
    ts_says(x->suggestion, "gemm to 512 x 512 x 512");
    axp_findings_destroy(f);
}

static bool is_unfriendly(const uint32_t dims[6], double bytes, uint64_t ns)
{
    axp_profiler *p = ts_profiler();
    axp_work w = product(dims, AXP_F32);
    w.bytes = bytes;
    work(p, "gemm", w, ns);
    axp_findings *f = ts_analyze(p);
    bool is = find(f, "gemm") && find(f, "gemm")->type == AXP_SHAPE_UNFRIENDLY;
    axp_findings_destroy(f);
    return is;
}

/* Without a shape that fits, by what the machine's BLAS reaches: 80 GFLOP/s. */
static void shapes_beside_the_blas(void **state)
{
    (void)state;
    const uint32_t odd[6] = {501, 501, 501}, even[6] = {504, 504, 504};
    const uint32_t far[6] = {2001, 2001, 2001}, row[6] = {1, 8000, 8001};
    assert_true(is_unfriendly(odd, 0, 6 * MS));  /* 42 GFLOP/s */
    assert_false(is_unfriendly(odd, 0, 5 * MS)); /* 50: 64 % of 78.6 */
    assert_false(is_unfriendly(even, 0, 6 * MS));
    assert_false(is_unfriendly(far, 0, 400 * MS)); /* nothing like it */
    /* a row is slow for its bytes, not for its shape */
    assert_false(is_unfriendly(row, 256e6, 26 * MS));
}

/* ---- calls --------------------------------------------------------------------------- */

/* 2 us and 1 us for each MFLOP. */
static void call(axp_profiler *p, unsigned mflops, uint64_t fixed_ns)
{
    axp_work w = {.flops = mflops * 1e6, .dims = {mflops, 7}};
    work(p, "op", w, fixed_ns + mflops * US);
}

static void calls_that_cost_by_themselves(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    for (int i = 0; i < 500; i++) {
        axp_start(p, "forward");
        for (unsigned k = 1; k <= 8; k *= 2)
            call(p, k, 6 * US);
        axp_stop(p, "forward");
    }
    axp_findings *f = ts_analyze(p); /* 4 calls: 24 of 39 us are fixed */
    const axp_finding *x = only(f, "op", AXP_CALL_OVERHEAD);
    assert_false(x->saving_is_bound);
    assert_near(ts_metric(x, "fixed_time_ns"), 6000);
    assert_near(ts_metric(x, "call_count"), 2000);
    assert_near(x->saving_share, 24.0 / 39);
    assert_int_equal(x->severity, AXP_CRITICAL);
    ts_says(x->description, "6.000 us of a call is there whatever its work");
    ts_says(x->description, "its 4 shapes");
    ts_says(x->suggestion, "forward calls op 4.00 times each time");
    axp_findings_destroy(f);
}

static int call_type(int n, uint64_t ns, uint64_t other_ns, axp_work w)
{
    axp_profiler *p = ts_profiler();
    for (int i = 0; i < n; i++)
        work(p, "op", w, ns);
    rest(p, other_ns);
    axp_findings *f = ts_analyze(p);
    const axp_finding *x = find(f, "op");
    int type = x ? (int)x->type : -1;
    axp_findings_destroy(f);
    return type;
}

static void calls_at_their_thresholds(void **state)
{
    (void)state;
    axp_work none = {0}, busy = {.flops = 0.6e6}, slow = {.flops = 0.4e6};
    assert_int_equal(call_type(1000, 10 * US, 189 * MS, none),
                     AXP_CALL_OVERHEAD);
    assert_int_equal(call_type(1000, 10 * US, 191 * MS, none), -1);
    assert_int_equal(call_type(999, 10 * US, 100 * MS, none), -1);
    assert_int_equal(call_type(1000, 20 * US, 100 * MS, none), -1);
    assert_int_equal(call_type(1000, 19 * US, 100 * MS, none),
                     AXP_CALL_OVERHEAD);
    /* who knows no more leaves it to the number */
    assert_int_equal(call_type(10000, 10 * US, 100 * MS, none),
                     AXP_HIGH_CALL_COUNT);
    /* 60 and 40 % of the roof */
    assert_int_equal(call_type(1000, 10 * US, 100 * MS, busy), -1);
    assert_int_equal(call_type(1000, 10 * US, 100 * MS, slow),
                     AXP_CALL_OVERHEAD);
    assert_int_equal(call_type(10000, 10 * US, 100 * MS, slow),
                     AXP_CALL_OVERHEAD);
}

/* At 40 % of the roof: but joined calls may have less to do, too. */
static void calls_below_the_roof(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    for (int i = 0; i < 1000; i++)
        work(p, "op", (axp_work){.flops = 4e5}, 10 * US);
    rest(p, 100 * MS);
    axp_findings *f = ts_analyze(p);
    const axp_finding *x = only(f, "op", AXP_CALL_OVERHEAD);
    assert_true(x->saving_is_bound);
    assert_near(x->saving_share, 10.0 / 110);
    ts_says(x->description, "at the roof its work would take 6.000 us less");
    axp_findings_destroy(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bound_by_memory),
        cmocka_unit_test(memory_is_full),
        cmocka_unit_test(bounds_at_their_thresholds),
        cmocka_unit_test(bound_by_arithmetic),
        cmocka_unit_test(bound_by_latency),
        cmocka_unit_test(more_than_is_possible),
        cmocka_unit_test(implausible_at_its_threshold),
        cmocka_unit_test(single_precision),
        cmocka_unit_test(double_precision),
        cmocka_unit_test(precision_at_its_threshold),
        cmocka_unit_test(precision_of_no_machine),
        cmocka_unit_test(shapes_that_fit_no_vector),
        cmocka_unit_test(shapes_beside_the_blas),
        cmocka_unit_test(calls_that_cost_by_themselves),
        cmocka_unit_test(calls_at_their_thresholds),
        cmocka_unit_test(calls_below_the_roof),
    };
    ts_use_fake_clock();
    axp_outside_machine(machine);
    return TS_RUN(tests);
}
