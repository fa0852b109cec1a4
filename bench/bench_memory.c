/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Allocations by name and by address. */
#include <axprof/axprof.h>
#include <stdlib.h>

#include "bench.h"

static double by_name(uint64_t n)
{
    axp_profiler *p = axp_global();
    double from = bench_thread_ns();
    for (uint64_t i = 0; i < n; i++) {
        axp_record_alloc(p, "tensor", 4096);
        axp_record_free(p, "tensor", 4096);
    }
    return (bench_thread_ns() - from) / (double)n;
}

static double among_live(uint64_t n)
{
    axp_profiler *p = axp_global();
    for (int i = 0; i < 100000; i++)
        axp_record_alloc(p, "tensor", 64);
    double ns = by_name(n);
    for (int i = 0; i < 100000; i++)
        axp_record_free(p, "tensor", 64);
    return ns;
}

static double freed_at_once(uint64_t n)
{
    axp_profiler *p = axp_profiler_create(NULL);
    char *heap = (char *)(uintptr_t)0x7f0000000000;
    double from = bench_thread_ns();
    for (uint64_t i = 0; i < n; i++) {
        char *block = heap + (i & 1023) * 256;
        axp_track_alloc(p, "block", block, 256);
        axp_track_free(p, block);
    }
    double ns = (bench_thread_ns() - from) / (double)n;
    axp_profiler_destroy(p);
    return ns;
}

/* A random one of a million live blocks is freed, and allocated again
 * elsewhere. */
#define LIVE (1u << 20)
static double random_victim(uint64_t n)
{
    axp_profiler *p = axp_profiler_create(
        &(axp_options){.memory_limit = (uint64_t)256 << 20});
    uintptr_t heap = 0x7f0000000000, fresh = heap + (uintptr_t)LIVE * 64;
    uintptr_t *block = malloc(LIVE * sizeof *block);
    uint64_t state = 88172645463325252u;
    for (uint32_t i = 0; i < LIVE; i++) {
        block[i] = heap + (uintptr_t)i * 64;
        axp_track_alloc(p, "block", (void *)block[i], 64);
    }
    double from = bench_thread_ns();
    for (uint64_t i = 0; i < n; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        uint32_t victim = (uint32_t)state & (LIVE - 1);
        axp_track_free(p, (void *)block[victim]);
        block[victim] = fresh;
        fresh += 64;
        axp_track_alloc(p, "block", (void *)block[victim], 64);
    }
    double ns = (bench_thread_ns() - from) / (double)n;
    axp_profiler_destroy(p);
    free(block);
    return ns;
}

const struct bench_case bench_memory[] = {
    {"alloc + free by name", by_name, 10000000, 3, 0, false, 0},
    {"alloc + free by name, 100 k live", among_live, 5000000, 3, 0, false, 0},
    {"alloc + free by name, 2 threads", by_name, 5000000, 6, 0, true, 0},
    {"track + free, freed at once", freed_at_once, 10000000, 4, 0, false, 0},
    {"track + free, random of 1 M live", random_victim, 2000000, 15, 0, false,
     0},
    {0},
};
