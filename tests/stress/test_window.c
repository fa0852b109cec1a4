/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Parts of a run, as axprof run asks for them by AXPROF_WINDOW: only what falls
 * into the window is recorded and counted. Each case is a process of its own,
 * since the variable is read when the library starts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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
    if (monotonic_ns() < begin) CHECK(n == 0 && !is_enabled);
    uint64_t most = scopes_until(begin + SECOND / 10);
    n = calls_now();
    is_enabled = axp_is_enabled(axp_global());
    if (monotonic_ns() < end) CHECK(n > 0 && n <= most && is_enabled);
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

static int play(const char *word)
{
    if (!strcmp(word, "middle")) return run_steps(50, 10);
    if (!strcmp(word, "first")) return run_steps(50, 5);
    if (!strcmp(word, "open")) return run_steps(50, 10);
    if (!strcmp(word, "none")) return run_steps(50, 0);
    if (!strcmp(word, "all")) return run_steps(50, 50);
    if (!strcmp(word, "time")) return run_time();
    if (!strcmp(word, "mark")) return run_mark();
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

int main(int argc, char **argv)
{
    char window[64];
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
    uint64_t begin = monotonic_ns() + SECOND / 2;
    snprintf(window, sizeof window, "time:%llu:%llu", (unsigned long long)begin,
             (unsigned long long)begin + SECOND / 5);
    start("time", window);
    begin = monotonic_ns();
    snprintf(window, sizeof window, "time:%llu:%llu", (unsigned long long)begin,
             (unsigned long long)begin + SECOND / 5);
    start("mark", window);
    puts("windows hold");
    return 0;
}
