/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The drain of a tape: full chunks into the trace; record_drain.c. */
#ifndef AXP_RECORD_DRAIN_H
#define AXP_RECORD_DRAIN_H
#include "record/record_tape.h"

/* What the thread is called, so that whoever tells of a program's threads knows that
 * it is none. */
#define AXP__DRAIN_NAME "axprof-drain"

/* Starts the thread, which sleeps until the tape is open. Without it every
 * order is carried out by who asks, apart. Not in a recording call. */
void axp__drain_begin(struct axp__tape *tape);
/* The same in the child of a fork, by pthread_atfork's handler: not where it
 * may be a signal handler that forked. */
void axp__drain_begin_in_child(struct axp__tape *tape);
/* The tape is open. */
void axp__drain_ring(struct axp__tape *tape);
/* Returns when the order has been carried out; by the profiler's mutex. */
void axp__drain_ask(struct axp__tape *tape, enum axp__tape_order order);
/* Between the two what is in the file and what is in chunks does not change
 * hands. By the profiler's mutex, and not for long. */
void axp__drain_hold(struct axp__tape *tape);
void axp__drain_let_go(struct axp__tape *tape);
/* The thread is gone, if there was one. After ORDER_FINISH, or instead. */
void axp__drain_end(struct axp__tape *tape);

/* What its thread runs: in the copy that owns the process, since another may be
 * unloaded. */
void *axp__drain_run(void *arg);

#endif
