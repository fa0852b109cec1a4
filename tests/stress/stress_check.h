/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the programs of tests/stress, torture and hot share: a check that ends
 * the process, a watchdog, a test in a process of its own, and the count of a
 * warning. Not cmocka: most of these fork, take signals, or run out of
 * memory in the middle. */
#ifndef AXP_STRESS_CHECK_H
#define AXP_STRESS_CHECK_H
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "axprof/axprof.h"
#include "axprof/axprof_read.h"

#if defined(__SANITIZE_THREAD__)
#define STRESS_TSAN 1
#elif defined(__SANITIZE_ADDRESS__)
#define STRESS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define STRESS_TSAN 1
#elif __has_feature(address_sanitizer)
#define STRESS_ASAN 1
#endif
#endif
#ifndef STRESS_TSAN
#define STRESS_TSAN 0
#endif
#ifndef STRESS_ASAN
#define STRESS_ASAN 0
#endif
#ifdef AXP_EMULATED /* by qemu-user: no vfork, no threads in the child of a */
#define STRESS_EMULATED 1 /* fork, and nothing that a program starts runs */
#else
#define STRESS_EMULATED 0
#endif

/* Whether the child of a fork beside busy threads may call malloc. A
 * sanitizer's allocator lets it inherit locks that nobody will open. */
#define STRESS_CHILD_ALLOCATES (!STRESS_TSAN && !STRESS_ASAN)

#define CHECK(condition)                                                       \
    ((condition) ? (void)0 : stress_fail(__FILE__, __LINE__, #condition))
/* Both sides as uint64_t, shown when they differ. */
#define CHECK_EQ(a, b) stress_equal(__FILE__, __LINE__, #a " == " #b, (a), (b))

static inline void stress_fail(const char *file, int line, const char *text)
{
    dprintf(2, "%s:%d: failed: %s\n", file, line, text);
    _exit(1);
}

static inline void stress_equal(const char *file, int line, const char *text,
                                uint64_t a, uint64_t b)
{
    if (a == b) return;
    dprintf(2, "%s:%d: failed: %s (%" PRIu64 " and %" PRIu64 ")\n", file, line,
            text, a, b);
    _exit(1);
}

/* A hang is a failure: SIGALRM kills the process after so many seconds, or
 * four times as many, since the machine may be busy. */
static inline void stress_watch(unsigned seconds)
{
    signal(SIGALRM, SIG_DFL);
    alarm(4 * seconds);
}

/* The wait status of fn in a child of its own; with a watchdog. */
static inline int stress_in_child(void (*fn)(void), unsigned seconds)
{
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (!pid) {
        stress_watch(seconds);
        fn();
        _exit(0);
    }
    while (waitpid(pid, &status, 0) != pid)
        CHECK(errno == EINTR);
    return status;
}

/* Runs it so, and says what became of it. */
static inline int stress_run(const char *name, void (*fn)(void),
                             unsigned seconds)
{
    int status = stress_in_child(fn, seconds);
    bool ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (ok)
        printf("ok      %s\n", name);
    else if (WIFEXITED(status))
        printf("FAILED  %s: exit status %d\n", name, WEXITSTATUS(status));
    else
        printf("FAILED  %s: killed by %s\n", name, strsignal(WTERMSIG(status)));
    fflush(stdout);
    return ok ? 0 : 1;
}
#define STRESS_RUN(fn, seconds) stress_run(#fn, fn, seconds)

/* Of all operations together. */
static inline uint64_t stress_all_calls(const axp_view *v)
{
    size_t n = axp_view_ops(v, AXP_BY_CALLS, NULL, 0);
    axp_op *ops = calloc(n + 1, sizeof *ops);
    uint64_t calls = 0;
    CHECK(ops != NULL);
    axp_view_ops(v, AXP_BY_CALLS, ops, n);
    for (size_t i = 0; i < n; i++)
        calls += ops[i].calls;
    free(ops);
    return calls;
}

static inline uint64_t stress_view_warning(const axp_view *v, const char *code)
{
    axp_warning list[64];
    size_t n = axp_view_warnings(v, list, 64);
    CHECK(n <= 64);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i].code, code)) return list[i].count;
    return 0;
}

static inline uint64_t stress_warning(axp_profiler *p, const char *code)
{
    axp_view *v = axp_snapshot(p);
    CHECK(v != NULL);
    uint64_t n = stress_view_warning(v, code);
    axp_view_destroy(v);
    return n;
}

/* Says which warnings there are, where a test wants to show them. */
static inline void stress_print_warnings(axp_profiler *p)
{
    axp_warning list[64];
    axp_view *v = axp_snapshot(p);
    if (!v) return;
    size_t n = axp_view_warnings(v, list, 64);
    for (size_t i = 0; i < n && i < 64; i++)
        dprintf(2, "  %s %" PRIu64 "\n", list[i].code, list[i].count);
    axp_view_destroy(v);
}

/* Whatever else is true of a view, this is. */
static inline void stress_check_view(const axp_view *v)
{
    size_t n = axp_view_tree(v, NULL, 0), n_ops = axp_view_ops(v, 0, NULL, 0);
    axp_tree_node *tree = calloc(n + 1, sizeof *tree);
    axp_op *ops = calloc(n_ops + 1, sizeof *ops);
    CHECK(tree && ops);
    CHECK_EQ(axp_view_tree(v, tree, n), n);
    for (size_t i = 0; i < n; i++) {
        CHECK(tree[i].name != NULL);
        CHECK(tree[i].parent >= -1 && tree[i].parent < (int32_t)i);
    }
    CHECK_EQ(axp_view_ops(v, AXP_BY_TIME, ops, n_ops), n_ops);
    for (size_t i = 0; i < n_ops; i++) {
        CHECK(ops[i].name != NULL);
        CHECK(ops[i].min_ns <= ops[i].max_ns);
        CHECK(i == 0 || ops[i].total_ns <= ops[i - 1].total_ns);
    }
    free(tree);
    free(ops);
}

static inline int stress_count_event(const axp_event_info *event, void *ctx)
{
    uint64_t *n = (uint64_t *)ctx;
    CHECK(event->name != NULL || event->type == AXP_EVENT_STEP);
    ++*n;
    return 0;
}

/* Mappings of this process. */
static inline unsigned stress_count_maps(void)
{
    FILE *f = fopen("/proc/self/maps", "r");
    unsigned n = 0;
    CHECK(f != NULL);
    for (int c; (c = getc(f)) != EOF;)
        n += c == '\n';
    fclose(f);
    return n;
}

#endif
