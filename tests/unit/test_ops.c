/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Operations of a view: percentiles against sorted durations, orders, work,
 * shares, categories; and the small functions beside them. */
#include "test_support.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t exact(const uint64_t *sorted, size_t n, double q)
{
    size_t rank = (size_t)ceil(q * (double)n);
    return sorted[rank ? rank - 1 : 0];
}

static void within_a_bucket(uint64_t got, uint64_t want)
{
    ts_assert_between((double)want * 0.984 - 1, (double)got,
                      (double)want * 1.016 + 1);
}

static void check_percentiles(const axp_op *op, uint64_t *all, size_t n)
{
    qsort(all, n, sizeof *all, by_value);
    assert_int_equal(op->calls, n);
    assert_int_equal(op->min_ns, all[0]);
    assert_int_equal(op->max_ns, all[n - 1]);
    within_a_bucket(op->p50_ns, exact(all, n, 0.5));
    within_a_bucket(op->p95_ns, exact(all, n, 0.95));
    within_a_bucket(op->p99_ns, exact(all, n, 0.99));
}

/* Log-uniform from 100 ns to 10 s. */
static void percentiles_are_within_1_6_percent(void **state)
{
    (void)state;
    enum { N = 20000 };
    axp_profiler *p = ts_profiler();
    axp_track *t = axp_track_create(p, "queue");
    uint64_t *all = malloc(N * sizeof *all), rng = 1, sum = 0;
    for (size_t i = 0; i < N; i++) {
        double u = (double)(ts_random(&rng) >> 11) / 9007199254740992.0;
        all[i] = (uint64_t)(100 * pow(1e8, u));
        sum += all[i];
        axp_track_span(t, "op", i, i + all[i], NULL);
    }
    axp_op op = ts_op(p, "op");
    assert_int_equal(op.total_ns, sum);
    assert_int_equal(op.self_ns, sum);
    assert_int_equal(op.avg_ns, sum / N);
    check_percentiles(&op, all, N);
    free(all);
    axp_profiler_destroy(p);
}

static void percentiles_of_few_and_equal_calls(void **state)
{
    (void)state;
    for (size_t n = 1; n < 40; n++) {
        axp_profiler *p =
            axp_profiler_create(&(axp_options){.timeline_capacity = 100});
        axp_track *t = axp_track_create(p, "queue");
        uint64_t all[40];
        for (size_t i = 0; i < n; i++) {
            all[i] = n % 2 ? 1000 : i * i * i * 100;
            axp_track_span(t, "op", 0, all[i], NULL);
        }
        axp_op op = ts_op(p, "op");
        check_percentiles(&op, all, n);
        axp_profiler_destroy(p);
    }
}

static void scopes_of_known_length_too(void **state)
{
    (void)state;
    enum { N = 5000 };
    axp_profiler *p = ts_profiler();
    uint64_t all[N], rng = 5;
    for (int i = 0; i < N; i++) {
        all[i] = ts_random(&rng) % (1ull << (ts_random(&rng) % 33 + 1));
        axp_start(p, "op");
        ts_tick(all[i]);
        axp_stop(p, "op");
    }
    axp_op op = ts_op(p, "op");
    check_percentiles(&op, all, N);
    axp_profiler_destroy(p);
}

static void pass(axp_profiler *p, const char *name, uint64_t ns)
{
    axp_start(p, name);
    ts_tick(ns);
    axp_stop(p, name);
}

static void orders(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_start(p, "outer"); /* total 1060, self 10 */
    ts_tick(10);
    pass(p, "heavy", 1000);
    for (int i = 0; i < 5; i++)
        pass(p, "often", 10);
    axp_stop(p, "outer");
    axp_view *v = ts_snapshot(p);
    axp_op o[3];
    axp_view_ops(v, AXP_BY_TIME, o, 3);
    assert_string_equal(o[0].name, "outer");
    assert_string_equal(o[1].name, "heavy");
    assert_string_equal(o[2].name, "often");
    axp_view_ops(v, AXP_BY_SELF, o, 3);
    assert_string_equal(o[0].name, "heavy");
    assert_string_equal(o[2].name, "outer");
    axp_view_ops(v, AXP_BY_CALLS, o, 1);
    assert_string_equal(o[0].name, "often");
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

static void rates_are_of_the_calls_that_declared(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_start_work(p, "op", (axp_work){.flops = 6000, .dtype = AXP_F32});
    ts_tick(1000);
    axp_stop(p, "op");
    pass(p, "op", 9000); /* declared nothing: not in the rate */
    axp_start(p, "op");
    ts_tick(1000);
    axp_add_work(p, (axp_work){.flops = 2000, .bytes = 500});
    axp_add_work(p, (axp_work){.flops = 2000, .bytes = 500});
    axp_stop(p, "op");
    axp_op op = ts_op(p, "op");
    assert_int_equal(op.calls, 3);
    assert_int_equal(op.n_flops_calls, 2);
    assert_int_equal(op.n_bytes_calls, 1);
    assert_int_equal(op.flops_ns, 2000);
    assert_int_equal(op.bytes_ns, 1000);
    assert_true(op.flops == 10000 && op.bytes == 1000);
    ts_assert_between(4.999, axp_op_gflops(&op), 5.001);
    ts_assert_between(0.999, axp_op_gbps(&op), 1.001);
    assert_int_equal(op.dtype, AXP_F32);
    pass(p, "plain", 10);
    op = ts_op(p, "plain");
    assert_true(isnan(axp_op_gflops(&op)));
    assert_true(isnan(axp_op_gbps(&op)));
    assert_true(isnan(axp_op_gflops(NULL)));
    axp_profiler_destroy(p);
}

static void shares_are_of_the_threads_time(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_start(p, "all");
    ts_tick(250);
    pass(p, "part", 750);
    axp_stop(p, "all");
    ts_assert_between(0.2499, ts_op(p, "all").time_share, 0.2501);
    ts_assert_between(0.7499, ts_op(p, "part").time_share, 0.7501);
    axp_profiler_destroy(p);
}

static void categories_are_inherited(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_start(p, "forward");
    axp_category(p, AXP_CAT_FORWARD);
    axp_start(p, "layer");
    pass(p, "matmul", 10);
    axp_start(p, "load");
    axp_category(p, AXP_CAT_DATA);
    pass(p, "read", 5);
    axp_stop(p, "load");
    axp_stop(p, "layer");
    axp_stop(p, "forward");
    pass(p, "outside", 10);
    assert_int_equal(ts_op(p, "forward").category, AXP_CAT_FORWARD);
    assert_int_equal(ts_op(p, "matmul").category, AXP_CAT_FORWARD);
    assert_int_equal(ts_op(p, "load").category, AXP_CAT_DATA);
    assert_int_equal(ts_op(p, "read").category, AXP_CAT_DATA);
    assert_int_equal(ts_op(p, "outside").category, AXP_CAT_NONE);
    axp_profiler_destroy(p);
}

static void bytes_and_times_as_people_read_them(void **state)
{
    (void)state;
    char b[32];
    assert_string_equal(axp_format_bytes(b, sizeof b, 0), "0 B");
    assert_string_equal(axp_format_bytes(b, sizeof b, 500), "500 B");
    assert_string_equal(axp_format_bytes(b, sizeof b, 1024), "1.00 KB");
    assert_string_equal(axp_format_bytes(b, sizeof b, 1 << 20), "1.00 MB");
    assert_string_equal(axp_format_bytes(b, sizeof b, 1 << 30), "1.00 GB");
    assert_string_equal(axp_format_bytes(b, sizeof b, 1536), "1.50 KB");
    assert_string_equal(axp_format_bytes(b, sizeof b, 1ull << 50),
                        "1048576.00 GB");
    assert_string_equal(axp_format_ns(b, sizeof b, 500), "500 ns");
    assert_string_equal(axp_format_ns(b, sizeof b, 1500), "1.500 us");
    assert_string_equal(axp_format_ns(b, sizeof b, 1500000), "1.500 ms");
    assert_string_equal(axp_format_ns(b, sizeof b, 1500000000), "1.500 s");
    assert_string_equal(axp_format_ns(b, 4, 1500), "1.5");
    for (uint64_t n = 1000; n < 100000; n++) { /* a half goes up, always */
        char want[32];
        snprintf(want, sizeof want, "%" PRIu64 ".%03" PRIu64 " ms",
                 (n + 1) / 1000, (n + 1) % 1000);
        assert_string_equal(axp_format_ns(b, sizeof b, n * 1000 + 500), want);
    }
    assert_null(axp_format_bytes(NULL, 0, 5));
}

static void every_status_has_its_own_sentence(void **state)
{
    (void)state;
    static const axp_status all[] = {
        AXP_OK,          AXP_E_NOT_FOUND,   AXP_E_STATE,
        AXP_E_IO,        AXP_E_FORMAT,      AXP_E_INVALID,
        AXP_E_NO_MEMORY, AXP_E_UNSUPPORTED, AXP_E_DAMAGED};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *text = axp_strerror(all[i]);
        assert_non_null(text);
        assert_string_not_equal(text, "unknown status");
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(text, axp_strerror(all[k]));
    }
    assert_non_null(axp_strerror((axp_status)12345));
    assert_non_null(axp_last_error());
}

/* Names are registered in another order, so that nothing but texts agrees. */
static void the_same_operation_of_another_view(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler(), *q = ts_profiler();
    const axp_track_options gpu = {.name = "stream", .device = "gpu"};
    axp_start(p, "like a");
    axp_stop(p, "like a");
    axp_start(q, "like z");
    axp_stop(q, "like z");
    for (int i = 0; i < 2; i++) {
        axp_start(q, "like a");
        axp_stop(q, "like a");
    }
    axp_track_span(axp_track_create_ex(p, &gpu), "like a", 1, 2, NULL);
    axp_track_span(axp_track_create_ex(q, &gpu), "like a", 1, 6, NULL);
    axp_view *v = axp_snapshot(p), *w = axp_snapshot(q);
    axp_op ops[3], other;
    assert_int_equal(axp_view_ops(v, AXP_BY_SELF, ops, 3), 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(axp_view_op_like(w, &ops[i], &other), AXP_OK);
        assert_string_equal(other.name, "like a");
        assert_int_equal(!other.device, !ops[i].device);
        assert_int_equal(other.calls, other.device ? 1 : 2);
        if (other.device) assert_int_equal(other.total_ns, 5);
    }
    assert_int_equal(axp_view_op(w, "like a", &other), AXP_OK);
    assert_null(other.device);
    assert_int_equal(axp_view_op(w, "like z", &other), AXP_OK);
    assert_int_equal(axp_view_op_like(v, &other, ops), AXP_E_NOT_FOUND);
    other.is_wait = true;
    assert_int_equal(axp_view_op_like(w, &other, ops), AXP_E_NOT_FOUND);
    assert_int_equal(axp_view_op(w, "like", &other), AXP_E_NOT_FOUND);
    assert_int_equal(axp_view_op(w, "zzz", &other), AXP_E_NOT_FOUND);
    axp_view_destroy(v);
    axp_view_destroy(w);
    axp_profiler_destroy(p);
    axp_profiler_destroy(q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentiles_are_within_1_6_percent),
        cmocka_unit_test(percentiles_of_few_and_equal_calls),
        cmocka_unit_test(scopes_of_known_length_too),
        cmocka_unit_test(orders),
        cmocka_unit_test(rates_are_of_the_calls_that_declared),
        cmocka_unit_test(shares_are_of_the_threads_time),
        cmocka_unit_test(categories_are_inherited),
        cmocka_unit_test(the_same_operation_of_another_view),
        cmocka_unit_test(bytes_and_times_as_people_read_them),
        cmocka_unit_test(every_status_has_its_own_sentence),
    };
    ts_use_fake_clock();
    return TS_RUN(tests);
}
