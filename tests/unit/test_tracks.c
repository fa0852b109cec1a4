/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tracks: rows whose times the caller gives are shown as given. */
#include <unistd.h>

#include "test_support.h"

static void spans_are_exact_to_the_nanosecond(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_track *t = axp_track_create(p, "stream 0");
    axp_track_span(t, "kernel", 1000000001, 1000000018, NULL);
    axp_track_span(t, "kernel", 5, 108, &(axp_work){.flops = 412, .bytes = 8});
    axp_track_span(t, "kernel", 3000000000u, 3000000000u, NULL);
    axp_op op = ts_op(p, "kernel");
    assert_int_equal(op.calls, 3);
    assert_int_equal(op.total_ns, 120);
    assert_int_equal(op.self_ns, 120);
    assert_int_equal(op.min_ns, 0);
    assert_int_equal(op.max_ns, 103);
    assert_true(op.flops == 412 && op.bytes == 8);
    ts_assert_between(3.999, axp_op_gflops(&op), 4.001);
    assert_int_equal(axp_total_time(p, "kernel"), 120);
    assert_int_equal(axp_call_count(p, "kernel"), 3);
    axp_profiler_destroy(p);
}

static void spans_and_scopes_of_one_name_add_up(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_track *t = axp_track_create(p, "stream 0");
    axp_track_span(t, "op", 100, 200, NULL);
    axp_start(p, "op");
    axp_stop(p, "op");
    axp_op op = ts_op(p, "op");
    assert_int_equal(op.calls, 2);
    assert_true(op.total_ns >= 100);
    axp_profiler_destroy(p);
}

static void a_view_lists_tracks_and_counters(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_track *t = axp_track_create(p, "stream 0");
    axp_track *other = axp_track_create(p, "stream 1");
    axp_track_span(t, "kernel", 100, 300, NULL);
    axp_track_span(t, "kernel", 250, 400, NULL);
    axp_track_span(other, "copy", 7, 9, NULL);
    axp_counter(p, "loss", 4);
    axp_counter(p, "loss", 1);
    axp_counter(p, "loss", 2.5);
    axp_view *v = ts_snapshot(p);
    axp_track_info track[3] = {{0}};
    axp_counter_info counter[2] = {{0}};
    assert_int_equal(axp_view_tracks(v, NULL, 0), 2);
    assert_int_equal(axp_view_tracks(v, track, 3), 2);
    int i = strcmp(track[0].name, "stream 0") != 0;
    assert_string_equal(track[i].name, "stream 0");
    assert_int_equal(track[i].begin, 100);
    assert_int_equal(track[i].end, 400);
    assert_int_equal(track[i].busy_ns, 350);
    assert_int_equal(track[i].events, 4);
    assert_int_equal(track[i].process_id, getpid());
    assert_int_equal(track[i].rank, -1);
    assert_string_equal(track[!i].name, "stream 1");
    assert_null(track[2].name);
    assert_int_equal(axp_view_counters(v, counter, 2), 1);
    assert_string_equal(counter[0].name, "loss");
    assert_int_equal(counter[0].count, 3);
    assert_true(counter[0].last == 2.5 && !counter[0].is_outside);
    assert_true(counter[0].mean >= 1 && counter[0].mean <= 4);
    assert_true(counter[0].min == 1 && counter[0].max == 4);
    assert_true(counter[0].last_at > 0);
    assert_int_equal(axp_view_tracks(NULL, NULL, 0), 0);
    assert_int_equal(axp_view_counters(NULL, NULL, 0), 0);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

/* What others measured costs this program's threads nothing. */
static void spans_are_no_overhead_of_threads(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_track *t = axp_track_create(p, "stream 0");
    for (axp_ns i = 0; i < 20000; i++)
        axp_track_span(t, "kernel", i * 100, i * 100 + 90, NULL);
    axp_instant(p, "alive");
    ts_sleep_ms(1);
    axp_instant(p, "alive");
    axp_view *v = ts_snapshot(p);
    assert_int_equal(ts_view_warnings(v, "own_overhead"), 0);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

/* Longer than any histogram page reaches. */
static void the_longest_spans_there_can_be(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_track *t = axp_track_create(p, "stream 0");
    axp_track_span(t, "long", 0, UINT64_MAX / 2, NULL);
    axp_track_span(t, "longest", 0, UINT64_MAX, NULL);
    axp_track_span(t, "longest", 0, UINT64_MAX - 64, NULL);
    assert_int_equal(ts_op(p, "long").max_ns, UINT64_MAX / 2);
    assert_int_equal(ts_op(p, "longest").calls, 2);
    assert_int_equal(ts_op(p, "longest").max_ns, UINT64_MAX);
    axp_profiler_destroy(p);
}

struct times {
    axp_ns at[16];
    axp_event_type type[16];
    size_t n;
};

static int keep(const axp_event_info *e, void *ctx)
{
    struct times *t = ctx;
    t->at[t->n] = e->time_ns;
    t->type[t->n++] = e->type;
    return t->n == 16;
}

static void spans_given_in_any_order_are_events_in_time(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_track *t = axp_track_create(p, "stream 0");
    axp_track_span(t, "b", 300, 400, NULL);
    axp_track_span(t, "a", 100, 250, NULL);
    axp_track_alloc_at(t, "m", 0x1000, 64, 260);
    axp_track_free_at(t, 0x1000, 350);
    axp_view *v = ts_snapshot(p);
    struct times x = {.n = 0};
    assert_int_equal(axp_view_events(v, NULL, keep, &x), AXP_OK);
    static const axp_ns at[] = {100, 250, 260, 300, 350, 400};
    static const axp_event_type type[] = {AXP_EVENT_START, AXP_EVENT_END,
                                          AXP_EVENT_ALLOC, AXP_EVENT_START,
                                          AXP_EVENT_FREE,  AXP_EVENT_END};
    assert_int_equal(x.n, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(x.at[i], at[i]);
        assert_int_equal(x.type[i], type[i]);
    }
    assert_int_equal(axp_view_event_count(v), 6);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

/* The same address on two tracks, and in the program, are three blocks. */
static void each_track_has_its_own_addresses(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_track *a = axp_track_create(p, "gpu 0");
    axp_track *b = axp_track_create(p, "gpu 1");
    axp_track_alloc_at(a, "m", 0x1000, 100, 10);
    axp_track_alloc_at(b, "m", 0x1000, 30, 20);
    axp_track_alloc(p, "m", (void *)0x1000, 7);
    assert_int_equal(axp_current_memory(p), 137);
    axp_track_free_at(a, 0x1000, 30);
    assert_int_equal(axp_current_memory(p), 37);
    axp_track_free_at(b, 0x1000, 40);
    axp_track_free(p, (void *)0x1000);
    assert_int_equal(axp_current_memory(p), 0);
    assert_int_equal(ts_all_warnings(p), 0);
    axp_track_free_at(a, 0x1000, 50);
    assert_int_equal(ts_warnings(p, "free_unknown_address"), 1);
    axp_profiler_destroy(p);
}

static void a_span_that_ends_before_it_begins_warns(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_track *t = axp_track_create(p, "stream 0");
    axp_track_span(t, "op", 10, 5, NULL);
    axp_track_span(t, "op", UINT64_MAX, 0, NULL);
    assert_int_equal(ts_warnings(p, "bad_spans"), 2);
    assert_int_equal(ts_op(p, "op").total_ns, 0);
    assert_int_equal(ts_op(p, "op").calls, 2);
    axp_profiler_destroy(p);
}

#define SPANS 20000u

static void *feed(void *arg)
{
    for (uint64_t i = 0; i < SPANS; i++)
        axp_track_span(arg, "shared", i * 10, i * 10 + 3, NULL);
    return NULL;
}

static void two_threads_feed_one_track(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_track *t = axp_track_create(p, "stream 0");
    pthread_t a = ts_spawn(feed, t), b = ts_spawn(feed, t);
    ts_join(a);
    ts_join(b);
    axp_view *v = ts_snapshot(p);
    axp_op op = ts_view_op(v, "shared");
    assert_int_equal(op.calls, 2 * SPANS);
    assert_int_equal(op.total_ns, 6 * SPANS);
    assert_int_equal(op.p50_ns, 3);
    assert_int_equal(axp_view_event_count(v) + axp_view_cut_count(v),
                     4 * SPANS);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

static void *feed_once(void *arg)
{
    axp_track_span(arg, "one", 10, 20, NULL);
    return NULL;
}

/* More threads than lanes are kept for: none of their spans is lost. */
static void a_hundred_threads_feed_one_track_and_end(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_track *t = axp_track_create(p, "stream 0");
    for (int i = 0; i < 100; i++)
        ts_run(feed_once, t);
    assert_int_equal(ts_op(p, "one").calls, 100);
    assert_int_equal(ts_op(p, "one").total_ns, 1000);
    axp_profiler_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_are_exact_to_the_nanosecond),
        cmocka_unit_test(spans_and_scopes_of_one_name_add_up),
        cmocka_unit_test(a_view_lists_tracks_and_counters),
        cmocka_unit_test(spans_are_no_overhead_of_threads),
        cmocka_unit_test(spans_given_in_any_order_are_events_in_time),
        cmocka_unit_test(each_track_has_its_own_addresses),
        cmocka_unit_test(a_span_that_ends_before_it_begins_warns),
        cmocka_unit_test(the_longest_spans_there_can_be),
        cmocka_unit_test(two_threads_feed_one_track),
        cmocka_unit_test(a_hundred_threads_feed_one_track_and_end),
    };
    return TS_RUN(tests);
}
