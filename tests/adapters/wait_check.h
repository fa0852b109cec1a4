/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What programs that look at their own waits share. */
#ifndef ADAPTERS_WAIT_CHECK_H
#define ADAPTERS_WAIT_CHECK_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <axprof/axprof_read.h>

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (condition) break;                                                  \
        fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);        \
        exit(1);                                                               \
    } while (0)

#define MS 1000000ull

static inline void sleep_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static inline char state_of(pid_t thread)
{
    char path[64], text[512] = "", *end;
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)thread);
    FILE *f = fopen(path, "r");
    CHECK(f && fgets(text, sizeof text, f));
    fclose(f);
    end = strrchr(text, ')');
    return end ? end[2] : '?';
}

static int phase; /* of the waiter: about to wait for the nth thing */
static pid_t waiter_id;

static inline void enter_phase(int n)
{
    __atomic_store_n(&phase, n, __ATOMIC_RELEASE);
}

/* Lets the waiter wait for 20 ms, once it does. */
static inline void let_wait(int n)
{
    while (__atomic_load_n(&phase, __ATOMIC_ACQUIRE) < n)
        sleep_ms(1);
    while (state_of(waiter_id) != 'S')
        sleep_ms(1);
    sleep_ms(20);
}

static inline struct timespec in_20_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += 20 * (long)MS;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

static inline axp_op op_of(const axp_view *view, const char *name)
{
    axp_op op = {0};
    CHECK(axp_view_op(view, name, &op) == AXP_OK);
    return op;
}

static inline void check_wait(const axp_view *view, const char *name)
{
    axp_op op = op_of(view, name);
    CHECK(op.calls >= 1);
    CHECK(op.category == AXP_CAT_SYNC);
    CHECK(op.max_ns >= 15 * MS); /* each was 20 ms or more */
    CHECK(op.min_ns >= 9000);    /* nothing shorter than 10 us */
}

static inline axp_thread_info thread_of(const axp_view *view, const char *name)
{
    static axp_thread_info threads[64];
    size_t n = axp_view_threads(view, threads, 64);
    for (size_t i = 0; i < n && i < 64; i++)
        if (!strcmp(threads[i].name, name)) return threads[i];
    fprintf(stderr, "no thread called %s, but", name);
    for (size_t i = 0; i < n && i < 64; i++)
        fprintf(stderr, " %s", threads[i].name);
    fprintf(stderr, "\n");
    exit(1);
}

/* The first thread is listed, though it may have recorded nothing itself, and
 * each thread with its life, its CPU time and its time waiting. */
static inline void check_first(const axp_view *view)
{
    axp_thread_info threads[64];
    size_t n = axp_view_threads(view, threads, 64), first = 64;
    for (size_t i = 0; i < n && i < 64; i++) {
        if (threads[i].id == (uint64_t)getpid()) first = i;
        CHECK(threads[i].cpu_ns > 0);
        CHECK(threads[i].end > threads[i].begin);
    }
    CHECK(first == 0); /* by begin */
    axp_thread_info waiter = thread_of(view, "waiter");
    CHECK(waiter.wait_ns >= 30 * MS && waiter.wait_ns <= waiter.busy_ns);
    CHECK(waiter.cpu_ns < waiter.end - waiter.begin);
}

#endif
