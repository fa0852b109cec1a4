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
