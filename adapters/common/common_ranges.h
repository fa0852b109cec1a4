/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Ranges that a program marks for another tool (NVTX, ITT), as scopes of ours.
 *
 *   pushed and popped    named scopes of the thread, since nothing says that a
 *                        range ends in the function that began it, and each
 *                        domain has an order of its own
 *   started and ended    by their number, on any thread: async spans
 *
 * Names      "DOMAIN: NAME", or the name alone. Whatever it reads like, it is a
 *            name and nothing else.
 * Steps      a range called what AXPROF_STEP_RANGE says ends a step when it
 *            ends.
 * Threads    any. errno is kept by those who call.
 */
#ifndef COMMON_RANGES_H
#define COMMON_RANGES_H
#include <stdbool.h>
#include <stdint.h>

struct common_range {
    const char *name;
    const char *domain;    /* NULL: none */
    const double *payload; /* NULL: none; becomes a counter of its name */
};

/* The process filters its system calls: nothing may be made or asked for. */
bool common_ranges_are_quiet(void);

/* Returns how many were open in its domain before, as far as they are kept. */
int common_range_push(const struct common_range *r);
/* -1: none is open in that domain. The domain is known by its address. */
int common_range_pop(const char *domain);
/* 0: too many are open. */
uint64_t common_range_start(const struct common_range *r);
void common_range_end(uint64_t id);
void common_range_mark(const struct common_range *r);

#endif
