/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How long threads lived, and means of counters over time: on a clock moved by
 * hand. */
#include <pthread.h>

#include "file_support.h"
#include "record/record_profiler.h"

static pthread_barrier_t barrier;

/* One event, and then it is there until the program ends. */
static void *stay(void *arg)
{
    axp_instant(arg, "here");
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return NULL;
}

static axp_thread_info thread_of(const axp_view *v, uint64_t begin)
{
    axp_thread_info all[8];
    size_t n = axp_view_threads(v, all, 8);
    for (size_t i = 0; i < n && i < 8; i++)
        if (all[i].begin == begin) return all[i];
    fail_msg("no thread begins at %llu", (unsigned long long)begin);
    return all[0];
}

static void check_lives(const axp_view *v)
{
    assert_int_equal(axp_view_duration(v), 1000);
    axp_thread_info stays = thread_of(v, 0), ended = thread_of(v, 100);
    assert_int_equal(stays.end, 1000);
    assert_int_equal(stays.busy_ns, 0);
    assert_int_equal(ended.end, 200); /* its last event is at 140 */
    assert_int_equal(ended.busy_ns, 40);
}

static void *short_scope(void *arg)
{
    axp_start(arg, "short");
    ts_tick(40);
    axp_stop(arg, "short");
    ts_tick(60);
    return NULL;
}

static void a_thread_that_goes_on_lives_to_the_end(void **state)
{
    (void)state;
    const char *path = fs_path("lives.axp");
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    axp_profiler *p = fs_record(path, (axp_options){0});
    pthread_create(&thread, NULL, stay, p);
    pthread_barrier_wait(&barrier);
    ts_tick(100);
    ts_run(short_scope, p);
    ts_tick(700);
    axp_start(p, "last");
    ts_tick(100);
    axp_stop(p, "last");
    axp_view *v = ts_snapshot(p);
    check_lives(v);
    axp_view_destroy(v);
    axp_finish(p);
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    axp_profiler_destroy(p);
    v = fs_open(path);
    check_lives(v);
    axp_view_destroy(v);
}

/* 400 for 2800 of 3200 ns, 0 before: the mean is 350, though 0 was said six
 * times and 400 twice. */
static void means_are_weighted_by_time(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    for (int i = 0; i < 6; i++) {
        axp_counter(p, "held", 0);
        ts_tick(i < 4 ? 100 : 0);
    }
    axp_counter(p, "held", 400);
    ts_tick(1000);
    axp_counter(p, "held", 400);
    ts_tick(1800);
    axp_instant(p, "end");
    axp_view *v = ts_snapshot(p);
    axp_counter_info c;
    assert_int_equal(axp_view_counters(v, &c, 1), 1);
    ts_assert_between(349.9, c.mean, 350.1);
    assert_int_equal(c.count, 8);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

struct turns {
    axp_profiler *first, *second;
};

static void *in_turn(void *arg)
{
    struct turns *t = arg;
    axp_instant(t->first, "here");
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    axp_instant(t->second, "there");
    return NULL;
}

/* The lane of a profiler that is gone becomes the thread's in another, while the
 * thread still has it as that of the first. */
static void a_lane_ends_once(void **state)
{
    (void)state;
    struct turns t = {.first = axp_profiler_create(NULL)};
    pthread_t thread;
    assert_int_equal(pthread_barrier_init(&barrier, NULL, 2), 0);
    assert_int_equal(pthread_create(&thread, NULL, in_turn, &t), 0);
    pthread_barrier_wait(&barrier);
    axp_profiler_destroy(t.first);
    axp_profiler *between = axp_profiler_create(NULL); /* in its place */
    t.second = axp_profiler_create(NULL);
    pthread_barrier_wait(&barrier);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(axp__prof_check(t.second)->n_ended, 1);
    axp_profiler_destroy(between);
    axp_profiler_destroy(t.second);
    pthread_barrier_destroy(&barrier);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FS_TEST(a_thread_that_goes_on_lives_to_the_end),
        cmocka_unit_test(means_are_weighted_by_time),
        cmocka_unit_test(a_lane_ends_once),
    };
    ts_use_fake_clock();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
