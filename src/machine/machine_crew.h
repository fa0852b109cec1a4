/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads that do one thing at once, each on a CPU of its own.
 *
 * Between two things they sleep. Before one they wait for each other, so that
 * none has begun long before the last.
 */
#ifndef AXP_MACHINE_CREW_H
#define AXP_MACHINE_CREW_H
#include <stdbool.h>
#include <stdint.h>

/* Seconds. */
double axp__crew_now(void);

struct axp__crew;
typedef void (*axp__crew_fn)(void *ctx, uint32_t thread);

/* NULL: no memory, or no thread at all; fewer than asked for may be there. */
struct axp__crew *axp__crew_create(uint32_t n_threads);
void axp__crew_destroy(struct axp__crew *p);
uint32_t axp__crew_size(const struct axp__crew *p);

/* The first n call fn; returns when all are done: seconds from the first
 * beginning to the last end. */
double axp__crew_run(struct axp__crew *p, uint32_t n, axp__crew_fn fn,
                     void *ctx);
/* In the last run: how long the thread that took least had its processor. */
double axp__crew_ran(const struct axp__crew *p);
/* In the last run, of the thread that was worst off: the part of the time, from
 * the first beginning to its end, in which it had no processor. 0…1. */
double axp__crew_lost(const struct axp__crew *p);

#endif
