/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What telling of blocks takes, and the time of some of them. At one event in 127
 * the clock is read. Of 7 of these one is timed, for what it takes, and one
 * followed, for how long its block lives, which takes longer: each stands for all
 * since the one before. (An odd number of events, since programs allocate and free
 * in turns.) Where events are seldom (more than 4 us apart) each is both, and those
 * that come at once after it are sooner.
 * Each thread says what it took after 64; what it has not said when it ends, some
 * 65,000 events at most, is left out.
 *
 * Odd ones   one that was interrupted is cut to 5 us: what a new place takes.
 * Threads    each has its own.
 */
#ifndef MEMORY_COST_H
#define MEMORY_COST_H
#include <stdint.h>

#include <axprof/axprof_adapter.h>

/* Events until the clock is read. */
extern __thread uint32_t memory_cost_left
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
/* For how many blocks that one stands; 0: it is not to be followed. */
extern __thread uint32_t memory_cost_follows
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

uint64_t memory_cost_due(void) __attribute__((visibility("hidden")));

/* Before an event; 0: the clock was not read. HOT */
static inline uint64_t memory_cost_begin(void)
{
    if (__builtin_expect(memory_cost_left-- != 0, 1)) return 0;
    return memory_cost_due();
}

void memory_cost_add(uint64_t began) __attribute__((visibility("hidden")));

/* After it. HOT */
static inline void memory_cost_end(uint64_t began)
{
    if (__builtin_expect(began != 0, 0)) memory_cost_add(began);
}

#endif
