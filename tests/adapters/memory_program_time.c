/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What memory_program does over time. */
#include <time.h>

#include "memory_program.h"

#define MIB ((size_t)1 << 20)

static void sleep_ms(long ms)
{
    const struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* In 1,024 blocks, so that no block is a step of its own. */
APART static void truth_wave(size_t bytes, long ms)
{
    static void *blocks[1024];
    for (size_t i = 0; i < 1024; i++)
        blocks[i] = truth_malloc(bytes / 1024);
    sleep_ms(ms);
    for (size_t i = 0; i < 1024; i++)
        truth_free(blocks[i], bytes / 1024);
    sleep_ms(20);
}

/* Eight waves, none as high as another, the highest in the middle. */
int run_waves(int argc, char **argv)
{
    static const size_t heights[] = {3, 1, 6, 2, 8, 4, 7, 5};
    (void)argc, (void)argv;
    for (size_t i = 0; i < sizeof heights / sizeof *heights; i++)
        truth_wave(heights[i] * MIB, 20);
    truth_print(TRUTH_ONE_AT_A_TIME,
                ", \"waves_mib\": [3, 1, 6, 2, 8, 4, 7, 5], \"wave_ms\": 20");
    return 0;
}

/* ---- lifetimes ----------------------------------------------------------- */

#define OFTEN 200000
#define SELDOM 40
#define N_OLD 1000

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* By calls that differ, since compilers make one function of equal ones.
 * Thousands a millisecond, each gone at once. */
APART static void *truth_short(size_t n)
{
    void *block = malloc(n);
    if (block) truth_did_alloc(n);
    return block;
}

/* One at a time, each of which lives 2 ms. */
APART static void *truth_seldom(size_t n)
{
    void *block = calloc(1, n);
    if (block) truth_did_alloc(n);
    return block;
}

/* A thousand in a row, freed at the end. */
APART static void *truth_old(size_t n)
{
    void *block = realloc(NULL, n);
    if (block) truth_did_alloc(n);
    return block;
}

/* A large one every 10 ms, never freed. */
APART static void *truth_kept(size_t n)
{
    void *block = aligned_alloc(64, n);
    if (block) truth_did_alloc(n);
    return block;
}

/* Prints when each block that stays was asked for, in ns since the first. */
int run_ages(int argc, char **argv)
{
    static void *old[N_OLD], *kept[5];
    char more[512];
    uint64_t first = 0;
    int len = snprintf(more, sizeof more,
                       ", \"n_short\": %d, \"n_seldom\": %d, \"n_old\": %d, "
                       "\"kept_ns\": [",
                       OFTEN, SELDOM, N_OLD);
    (void)argc, (void)argv;
    for (int i = 0; i < SELDOM; i++) {
        void *block = truth_seldom(100);
        sleep_ms(2);
        truth_free(block, 100);
    }
    for (int i = 0; i < N_OLD; i++)
        old[i] = truth_old(48);
    for (int i = 0; i < OFTEN; i++)
        truth_free(truth_short(24), 24);
    for (int i = 0; i < 5; i++) {
        uint64_t at = now_ns();
        if (!i) first = at;
        kept[i] = truth_kept((size_t)(100 + i) << 10);
        len += snprintf(more + len, sizeof more - (size_t)len, "%s%llu",
                        i ? ", " : "", (unsigned long long)(at - first));
        sleep_ms(10);
    }
    for (int i = 0; i < N_OLD; i++)
        truth_free(old[i], 48);
    REQUIRE(kept[0] && kept[4]);
    snprintf(more + len, sizeof more - (size_t)len, "]");
    truth_print(TRUTH_ONE_AT_A_TIME, more);
    return 0;
}
