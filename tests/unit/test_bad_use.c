/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Wrong use of every kind: each is counted under its own code, does no harm,
 * and what was used rightly beside it stays exact. Limits too: names, depth,
 * call paths, threads. The clock is moved by hand. */
#include "test_support.h"

#include <errno.h>
#include <math.h>

#include "record/record_name.h"
#include "record/record_profiler.h"

#define MIB (1024u * 1024u)

/* ---- names --------------------------------------------------------------- */

static void one_call(axp_profiler *p, const char *name)
{
    axp_start(p, name);
    ts_tick(5);
    axp_stop(p, name);
}

static void null_and_empty_names_are_unnamed(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    one_call(p, NULL);
    one_call(p, "");
    {
        AXP_SCOPE_IN(p, NULL);
    }
    axp_instant(p, NULL);
    axp_counter(p, "", 1);
    axp_record_alloc(p, NULL, 10);
    axp_record_free(p, NULL, 10);
    axp_async_begin(p, "", 1);
    axp_async_end(p, "", 1);
    axp_event(p, NULL, AXP_EVENT_CUSTOM, NULL);
    assert_int_equal(ts_op(p, "(unnamed)").calls, 4);
    assert_int_equal(axp_current_memory(p), 0);
    /* two calls for each start and stop */
    assert_int_equal(ts_warnings(p, "bad_names"), 12);
    assert_int_equal(ts_warnings(p, "stop_without_start"), 0);
    axp_profiler_destroy(p);
}

static void quick_answers_to_bad_names_are_zero(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    one_call(p, "known");
    assert_int_equal(axp_total_time(p, NULL), 0);
    assert_int_equal(axp_total_time(p, ""), 0);
    assert_int_equal(axp_call_count(p, "never recorded"), 0);
    assert_int_equal(axp_avg_time(p, "never recorded"), 0);
    assert_int_equal(axp_total_time(p, "known"), 5);
    assert_int_equal(axp_avg_time(p, "known"), 5);
    axp_profiler_destroy(p);
}

static char *long_name(char last)
{
    char *name = malloc(MIB + 1);
    memset(name, 'n', MIB);
    name[MIB - 1] = last;
    name[MIB] = 0;
    return name;
}

/* Cut at 4 KiB, and yet told apart by their ends. */
static void names_of_a_mebibyte_are_cut_and_stay_distinct(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    char *a = long_name('a'), *b = long_name('b');
    one_call(p, a);
    one_call(p, a);
    one_call(p, b);
    axp_view *v = ts_snapshot(p);
    axp_op ops[4];
    assert_int_equal(axp_view_ops(v, AXP_BY_CALLS, ops, 4), 2);
    assert_int_equal(ops[0].calls, 2);
    assert_int_equal(ops[1].calls, 1);
    for (int i = 0; i < 2; i++) {
        assert_true(strlen(ops[i].name) <= AXP__NAME_MAX_LEN);
        assert_true(strlen(ops[i].name) > AXP__NAME_MAX_LEN / 2);
        assert_memory_equal(ops[i].name, a, 1000);
    }
    assert_string_not_equal(ops[0].name, ops[1].name);
    assert_int_equal(axp_call_count(p, a), 2);
    assert_true(ts_view_warnings(v, "cut_names") >= 2);
    axp_view_destroy(v);
    free(a);
    free(b);
    axp_profiler_destroy(p);
}

static void names_that_are_not_utf8_are_kept_and_counted(void **state)
{
    (void)state;
    static const char *const bad[] = {"\xff\xfe", "a\xc3", "\xed\xa0\x80",
                                      "\xc0\xaf", "\xf4\x90\x80\x80"};
    axp_profiler *p = ts_profiler();
    one_call(p, "gr\xc3\xbc\xc3\x9f dich");
    assert_int_equal(ts_warnings(p, "names_not_utf8"), 0);
    for (size_t i = 0; i < 5; i++)
        one_call(p, bad[i]);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(ts_op(p, bad[i]).calls, 1);
    assert_int_equal(ts_warnings(p, "names_not_utf8"), 5);
    axp_profiler_destroy(p);
}

static void *use_bad_name(void *p)
{
    one_call(p, "a\xff");
    axp_record_alloc(p, "a\xff", 8);
    axp_counter(p, "a\xff", 1);
    return NULL;
}

/* However many threads use it, and for what. */
static void a_bad_name_is_one(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    use_bad_name(p);
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, use_bad_name, p), 0);
        pthread_join(thread, NULL);
    }
    assert_int_equal(ts_warnings(p, "names_not_utf8"), 1);
    axp_profiler_destroy(p);
}

/* ---- numbers ------------------------------------------------------------- */

static void work_that_is_no_number_is_ignored(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    const double bad[] = {NAN, -1, INFINITY, -INFINITY};
    for (size_t i = 0; i < 4; i++) {
        axp_start_work(p, "op", (axp_work){.flops = bad[i], .bytes = 8});
        ts_tick(10);
        axp_stop(p, "op");
    }
    axp_op op = ts_op(p, "op");
    assert_int_equal(ts_warnings(p, "bad_work"), 4);
    assert_int_equal(op.calls, 4);
    assert_true(op.flops == 0);
    assert_int_equal(op.n_flops_calls, 0);
    assert_true(op.bytes == 32);
    assert_int_equal(op.n_bytes_calls, 4);
    axp_profiler_destroy(p);
}

static void bad_work_added_or_on_a_track_is_ignored(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_track *t = axp_track_create(p, "queue");
    const axp_work bad = {.flops = -5, .bytes = NAN};
    axp_start(p, "op");
    axp_add_work(p, bad);
    axp_stop(p, "op");
    axp_track_span(t, "span", 10, 20, &bad);
    assert_int_equal(ts_warnings(p, "bad_work"), 4);
    assert_true(ts_op(p, "op").flops == 0);
    assert_true(ts_op(p, "span").bytes == 0);
    assert_int_equal(ts_op(p, "span").total_ns, 10);
    axp_profiler_destroy(p);
}

static void work_and_category_outside_of_scopes_warn(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_add_work(p, (axp_work){.flops = 1});
    axp_category(p, AXP_CAT_FORWARD);
    assert_int_equal(ts_warnings(p, "work_outside"), 2);
    axp_profiler_destroy(p);
}

static void unknown_enums_warn(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_start_work(p, "op", (axp_work){.flops = 1, .dtype = (axp_dtype)99});
    axp_category(p, (axp_cat)77);
    axp_stop(p, "op");
    axp_event(p, "event", (axp_event_type)55, NULL);
    axp_record_alloc_ex(
        p, &(axp_alloc){.name = "m", .bytes = 4, .kind = (axp_mem)33});
    assert_int_equal(ts_warnings(p, "bad_enums"), 4);
    axp_op op = ts_op(p, "op");
    assert_int_equal(op.dtype, AXP_DTYPE_UNKNOWN);
    assert_int_equal(op.category, AXP_CAT_NONE);
    assert_true(op.flops == 1);
    assert_int_equal(axp_current_memory(p), 4);
    axp_profiler_destroy(p);
}

/* ---- scopes -------------------------------------------------------------- */

static void stop_without_start_warns(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    one_call(p, "b");
    axp_stop(p, "a");
    axp_stop(p, "b");
    assert_int_equal(ts_warnings(p, "stop_without_start"), 2);
    assert_int_equal(ts_op(p, "a").calls, 0);
    assert_int_equal(ts_op(p, "b").calls, 1);
    axp_profiler_destroy(p);
}

static void unfinished_scopes_are_shown_with_their_time(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_start(p, "outer");
    ts_tick(7);
    axp_start(p, "inner");
    ts_tick(3);
    axp_finish(p);
    assert_int_equal(ts_warnings(p, "open_scopes"), 2);
    assert_int_equal(ts_op(p, "outer").calls, 1);
    assert_int_equal(ts_op(p, "outer").total_ns, 10);
    assert_int_equal(ts_op(p, "outer").self_ns, 7);
    assert_int_equal(ts_op(p, "inner").total_ns, 3);
    axp_profiler_destroy(p);
}

static void a_span_that_ends_before_it_begins_is_empty(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_track *t = axp_track_create(p, "queue");
    axp_track_span(t, "back", 500, 100, NULL);
    assert_int_equal(ts_warnings(p, "bad_spans"), 1);
    assert_int_equal(ts_op(p, "back").calls, 1);
    assert_int_equal(ts_op(p, "back").total_ns, 0);
    axp_profiler_destroy(p);
}

static void async_ends_without_begin_and_double_begins_warn(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_async_end(p, "request", 1);
    assert_int_equal(ts_warnings(p, "async_end_unknown"), 1);
    axp_async_begin(p, "request", 2);
    ts_tick(100);
    axp_async_begin(p, "request", 2);
    ts_tick(10);
    axp_async_end(p, "request", 2);
    assert_int_equal(ts_warnings(p, "async_begin_twice"), 1);
    assert_int_equal(ts_op(p, "request").calls, 1);
    assert_int_equal(ts_op(p, "request").total_ns, 10); /* the newer counts */
    axp_profiler_destroy(p);
}

/* ---- memory -------------------------------------------------------------- */

static void frees_of_the_unknown_warn(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    int block;
    axp_record_free(p, "never", 100);
    axp_track_free(p, &block);
    axp_record_alloc(p, "known", 50);
    axp_record_free(p, "known", 80);
    assert_int_equal(ts_warnings(p, "free_unknown_name"), 1);
    assert_int_equal(ts_warnings(p, "free_unknown_address"), 1);
    assert_int_equal(ts_warnings(p, "free_too_much"), 1);
    assert_int_equal(axp_current_memory(p), 0);
    assert_int_equal(axp_peak_memory(p), 50);
    axp_record_alloc(p, "known", 5); /* and it goes on from 0 */
    assert_int_equal(axp_current_memory(p), 5);
    axp_profiler_destroy(p);
}

static void sizes_that_overflow_warn(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_track *t = axp_track_create(p, "device");
    int block;
    axp_record_alloc(p, "m", 10);
    axp_record_alloc(p, "m", SIZE_MAX);
    axp_record_free(p, "m", SIZE_MAX);
    axp_track_alloc(p, "m", &block, SIZE_MAX);
    axp_record_alloc_ex(p, &(axp_alloc){.name = "m", .bytes = SIZE_MAX});
    axp_track_alloc_at(t, "m", 0x1000, SIZE_MAX, 5);
    assert_int_equal(ts_warnings(p, "bad_sizes"), 5);
    assert_int_equal(axp_current_memory(p), 10);
    assert_int_equal(axp_peak_memory(p), 10);
    axp_profiler_destroy(p);
}

static void null_pointers_are_ignored(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_track_alloc(p, "m", NULL, 10);
    axp_track_free(p, NULL); /* as free() allows */
    axp_record_alloc_ex(p, NULL);
    axp_track_span(NULL, "x", 1, 2, NULL);
    axp_track_alloc_at(NULL, "x", 1, 2, 3);
    axp_track_free_at(NULL, 1, 2);
    assert_int_equal(ts_warnings(p, "null_address"), 1);
    assert_int_equal(ts_all_warnings(p), 1);
    assert_int_equal(axp_current_memory(p), 0);
    axp_profiler_destroy(p);
}

/* ---- every call without a profiler --------------------------------------- */

static void call_everything(axp_profiler *p)
{
    const axp_work work = {.flops = 1};
    int block = 0;
    axp_start(p, "a");
    axp_start_work(p, "a", work);
    axp_stop(p, "a");
    axp_add_work(p, work);
    axp_category(p, AXP_CAT_IO);
    axp_record_alloc(p, "m", 1);
    axp_record_free(p, "m", 1);
    axp_track_alloc(p, "m", &block, 1);
    axp_track_free(p, &block);
    axp_record_alloc_ex(p, &(axp_alloc){.name = "m", .bytes = 1});
    axp_event(p, "e", AXP_EVENT_CUSTOM, "x");
    axp_instant(p, "i");
    axp_counter(p, "c", 1);
    axp_step(p);
    axp_async_begin(p, "r", 1);
    axp_async_end(p, "r", 1);
    axp_flow_out(p, 1);
    axp_flow_in(p, 1);
    axp_thread_name(p, "t");
    {
        AXP_SCOPE_IN(p, "s");
    }
    axp_set_enabled(p, true);
    axp_reset(p);
    axp_print_summary(p);
}

static void everything_takes_a_null_profiler(void **state)
{
    (void)state;
    errno = 4711;
    call_everything(NULL);
    assert_int_equal(errno, 4711);
    assert_false(axp_is_enabled(NULL));
    assert_int_equal(axp_now(NULL), 0);
    assert_int_equal(axp_total_time(NULL, "a"), 0);
    assert_int_equal(axp_current_memory(NULL), 0);
    assert_int_equal(axp_peak_memory(NULL), 0);
    assert_null(axp_snapshot(NULL));
    assert_null(axp_track_create(NULL, "t"));
    assert_int_equal(axp_finish(NULL), AXP_E_STATE);
    assert_int_equal(axp_flush(NULL), AXP_E_STATE);
    assert_string_not_equal(axp_last_error(), "no error");
}

/* ---- the clock ----------------------------------------------------------- */

static void a_clock_that_goes_back_gives_zero_and_warns(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    uint64_t from = ts_read_fake();
    ts_tick(1000000);
    axp_start(p, "back");
    ts_set_clock(ts_read_fake() - 400000);
    axp_stop(p, "back");
    assert_true(ts_warnings(p, "clock_back") >= 1);
    assert_int_equal(ts_op(p, "back").calls, 1);
    assert_int_equal(ts_op(p, "back").total_ns, 0);
    ts_set_clock(from + 2000000);
    one_call(p, "after");
    assert_int_equal(ts_op(p, "after").total_ns, 5);
    axp_profiler_destroy(p);
}

static void a_clock_that_goes_back_within_a_child(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    ts_tick(1000000);
    axp_start(p, "outer");
    ts_tick(1000);
    axp_start(p, "inner");
    ts_tick(500);
    axp_stop(p, "inner");
    ts_set_clock(ts_read_fake() - 1200); /* before inner began */
    axp_stop(p, "outer");
    ts_tick(10000);
    axp_op outer = ts_op(p, "outer"), inner = ts_op(p, "inner");
    assert_int_equal(inner.total_ns, 500);
    assert_true(outer.total_ns <= 1500);
    assert_true(outer.self_ns <= outer.total_ns);
    axp_profiler_destroy(p);
}

/* Before the profiler began: nothing underflows. */
static void a_clock_that_goes_back_before_the_start(void **state)
{
    (void)state;
    uint64_t from = ts_read_fake();
    axp_profiler *p = ts_profiler();
    one_call(p, "op");
    ts_set_clock(from - 5000000);
    one_call(p, "op");
    axp_instant(p, "mark");
    axp_step(p);
    assert_int_equal(axp_now(p), 0);
    axp_view *v = ts_snapshot(p);
    assert_true(ts_view_warnings(v, "clock_back") >= 1);
    assert_int_equal(ts_view_op(v, "op").calls, 2);
    assert_true(ts_view_op(v, "op").total_ns <= 10);
    assert_true(axp_view_steps(v).max_ns <= 1000);
    assert_true(axp_view_duration(v) <= 10000000);
    axp_view_destroy(v);
    ts_set_clock(from + 10000000);
    axp_profiler_destroy(p);
}

/* ---- limits -------------------------------------------------------------- */

/* Scopes nested by recursion, on a stack of their own that holds them. */
struct dive {
    axp_profiler *p;
    uint64_t depth;
    uint64_t dropped;
    uint64_t at_bottom; /* calls of "odd" that are open there */
};

static void dive(struct dive *d, uint64_t level)
{
    if (level == d->depth) {
        d->at_bottom = axp_call_count(d->p, "odd");
        return;
    }
    uint64_t token = axp_begin(d->p, level % 2 ? "odd" : "even");
    ts_tick(1);
    dive(d, level + 1);
    if (token)
        axp_end(token);
    else
        d->dropped++;
}

static void *dive_on_thread(void *arg)
{
    dive(arg, 0);
    return NULL;
}

static void run_dive(struct dive *d)
{
    pthread_attr_t large;
    pthread_t t;
    pthread_attr_init(&large);
    pthread_attr_setstacksize(&large, 1024u * MIB);
    assert_int_equal(pthread_create(&t, &large, dive_on_thread, d), 0);
    ts_join(t);
    pthread_attr_destroy(&large);
}

static void depth_of_100000(void **state)
{
    if (TS_TSAN) skip(); /* its own stacks end at 65,536 calls */
    (void)state;
    const uint64_t depth = 100000;
    struct dive d = {.p = ts_profiler(), .depth = depth};
    run_dive(&d);
    axp_view *v = ts_snapshot(d.p);
    axp_op even = ts_view_op(v, "even"), odd = ts_view_op(v, "odd");
    assert_int_equal(d.dropped, 0);
    assert_int_equal(d.at_bottom, depth / 2);
    assert_int_equal(even.calls, depth / 2);
    assert_int_equal(odd.calls, depth / 2);
    assert_int_equal(even.total_ns, depth); /* recursion once */
    assert_int_equal(odd.total_ns, depth - 1);
    assert_int_equal(even.self_ns + odd.self_ns, depth);
    assert_int_equal(ts_view_warnings(v, "too_deep"), 0);
    assert_int_equal(ts_view_warnings(v, "abandoned_scopes"), 0);
    axp_view_destroy(v);
    axp_profiler_destroy(d.p);
}

static void named_scopes_100000_deep(void **state)
{
    (void)state;
    const uint64_t depth = 100000;
    axp_profiler *p = ts_profiler();
    for (uint64_t i = 0; i < depth; i++) {
        axp_start(p, "deep");
        ts_tick(1);
    }
    assert_int_equal(axp_call_count(p, "deep"), depth);
    for (uint64_t i = 0; i < depth; i++)
        axp_stop(p, "deep");
    axp_view *v = ts_snapshot(p);
    axp_op op = ts_view_op(v, "deep");
    assert_int_equal(op.calls, depth);
    assert_int_equal(op.total_ns, depth);
    assert_int_equal(op.self_ns, depth);
    assert_int_equal(op.min_ns, 1);
    assert_int_equal(op.max_ns, depth);
    assert_int_equal(ts_view_warnings(v, "too_deep"), 0);
    assert_int_equal(ts_view_warnings(v, "stop_without_start"), 0);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

static void past_the_greatest_depth_scopes_are_dropped_and_counted(void **state)
{
    (void)state;
    if (TS_TSAN) skip();
    const uint64_t depth = 1100000; /* more than 2^20 */
    axp_options o = {.memory_limit = 512u * MIB, .flags = AXP_NO_TIMELINE};
    struct dive d = {.p = axp_profiler_create(&o), .depth = depth};
    run_dive(&d);
    assert_true(d.dropped > 0);
    assert_int_equal(axp__prof_of(d.p)->warning[AXP__WARN_TOO_DEEP].count,
                     d.dropped);
    assert_int_equal(axp_call_count(d.p, "even") + axp_call_count(d.p, "odd"),
                     depth - d.dropped);
    one_call(d.p, "after");
    assert_int_equal(axp_call_count(d.p, "after"), 1);
    axp_profiler_destroy(d.p);
}

#define ALPHABET 10u

/* Every path of six letters out of ten, walked as a tree: 10^6 leaves. */
static void walk(axp_profiler *p, unsigned level)
{
    static const char *const letter[ALPHABET] = {"A", "B", "C", "D", "E",
                                                 "F", "G", "H", "I", "J"};
    if (!level) return;
    for (unsigned i = 0; i < ALPHABET; i++) {
        uint64_t token = axp_begin(p, letter[i]);
        ts_tick(1);
        walk(p, level - 1);
        axp_end(token);
    }
}

static void a_million_call_paths_keep_op_counts_exact(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    uint64_t from = ts_read_fake(), calls = 0, self = 0;
    walk(p, 6);
    axp_op ops[16];
    axp_view *v = ts_snapshot(p);
    assert_int_equal(axp_view_ops(v, AXP_BY_CALLS, ops, 16), ALPHABET);
    for (unsigned i = 0; i < ALPHABET; i++) {
        assert_int_equal(ops[i].calls, 111111);
        assert_true(ops[i].self_ns <= ops[i].total_ns);
        calls += ops[i].calls;
        self += ops[i].self_ns;
    }
    assert_int_equal(calls, 1111110);
    assert_int_equal(self, ts_read_fake() - from); /* no time twice */
    /* 64 MiB do not hold a million nodes: the rest went to (other) */
    assert_true(ts_view_warnings(v, "folded_paths") > 0);
    assert_true(ts_node(v, "(other)/A").calls > 0);
    assert_true(axp_view_tree(v, NULL, 0) < 1111111);
    /* the outermost ones: their time is known from the walk */
    assert_int_equal(ts_node(v, "A").calls, 1);
    assert_int_equal(ts_node(v, "A").total_ns, 111111);
    /* recursion counts once, folded or not: all of A's time is under the
     * outermost A's, one for each path without an A above it */
    uint64_t expected = 0, paths = 1, below = 111111;
    for (unsigned level = 0; level < 6; level++) {
        expected += paths * below;
        paths *= ALPHABET - 1;
        below = below / 10;
    }
    assert_int_equal(ts_view_op(v, "A").total_ns, expected);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

static void *call_once(void *arg)
{
    one_call(arg, "on a thread");
    return NULL;
}

static void three_thousand_threads_one_after_another(void **state)
{
    (void)state;
    const unsigned n = 3000;
    axp_profiler *p = ts_profiler();
    for (unsigned i = 0; i < n; i++)
        ts_run(call_once, p);
    axp_view *v = ts_snapshot(p);
    axp_op op = ts_view_op(v, "on a thread");
    assert_int_equal(op.calls, n);
    assert_int_equal(op.total_ns, 5 * n);
    assert_int_equal(op.min_ns, 5);
    assert_int_equal(op.max_ns, 5);
    assert_int_equal(ts_node(v, "on a thread").calls, n);
    assert_int_equal(axp_view_threads(v, NULL, 0), n);
    assert_int_equal(axp_view_event_count(v) + axp_view_cut_count(v), 2 * n);
    axp_view_destroy(v);
    assert_int_equal(ts_all_warnings(p), 0);
    axp_profiler_destroy(p);
}

struct crowd {
    axp_profiler *p;
    pthread_barrier_t barrier;
};

static void *call_in_crowd(void *arg)
{
    struct crowd *c = arg;
    uint64_t token = axp_begin(c->p, "crowd");
    pthread_barrier_wait(&c->barrier);
    axp_end(token);
    axp_record_alloc(c->p, "memory", 3);
    return NULL;
}

static void five_hundred_threads_at_once(void **state)
{
    (void)state;
    enum { N = TS_TSAN ? 100 : 500 }; /* it has room for few */
    struct crowd c = {.p = ts_profiler()};
    pthread_t t[N];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 * 1024);
    pthread_barrier_init(&c.barrier, NULL, N);
    for (int i = 0; i < N; i++)
        assert_int_equal(pthread_create(&t[i], &small, call_in_crowd, &c), 0);
    for (int i = 0; i < N; i++)
        ts_join(t[i]);
    pthread_barrier_destroy(&c.barrier);
    pthread_attr_destroy(&small);
    assert_int_equal(ts_op(c.p, "crowd").calls, N);
    assert_int_equal(axp_current_memory(c.p), 3 * N);
    assert_int_equal(ts_all_warnings(c.p), 0);
    axp_profiler_destroy(c.p);
}

/* Last: it uses the process's names up. */
static void names_past_500000_share_other(void **state)
{
    (void)state;
    const unsigned n = 510000;
    axp_profiler *p = ts_profiler();
    one_call(p, "before the flood");
    char name[32];
    for (unsigned i = 0; i < n; i++) {
        snprintf(name, sizeof name, "name %u", i);
        axp_instant(p, name);
    }
    uint64_t full = ts_warnings(p, "names_full");
    assert_true(full >= n - AXP__NAMES_LIMIT);
    assert_true(full < n - AXP__NAMES_LIMIT + 1000); /* the tests before */
    for (unsigned i = 0; i < 7; i++) {
        snprintf(name, sizeof name, "late %u", i);
        one_call(p, name);
    }
    one_call(p, "before the flood");
    assert_int_equal(ts_op(p, "(other)").calls, 7);
    assert_int_equal(ts_op(p, "(other)").total_ns, 35);
    assert_int_equal(ts_op(p, "before the flood").calls, 2);
    assert_int_equal(ts_op(p, "late 0").calls, 0);
    axp_record_alloc(p, "late memory", 10);
    assert_int_equal(axp_current_memory(p), 10);
    AXP_SCOPE_IN(p, "late scope");
    axp_profiler_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_and_empty_names_are_unnamed),
        cmocka_unit_test(quick_answers_to_bad_names_are_zero),
        cmocka_unit_test(names_of_a_mebibyte_are_cut_and_stay_distinct),
        cmocka_unit_test(names_that_are_not_utf8_are_kept_and_counted),
        cmocka_unit_test(a_bad_name_is_one),
        cmocka_unit_test(work_that_is_no_number_is_ignored),
        cmocka_unit_test(bad_work_added_or_on_a_track_is_ignored),
        cmocka_unit_test(work_and_category_outside_of_scopes_warn),
        cmocka_unit_test(unknown_enums_warn),
        cmocka_unit_test(stop_without_start_warns),
        cmocka_unit_test(unfinished_scopes_are_shown_with_their_time),
        cmocka_unit_test(a_span_that_ends_before_it_begins_is_empty),
        cmocka_unit_test(async_ends_without_begin_and_double_begins_warn),
        cmocka_unit_test(frees_of_the_unknown_warn),
        cmocka_unit_test(sizes_that_overflow_warn),
        cmocka_unit_test(null_pointers_are_ignored),
        cmocka_unit_test(everything_takes_a_null_profiler),
        cmocka_unit_test(a_clock_that_goes_back_gives_zero_and_warns),
        cmocka_unit_test(a_clock_that_goes_back_within_a_child),
        cmocka_unit_test(a_clock_that_goes_back_before_the_start),
        cmocka_unit_test(depth_of_100000),
        cmocka_unit_test(named_scopes_100000_deep),
        cmocka_unit_test(
            past_the_greatest_depth_scopes_are_dropped_and_counted),
        cmocka_unit_test(a_million_call_paths_keep_op_counts_exact),
        cmocka_unit_test(three_thousand_threads_one_after_another),
        cmocka_unit_test(five_hundred_threads_at_once),
        cmocka_unit_test(names_past_500000_share_other),
    };
    ts_use_fake_clock();
    return TS_RUN(tests);
}
