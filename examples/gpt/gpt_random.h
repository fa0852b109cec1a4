/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gpt_random.h: a small random generator (splitmix64). Its whole state is one
 * number, so a seed fixes everything that is drawn from it. */
#ifndef GPT_RANDOM_H
#define GPT_RANDOM_H
#include <math.h>
#include <stdint.h>

static inline uint64_t gpt_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* In (0, 1]. */
static inline double gpt_random_uniform(uint64_t *state)
{
    return (double)((gpt_random(state) >> 11) + 1) * 0x1p-53;
}

/* Mean 0, deviation 1 (Box and Muller). */
static inline double gpt_random_normal(uint64_t *state)
{
    const double two_pi = 6.283185307179586;
    const double radius = sqrt(-2.0 * log(gpt_random_uniform(state)));
    return radius * cos(two_pi * gpt_random_uniform(state));
}

#endif
