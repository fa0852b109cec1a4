/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Operations stay exact where call paths find no room: every thread counts
 * its calls by itself, and each is found in its operation. Each case runs in
 * a process of its own. */
#include <pthread.h>

#include "stress_check.h"

#define NAMES 64u
#define DEPTH 13u
#define DEEP_THREADS 16u
#define LIVE_THREADS (STRESS_TSAN || STRESS_ASAN ? 200u : 2000u)

static axp_profiler *prof;
static char names[NAMES][16];
static uint64_t n_calls[NAMES];

static void begin_case(void)
{
    for (unsigned i = 0; i < NAMES; i++)
        snprintf(names[i], sizeof names[i], "name %u", i);
    prof = axp_profiler_create(NULL);
    CHECK(prof != NULL);
}

static uint64_t next_random(uint64_t *x)
{
    *x = *x * 6364136223846793005u + 1442695040888963407u;
    return *x >> 33;
}

static void descend(uint64_t *random, uint64_t *mine, unsigned depth)
{
    unsigned name = (unsigned)(next_random(random) % NAMES);
    AXP_SCOPE_IN(prof, names[name]);
    mine[name]++;
    if (depth < DEPTH) descend(random, mine, depth + 1);
}

static void *wander(void *seed)
{
    uint64_t random = (uintptr_t)seed, mine[NAMES] = {0};
    for (unsigned i = 0; i < 4000; i++)
        descend(&random, mine, 1);
    for (unsigned i = 0; i < NAMES; i++)
        __atomic_add_fetch(&n_calls[i], mine[i], __ATOMIC_RELAXED);
    return NULL;
}

static void check_ops(unsigned n)
{
    uint64_t all = 0;
    axp_view *v = axp_snapshot(prof);
    CHECK(v != NULL);
    for (unsigned i = 0; i < n; i++) {
        axp_op op;
        CHECK(!axp_view_op(v, names[i], &op));
        CHECK_EQ(op.calls, n_calls[i]);
        CHECK(op.self_ns <= op.total_ns && op.min_ns <= op.max_ns);
        all += n_calls[i];
    }
    CHECK_EQ(stress_all_calls(v), all);
    axp_view_destroy(v);
}

/* 64 names, 13 deep: more paths than any memory holds. */
static void paths_fill_the_budget(void)
{
    pthread_t t[DEEP_THREADS];
    begin_case();
    for (uintptr_t i = 0; i < DEEP_THREADS; i++)
        CHECK(!pthread_create(&t[i], NULL, wander, (void *)(i + 1)));
    for (unsigned i = 0; i < DEEP_THREADS; i++)
        CHECK(!pthread_join(t[i], NULL));
    CHECK(stress_warning(prof, "folded_paths") > 0);
    check_ops(NAMES);
    axp_profiler_destroy(prof);
}

/* ---- threads that are there at once ------------------------------------------ */

static pthread_barrier_t all_there;

static void *stay(void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < 4; i++) {
        AXP_SCOPE_IN(prof, names[i]);
        __atomic_add_fetch(&n_calls[i], 1, __ATOMIC_RELAXED);
        for (volatile unsigned k = 0; k < 1u << 5 * i; k++)
            ; /* each in a page of its histogram that is its own */
    }
    pthread_barrier_wait(&all_there); /* recorded, and not merged */
    pthread_barrier_wait(&all_there);
    return NULL;
}

static void many_live_threads(void)
{
    pthread_attr_t small;
    pthread_t *t = calloc(LIVE_THREADS, sizeof *t);
    begin_case();
    CHECK(t && !pthread_barrier_init(&all_there, NULL, LIVE_THREADS + 1));
    CHECK(!pthread_attr_init(&small));
    CHECK(!pthread_attr_setstacksize(&small, 128 << 10));
    for (unsigned i = 0; i < LIVE_THREADS; i++) {
        int error = pthread_create(&t[i], &small, stay, NULL);
        if (error == EAGAIN) { /* a limit on threads */
            dprintf(2, "only %u threads are possible\n", i);
            _exit(0);
        }
        CHECK(!error);
    }
    pthread_barrier_wait(&all_there);
    check_ops(4);
    pthread_barrier_wait(&all_there);
    for (unsigned i = 0; i < LIVE_THREADS; i++)
        CHECK(!pthread_join(t[i], NULL));
    check_ops(4);
    free(t);
}

int main(void)
{
    int failed = 0;
    failed += STRESS_RUN(paths_fill_the_budget, 60);
    failed += STRESS_RUN(many_live_threads, 60);
    return failed ? 1 : 0;
}
