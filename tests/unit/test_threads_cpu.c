/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* CPU time of threads: of those that have ended, were merged, and go on. */
#include <time.h>

#include "file_support.h"

static void use_cpu(uint64_t ns)
{
    struct timespec t;
    uint64_t until = 0, now;
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
        if (!until) until = now + ns;
    } while (now < until);
}

#define BUSY_NS 20000000u
#define SLEEP_MS 20 /* far longer than a thread takes to begin under valgrind */

static void *sleeper(void *arg)
{
    axp_thread_name(arg, "sleeper");
    axp_start(arg, "sleep");
    ts_sleep_ms(SLEEP_MS);
    axp_stop(arg, "sleep");
    return NULL;
}

static void *worker(void *arg)
{
    axp_thread_name(arg, "worker");
    axp_instant(arg, "begins");
    use_cpu(BUSY_NS);
    axp_instant(arg, "ends");
    return NULL;
}

static void check_cpu(const axp_view *v)
{
    axp_thread_info all[4];
    assert_int_equal(axp_view_threads(v, all, 4), 3);
    for (int i = 0; i < 3; i++) {
        const axp_thread_info *t = &all[i];
        assert_true(t->cpu_ns > 0);
        if (!strcmp(t->name, "sleeper")) {
            assert_true(t->busy_ns >= SLEEP_MS * 1000000u &&
                        t->cpu_ns < t->busy_ns);
        } else { /* a thread that ended, and the one that goes on */
            assert_int_equal(t->busy_ns, 0);
            assert_true(t->cpu_ns >= BUSY_NS);
        }
    }
}

static void cpu_time_tells_workers_from_sleepers(void **state)
{
    (void)state;
    const char *path = fs_path("cpu.axp");
    axp_profiler *p = fs_record(path, (axp_options){0});
    worker(p);
    ts_run(sleeper, p);
    ts_run(worker, p);
    axp_view *v = ts_snapshot(p);
    check_cpu(v);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
    v = fs_open(path);
    check_cpu(v);
    axp_view_destroy(v);
}

/* Of threads that have been merged as well. */
static void merged_threads_keep_theirs(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    for (int i = 0; i < 70; i++)
        ts_run(i ? sleeper : worker, p);
    axp_view *v = ts_snapshot(p);
    axp_thread_info all[80];
    size_t n = axp_view_threads(v, all, 80);
    assert_int_equal(n, 70);
    assert_string_equal(all[0].name, "worker");
    assert_true(all[0].cpu_ns >= BUSY_NS);
    for (size_t i = 1; i < n; i++)
        assert_true(all[i].cpu_ns > 0 && all[i].cpu_ns < all[i].busy_ns);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FS_TEST(cpu_time_tells_workers_from_sleepers),
        cmocka_unit_test(merged_threads_keep_theirs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
