/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The life of profilers: options, many at once, destroyed, finished, reset,
 * switched; before main and after it. */
#include "test_support.h"

#include <sys/wait.h>
#include <unistd.h>

static axp_profiler *global_before_main;
static uint64_t calls_before_main;

static __attribute__((constructor)) void before_main(void)
{
    global_before_main = axp_global();
    for (int i = 0; i < 3; i++) {
        AXP_SCOPE("before main");
    }
    AXP_ALLOC("before main", 12);
    calls_before_main = axp_call_count(axp_global(), "before main");
}

/* ---- options ------------------------------------------------------------- */

static void refuse(axp_options o, const char *word)
{
    assert_null(axp_profiler_create(&o));
    if (!strstr(axp_last_error(), word))
        fail_msg("\"%s\" does not speak of %s", axp_last_error(), word);
}

static void invalid_options_are_refused_with_a_reason(void **state)
{
    (void)state;
    refuse((axp_options){.size = 3}, "size");
    refuse((axp_options){.size = 0x7ffc00000000}, "size");
    refuse((axp_options){.flags = 0x80}, "flags");
    refuse((axp_options){.memory_limit = 1}, "memory_limit");
    refuse((axp_options){.timeline_capacity = UINT64_MAX}, "capacity");
    refuse((axp_options){.path = ""}, "path");
    refuse((axp_options){.path = "/no/such/folder/x.axp"}, "No such file");
    assert_int_not_equal(access("x.axp", F_OK), 0);
}

/* What was refused took no slot: a thousand refusals leave room for all. */
static void a_refusal_creates_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++)
        assert_null(axp_profiler_create(&(axp_options){.flags = 0x100}));
    axp_profiler *p = ts_profiler();
    axp_profiler_destroy(p);
}

static void valid_options_are_taken(void **state)
{
    (void)state;
    axp_options o = {.size = sizeof o,
                     .title = "a run",
                     .timeline_capacity = 10,
                     .memory_limit = 32u << 20,
                     .flags = AXP_START_DISABLED};
    axp_profiler *p = axp_profiler_create(&o);
    assert_non_null(p);
    assert_false(axp_is_enabled(p));
    axp_start(p, "op");
    axp_set_enabled(p, true);
    axp_stop(p, "op"); /* begun while disabled: no warning */
    assert_int_equal(ts_all_warnings(p), 0);
    assert_int_equal(ts_op(p, "op").calls, 0);
    axp_profiler_destroy(p);
}

/* ---- many, and none ------------------------------------------------------ */

static void three_hundred_at_once(void **state)
{
    (void)state;
    enum { N = 300 };
    static axp_profiler *p[N];
    for (int i = 0; i < N; i++)
        assert_non_null(p[i] = axp_profiler_create(
                            &(axp_options){.timeline_capacity = 100}));
    for (int r = 0; r < 3; r++)
        for (int i = 0; i < N; i++)
            for (int k = 0; k <= i % 7; k++) {
                AXP_SCOPE_IN(p[i], "op");
                axp_record_alloc(p[i], "m", (size_t)i);
            }
    for (int i = 0; i < N; i++) {
        assert_int_equal(axp_call_count(p[i], "op"), 3 * (i % 7 + 1));
        assert_int_equal(axp_current_memory(p[i]), 3 * (i % 7 + 1) * i);
        axp_profiler_destroy(p[i]);
    }
}

static void destroying_nothing_is_allowed(void **state)
{
    (void)state;
    axp_profiler_destroy(NULL);
    axp_view_destroy(NULL);
    axp_profiler_destroy(axp_global()); /* never destroyed */
    assert_true(axp_is_enabled(axp_global()));
}

static void use(axp_profiler *p, axp_track *t)
{
    int block;
    axp_start(p, "stale");
    axp_stop(p, "stale");
    axp_record_alloc(p, "stale", 10);
    axp_track_alloc(p, "stale", &block, 10);
    axp_instant(p, "stale");
    axp_step(p);
    axp_counter(p, "stale", 1);
    axp_set_enabled(p, false);
    axp_reset(p);
    axp_thread_name(p, "stale");
    axp_track_span(t, "stale", 1, 2, NULL);
    axp_track_alloc_at(t, "stale", 1, 2, 3);
    {
        AXP_SCOPE_IN(p, "stale");
    }
    assert_false(axp_is_enabled(p));
    assert_int_equal(axp_finish(p), AXP_E_STATE);
    assert_null(axp_snapshot(p));
    assert_int_equal(axp_total_time(p, "stale"), 0);
    assert_int_equal(axp_now(p), 0);
    axp_profiler_destroy(p);
}

static void calls_on_one_that_is_gone_do_no_harm(void **state)
{
    (void)state;
    axp_profiler *old = ts_profiler();
    axp_track *t = axp_track_create(old, "queue");
    axp_instant(old, "x");
    axp_profiler_destroy(old);
    use(old, t);
    axp_profiler *fresh = ts_profiler(); /* in the same slot */
    axp_start(fresh, "op");
    use(old, t);
    axp_stop(fresh, "op");
    assert_true(axp_is_enabled(fresh));
    axp_view *v = ts_snapshot(fresh);
    assert_int_equal(axp_view_ops(v, AXP_BY_TIME, NULL, 0), 1);
    assert_int_equal(ts_view_op(v, "op").calls, 1);
    assert_int_equal(axp_view_memory(v).n_allocs, 0);
    assert_int_equal(axp_view_steps(v).count, 0);
    axp_view_destroy(v);
    axp_profiler_destroy(fresh);
}

static void slots_are_reused_for_ever(void **state)
{
    (void)state;
    for (int i = 0; i < 5000; i++) { /* past the 4095 generations */
        axp_profiler *p =
            axp_profiler_create(&(axp_options){.flags = AXP_NO_TIMELINE});
        assert_non_null(p);
        axp_start(p, "op");
        axp_stop(p, "op");
        assert_int_equal(axp_call_count(p, "op"), 1);
        axp_profiler_destroy(p);
    }
}

/* ---- finish, reset, switches --------------------------------------------- */

static void finish_freezes(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_start(p, "op");
    axp_stop(p, "op");
    axp_start(p, "open");
    axp_record_alloc(p, "m", 10);
    assert_int_equal(axp_finish(p), AXP_OK);
    axp_ns total = ts_op(p, "open").total_ns;
    axp_view *v = ts_snapshot(p);
    axp_start(p, "op");
    axp_stop(p, "op");
    axp_stop(p, "open");
    axp_record_alloc(p, "m", 10);
    axp_instant(p, "late");
    axp_step(p);
    axp_set_enabled(p, true);
    axp_start(p, "op");
    axp_stop(p, "op");
    ts_sleep_ms(2);
    assert_int_equal(axp_finish(p), AXP_OK); /* again: nothing new */
    axp_view *w = ts_snapshot(p);
    assert_int_equal(ts_view_op(w, "op").calls, 1);
    assert_int_equal(ts_view_op(w, "open").total_ns, total);
    assert_int_equal(axp_total_time(p, "open"), total);
    assert_int_equal(axp_current_memory(p), 10);
    assert_int_equal(axp_view_event_count(w), axp_view_event_count(v));
    assert_int_equal(axp_view_duration(w), axp_view_duration(v));
    assert_int_equal(axp_view_steps(w).count, 0);
    assert_false(axp_is_enabled(p));
    axp_view_destroy(v);
    axp_view_destroy(w);
    axp_profiler_destroy(p);
}

static void reset_forgets_everything(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    int block;
    axp_start(p, "open");
    axp_start(p, "op");
    axp_stop(p, "op");
    axp_stop(p, "never");
    axp_record_alloc(p, "m", 10);
    axp_track_alloc(p, "m", &block, 10);
    axp_async_begin(p, "r", 1);
    axp_counter(p, "c", 1);
    axp_step(p);
    ts_sleep_ms(3);
    uint64_t before = ts_now_ns();
    axp_reset(p);
    axp_ns now = axp_now(p);
    assert_true(now < ts_now_ns() - before + 1000000);
    axp_view *v = ts_snapshot(p);
    assert_int_equal(axp_view_ops(v, AXP_BY_TIME, NULL, 0), 0);
    assert_int_equal(axp_view_event_count(v), 0);
    assert_int_equal(axp_view_cut_count(v), 0);
    assert_int_equal(axp_view_tree(v, NULL, 0), 1);
    assert_int_equal(axp_view_memory(v).peak_bytes, 0);
    assert_int_equal(axp_view_memory_names(v, NULL, 0), 0);
    assert_int_equal(axp_view_steps(v).count, 0);
    assert_int_equal(axp_view_warnings(v, NULL, 0), 0);
    axp_view_destroy(v);
    assert_int_equal(axp_total_time(p, "open"), 0);
    axp_start(p, "op");
    axp_stop(p, "op");
    assert_int_equal(ts_op(p, "op").calls, 1);
    axp_profiler_destroy(p);
}

static void reset_keeps_the_switch(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_set_enabled(p, false);
    axp_reset(p);
    assert_false(axp_is_enabled(p));
    axp_set_enabled(p, true);
    axp_reset(p);
    assert_true(axp_is_enabled(p));
    axp_profiler_destroy(p);
}

/* Others' lanes and tracks too. */
struct visitor {
    axp_profiler *p;
    axp_track *t;
    pthread_barrier_t b;
};

static void *before_and_after_reset(void *arg)
{
    struct visitor *x = arg;
    axp_start(x->p, "theirs");
    axp_start(x->p, "open");
    axp_track_span(x->t, "span", 1, 2, NULL);
    axp_stop(x->p, "theirs");
    pthread_barrier_wait(&x->b);
    pthread_barrier_wait(&x->b);
    axp_start(x->p, "theirs");
    axp_stop(x->p, "theirs");
    axp_track_span(x->t, "span", 5, 8, NULL);
    return NULL;
}

static void reset_forgets_other_threads_too(void **state)
{
    (void)state;
    struct visitor x = {.p = ts_profiler()};
    x.t = axp_track_create(x.p, "queue");
    pthread_barrier_init(&x.b, NULL, 2);
    pthread_t t = ts_spawn(before_and_after_reset, &x);
    pthread_barrier_wait(&x.b);
    axp_reset(x.p);
    pthread_barrier_wait(&x.b);
    ts_join(t);
    axp_view *v = ts_snapshot(x.p);
    assert_int_equal(ts_view_op(v, "theirs").calls, 1);
    assert_int_equal(ts_view_op(v, "open").calls, 0);
    assert_int_equal(ts_view_op(v, "span").calls, 1);
    assert_int_equal(ts_view_op(v, "span").total_ns, 3);
    axp_view_destroy(v);
    pthread_barrier_destroy(&x.b);
    axp_profiler_destroy(x.p);
}

static void disabling_stops_recording(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    assert_true(axp_is_enabled(p));
    axp_set_enabled(p, false);
    assert_false(axp_is_enabled(p));
    axp_start(p, "op");
    axp_stop(p, "op");
    axp_record_alloc(p, "m", 10);
    axp_step(p);
    axp_set_enabled(p, true);
    assert_int_equal(ts_op(p, "op").calls, 0);
    assert_int_equal(axp_current_memory(p), 0);
    assert_int_equal(ts_all_warnings(p), 0);
    axp_profiler_destroy(p);
}

static void now_never_goes_back(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_ns last = 0, from = axp_now(p);
    for (int i = 0; i < 10000; i++) {
        axp_ns now = axp_now(p);
        assert_true(now >= last);
        last = now;
    }
    ts_sleep_ms(10);
    assert_true(axp_now(p) - from >= 9900000);
    axp_profiler_destroy(p);
}

static void *get_global(void *arg)
{
    *(axp_profiler **)arg = axp_global();
    return NULL;
}

static void the_global_one_is_the_same_everywhere(void **state)
{
    (void)state;
    axp_profiler *p = NULL;
    ts_run(get_global, &p);
    assert_non_null(p);
    assert_ptr_equal(p, axp_global());
    assert_ptr_equal(p, global_before_main);
}

static void use_before_main_counts(void **state)
{
    (void)state;
    assert_int_equal(calls_before_main, 3);
    assert_int_equal(ts_op(axp_global(), "before main").calls, 3);
    assert_true(axp_current_memory(axp_global()) >= 12);
}

static void *fail_once(void *arg)
{
    (void)arg;
    if (axp_profiler_create(&(axp_options){.flags = 0x80})) abort();
    return NULL;
}

static void *ask_error(void *arg)
{
    snprintf(arg, 256, "%s", axp_last_error());
    return NULL;
}

/* A thread's, not the process's, nor that of one that ended before. */
static void the_last_error_is_the_threads_own(void **state)
{
    (void)state;
    char text[256];
    ts_run(fail_once, NULL);
    for (int i = 0; i < 3; i++) {
        ts_run(ask_error, text);
        assert_null(strstr(text, "flags"));
    }
}

/* ---- after main ---------------------------------------------------------- */

static void at_exit(void)
{
    for (int i = 0; i < 4; i++) {
        AXP_SCOPE("at exit");
    }
    axp_profiler *p = axp_profiler_create(NULL);
    axp_start(p, "x");
    axp_stop(p, "x");
    if (axp_call_count(axp_global(), "at exit") != 4 ||
        axp_call_count(p, "x") != 1)
        _exit(9);
    axp_profiler_destroy(p);
}

static void use_in_an_atexit_handler(void **state)
{
    (void)state;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        freopen("/dev/null", "w", stdout);
        atexit(at_exit);
        exit(5);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 5);
}

static uint64_t resident_pages(void)
{
    unsigned long size = 0, pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%lu %lu", &size, &pages), 2);
    fclose(f);
    return pages;
}

/* A limit costs nothing until it is used; what no machine has is refused. */
static void the_largest_memory_limit(void **state)
{
    (void)state;
    axp_options o = {.memory_limit = ((uint64_t)1 << 40) + 1};
    assert_null(axp_profiler_create(&o));
    assert_non_null(strstr(axp_last_error(), "memory_limit is 1099511627777 "
                                             "bytes; at most 1099511627776"));
    o.memory_limit = UINT64_MAX;
    assert_null(axp_profiler_create(&o));
    o.memory_limit = (uint64_t)1 << 38;
    uint64_t before = resident_pages();
    axp_profiler *p = axp_profiler_create(&o);
    if (!p) skip(); /* no such address space: ulimit -v, an emulator */
    assert_true(resident_pages() < before + 4096 || TS_SLOW);
    axp_start(p, "a");
    axp_stop(p, "a");
    axp_reset(p);
    axp_start(p, "a");
    axp_stop(p, "a");
    assert_int_equal(axp_call_count(p, "a"), 1);
    axp_profiler_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_memory_limit),
        cmocka_unit_test(use_before_main_counts),
        cmocka_unit_test(invalid_options_are_refused_with_a_reason),
        cmocka_unit_test(a_refusal_creates_nothing),
        cmocka_unit_test(valid_options_are_taken),
        cmocka_unit_test(three_hundred_at_once),
        cmocka_unit_test(destroying_nothing_is_allowed),
        cmocka_unit_test(calls_on_one_that_is_gone_do_no_harm),
        cmocka_unit_test(slots_are_reused_for_ever),
        cmocka_unit_test(finish_freezes),
        cmocka_unit_test(reset_forgets_everything),
        cmocka_unit_test(reset_keeps_the_switch),
        cmocka_unit_test(reset_forgets_other_threads_too),
        cmocka_unit_test(disabling_stops_recording),
        cmocka_unit_test(now_never_goes_back),
        cmocka_unit_test(the_global_one_is_the_same_everywhere),
        cmocka_unit_test(the_last_error_is_the_threads_own),
        cmocka_unit_test(use_in_an_atexit_handler),
    };
    return TS_RUN(tests);
}
