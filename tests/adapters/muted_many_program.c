/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Built with -finstrument-functions and run with the adapter loaded: more
 * functions are muted than have a number of their own, each with measurements
 * of what it costs; every call is recorded or counted, and the process ends as
 * it should. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <axprof/axprof_read.h>

#define PLAIN __attribute__((no_instrument_function))
#define CHECK(condition)                                                       \
    do {                                                                       \
        if (condition) break;                                                  \
        fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);        \
        exit(1);                                                               \
    } while (0)

#define N_FUNCTIONS 600u
#define N_CALLS 20000u

#define TENFOLD(m, n)                                                          \
    m(n##0) m(n##1) m(n##2) m(n##3) m(n##4) m(n##5) m(n##6) m(n##7) m(n##8)    \
        m(n##9)
#define TEN_OF(n) TENFOLD(ONE, n)
#define HUNDRED_OF(n)                                                          \
    TEN_OF(n##0)                                                               \
    TEN_OF(n##1)                                                               \
    TEN_OF(n##2)                                                               \
    TEN_OF(n##3)                                                               \
    TEN_OF(n##4)                                                               \
    TEN_OF(n##5) TEN_OF(n##6) TEN_OF(n##7) TEN_OF(n##8) TEN_OF(n##9)
#define ALL                                                                    \
    HUNDRED_OF(1)                                                              \
    HUNDRED_OF(2) HUNDRED_OF(3) HUNDRED_OF(4) HUNDRED_OF(5) HUNDRED_OF(6)

static volatile unsigned sink;

#define ONE(n)                                                                 \
    __attribute__((noinline)) static void tiny_##n(void)                       \
    {                                                                          \
        sink = n;                                                              \
    }
ALL
#undef ONE

#define ONE(n) tiny_##n,
    static void (*const functions[])(void) = {ALL};

PLAIN static uint64_t recorded_calls(const axp_view *view)
{
    static axp_op ops[2 * N_FUNCTIONS];
    uint64_t calls = 0;
    size_t n = axp_view_ops(view, AXP_BY_TIME, ops, 2 * N_FUNCTIONS);
    CHECK(n == N_FUNCTIONS);
    for (size_t i = 0; i < n; i++)
        calls += ops[i].calls;
    return calls;
}

PLAIN static uint64_t muted_calls(const axp_view *view)
{
    axp_warning all[32];
    size_t n = axp_view_warnings(view, all, 32);
    for (size_t i = 0; i < n && i < 32; i++)
        if (!strcmp(all[i].code, "muted_calls")) return all[i].count;
    return 0;
}

/* What a thread has counted is told when it ends. */
PLAIN static void *call_all(void *argument)
{
    for (unsigned i = 0; i < N_FUNCTIONS; i++)
        for (unsigned k = 0; k < N_CALLS; k++)
            functions[i]();
    return argument;
}

PLAIN int main(void)
{
    pthread_t thread;
    CHECK(sizeof functions / sizeof *functions == N_FUNCTIONS);
    CHECK(!pthread_create(&thread, NULL, call_all, NULL));
    CHECK(!pthread_join(thread, NULL));
    axp_view *view = axp_snapshot(axp_global());
    CHECK(view);
    uint64_t n_all = (uint64_t)N_FUNCTIONS * N_CALLS;
    uint64_t n_recorded = recorded_calls(view);
    CHECK(n_recorded >= (uint64_t)N_FUNCTIONS * 16384 && n_recorded < n_all);
    CHECK(n_recorded + muted_calls(view) == n_all);
    axp_view_destroy(view);
    puts("many functions are muted");
    return 0;
}
