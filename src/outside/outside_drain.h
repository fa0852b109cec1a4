/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Draining another process's spool into its trace; outside_drain.c. Part of
 * libaxprof. */
#ifndef AXP_OUTSIDE_DRAIN_H
#define AXP_OUTSIDE_DRAIN_H
#include "axprof/axprof.h"

struct axp__outside;

/* A trace that a process has begun, and its spool; both descriptors are taken
 * over, also on failure. NULL: axp_last_error says why. */
struct axp__outside *axp__outside_open(int trace_fd, int spool_fd,
                                       const char *trace_path);
/* Moves what is full, once that is worth it or at last; returns how many chunks
 * that were. */
size_t axp__outside_step(struct axp__outside *o, bool is_last);
/* From here on only so much of the timeline is kept. */
struct axp__keep_rule;
bool axp__outside_keep(struct axp__outside *o,
                       const struct axp__keep_rule *rule);
/* Where that part begins, in ticks; 0: everything is kept. */
uint64_t axp__outside_wanted_from(const struct axp__outside *o);
/* The process records no more, as if it had disabled its profiler. */
void axp__outside_stop(struct axp__outside *o);
/* Of the trace so far, and events that the process has recorded. */
uint64_t axp__outside_spool_bytes(const struct axp__outside *o); /* backed */
uint64_t axp__outside_apart_bytes(const struct axp__outside *o); /* beside it */
uint64_t axp__outside_bytes(const struct axp__outside *o);
uint64_t axp__outside_events(const struct axp__outside *o);
uint64_t axp__outside_steps(const struct axp__outside *o);
const char *axp__outside_path(const struct axp__outside *o);
/* Whether its process is gone. */
bool axp__outside_is_over(const struct axp__outside *o);
/* As it is known here; 0: it is in another namespace, and was not found. */
int axp__outside_pid(const struct axp__outside *o);
/* Lets go of both: the rest is done by who completes the file. */
void axp__outside_close(struct axp__outside *o);

#endif
