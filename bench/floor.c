/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The floor: two raw, unfenced clock reads, which no scope can do without.
 * Every figure of the bench is a ratio to this loop, measured in the same run.
 */
#include "bench.h"

double bench_floor(uint64_t n)
{
    uint64_t sum = 0;
    double from = bench_thread_ns();
    for (uint64_t i = 0; i < n; i++) {
        uint64_t a = bench_raw_clock();
        uint64_t b = bench_raw_clock();
        sum += b - a;
    }
    double ns = bench_thread_ns() - from;
    bench_keep(sum);
    return ns / (double)n;
}
