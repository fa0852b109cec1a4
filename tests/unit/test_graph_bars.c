/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The critical path as bars: operations in the order in which they ran. */
#include "graph/graph_bars.h"
#include "graph_script.h"

#define MS UINT64_C(1000000)

/* The bars of a view, which are the run without gaps; the view goes on. */
static struct axp__bars bars_of(const axp_view *v)
{
    struct axp__bars b;
    assert_int_equal(axp__bars_init(&b, v), AXP_OK);
    assert_in_range(b.n, 1, AXP__MOST_BARS);
    for (size_t i = 0; i < b.n; i++) {
        assert_true(b.at[i].begin < b.at[i].end);
        if (i) assert_int_equal(b.at[i].begin, b.at[i - 1].end);
    }
    assert_int_equal(b.at[b.n - 1].end - b.at[0].begin, axp_view_duration(v));
    return b;
}

static void check(const struct axp__bars *b, size_t i, const char *name,
                  axp_ns begin, axp_ns end)
{
    if (i >= b->n) fail_msg("%zu bars: none is %s", b->n, name);
    if (strcmp(b->at[i].name, name) != 0 || b->at[i].begin != begin ||
        b->at[i].end != end)
        fail_msg("bar %zu is %s, %llu to %llu", i, b->at[i].name,
                 (unsigned long long)b->at[i].begin,
                 (unsigned long long)b->at[i].end);
}

static void done(axp_view *v, struct axp__bars *b)
{
    axp__bars_fini(b);
    axp_view_destroy(v);
}

/* Three operations in turn on one thread, one inside another; a second thread
 * does a little at the beginning. */
static void operations_are_in_their_order(void **state)
{
    (void)state;
    struct script *s = script_create();
    script_op(s, 1, 1 * MS, MS, 9);
    for (uint64_t i = 0; i < 3; i++) {
        uint64_t at = i * 30 * MS;
        script_op(s, 0, at, 5 * MS, 0);
        script_word(s, 0, at + 5 * MS, AXP__W_BEGIN, SCRIPT_FIRST + 1);
        script_op(s, 0, at + 10 * MS, 4 * MS, 2);
        script_word(s, 0, at + 28 * MS, AXP__W_END, SCRIPT_FIRST + 1);
    }
    script_word(s, 0, 90 * MS, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    axp_view *v = script_view(s);
    struct axp__bars b = bars_of(v);
    for (uint64_t i = 0; i < 3; i++) {
        uint64_t at = i * 30 * MS;
        check(&b, 5 * i, "op0", at, at + 5 * MS);
        check(&b, 5 * i + 1, "op1", at + 5 * MS, at + 10 * MS);
        check(&b, 5 * i + 2, "op2", at + 10 * MS, at + 14 * MS);
        check(&b, 5 * i + 3, "op1", at + 14 * MS, at + 28 * MS);
        check(&b, 5 * i + 4, "outside scopes", at + 28 * MS, at + 30 * MS);
        assert_int_equal(b.at[5 * i].thread_id, 100);
    }
    assert_int_equal(b.n, 15);
    done(v, &b);
}

/* One thread is all that there is: its row is there, though no rule needs a graph
 * for it. */
static void one_thread_is_the_path(void **state)
{
    (void)state;
    struct script *s = script_create();
    const struct axp__recorded *of = NULL;
    script_op(s, 0, 0, 5 * MS, 0);
    script_op(s, 0, 5 * MS, 10 * MS, 1);
    script_op(s, 0, 20 * MS, 10 * MS, 0);
    axp_view *v = script_view(s);
    struct axp__bars b = bars_of(v);
    check(&b, 0, "op0", 0, 5 * MS);
    check(&b, 1, "op1", 5 * MS, 15 * MS);
    check(&b, 2, "outside scopes", 15 * MS, 20 * MS);
    check(&b, 3, "op0", 20 * MS, 30 * MS);
    assert_int_equal(b.n, 4);
    assert_int_equal(axp__graph_recorded(v, &of), AXP_OK);
    assert_null(of);
    axp__bars_fini(&b);
    v->n_events = AXP__MOST_ALONE + 1; /* too long to be read once more */
    assert_int_equal(axp__bars_init(&b, v), AXP_OK);
    assert_int_equal(b.n, 0);
    done(v, &b);
}

/* Without a timeline nobody knows when. */
static void no_timeline_no_path(void **state)
{
    (void)state;
    struct axp__bars b;
    axp_profiler *p = axp_profiler_create(
        &(axp_options){.title = "x", .flags = AXP_NO_TIMELINE});
    assert_non_null(p);
    axp_end(axp_begin(p, "op"));
    axp_view *v = ts_snapshot(p);
    assert_int_equal(axp__bars_init(&b, v), AXP_OK);
    assert_int_equal(b.n, 0);
    done(v, &b);
    axp_profiler_destroy(p);
}

/* The path goes from one thread to the other at a barrier: each as far as it is
 * on it. */
static void the_path_changes_threads(void **state)
{
    (void)state;
    const uint64_t barrier = 0x2000;
    struct script *s = script_create();
    script_op(s, 0, 0, 10 * MS, 0);
    script_gave(s, 0, 10 * MS, AXP_SYNC_BARRIER, barrier, 1);
    script_waited(s, 0, 31 * MS,
                  (struct script_wait){AXP_SYNC_BARRIER, barrier, 1, 10 * MS,
                                       30 * MS, 1, 0, true});
    script_op(s, 0, 31 * MS, 2 * MS, 3);
    script_op(s, 0, 33 * MS, 3 * MS, 4);
    script_op(s, 1, 0, 20 * MS, 1);
    script_op(s, 1, 20 * MS, 10 * MS, 2);
    script_gave(s, 1, 30 * MS, AXP_SYNC_BARRIER, barrier, 1);
    script_op(s, 1, 30 * MS, MS, 5);
    axp_view *v = script_view(s);
    struct axp__bars b = bars_of(v);
    check(&b, 0, "op1", 0, 20 * MS);
    check(&b, 1, "op2", 20 * MS, 30 * MS);
    check(&b, 2, "waiting for a CPU", 30 * MS, 31 * MS);
    check(&b, 3, "op3", 31 * MS, 33 * MS);
    check(&b, 4, "op4", 33 * MS, 36 * MS);
    assert_int_equal(b.n, 5);
    assert_int_equal(b.at[0].thread_id, 101);
    assert_int_equal(b.at[3].thread_id, 100);
    done(v, &b);
}

/* 50,000 operations, of 1 and of 9 us in turn, and a long one at each end: what
 * is short is its neighbours', what is long stays what it is. */
static void very_many_are_drawn_coarsely(void **state)
{
    (void)state;
    struct script *s = script_create();
    const uint64_t n = 50000, long_ns = 100 * MS;
    script_op(s, 1, 1, 1, 9);
    script_op(s, 0, 0, long_ns, 2);
    for (uint64_t i = 0, at = long_ns; i < n; i++) {
        uint64_t ns = i % 2 ? 9000 : 1000;
        script_op(s, 0, at, ns, i % 2);
        at += ns;
    }
    script_op(s, 0, long_ns + n * 5000, long_ns, 2);
    axp_view *v = script_view(s);
    struct axp__bars b = bars_of(v);
    assert_in_range(b.n, 4096, AXP__MOST_BARS);
    check(&b, 0, "op2", 0, long_ns);
    check(&b, b.n - 1, "op2", long_ns + n * 5000, 2 * long_ns + n * 5000);
    axp_ns named = 0;
    for (size_t i = 1; i + 1 < b.n; i++)
        if (!strcmp(b.at[i].name, "op1")) named += b.at[i].end - b.at[i].begin;
    assert_in_range(named, n * 4500, n * 5000);
    done(v, &b);
}

/* ---- samples ---------------------------------------------------------------- */

static const struct axp__cap_sample *seen;

static bool load_seen(const struct axp__cap_samples *from,
                      struct axp__cap_sample *out)
{
    memcpy(out, seen, from->n * sizeof *out);
    return true;
}

static axp_view *view_seen(struct script *s, const struct axp__cap_sample *at,
                           uint32_t n)
{
    static struct axp__cap_samples block = {.load = load_seen};
    seen = at;
    block.n = n;
    s->c.samples = &block;
    s->c.n_samples = 1;
    return script_view(s);
}

static void time_off_the_processor_is_where_it_was(void **state)
{
    (void)state;
    struct axp__cap_sample at[] = {
        {8 * MS, 100, 5 * MS, 0, AXP_SAMPLE_READY, 100, false},
        {26 * MS, 100, 4 * MS, 0, AXP_SAMPLE_WAITED, 100, false}};
    struct script *s = script_create();
    script_op(s, 0, 0, 20 * MS, 0);
    script_word(s, 0, 30 * MS, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    script_op(s, 1, MS, MS, 9);
    axp_view *v = view_seen(s, at, 2);
    struct axp__bars b = bars_of(v);
    const char *blocked = "blocked: I/O, sleep, other processes";
    check(&b, 0, "op0", 0, 3 * MS);
    check(&b, 1, "waiting for a CPU", 3 * MS, 8 * MS);
    check(&b, 2, "op0", 8 * MS, 20 * MS);
    check(&b, 3, "outside scopes", 20 * MS, 22 * MS);
    check(&b, 4, blocked, 22 * MS, 26 * MS);
    check(&b, 5, "outside scopes", 26 * MS, 30 * MS);
    assert_int_equal(b.n, 6);
    assert_int_equal(b.at[1].kind, AXP_PATH_NO_CPU);
    assert_int_equal(b.at[4].kind, AXP_PATH_WAIT);
    done(v, &b);
}

/* Where it waits does not work meanwhile. */
static void a_wait_with_a_stack_is_where_it_was(void **state)
{
    (void)state;
    struct script *s = script_create();
    uint32_t works = script_function(s, 0), waits = script_function(s, 1);
    struct axp__cap_sample at[] = {
        {10 * MS, 100, 10 * MS, works, AXP_SAMPLE_CPU, 100, false},
        {16 * MS, 100, 4 * MS, waits, AXP_SAMPLE_WAITED, 100, false},
        {26 * MS, 100, 10 * MS, works, AXP_SAMPLE_CPU, 100, false}};
    script_word(s, 0, 0, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    script_word(s, 0, 26 * MS, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    script_op(s, 1, MS, MS, 9);
    axp_view *v = view_seen(s, at, 3);
    struct axp__bars b = bars_of(v);
    check(&b, 0, "0x1000", 0, 12 * MS);
    check(&b, 1, "blocked: I/O, sleep, other processes", 12 * MS, 16 * MS);
    check(&b, 2, "0x1000", 16 * MS, 26 * MS);
    assert_int_equal(b.n, 3);
    assert_int_equal(b.at[1].kind, AXP_PATH_WAIT);
    done(v, &b);
}

/* A thread that recorded nothing, and was seen when the others had ended. */
static void samples_alone_are_bars(void **state)
{
    (void)state;
    struct axp__cap_sample at[] = {
        {20 * MS, 777, 10 * MS, 0, AXP_SAMPLE_CPU, 100, false},
        {30 * MS, 777, 4 * MS, 0, AXP_SAMPLE_READY, 100, false},
        {40 * MS, 777, 10 * MS, 0, AXP_SAMPLE_CPU, 100, false}};
    struct script *s = script_create();
    script_op(s, 0, 0, 10 * MS, 0);
    script_op(s, 1, MS, MS, 9);
    s->rows[1].last = s->c.end_ticks = 40 * MS;
    axp_view *v = view_seen(s, at, 3);
    struct axp__bars b = bars_of(v);
    check(&b, 0, "op0", 0, 10 * MS);
    check(&b, 1, "outside scopes", 10 * MS, 26 * MS);
    check(&b, 2, "waiting for a CPU", 26 * MS, 30 * MS);
    check(&b, 3, "outside scopes", 30 * MS, 40 * MS);
    assert_int_equal(b.at[2].thread_id, 777);
    done(v, &b);
}

/* A wait that nobody is known to have ended is what others did meanwhile: there
 * the thread's own records say nothing. */
static void guesses_stay_guesses(void **state)
{
    (void)state;
    struct script *s = script_create();
    script_op(s, 0, 0, 10 * MS, 0);
    script_waited(s, 0, 30 * MS,
                  (struct script_wait){AXP_SYNC_BARRIER, 0x2000, 0, 10 * MS, 0,
                                       -1, 0, true});
    script_op(s, 0, 30 * MS, 10 * MS, 1);
    script_op(s, 1, 0, 30 * MS, 2);
    axp_view *v = script_view(s);
    struct axp__bars b = bars_of(v);
    check(&b, 0, "op0", 0, 10 * MS);
    check(&b, 1, "op2", 10 * MS, 30 * MS);
    check(&b, 2, "op1", 30 * MS, 40 * MS);
    done(v, &b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_are_in_their_order),
        cmocka_unit_test(one_thread_is_the_path),
        cmocka_unit_test(no_timeline_no_path),
        cmocka_unit_test(the_path_changes_threads),
        cmocka_unit_test(very_many_are_drawn_coarsely),
        cmocka_unit_test(time_off_the_processor_is_where_it_was),
        cmocka_unit_test(a_wait_with_a_stack_is_where_it_was),
        cmocka_unit_test(samples_alone_are_bars),
        cmocka_unit_test(guesses_stay_guesses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
