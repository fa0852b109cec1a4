/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Draining the processes of a run: each that records makes a file in the run's
 * folder and leaves its timeline in a spool, from where it is moved here, so
 * that no thread of ours is in the program. A process has ended when it has let
 * its spool go (axp_drain_is_over): no process id is asked.
 *
 * The folder is looked at 20 times a second, and less often while nothing new
 * appears; until a file is found the spool holds what is recorded. When a
 * process has ended its file is completed and its spool goes.
 *
 * Cost       while there is much to move it asks to be called every
 *            millisecond, while there is something every 20, else every 100:
 *            each time a processor is taken from the program for 50 us or so,
 *            and its other threads wait at their next barrier.
 * Threads    one.
 */
#ifndef CLI_DRAIN_H
#define CLI_DRAIN_H
#include <axprof/axprof_file.h>

#include "cli/cli_files.h"
#include "cli/cli_proc.h"

typedef struct cli_drains cli_drains;

typedef struct cli_drains_now {
    uint64_t n_events, n_steps;
} cli_drains_now;

/* files outlive it, and have begun. stop_ns: when recording is to end
 * (CLOCK_MONOTONIC); 0: never. */
cli_drains *cli_drains_create(const cli_files *files,
                              const axp_drain_keep *keep, uint64_t stop_ns);
/* Moves what there is; returns when to come again. */
uint64_t cli_drains_step(cli_drains *d, uint64_t now_ns);
/* The program has ended: the rest is moved, and the files of all processes
 * that have ended are completed. */
void cli_drains_finish(cli_drains *d);
/* A moment for those that end because the program has; what goes on longer
 * stays as it is. */
void cli_drains_wait(cli_drains *d);
/* Of one of the run's parts: whether it is complete. */
bool cli_drains_has_ended(const cli_drains *d, const char *path);
/* Processes of which one is not. */
uint64_t cli_drains_left(const cli_drains *d);
void cli_drains_destroy(cli_drains *d); /* NULL allowed */
/* What went wrong first, as a sentence; NULL: nothing. */
const char *cli_drains_problem(const cli_drains *d);
cli_drains_now cli_drains_look(const cli_drains *d);
/* A process that is not known yet is looked for. */
cli_own cli_drains_own(cli_drains *d, pid_t pid);
/* Processes that have recorded something. */
size_t cli_drains_count(const cli_drains *d);

#endif
