/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the unit tests share: questions to a view, a clock that a test moves
 * by hand, threads, and random numbers that are the same in every run. */
#ifndef AXP_TEST_SUPPORT_H
#define AXP_TEST_SUPPORT_H
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "axprof/axprof_read.h"
#include "os/os_clock.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define TS_SLOW 1 /* a sanitizer: fewer rounds where only speed suffers */
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define TS_SLOW 1
#endif
#endif
#ifndef TS_SLOW
#define TS_SLOW 0
#endif
#if defined(__SANITIZE_THREAD__)
#define TS_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TS_TSAN 1
#endif
#endif
#ifndef TS_TSAN
#define TS_TSAN 0
#endif
#ifndef AXP_EMULATED /* by qemu-user: no threads in the child of a fork, and */
#define AXP_EMULATED 0 /* what was built here cannot be executed by itself */
#endif

/* ---- a clock moved by hand ----------------------------------------------- */

static uint64_t ts_fake_ns = 1000000000u;

static inline uint64_t ts_read_fake(void)
{
    return __atomic_load_n(&ts_fake_ns, __ATOMIC_RELAXED);
}

/* Lets so many nanoseconds pass. */
static inline void ts_tick(uint64_t ns)
{
    __atomic_fetch_add(&ts_fake_ns, ns, __ATOMIC_RELAXED);
}

static inline void ts_set_clock(uint64_t ns)
{
    __atomic_store_n(&ts_fake_ns, ns, __ATOMIC_RELAXED);
}

/* From main, before anything asks for nanoseconds: one tick is one then, and
 * a scope costs nothing. */
static inline void ts_use_fake_clock(void)
{
    axp__clock_set_test(ts_read_fake);
    if (axp__rate_to_ns(axp__clock_rate(), 1000) != 1000) abort();
}

static inline void ts_sleep_ms(long ms)
{
    struct timespec ts = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&ts, &ts))
        ;
}

/* Of the kernel's clock, for what must not be longer than it took. */
static inline uint64_t ts_now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- profilers and views ------------------------------------------------- */

static inline axp_profiler *ts_profiler(void)
{
    axp_profiler *p = axp_profiler_create(NULL);
    assert_non_null(p);
    return p;
}

static inline axp_view *ts_snapshot(axp_profiler *p)
{
    axp_view *v = axp_snapshot(p);
    if (!v) fail_msg("no snapshot: %s", axp_last_error());
    return v;
}

/* All zero where there is none of that name. */
static inline axp_op ts_view_op(const axp_view *v, const char *name)
{
    axp_op op;
    memset(&op, 0, sizeof op);
    if (axp_view_op(v, name, &op)) op.calls = 0;
    return op;
}

static inline axp_op ts_op(axp_profiler *p, const char *name)
{
    axp_view *v = ts_snapshot(p);
    axp_op op = ts_view_op(v, name);
    op.name = op.file = NULL; /* the view's */
    axp_view_destroy(v);
    return op;
}

static inline axp_memory ts_memory(axp_profiler *p)
{
    axp_view *v = ts_snapshot(p);
    axp_memory m = axp_view_memory(v);
    axp_view_destroy(v);
    return m;
}

static inline uint64_t ts_view_warnings(const axp_view *v, const char *code)
{
    axp_warning w[64];
    size_t n = axp_view_warnings(v, w, 64);
    assert_true(n <= 64);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(w[i].code, code)) {
            assert_non_null(w[i].text);
            assert_true(w[i].text[0]);
            return w[i].count;
        }
    return 0;
}

static inline uint64_t ts_warnings(axp_profiler *p, const char *code)
{
    axp_view *v = ts_snapshot(p);
    uint64_t n = ts_view_warnings(v, code);
    axp_view_destroy(v);
    return n;
}

/* Warnings of wrong use: all but those on cost and on the timeline's size. */
static inline uint64_t ts_all_warnings(axp_profiler *p)
{
    static const char *const harmless[] = {"short_scopes", "own_overhead",
                                           "doubtful_times", "cut_timeline"};
    axp_view *v = ts_snapshot(p);
    axp_warning w[64];
    uint64_t count = 0;
    size_t n = axp_view_warnings(v, w, 64);
    for (size_t i = 0; i < n && i < 64; i++) {
        bool counts = true;
        for (size_t k = 0; k < sizeof harmless / sizeof *harmless; k++)
            if (!strcmp(w[i].code, harmless[k])) counts = false;
        if (counts) count += w[i].count;
    }
    axp_view_destroy(v);
    return count;
}

/* A node of the call tree by its path, "a/b/c"; calls 0: there is none. */
static inline axp_tree_node ts_node(const axp_view *v, const char *path)
{
    axp_tree_node found = {0};
    size_t n = axp_view_tree(v, NULL, 0);
    axp_tree_node *all = calloc(n + 1, sizeof *all);
    axp_view_tree(v, all, n);
    int32_t at = 0;
    while (at >= 0 && *path) {
        size_t len = strcspn(path, "/");
        int32_t next = -1;
        for (size_t i = 1; i < n; i++)
            if (all[i].parent == at && strlen(all[i].name) == len &&
                !memcmp(all[i].name, path, len))
                next = (int32_t)i;
        at = next;
        path += len + (path[len] == '/');
    }
    if (at >= 0) found = all[at];
    free(all);
    return found;
}

static inline axp_memory_name ts_memory_name(const axp_view *v,
                                             const char *name)
{
    axp_memory_name found = {0};
    size_t n = axp_view_memory_names(v, NULL, 0);
    axp_memory_name *all = calloc(n + 1, sizeof *all);
    axp_view_memory_names(v, all, n);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(all[i].name, name)) found = all[i];
    free(all);
    return found;
}

/* bytes 0: not among the unfreed. */
static inline axp_leak ts_leak(const axp_view *v, const char *name)
{
    axp_leak found = {0};
    size_t n = axp_view_leaks(v, NULL, 0);
    axp_leak *all = calloc(n + 1, sizeof *all);
    axp_view_leaks(v, all, n);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(all[i].name, name)) found = all[i];
    free(all);
    return found;
}

/* Runs them all, or those that AXP_TEST names ("*deep*"). */
#define TS_RUN(tests)                                                          \
    (cmocka_set_test_filter(getenv("AXP_TEST")),                               \
     cmocka_run_group_tests(tests, NULL, NULL))

/* ---- threads and numbers ------------------------------------------------- */

static inline pthread_t ts_spawn(void *(*fn)(void *), void *arg)
{
    pthread_t t;
    int rc = pthread_create(&t, NULL, fn, arg);
    if (rc) fail_msg("pthread_create: %s", strerror(rc));
    return t;
}

static inline void ts_join(pthread_t t)
{
    assert_int_equal(pthread_join(t, NULL), 0);
}

/* On a thread of its own, which has ended when this returns. */
static inline void ts_run(void *(*fn)(void *), void *arg)
{
    ts_join(ts_spawn(fn, arg));
}

static inline uint64_t ts_random(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

static inline void ts_assert_between(double low, double v, double high)
{
    if (!(v >= low && v <= high))
        fail_msg("%.17g is not between %.17g and %.17g", v, low, high);
}

#endif
