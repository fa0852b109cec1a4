/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Snapshots while other threads record: frozen, consistent in themselves,
 * never behind an earlier one, and exact once the threads have ended. */
#include "test_support.h"

#include <unistd.h>

#define MAX_WORKERS 3

struct work {
    axp_profiler *p;
    bool is_over;
    uint64_t n[MAX_WORKERS]; /* rounds done */
};

struct worker {
    struct work *w;
    int i;
};

static void inner(axp_profiler *p)
{
    AXP_SCOPE_IN(p, "inner");
}

static void *record(void *arg)
{
    struct worker *me = arg;
    struct work *w = me->w;
    char name[16];
    snprintf(name, sizeof name, "worker %d", me->i);
    axp_thread_name(w->p, name);
    while (!__atomic_load_n(&w->is_over, __ATOMIC_RELAXED)) {
        AXP_SCOPE_IN(w->p, "outer");
        inner(w->p);
        inner(w->p);
        axp_start(w->p, "named");
        axp_stop(w->p, "named");
        axp_record_alloc(w->p, "memory", 16);
        axp_record_free(w->p, "memory", 16);
        w->n[me->i]++;
    }
    return NULL;
}

static void check_op(const axp_op *op)
{
    assert_true(op->calls > 0);
    assert_true(op->self_ns <= op->total_ns);
    if (op->min_ns > op->max_ns || op->avg_ns < op->min_ns ||
        op->avg_ns > op->max_ns)
        fail_msg("%s: min %llu avg %llu max %llu of %llu calls", op->name,
                 (unsigned long long)op->min_ns, (unsigned long long)op->avg_ns,
                 (unsigned long long)op->max_ns, (unsigned long long)op->calls);
    assert_true(op->p50_ns <= op->p95_ns && op->p95_ns <= op->p99_ns);
    assert_true(op->min_ns <= op->p50_ns && op->p99_ns <= op->max_ns);
    ts_assert_between(0, op->time_share, 1);
}

static int count(const axp_event_info *e, void *ctx)
{
    (void)e;
    ++*(uint64_t *)ctx;
    return 0;
}

/* Everything a view says, twice. */
static void check_frozen(const axp_view *v)
{
    axp_op a[8], b[8];
    axp_memory_name m[4], o[4];
    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    size_t n = axp_view_ops(v, AXP_BY_TIME, a, 8);
    uint64_t events = 0;
    axp_ns duration = axp_view_duration(v);
    uint64_t n_names = axp_view_memory_names(v, m, 4);
    sched_yield();
    assert_int_equal(axp_view_ops(v, AXP_BY_TIME, b, 8), n);
    for (size_t i = 0; i < n && i < 8; i++) {
        assert_int_equal(a[i].calls, b[i].calls);
        assert_int_equal(a[i].total_ns, b[i].total_ns);
        assert_int_equal(a[i].self_ns, b[i].self_ns);
        assert_int_equal(a[i].p99_ns, b[i].p99_ns);
        check_op(&a[i]);
    }
    assert_int_equal(axp_view_memory_names(v, o, 4), n_names);
    for (size_t i = 0; i < n_names && i < 4; i++)
        assert_int_equal(m[i].n_allocs, o[i].n_allocs);
    assert_int_equal(axp_view_events(v, NULL, count, &events), AXP_OK);
    assert_int_equal(events, axp_view_event_count(v));
    assert_int_equal(axp_view_duration(v), duration);
}

static void check_tree(const axp_view *v)
{
    axp_tree_node t[64];
    size_t n = axp_view_tree(v, t, 64);
    assert_true(n <= 64);
    for (size_t i = 1; i < n; i++) {
        assert_true(t[i].parent >= 0 && (size_t)t[i].parent < i);
        assert_true(t[i].self_ns <= t[i].total_ns);
    }
}

static void snapshots_of_a_running_program(void **state)
{
    (void)state;
    struct work w = {
        .p = axp_profiler_create(&(axp_options){.timeline_capacity = 2000})};
    struct worker me[MAX_WORKERS];
    pthread_t t[MAX_WORKERS];
    uint64_t outer = 0, in = 0, named = 0, allocs = 0;
    for (int i = 0; i < MAX_WORKERS; i++) {
        me[i] = (struct worker){&w, i};
        t[i] = ts_spawn(record, &me[i]);
    }
    for (int r = 0; r < (TS_SLOW ? 40 : 200); r++) {
        axp_view *v = ts_snapshot(w.p);
        axp_op a = ts_view_op(v, "outer"), b = ts_view_op(v, "inner");
        axp_op c = ts_view_op(v, "named");
        check_frozen(v);
        check_tree(v);
        assert_true(a.calls >= outer && b.calls >= in && c.calls >= named);
        assert_true(axp_view_memory(v).n_allocs >= allocs);
        outer = a.calls;
        in = b.calls;
        named = c.calls;
        allocs = axp_view_memory(v).n_allocs;
        axp_view_destroy(v);
    }
    __atomic_store_n(&w.is_over, true, __ATOMIC_RELAXED);
    uint64_t n = 0;
    for (int i = 0; i < MAX_WORKERS; i++) {
        ts_join(t[i]);
        n += w.n[i];
    }
    axp_view *v = ts_snapshot(w.p);
    assert_int_equal(ts_view_op(v, "outer").calls, n);
    assert_int_equal(ts_view_op(v, "inner").calls, 2 * n);
    assert_int_equal(ts_view_op(v, "named").calls, n);
    assert_int_equal(ts_node(v, "outer/inner").calls, 2 * n);
    assert_int_equal(axp_view_memory(v).n_allocs, n);
    assert_int_equal(axp_view_memory(v).current_bytes, 0);
    assert_int_equal(axp_view_event_count(v) + axp_view_cut_count(v), 10 * n);
    check_frozen(v);
    axp_view_destroy(v);
    assert_int_equal(ts_all_warnings(w.p), 0);
    axp_profiler_destroy(w.p);
}

static void *record_slowly(void *arg)
{
    struct work *w = arg;
    while (!__atomic_load_n(&w->is_over, __ATOMIC_RELAXED)) {
        AXP_SCOPE_IN(w->p, "slow");
        w->n[0]++;
        sched_yield();
    }
    return NULL;
}

/* A call that a snapshot saw open is in the next, open or ended; unless its thread
 * lost its processor in the midst of ending it, for which no snapshot waits. */
static void no_call_is_lost_on_its_way_out(void **state)
{
    (void)state;
    struct work w = {
        .p = axp_profiler_create(&(axp_options){.flags = AXP_NO_TIMELINE})};
    pthread_t t = ts_spawn(record_slowly, &w);
    uint64_t calls = 0, n_late = 0, n_rounds = TS_SLOW ? 200 : 1500;
    for (uint64_t r = 0; r < n_rounds; r++) {
        axp_view *v = ts_snapshot(w.p);
        axp_op op = ts_view_op(v, "slow");
        axp_view_destroy(v);
        assert_true(op.calls + 1 >= calls);
        n_late += op.calls < calls;
        if (op.calls > calls) calls = op.calls;
    }
    assert_in_range(n_late, 0, n_rounds / 100);
    __atomic_store_n(&w.is_over, true, __ATOMIC_RELAXED);
    ts_join(t);
    axp_view *v = ts_snapshot(w.p);
    assert_int_equal(ts_view_op(v, "slow").calls, w.n[0]);
    axp_view_destroy(v);
    axp_profiler_destroy(w.p);
}

static void threads_are_listed(void **state)
{
    (void)state;
    struct work w = {.p = ts_profiler()};
    struct worker me[2] = {{&w, 0}, {&w, 1}};
    axp_thread_name(w.p, "main one");
    axp_start(w.p, "x");
    ts_sleep_ms(2);
    axp_stop(w.p, "x");
    for (int i = 0; i < 2; i++) {
        pthread_t t = ts_spawn(record, &me[i]);
        while (axp_call_count(w.p, "outer") == 0)
            sched_yield();
        __atomic_store_n(&w.is_over, true, __ATOMIC_RELAXED);
        ts_join(t);
    }
    axp_view *v = ts_snapshot(w.p);
    axp_thread_info t[4];
    assert_true(axp_view_threads(v, t, 4) >= 2);
    assert_string_equal(t[0].name, "main one");
    assert_string_equal(t[1].name, "worker 0");
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(t[i].process_id, getpid());
        assert_int_equal(t[i].rank, -1);
        assert_true(t[i].begin <= t[i].end);
        assert_true(t[i].busy_ns <= t[i].end - t[i].begin);
        assert_true(t[i].events >= 2);
    }
    assert_int_not_equal(t[0].id, t[1].id);
    assert_true(t[0].busy_ns >= 2000000);
    assert_true(axp_view_duration(v) >= 2000000);
    axp_view_destroy(v);
    axp_profiler_destroy(w.p);
}

static void a_view_outlives_its_profiler(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_start(p, "op");
    axp_stop(p, "op");
    axp_view *v = ts_snapshot(p);
    axp_profiler_destroy(p);
    assert_int_equal(ts_view_op(v, "op").calls, 1);
    uint64_t n = 0;
    assert_int_equal(axp_view_events(v, NULL, count, &n), AXP_OK);
    assert_int_equal(n, 2);
    axp_view_destroy(v);
}

static void an_empty_profiler_has_an_empty_view(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_view *v = ts_snapshot(p);
    axp_op op;
    assert_int_equal(axp_view_ops(v, AXP_BY_TIME, NULL, 0), 0);
    assert_int_equal(axp_view_op(v, "x", &op), AXP_E_NOT_FOUND);
    assert_non_null(strstr(axp_last_error(), "x"));
    assert_int_equal(axp_view_event_count(v), 0);
    assert_int_equal(axp_view_duration(v), 0);
    assert_int_equal(axp_view_threads(v, NULL, 0), 0);
    assert_int_equal(axp_view_leaks(v, NULL, 0), 0);
    assert_int_equal(axp_view_warnings(v, NULL, 0), 0);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

/* The array is filled as far as it goes; the count is of all. */
static void lists_fill_what_fits(void **state)
{
    (void)state;
    static const char *const name[] = {"a", "b", "c"};
    axp_profiler *p = ts_profiler();
    for (int i = 0; i < 3; i++) {
        axp_start(p, name[i]);
        axp_stop(p, name[i]);
    }
    axp_view *v = ts_snapshot(p);
    axp_op ops[3];
    memset(ops, 0, sizeof ops);
    assert_int_equal(axp_view_ops(v, AXP_BY_TIME, ops, 2), 3);
    assert_non_null(ops[1].name);
    assert_null(ops[2].name);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(snapshots_of_a_running_program),
        cmocka_unit_test(no_call_is_lost_on_its_way_out),
        cmocka_unit_test(threads_are_listed),
        cmocka_unit_test(a_view_outlives_its_profiler),
        cmocka_unit_test(an_empty_profiler_has_an_empty_view),
        cmocka_unit_test(lists_fill_what_fits),
    };
    return TS_RUN(tests);
}
