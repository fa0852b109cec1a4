/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The bench: each case is measured in turn with the floor, several times, and
 * shown as the median of its ratios with their spread. Times are the thread's
 * own CPU time, since these machines are shared. */
#ifndef AXP_BENCH_H
#define AXP_BENCH_H
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

struct bench_case {
    const char *name;
    double (*run)(uint64_t n); /* ns an operation */
    uint64_t n;
    double limit;   /* ratio to the floor that must be reached; 0: none */
    double limit_x; /* the same on x86-64, where it differs; 0: the same */
    bool is_pair;   /* two threads at once: against the floor on two */
    double of_last; /* ratio to the case before, instead; 0: none */
};

double bench_floor(uint64_t n);
double bench_on_two(double (*run)(uint64_t), uint64_t n);

static inline double bench_thread_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static inline int bench_by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts them. */
static inline double bench_median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, bench_by_value);
    return v[n / 2];
}

static inline uint64_t bench_raw_clock(void)
{
#if defined(__aarch64__)
    uint64_t t;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
    return t;
#elif defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return (uint64_t)clock();
#endif
}

static inline void bench_keep(uint64_t v)
{
    __asm__ volatile("" ::"r"(v) : "memory");
}

/* The cases of a file. */
extern const struct bench_case bench_scopes[], bench_memory[];

/* Runs 50 M scopes of each shape in a process of its own, and prints how many
 * were counted and what it had resident. False: wrong, or too much. */
bool bench_scopes_exact(void);

#endif
