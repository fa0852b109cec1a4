/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The part of a run that is recorded, as axprof run passes it on:
 *
 *   AXPROF_WINDOW=time:BEGIN:END[:START]
 *                                   CLOCK_MONOTONIC, ns; END 0: none. START of
 *                                   the run is for whoever reads the recording
 *   AXPROF_WINDOW=steps:FIRST:END   steps from FIRST on, up to END and without
 *                                   it; the first of a program is 0
 *
 *   WAITING ─► INSIDE ─► OVER       NONE: everything
 *
 * While WAITING the global profiler is disabled, but its events come to the
 * slow way, which asks what time it is: 40 ns each. Nor does the program enable
 * it then; whether it is to be enabled is remembered. The end is noticed by
 * steps, at a change of chunk, and by axprof run, which looks at the clock and
 * disables from outside (axp_drain_stop). What is open then ends there, whenever
 * its end comes (axp__lane_until), and nothing enables the profiler again.
 *
 * Threads  any; no lock.
 */
#ifndef AXP_RECORD_WINDOW_H
#define AXP_RECORD_WINDOW_H
#include "record/record_process.h"
#include "record/record_profiler.h"

enum axp__window_state {
    AXP__WINDOW_NONE,
    AXP__WINDOW_WAITING,
    AXP__WINDOW_INSIDE,
    AXP__WINDOW_OVER
};

/* The global profiler has been made: reads the variable. */
void axp__window_begin(struct axp__prof *p);
/* Moves on if it is time to. */
void axp__window_look(struct axp__prof *p);
/* The program enables the profiler, or disables it: while the window waits that
 * is remembered until it begins, and is nobody else's concern. */
bool axp__window_switch(const struct axp__prof *p, bool enabled);
/* A step was marked in the profiler: recorded, or refused. */
void axp__window_step(struct axp__prof *p);

static inline bool axp__window_is(const struct axp__prof *p,
                                  enum axp__window_state state)
{
    return axp__unlikely(axp__get(&axp__process()->window.state) ==
                         (uint32_t)state) &&
           p->index == 0;
}

#endif
