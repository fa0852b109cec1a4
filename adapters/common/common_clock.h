/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The system's clocks, in nanoseconds. In signal handlers too. */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H
#include <stdint.h>
#include <time.h>

static inline uint64_t common_clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
