/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axp_start and axp_stop: nested, overlapping, across threads. The clock is
 * moved by hand, so every time is exact. */
#include <sys/mman.h>
#include <unistd.h>

#include "axprof/axprof_adapter.h"
#include "test_support.h"

struct side {
    axp_profiler *p;
    const char *name;
    pthread_barrier_t step;
};

static void *start_on_thread(void *arg)
{
    struct side *s = arg;
    axp_start(s->p, s->name);
    return NULL;
}

static void *stop_on_thread(void *arg)
{
    struct side *s = arg;
    axp_stop(s->p, s->name);
    return NULL;
}

static void one_name_nested_in_itself(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_start(p, "a");
    ts_tick(10);
    axp_start(p, "a");
    ts_tick(5);
    axp_stop(p, "a");
    ts_tick(1);
    axp_stop(p, "a");
    axp_view *v = ts_snapshot(p);
    axp_op a = ts_view_op(v, "a");
    assert_int_equal(a.calls, 2);
    assert_int_equal(a.total_ns, 16); /* recursion once */
    assert_int_equal(a.self_ns, 16);
    assert_int_equal(a.min_ns, 5);
    assert_int_equal(a.max_ns, 16);
    assert_int_equal(ts_node(v, "a").calls, 1);
    assert_int_equal(ts_node(v, "a").self_ns, 11);
    assert_int_equal(ts_node(v, "a/a").total_ns, 5);
    axp_view_destroy(v);
    assert_int_equal(axp_total_time(p, "a"), 16);
    assert_int_equal(axp_call_count(p, "a"), 2);
    assert_int_equal(ts_all_warnings(p), 0);
    axp_profiler_destroy(p);
}

/* The average is one of single calls: it lies between their extremes. */
static void the_average_of_recursive_calls_is_between_min_and_max(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    for (int i = 0; i < 3; i++)
        axp_start(p, "a");
    ts_tick(30);
    for (int i = 0; i < 3; i++)
        axp_stop(p, "a");
    axp_op a = ts_op(p, "a");
    assert_int_equal(a.total_ns, 30);
    assert_int_equal(a.min_ns, 30);
    assert_int_equal(a.max_ns, 30);
    assert_int_equal(a.avg_ns, 30);
    axp_profiler_destroy(p);
}

static void two_names_that_overlap(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_start(p, "a");
    ts_tick(100);
    axp_start(p, "b");
    ts_tick(10); /* the overlap */
    axp_stop(p, "a");
    ts_tick(1000);
    axp_stop(p, "b");
    axp_op a = ts_op(p, "a"), b = ts_op(p, "b");
    assert_int_equal(a.total_ns, 110);
    assert_int_equal(a.self_ns, 100); /* less the overlap alone */
    assert_int_equal(b.total_ns, 1010);
    assert_int_equal(b.self_ns, 1010);
    assert_int_equal(a.self_ns + b.self_ns, 1110); /* all of the time, once */
    assert_int_equal(ts_all_warnings(p), 0);
    axp_profiler_destroy(p);
}

static void overlaps_within_a_parent_charge_it_once(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_start(p, "parent");
    ts_tick(1);
    axp_start(p, "a");
    ts_tick(10);
    axp_start(p, "b");
    ts_tick(20);
    axp_stop(p, "a");
    ts_tick(40);
    axp_start(p, "c");
    ts_tick(80);
    axp_stop(p, "b");
    ts_tick(160);
    axp_stop(p, "c");
    ts_tick(320);
    axp_stop(p, "parent");
    assert_int_equal(ts_op(p, "parent").total_ns, 631);
    assert_int_equal(ts_op(p, "parent").self_ns, 321);
    assert_int_equal(ts_op(p, "a").self_ns, 10);
    assert_int_equal(ts_op(p, "b").total_ns, 140);
    assert_int_equal(ts_op(p, "b").self_ns, 60);
    assert_int_equal(ts_op(p, "c").self_ns, 240);
    axp_profiler_destroy(p);
}

/* "a" ends first and begins again within "b": no recursion, so both count. */
static void a_name_again_within_what_it_overlapped(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_start(p, "a");
    ts_tick(10);
    axp_start(p, "b");
    axp_stop(p, "a");
    axp_start(p, "a");
    ts_tick(5);
    axp_stop(p, "a");
    axp_stop(p, "b");
    axp_op a = ts_op(p, "a");
    assert_int_equal(a.calls, 2);
    assert_int_equal(a.total_ns, 15);
    assert_int_equal(a.self_ns, 15);
    assert_int_equal(axp_total_time(p, "a"), 15);
    axp_profiler_destroy(p);
}

/* Stops in the order of the starts. */
static void a_queue_of_scopes(void **state)
{
    (void)state;
    static const char *const name[] = {"a", "b", "c", "d"};
    axp_profiler *p = ts_profiler();
    uint64_t self = 0;
    for (int i = 0; i < 4; i++) {
        axp_start(p, name[i]);
        ts_tick(10);
    }
    for (int i = 0; i < 4; i++) {
        axp_stop(p, name[i]);
        ts_tick(i < 3 ? 10 : 0);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(ts_op(p, name[i]).total_ns, 40);
        self += ts_op(p, name[i]).self_ns;
    }
    assert_int_equal(self, 70);
    assert_int_equal(ts_op(p, "a").self_ns, 10);
    assert_int_equal(ts_op(p, "d").self_ns, 40);
    axp_profiler_destroy(p);
}

static void started_here_stopped_there(void **state)
{
    (void)state;
    struct side s = {.p = ts_profiler(), .name = "far"};
    axp_start(s.p, "near");
    axp_start(s.p, "far");
    ts_tick(50);
    ts_run(stop_on_thread, &s);
    ts_tick(7);
    axp_stop(s.p, "near");
    axp_view *v = ts_snapshot(s.p);
    axp_op far = ts_view_op(v, "far"), near = ts_view_op(v, "near");
    assert_int_equal(far.calls, 1);
    assert_int_equal(far.total_ns, 50);
    assert_int_equal(far.max_ns, 50);
    assert_int_equal(near.total_ns, 57);
    assert_int_equal(near.self_ns, 57); /* as if it had never been there */
    assert_int_equal(ts_node(v, "near/far").calls, 0); /* in no call tree */
    assert_int_equal(ts_node(v, "far").calls, 0);
    axp_view_destroy(v);
    assert_int_equal(ts_all_warnings(s.p), 0);
    axp_profiler_destroy(s.p);
}

static void started_on_a_thread_that_has_ended(void **state)
{
    (void)state;
    struct side s = {.p = ts_profiler(), .name = "orphan"};
    ts_run(start_on_thread, &s);
    ts_tick(33);
    assert_int_equal(axp_call_count(s.p, "orphan"), 1);
    assert_int_equal(axp_total_time(s.p, "orphan"), 33);
    axp_stop(s.p, "orphan");
    ts_tick(100);
    assert_int_equal(axp_total_time(s.p, "orphan"), 33);
    assert_int_equal(ts_op(s.p, "orphan").calls, 1);
    assert_int_equal(ts_op(s.p, "orphan").total_ns, 33);
    assert_int_equal(ts_all_warnings(s.p), 0);
    axp_profiler_destroy(s.p);
}

/* With so many ended threads that their lanes are merged. */
static void many_threads_start_and_one_stops(void **state)
{
    (void)state;
    enum { N = 200 };
    struct side s = {.p = ts_profiler(), .name = "orphan"};
    uint64_t total = 0;
    for (int i = 0; i < N; i++) {
        ts_run(start_on_thread, &s);
        ts_tick(1);
    }
    for (uint64_t i = 0; i < N; i++) {
        axp_stop(s.p, "orphan"); /* the oldest, which has run for N */
        total += N;
        ts_tick(1);
    }
    axp_op op = ts_op(s.p, "orphan");
    assert_int_equal(op.calls, N);
    assert_int_equal(op.total_ns, total);
    assert_int_equal(op.min_ns, N);
    assert_int_equal(op.max_ns, N);
    assert_int_equal(ts_all_warnings(s.p), 0);
    axp_profiler_destroy(s.p);
}

static void a_stop_takes_its_own_newest_first(void **state)
{
    (void)state;
    struct side s = {.p = ts_profiler(), .name = "x"};
    ts_run(start_on_thread, &s); /* at 0 */
    ts_tick(1000);
    ts_run(start_on_thread, &s); /* at 1000 */
    ts_tick(100);
    axp_start(s.p, "x"); /* at 1100 */
    ts_tick(10);
    axp_start(s.p, "x"); /* at 1110 */
    ts_tick(1);
    axp_stop(s.p, "x"); /* own, newest */
    assert_int_equal(ts_op(s.p, "x").min_ns, 1);
    for (int i = 0; i < 3; i++) { /* own, other; the oldest elsewhere; … */
        ts_tick(1);
        axp_stop(s.p, "x");
    }
    assert_int_equal(ts_op(s.p, "x").min_ns, 1);
    assert_int_equal(ts_op(s.p, "x").max_ns, 1113); /* of 0…1113, not 1114 */
    assert_int_equal(ts_op(s.p, "x").calls, 4);
    axp_stop(s.p, "x");
    assert_int_equal(ts_warnings(s.p, "stop_without_start"), 1);
    assert_int_equal(ts_warnings(s.p, "open_scopes"), 0);
    axp_profiler_destroy(s.p);
}

static void unfinished_ones_count_with_their_time_so_far(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_start(p, "open");
    ts_tick(20);
    axp_view *v = ts_snapshot(p);
    ts_tick(1000);
    axp_op op = ts_view_op(v, "open");
    assert_int_equal(op.calls, 1);
    assert_int_equal(op.total_ns, 20);
    assert_int_equal(op.max_ns, 20);
    assert_int_equal(ts_view_warnings(v, "open_scopes"), 1);
    assert_int_equal(ts_node(v, "open").calls, 1);
    axp_view_destroy(v);
    axp_stop(p, "open");
    assert_int_equal(ts_warnings(p, "open_scopes"), 0);
    assert_int_equal(ts_op(p, "open").total_ns, 1020);
    axp_profiler_destroy(p);
}

/* One that ended and one that is open: extremes hold for both. */
static void open_calls_are_within_the_extremes(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_start(p, "op");
    ts_tick(10);
    axp_stop(p, "op");
    axp_start(p, "op");
    ts_tick(1000);
    axp_op op = ts_op(p, "op");
    assert_int_equal(op.calls, 2);
    assert_int_equal(op.total_ns, 1010);
    assert_int_equal(op.avg_ns, 505);
    assert_true(op.min_ns <= op.avg_ns);
    assert_true(op.avg_ns <= op.max_ns);
    axp_profiler_destroy(p);
}

static void the_warning_names_what_it_was_seen_on(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_stop(p, "never started");
    axp_view *v = ts_snapshot(p);
    axp_warning w[8];
    assert_int_equal(axp_view_warnings(v, w, 8), 1);
    assert_string_equal(w[0].code, "stop_without_start");
    assert_string_equal(w[0].name, "never started");
    assert_int_equal(w[0].count, 1);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

static void names_are_compared_by_content(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    char name[16];
    for (int i = 0; i < 3; i++) { /* the same buffer, other contents */
        snprintf(name, sizeof name, "layer %d", i);
        axp_start(p, name);
        ts_tick((uint64_t)i + 1);
        char copy[16];
        memcpy(copy, name, sizeof copy);
        axp_stop(p, copy);
    }
    assert_int_equal(ts_op(p, "layer 0").total_ns, 1);
    assert_int_equal(ts_op(p, "layer 1").total_ns, 2);
    assert_int_equal(ts_op(p, "layer 2").total_ns, 3);
    axp_profiler_destroy(p);
}

/* Long ones too, from the second on by what is remembered of the buffer. */
static void long_names_are_compared_by_content(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    char name[64];
    for (int i = 0; i < 6; i++) {
        snprintf(name, sizeof name, "a layer with a long name %d", i / 3);
        axp_start(p, name);
        ts_tick((uint64_t)i + 1);
        axp_stop(p, name);
    }
    assert_int_equal(ts_op(p, "a layer with a long name 0").total_ns, 6);
    assert_int_equal(ts_op(p, "a layer with a long name 1").total_ns, 15);
    assert_int_equal(ts_all_warnings(p), 0);
    axp_profiler_destroy(p);
}

/* A short name at the end of a page that nothing follows. */
static void a_name_at_the_end_of_memory(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *at = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(at != MAP_FAILED && !mprotect(at + page, page, PROT_NONE));
    char *name = memcpy(at + page - 4, "end", 4);
    for (int i = 0; i < 3; i++) {
        axp_start(p, name);
        axp_stop(p, name);
    }
    assert_int_equal(ts_op(p, "end").calls, 3);
    assert_int_equal(ts_all_warnings(p), 0);
    axp_profiler_destroy(p);
    munmap(at, 2 * page);
}

/* What axp_range_start returns ends it, whatever its text has become. */
static void ranges_end_by_what_their_start_returned(void **state)
{
    (void)state;
    char name[64];
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, i < 2 ? "range" : "a range's long name");
        uint32_t outer = axp_range_start(name);
        uint32_t inner = axp_range_start("inner range");
        memset(name, 0, sizeof name);
        assert_true(outer && inner);
        axp_range_stop(outer); /* they overlap */
        axp_range_stop(inner);
    }
    axp_set_enabled(axp_global(), false);
    assert_int_equal(axp_range_start("range"), 0);
    axp_set_enabled(axp_global(), true);
    assert_int_equal(axp_call_count(axp_global(), "range"), 2);
    assert_int_equal(axp_call_count(axp_global(), "a range's long name"), 1);
    assert_int_equal(axp_call_count(axp_global(), "inner range"), 3);
    assert_int_equal(ts_all_warnings(axp_global()), 0);
}

static void named_and_token_scopes_mix(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_start(p, "phase");
    {
        AXP_SCOPE_IN(p, "block");
        ts_tick(5);
        axp_stop(p, "phase"); /* while a scope within it is open */
        ts_tick(3);
    }
    assert_int_equal(ts_op(p, "phase").total_ns, 5);
    assert_int_equal(ts_op(p, "phase").self_ns, 0);
    assert_int_equal(ts_op(p, "block").total_ns, 8);
    assert_int_equal(ts_op(p, "block").self_ns, 8);
    assert_int_equal(ts_all_warnings(p), 0);
    axp_profiler_destroy(p);
}

/* Many open at once, stopped in random order, against sums kept here. */
static void random_overlaps_account_for_all_time(void **state)
{
    (void)state;
    enum { N = 40, ROUNDS = 4000 };
    axp_profiler *p = ts_profiler();
    char name[N][8];
    uint64_t begun[N] = {0}, total[N] = {0}, calls[N] = {0}, rng = 42;
    bool is_open[N] = {0};
    uint64_t busy = 0, n_open = 0;
    for (int i = 0; i < N; i++)
        snprintf(name[i], sizeof name[i], "n%d", i);
    for (int r = 0; r < ROUNDS; r++) {
        uint64_t i = ts_random(&rng) % N, pause = ts_random(&rng) % 50;
        if (is_open[i]) {
            axp_stop(p, name[i]);
            total[i] += ts_read_fake() - begun[i];
            calls[i]++;
            n_open--;
        } else {
            axp_start(p, name[i]);
            begun[i] = ts_read_fake();
            n_open++;
        }
        is_open[i] = !is_open[i];
        ts_tick(pause);
        if (n_open) busy += pause;
    }
    for (int i = 0; i < N; i++) {
        if (!is_open[i]) continue;
        axp_stop(p, name[i]);
        total[i] += ts_read_fake() - begun[i];
        calls[i]++;
    }
    axp_view *v = ts_snapshot(p);
    uint64_t self = 0;
    for (int i = 0; i < N; i++) {
        axp_op op = ts_view_op(v, name[i]);
        assert_int_equal(op.calls, calls[i]);
        assert_int_equal(op.total_ns, total[i]);
        assert_true(op.self_ns <= op.total_ns);
        self += op.self_ns;
    }
    assert_int_equal(self, busy);
    axp_view_destroy(v);
    assert_int_equal(ts_all_warnings(p), 0);
    axp_profiler_destroy(p);
}

/* Threads that stop each other's scopes: none is lost, none counted twice. */
struct market {
    axp_profiler *p;
    uint64_t n;
};

static void *trade(void *arg)
{
    struct market *m = arg;
    for (uint64_t i = 0; i < m->n; i++)
        axp_start(m->p, "traded");
    for (uint64_t i = 0; i < m->n; i++)
        axp_stop(m->p, "traded");
    return NULL;
}

static void *only_start(void *arg)
{
    struct market *m = arg;
    for (uint64_t i = 0; i < m->n; i++)
        axp_start(m->p, "traded");
    return NULL;
}

static void *only_stop(void *arg)
{
    struct market *m = arg;
    while (axp_call_count(m->p, "traded") < m->n)
        sched_yield();
    for (uint64_t i = 0; i < m->n; i++)
        axp_stop(m->p, "traded");
    return NULL;
}

static void threads_that_stop_each_others_scopes(void **state)
{
    (void)state;
    struct market m = {.p = ts_profiler(), .n = 1000};
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        t[i] = ts_spawn(i == 0 ? only_start : i == 1 ? only_stop : trade, &m);
    for (int i = 0; i < 4; i++)
        ts_join(t[i]);
    /* 3n starts and 3n stops; a stop that came before its start warned */
    uint64_t early = ts_warnings(m.p, "stop_without_start");
    assert_int_equal(ts_op(m.p, "traded").calls, 3 * m.n);
    assert_int_equal(ts_warnings(m.p, "open_scopes"), early);
    axp_profiler_destroy(m.p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_name_nested_in_itself),
        cmocka_unit_test(the_average_of_recursive_calls_is_between_min_and_max),
        cmocka_unit_test(two_names_that_overlap),
        cmocka_unit_test(overlaps_within_a_parent_charge_it_once),
        cmocka_unit_test(a_name_again_within_what_it_overlapped),
        cmocka_unit_test(a_queue_of_scopes),
        cmocka_unit_test(started_here_stopped_there),
        cmocka_unit_test(started_on_a_thread_that_has_ended),
        cmocka_unit_test(many_threads_start_and_one_stops),
        cmocka_unit_test(a_stop_takes_its_own_newest_first),
        cmocka_unit_test(unfinished_ones_count_with_their_time_so_far),
        cmocka_unit_test(open_calls_are_within_the_extremes),
        cmocka_unit_test(the_warning_names_what_it_was_seen_on),
        cmocka_unit_test(names_are_compared_by_content),
        cmocka_unit_test(long_names_are_compared_by_content),
        cmocka_unit_test(a_name_at_the_end_of_memory),
        cmocka_unit_test(ranges_end_by_what_their_start_returned),
        cmocka_unit_test(named_and_token_scopes_mix),
        cmocka_unit_test(random_overlaps_account_for_all_time),
        cmocka_unit_test(threads_that_stop_each_others_scopes),
    };
    ts_use_fake_clock();
    return TS_RUN(tests);
}
