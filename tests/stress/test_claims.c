/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A thread starts and stops a scope by name as fast as it can, while another
 * stops it as well: each start ends once, whoever ends it. What is tried is
 * the first stop from elsewhere in a profiler, which changes how owners take
 * their own: so each round has a new profiler.
 *
 *   test_claims [ROUNDS] */
#include <pthread.h>
#include <stdlib.h>

#include "stress_check.h"

enum { STARTS = 5000, STOPS = 2000 };

static axp_profiler *prof;
static pthread_barrier_t begin;

static void *start_and_stop(void *unused)
{
    pthread_barrier_wait(&begin);
    for (int i = 0; i < STARTS; i++) {
        axp_start(prof, "claimed");
        axp_stop(prof, "claimed");
    }
    return unused;
}

/* The first of them at another moment each round. */
static void *stop_elsewhere(void *round)
{
    pthread_barrier_wait(&begin);
    for (volatile long i = 0; i < (long)(intptr_t)round * 37 % 20000; i++) {}
    for (int i = 0; i < STOPS; i++)
        axp_stop(prof, "claimed");
    return NULL;
}

static void run_round(long round)
{
    pthread_t owner, other;
    prof = axp_profiler_create(NULL);
    CHECK(prof != NULL);
    CHECK(!pthread_create(&owner, NULL, start_and_stop, NULL));
    CHECK(!pthread_create(&other, NULL, stop_elsewhere, (void *)round));
    pthread_join(owner, NULL);
    pthread_join(other, NULL);
    CHECK_EQ(axp_call_count(prof, "claimed"), STARTS);
    axp_profiler_destroy(prof);
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 300;
    CHECK(!pthread_barrier_init(&begin, NULL, 2));
    for (long i = 0; i < rounds; i++)
        run_round(i);
    return 0;
}
