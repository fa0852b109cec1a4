/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads that come and go by the thousand, or, with an argument, by as many
 * as it says: one after another and 200 at a time, in memory and to a file,
 * with names of their own, with scopes that they leave open, and with scopes
 * that others stop. Every call is in its operation, and memory stays where it
 * was. Each case runs in a process of its own. */
#include <pthread.h>
#include <sys/prctl.h>

#include "stress_check.h"

#define NAMES 20
#define AT_A_TIME 200
#define MOST_GROWTH ((uint64_t)24 << 20)

static uint64_t n_threads = 6000;
static axp_profiler *prof;
static const char *path;
static char names[NAMES][16];
static uint64_t n_calls; /* of each name: counted here, beside the recorder */

static uint64_t resident(void)
{
    unsigned long size = 0, pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f && fscanf(f, "%lu %lu", &size, &pages) == 2);
    fclose(f);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* A lane holds 115 KiB here, and there are twice as many as threads at a time:
 * those of the last time have ended, but need not have been merged yet. */
static void begin_case(void)
{
    const axp_options options = {.path = path,
                                 .memory_limit = 128 << 20,
                                 .spool_limit = 16 << 20,
                                 .flags = path ? AXP_OVERWRITE : 0};
    for (int i = 0; i < NAMES; i++)
        snprintf(names[i], sizeof names[i], "name %d", i);
    prof = axp_profiler_create(&options);
    CHECK(prof != NULL);
}

static void *record(void *unused)
{
    (void)unused;
    AXP_SCOPE_IN(prof, "thread");
    for (int i = 0; i < NAMES; i++) {
        axp_start(prof, names[i]);
        axp_stop(prof, names[i]);
    }
    __atomic_add_fetch(&n_calls, 1, __ATOMIC_RELAXED);
    return NULL;
}

/* So many threads, so many at a time. */
static void run_threads(uint64_t n, unsigned at_a_time, void *(*fn)(void *))
{
    pthread_t t[AT_A_TIME];
    for (uint64_t i = 0; i < n; i += at_a_time) {
        for (unsigned k = 0; k < at_a_time; k++)
            CHECK(!pthread_create(&t[k], NULL, fn, NULL));
        for (unsigned k = 0; k < at_a_time; k++)
            CHECK(!pthread_join(t[k], NULL));
    }
}

/* The race detector keeps every thread's state, and the address sanitizer
 * what was freed. */
static void run_flat(unsigned at_a_time, void *(*fn)(void *))
{
    uint64_t n = n_threads / 2 / at_a_time * at_a_time;
    run_threads(n, at_a_time, fn);
    uint64_t before = resident();
    run_threads(n, at_a_time, fn);
    uint64_t after = resident();
    bool is_flat = after < before + MOST_GROWTH || STRESS_TSAN || STRESS_ASAN;
    if (!is_flat)
        dprintf(2, "%" PRIu64 " KiB became %" PRIu64 " KiB\n", before >> 10,
                after >> 10);
    CHECK(is_flat);
}

static void check_ops(const axp_view *v)
{
    axp_op op;
    for (int i = 0; i < NAMES; i++) {
        CHECK(!axp_view_op(v, names[i], &op));
        CHECK_EQ(op.calls, n_calls);
    }
    CHECK(!axp_view_op(v, "thread", &op));
    CHECK_EQ(op.calls, n_calls);
    CHECK_EQ(stress_all_calls(v), (NAMES + 1) * n_calls);
    CHECK_EQ(stress_view_warning(v, "folded_paths"), 0);
    CHECK_EQ(stress_view_warning(v, "no_memory"), 0);
}

static void check_snapshot(void)
{
    axp_view *v = axp_snapshot(prof);
    CHECK(v != NULL);
    check_ops(v);
    /* As many rows as are kept whole, and one that stands for the rest. */
    size_t n_rows = axp_view_threads(v, NULL, 0);
    CHECK(n_rows <= 8192 + 64 + AT_A_TIME);
    if (n_calls > 10000)
        CHECK(n_rows + stress_view_warning(v, "shared_row") >= n_calls);
    axp_view_destroy(v);
}

static void one_after_another(void)
{
    begin_case();
    run_flat(1, record);
    check_snapshot();
}

static void many_at_a_time(void)
{
    begin_case();
    run_flat(AT_A_TIME, record);
    check_snapshot();
}

/* The file of a million threads takes long to read: the numbers are asked
 * for while it is written. */
static void to_a_file(unsigned at_a_time)
{
    char name[] = "/tmp/axprof-threads-XXXXXX";
    int fd = mkstemp(name);
    CHECK(fd >= 0);
    close(fd);
    path = name;
    begin_case();
    run_flat(at_a_time, record);
    for (int i = 0; i < NAMES; i++)
        CHECK_EQ(axp_call_count(prof, names[i]), n_calls);
    CHECK(!axp_finish(prof));
    if (n_threads <= 10000) {
        axp_view *v = NULL;
        CHECK(!axp_open(&path, 1, &v));
        check_ops(v);
        axp_view_destroy(v);
    }
    unlink(name);
}

static void to_a_file_one_after_another(void)
{
    to_a_file(1);
}

static void to_a_file_many_at_a_time(void)
{
    to_a_file(AT_A_TIME);
}

/* ---- beside others -------------------------------------------------------------- */

static uint32_t is_over;

static void *take_snapshots(void *unused)
{
    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
        axp_view *v = axp_snapshot(prof);
        CHECK(v != NULL);
        axp_view_destroy(v);
    }
    return unused;
}

/* Threads that have ended give their memory back, though the profiler is
 * hardly ever free. */
static void while_snapshots_are_taken(void)
{
    pthread_t t;
    begin_case();
    CHECK(!pthread_create(&t, NULL, take_snapshots, NULL));
    run_threads(n_threads / 2, AT_A_TIME, record);
    __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
    CHECK(!pthread_join(t, NULL));
    check_snapshot();
}

/* ---- names ------------------------------------------------------------------ */

static void *record_named(void *unused)
{
    static uint64_t n;
    char name[16];
    uint64_t i = __atomic_add_fetch(&n, 1, __ATOMIC_RELAXED);
    snprintf(name, sizeof name, "t%" PRIu64, i);
    prctl(PR_SET_NAME, name);
    if (i % 2) axp_thread_name(prof, name + 1);
    return record(unused);
}

/* As under the adapter for threads: each has a name, and operations find
 * room for theirs all the same. */
static void with_names_of_their_own(void)
{
    begin_case();
    run_flat(1, record_named);
    axp_start(prof, "after all of them");
    axp_stop(prof, "after all of them");
    CHECK_EQ(axp_call_count(prof, "after all of them"), 1);
    axp_view *v = axp_snapshot(prof);
    CHECK(v != NULL);
    CHECK_EQ(stress_view_warning(v, "names_full"), 0);
    CHECK_EQ(stress_all_calls(v), (NAMES + 1) * n_calls + 1);
    axp_view_destroy(v);
}

/* ---- scopes that outlive their thread ----------------------------------------- */

static void *leave_open(void *unused)
{
    axp_start(prof, "left");
    axp_start(prof, "left too");
    return record(unused);
}

static void with_scopes_left_open(void)
{
    begin_case();
    run_flat(1, leave_open);
    CHECK_EQ(axp_call_count(prof, "left"), n_calls);
    CHECK_EQ(axp_call_count(prof, "left too"), n_calls);
    for (int i = 0; i < NAMES; i++)
        CHECK_EQ(axp_call_count(prof, names[i]), n_calls);
}

static void *start_and_end(void *unused)
{
    axp_start(prof, "request");
    return record(unused);
}

static void *stop_elsewhere(void *unused)
{
    pthread_t t;
    CHECK(!pthread_create(&t, NULL, start_and_end, unused));
    CHECK(!pthread_join(t, NULL));
    axp_stop(prof, "request");
    return NULL;
}

static void with_scopes_that_others_stop(void)
{
    begin_case();
    run_flat(1, stop_elsewhere);
    CHECK_EQ(axp_call_count(prof, "request"), n_calls);
    CHECK_EQ(stress_warning(prof, "stop_without_start"), 0);
    CHECK_EQ(stress_warning(prof, "abandoned_scopes"), 0);
    for (int i = 0; i < NAMES; i++)
        CHECK_EQ(axp_call_count(prof, names[i]), n_calls);
}

int main(int argc, char **argv)
{
    int failed = 0;
    unsigned seconds = 60;
    if (STRESS_TSAN || STRESS_ASAN) n_threads = 2000;
    if (argc > 1) {
        n_threads = strtoull(argv[1], NULL, 10);
        seconds = 900;
    }
    failed += STRESS_RUN(one_after_another, seconds);
    failed += STRESS_RUN(many_at_a_time, seconds);
    failed += STRESS_RUN(to_a_file_one_after_another, seconds);
    failed += STRESS_RUN(to_a_file_many_at_a_time, seconds);
    failed += STRESS_RUN(while_snapshots_are_taken, seconds);
    failed += STRESS_RUN(with_names_of_their_own, seconds);
    failed += STRESS_RUN(with_scopes_left_open, seconds);
    failed += STRESS_RUN(with_scopes_that_others_stop, seconds);
    return failed ? 1 : 0;
}
