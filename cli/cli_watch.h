/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The time between the start of the program and its end: signals, stops,
 * looks at /proc, the status line.
 *
 * Signals are blocked and read from a descriptor, so that no handler of ours
 * exists and the program starts with what its caller had set.
 *   Those that the whole process group gets (Ctrl-C, Ctrl-\, Ctrl-Z, a change
 *   of the terminal's size, kill of the group) the program has had itself,
 *   being in the group: nothing to do (cli_witness.h tells). Those that were
 *   sent to us alone are passed on; so is SIGHUP when the terminal goes, which
 *   the kernel sends to the first process of a session.
 *   When the program stops, so do we, if a shell with job control waits for
 *   us; when we are continued, so is the program.
 *   SIGUSR1 is for us: what was recorded so far is written.
 */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "cli/cli_witness.h"

typedef struct cli_watch {
    pid_t pid;
    cli_witness witness; /* the caller's: it is there before the program runs */
    /* Called at *due_ns (CLOCK_MONOTONIC), which it moves on. */
    void (*on_time)(void *ctx, uint64_t now_ns, uint64_t *due_ns);
    void (*on_user)(void *ctx);   /* SIGUSR1 */
    void (*on_screen)(void *ctx); /* about to stop: free the terminal */
    void *ctx;
    /* Afterwards: how it ended, as wait tells it, and what it used. */
    int status;
    struct rusage usage;
    uint64_t end_ns;
} cli_watch;

/* What must be blocked before the program is forked. */
void cli_watch_signals(sigset_t *set);
/* Returns when the program has ended. */
void cli_watch_run(cli_watch *w);
/* From here on the keys that interrupt end us, as they end anyone: what was
 * pressed until now was for the program. */
void cli_watch_release_keys(void);
/* Ends this process as the program ended: the same exit status, or death by
 * the same signal. Returns an exit status if that is what it takes. */
int cli_watch_exit_status(int status);

#endif
