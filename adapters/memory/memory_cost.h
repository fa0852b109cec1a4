/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What telling of blocks takes: one event in 1021 is timed, and stands for the
 * others; a prime, since programs allocate and free in turns. Each thread says
 * so after 64 of them; what it has not said when it ends, some 65,000 events,
 * is left out.
 *
 * Odd ones   one that was interrupted is cut to 5 us: what a new place takes.
 * Threads    each has its own.
 */
#ifndef MEMORY_COST_H
#define MEMORY_COST_H
#include <stdint.h>

#include <axprof/axprof_adapter.h>

#define MEMORY_COST_EVERY 1021u

extern __thread uint32_t memory_cost_n
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Reads the clock twice, to know what that takes itself. */
uint64_t memory_cost_first(void) __attribute__((visibility("hidden")));

/* Before an event; 0: this one is not timed. HOT */
static inline uint64_t memory_cost_begin(void)
{
    if (__builtin_expect(++memory_cost_n < MEMORY_COST_EVERY, 1)) return 0;
    return memory_cost_first();
}

void memory_cost_add(uint64_t began) __attribute__((visibility("hidden")));

/* After it. HOT */
static inline void memory_cost_end(uint64_t began)
{
    if (__builtin_expect(began != 0, 0)) memory_cost_add(began);
}

#endif
