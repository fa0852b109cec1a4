/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Distances with an exponential distribution, and what a taken block stands
 * for; see memory_sample.h. The few functions of the mathematical library that
 * this needs are written out: what enters a program needs the C library alone. */
#include "memory_sample.h"

#include <string.h>

#include <axprof/axprof_adapter.h>

#define LN2 0.69314718055994530942

uint64_t memory_sample_mean;
__thread int64_t memory_sample_left __attribute__((tls_model("initial-exec")));
static __thread uint64_t state __attribute__((tls_model("initial-exec")));

/* ln x for x from 0 to 1, to 1e-9: x = m * 2^e, and a series in
 * (m - 1) / (m + 1), with m near 1. */
static double logarithm(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, 8);
    int exponent = (int)(bits >> 52) - 1023;
    bits = (bits & 0xfffffffffffffu) | 0x3ff0000000000000u;
    memcpy(&x, &bits, 8);
    if (x > 1.41421356) {
        x /= 2;
        exponent++;
    }
    double t = (x - 1) / (x + 1), t2 = t * t, sum = 0;
    for (int k = 13; k >= 1; k -= 2)
        sum = sum * t2 + 1.0 / k;
    return 2 * t * sum + exponent * LN2;
}

/* 1 - exp(-x) for x from 0 on: halved until it is small, then doubled again by
 * 1 - (1 - p)^2. */
static double chance(double x)
{
    int n = 0;
    if (x > 50) return 1;
    for (; x > 0.01; x /= 2)
        n++;
    double p = x * (1 - x / 2 * (1 - x / 3 * (1 - x / 4)));
    while (n--)
        p = p * (2 - p);
    return p;
}

static uint64_t random_bits(void)
{
    if (!state) /* no clock of the C library: who wraps that may allocate */
        state = ((uint64_t)(uintptr_t)&state ^ axp_wait_begin() << 20) *
                    0x9e3779b97f4a7c15u |
                1;
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545f4914f6cdd1du;
}

uint64_t memory_sample_draw(size_t bytes)
{
    bool is_first = !state;
    double mean = (double)memory_sample_mean;
    double u = ((double)(random_bits() >> 11) + 0.5) / 9007199254740992.0;
    double distance = -logarithm(u) * mean;
    memory_sample_left = distance < 1 ? 1 : (int64_t)distance;
    if (is_first) return memory_sample(bytes); /* which may be this one */
    double p = chance((double)bytes / mean);
    return p > 0 ? (uint64_t)((double)bytes / p + 0.5) : 0;
}

/* ---- marks ------------------------------------------------------------------ */

uint16_t memory_sample_marks[MEMORY_SAMPLE_MARKS];

/* One that is full stays so. */
static void add(uint16_t *mark, int by)
{
    uint16_t was = __atomic_load_n(mark, __ATOMIC_RELAXED);
    while (was != UINT16_MAX && (by > 0 || was) &&
           !__atomic_compare_exchange_n(mark, &was, (uint16_t)(was + by), false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

void memory_sample_taken(const void *block)
{
    add(memory_sample_mark(block), 1);
}

void memory_sample_gone(const void *block)
{
    add(memory_sample_mark(block), -1);
}
