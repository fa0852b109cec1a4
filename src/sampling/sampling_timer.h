/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Samples that programs take of themselves (axprof_ring.h), as records like the
 * kernel's: what axp_sampling reads where perf_event_open is not allowed.
 *
 * Code       that a process has mapped is in /proc, and is read when it is first
 *            seen and when an address is in none that is known: a process that
 *            is gone by then has samples without functions.
 * Not here   time in the kernel, and what threads do when they do not run; how
 *            long that was is seen from outside (sampling_tasks.h).
 */
#ifndef AXP_SAMPLING_TIMER_H
#define AXP_SAMPLING_TIMER_H
#include "sampling/sampling_perf.h"

struct axp__timer;

/* Makes the ring at path, which is not there yet, with room for all of it.
 * NULL: *error is why. */
struct axp__timer *axp__timer_open(const char *path, double hz, int *error);
void axp__timer_close(struct axp__timer *t); /* removes it; NULL allowed */
/* As axp__perf_next; also FORK, and COMM of an exec. */
bool axp__timer_next(struct axp__timer *t, struct axp__perf_record *out);
double axp__timer_fill(const struct axp__timer *t);
/* How many were lost since the last call. */
uint64_t axp__timer_lost(struct axp__timer *t);

/* Each mapping of code that a process has now; false: it is gone. */
bool axp__maps_each(uint32_t pid,
                    void (*give)(void *ctx, const struct axp__perf_record *r),
                    void *ctx);

#endif
