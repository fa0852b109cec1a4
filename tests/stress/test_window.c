/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Parts of a run, as axprof run asks for them by AXPROF_WINDOW: only what falls
 * into the window is recorded and counted. Each case is a process of its own,
 * since the variable is read when the library starts. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <axprof/axprof_adapter.h>
#include <axprof/axprof_read.h>

#include "stress_check.h"

#define SECOND 1000000000ull

static uint64_t monotonic_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static uint64_t calls(const axp_view *view, const char *name)
{
    axp_op op;
    return axp_view_op(view, name, &op) == AXP_OK ? op.calls : 0;
}

static int run_steps(uint64_t n, uint64_t expected)
{
    for (uint64_t i = 0; i < n; i++) {
        for (int k = 0; k < 10; k++) {
            AXP_SCOPE("work");
        }
        axp_step(axp_global());
    }
    axp_view *view = axp_snapshot(axp_global());
    CHECK_EQ(axp_view_steps(view).count, expected);
    CHECK_EQ(calls(view, "work"), 10 * expected);
    axp_view_destroy(view);
    return 0;
}

/* How many there were. */
static uint64_t scopes_until(uint64_t until)
{
    uint64_t n = 0;
    while (monotonic_ns() < until) {
        AXP_SCOPE("work");
        n++;
    }
    return n;
}

static uint64_t calls_now(void)
{
    axp_view *view = axp_snapshot(axp_global());
    uint64_t n = calls(view, "work");
    axp_view_destroy(view);
    return n;
}

/* On a busy machine this process may sleep through a part: what was looked at
 * late says nothing. */
static int run_time(void)
{
    uint64_t begin = strtoull(getenv("AXPROF_WINDOW") + 5, NULL, 10);
    uint64_t end = begin + SECOND / 5;
    scopes_until(begin - SECOND / 10);
    uint64_t n = calls_now();
    bool is_enabled = axp_is_enabled(axp_global());
    bool is_in_time = monotonic_ns() < begin;
    if (is_in_time) CHECK(n == 0 && !is_enabled);
    uint64_t most = scopes_until(begin + SECOND / 10);
    n = calls_now();
    is_enabled = axp_is_enabled(axp_global());
    if (is_in_time && monotonic_ns() < end)
        CHECK(n > 0 && n <= most && is_enabled);
    scopes_until(end + SECOND / 5);
    for (int i = 0; i < 10000; i++) { /* it is noticed when a chunk is full */
        AXP_SCOPE("work");
    }
    CHECK(!axp_is_enabled(axp_global()));
    n = calls_now();
    scopes_until(end + SECOND / 4);
    CHECK_EQ(calls_now(), n);
    return 0;
}

/* Hardly anything is recorded: the mark of a step is enough to notice. */
static int run_mark(void)
{
    uint64_t end = strtoull(getenv("AXPROF_WINDOW") + 5, NULL, 10) + SECOND / 5;
    axp_step(axp_global());
    bool is_enabled = axp_is_enabled(axp_global());
    if (monotonic_ns() < end) CHECK(is_enabled);
    while (monotonic_ns() <= end)
        usleep(1000);
    axp_step(axp_global());
    CHECK(!axp_is_enabled(axp_global()));
    return 0;
}

/* ---- after it ----------------------------------------------------------- */

static uint64_t end_of_part(void)
{
    const char *at = strrchr(getenv("AXPROF_WINDOW"), ':');
    return strtoull(at + 1, NULL, 10);
}

static void sleep_until(uint64_t until)
{
    while (monotonic_ns() <= until)
        usleep(1000);
}

/* Recorded to a file, so that the child is made from what is kept. */
static int run_fork(void)
{
    char path[64];
    int status;
    snprintf(path, sizeof path, "/tmp/axprof-window-%ld.axp", (long)getpid());
    CHECK(axp_global_open(path) == AXP_OK);
    scopes_until(end_of_part());
    axp_step(axp_global());
    CHECK(!axp_is_enabled(axp_global()));
    pid_t pid = fork();
    if (pid == 0) {
        axp_set_enabled(axp_global(), true);
        CHECK(!axp_is_enabled(axp_global()));
        scopes_until(monotonic_ns() + SECOND / 50);
        CHECK_EQ(calls_now(), 0);
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    CHECK(axp_finish(axp_global()) == AXP_OK);
    unlink(path);
    return 0;
}

/* ---- waits at its edges ------------------------------------------------- */

static axp_op op_now(const char *name)
{
    axp_view *view = axp_snapshot(axp_global());
    axp_op op = {0};
    (void)axp_view_op(view, name, &op);
    axp_view_destroy(view);
    return op;
}

/* Between two moments, each of which is between two. */
struct waited {
    uint64_t before, begun, ended, after;
};

static void check_wait(const char *name, struct waited w)
{
    axp_op op = op_now(name);
    CHECK_EQ(op.calls, 1);
    CHECK(op.total_ns + SECOND / 1000 >= w.ended - w.begun);
    CHECK(op.total_ns <= w.after - w.before + SECOND / 1000);
}

/* Of a wait that was going on when the part began what is in it. */
static int run_begun(void)
{
    uint64_t begin = strtoull(getenv("AXPROF_WINDOW") + 5, NULL, 10);
    uint64_t began = axp_wait_begin();
    bool is_early = monotonic_ns() < begin;
    sleep_until(begin + SECOND / 10);
    uint64_t ended = monotonic_ns();
    axp_wait_end(began, "waited");
    if (is_early)
        check_wait("waited",
                   (struct waited){begin, begin, ended, monotonic_ns()});
    return 0;
}

static uint64_t over_before, over_after;
static bool is_recorded;
static pthread_barrier_t begun_all, over_all;

static void wait_over_end(bool is_sync, const char *name)
{
    struct waited w = {.before = monotonic_ns()};
    uint64_t began = axp_wait_begin();
    w.begun = monotonic_ns();
    pthread_barrier_wait(&begun_all);
    pthread_barrier_wait(&over_all);
    usleep(100000);
    if (is_sync)
        axp_sync_waited(&(axp_sync_wait){
            .kind = AXP_SYNC_LOCK, .object = &w, .began = began, .name = name});
    else
        axp_wait_end(began, name);
    w.ended = over_before;
    w.after = over_after;
    if (is_recorded) check_wait(name, w);
    axp_wait_end(axp_wait_begin(), "later");
    CHECK_EQ(op_now("later").calls, 0);
}

static void *has_recorded(void *arg)
{
    {
        AXP_SCOPE("work");
    }
    wait_over_end(false, "waited");
    return arg;
}

static void *has_not(void *arg)
{
    wait_over_end(false, "waited first");
    return arg;
}

static void *knows_the_object(void *arg)
{
    wait_over_end(true, "waited for it");
    return arg;
}

/* Of those that were going on when it was over, too. */
static int run_over(void)
{
    void *(*const how[])(void *) = {has_recorded, has_not, knows_the_object};
    pthread_t threads[3];
    pthread_barrier_init(&begun_all, NULL, 4);
    pthread_barrier_init(&over_all, NULL, 4);
    for (int i = 0; i < 3; i++)
        CHECK(!pthread_create(&threads[i], NULL, how[i], NULL));
    pthread_barrier_wait(&begun_all);
    is_recorded = monotonic_ns() < end_of_part();
    sleep_until(end_of_part());
    over_before = monotonic_ns();
    axp_step(axp_global());
    over_after = monotonic_ns();
    pthread_barrier_wait(&over_all);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

/* ---- switched meanwhile ------------------------------------------------- */

static uint64_t switched_at_begin(void)
{
    uint64_t begin = strtoull(getenv("AXPROF_WINDOW") + 5, NULL, 10);
    sleep_until(begin);
    scopes_until(begin + SECOND / 20);
    return calls_now();
}

/* The program's own switch does not open it, and is remembered. */
static int run_switched(const char *how)
{
    uint64_t begin = strtoull(getenv("AXPROF_WINDOW") + 5, NULL, 10);
    bool is_off = !strcmp(how, "off"), is_filter = !strcmp(how, "filter");
    if (is_filter) axp_quiet_begin();
    if (is_filter) axp_quiet_undo();
    if (!is_filter && strcmp(how, "on") != 0)
        axp_set_enabled(axp_global(), false);
    if (!is_filter && !is_off) axp_set_enabled(axp_global(), true);
    scopes_until(begin - SECOND / 5);
    uint64_t n = calls_now();
    if (monotonic_ns() < begin) CHECK_EQ(n, 0);
    n = switched_at_begin();
    CHECK(is_off ? n == 0 : n > 0);
    if (!is_off) return 0;
    axp_set_enabled(axp_global(), true);
    scopes_until(monotonic_ns() + SECOND / 100);
    CHECK(calls_now() > 0);
    return 0;
}

static int play(const char *word)
{
    if (!strcmp(word, "middle")) return run_steps(50, 10);
    if (!strcmp(word, "first")) return run_steps(50, 5);
    if (!strcmp(word, "open")) return run_steps(50, 10);
    if (!strcmp(word, "none")) return run_steps(50, 0);
    if (!strcmp(word, "all")) return run_steps(50, 50);
    if (!strcmp(word, "time")) return run_time();
    if (!strcmp(word, "mark")) return run_mark();
    if (!strcmp(word, "fork")) return run_fork();
    if (!strcmp(word, "begun")) return run_begun();
    if (!strcmp(word, "over")) return run_over();
    if (!strncmp(word, "switched-", 9)) return run_switched(word + 9);
    return 98;
}

static void start(const char *word, const char *window)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        setenv("AXPROF_WINDOW", window, 1);
        execl("/proc/self/exe", "test_window", word, NULL);
        _exit(99);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    if (status) printf("%s %s: status %d\n", word, window, status);
    CHECK(status == 0);
}

/* After so long, for so long; 0: until the end. */
static void start_in(const char *word, uint64_t delay, uint64_t duration)
{
    char window[64];
    uint64_t begin = monotonic_ns() + delay;
    snprintf(window, sizeof window, "time:%llu:%llu", (unsigned long long)begin,
             (unsigned long long)(duration ? begin + duration : 0));
    start(word, window);
}

int main(int argc, char **argv)
{
    if (argc > 1) return play(argv[1]);
    start("middle", "steps:20:30");
    start("first", "steps:0:5");
    start("open", "steps:40:0");
    start("none", "steps:60:70");
    start("all", "steps:0:50");
    /* What cannot be read is no window. */
    start("all", "steps:30:20");
    start("all", "steps:");
    start("all", "nonsense");
    start("all", "");
    start_in("time", SECOND / 2, SECOND / 5);
    start_in("mark", 0, SECOND / 5);
    start_in("fork", 0, SECOND / 5);
    start_in("begun", SECOND / 5, 0);
    start_in("over", 0, SECOND / 5);
    start_in("switched-on", SECOND / 2, 0);
    start_in("switched-off", SECOND / 2, 0);
    start_in("switched-off and on", SECOND / 2, 0);
    start_in("switched-filter", SECOND / 2, 0);
    puts("windows hold");
    return 0;
}
