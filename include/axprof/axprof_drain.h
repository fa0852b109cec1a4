/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axprof_drain.h: moving what another process records into its file, from
 * outside: what `axprof run` does while a program runs.
 *
 *   set AXPROF_OUT=path and AXPROF_DRAIN=parent, start the program
 *   axp_drain *d = axp_drain_open(path);     (it appears with the first event)
 *   while it runs: axp_drain_step(d);        (some thousand times a second
 *   axp_drain_close(d);                       under load, seldom else)
 *   axp_file_pack(path, NULL);               (one clean file, no spool)
 *
 * Link with -laxprof.
 *
 * Input      what the other process left in file and spool is not trusted.
 * Threads    one at a time.
 * Failure    none harms the other process: it goes on, and what cannot be
 *            moved stays in its spool or is counted as cut.
 */
#ifndef AXPROF_DRAIN_H
#define AXPROF_DRAIN_H
#include "axprof.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct axp_drain axp_drain;

typedef struct axp_drain_state {
    int process_id;
    uint64_t file_bytes;
    uint64_t n_events; /* moved so far */
    uint64_t n_steps;  /* that the process has marked */
} axp_drain_state;

/* How much of the timeline stays; all zero: everything. Statistics are whole
 * in any case. */
typedef struct axp_drain_keep {
    axp_ns newest_ns;      /* the last so long, */
    uint64_t newest_steps; /* or the last so many steps, */
    double slow_times;     /* or steps that took so many times the median, */
    axp_ns slow_ns;        /* or longer than that */
} axp_drain_keep;

/* NULL, axp_last_error(): not (yet) a recording with a spool that is left to
 * us; trying again a little later is right. */
AXP_API axp_drain *axp_drain_open(const char *path);
/* Moves what is full; returns how many chunks that were, at most 256. */
AXP_API size_t axp_drain_step(axp_drain *d);
AXP_API axp_status axp_drain_set_keep(axp_drain *d, const axp_drain_keep *keep);
/* From now on the process records nothing more. */
AXP_API void axp_drain_stop(axp_drain *d);
AXP_API axp_drain_state axp_drain_look(const axp_drain *d);
AXP_API void axp_drain_close(axp_drain *d); /* NULL allowed */

#ifdef __cplusplus
}
#endif
#endif
