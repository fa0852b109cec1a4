/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Starting the program with everything as its caller left it: streams,
 * terminal, process group, folder, signal mask and dispositions, limits. What
 * differs is the environment: LD_PRELOAD, longer by the adapters, and AXPROF_*.
 *
 *   cli_launch_fork   the child exists, has a pid, and waits
 *   …                 files are named by the pid, /proc is looked at
 *   cli_launch_exec   it is told to go on; CLI_OK: the program runs
 *
 * A run inside a run replaces the outer one's variables and adapters by its
 * own; what else is in LD_PRELOAD is kept, and comes first, since it may be an
 * allocator or a sanitizer that insists on it.
 */
#ifndef CLI_LAUNCH_H
#define CLI_LAUNCH_H
#include <signal.h>
#include <sys/types.h>

#include "cli/cli_target.h"

typedef struct cli_launch {
    pid_t pid;
    /* To the child, until it has become the program: its environment, which is
     * the word to go on. */
    int channel;
    /* As they were when we were started, for the child. */
    sigset_t mask;
    struct sigaction on_child;
} cli_launch;

/* Blocks the signals in `blocked` for us alone, and forks. */
int cli_launch_fork(cli_launch *l, const sigset_t *blocked,
                    const cli_target *target, char *const *argv);
/* The environment as the child will have it; caller frees with
 * cli_launch_free. own: "NAME=value", ends with NULL. preload: adapters or
 * NULL. */
char **cli_launch_environment(char *const *own, const char *preload);
void cli_launch_free(char **environment);
/* On failure: a message, and the status a shell would give. */
int cli_launch_exec(cli_launch *l, char *const *environment,
                    const cli_target *target);

/* Instead of that: the child ends without having become the program. */
void cli_launch_cancel(cli_launch *l);

#endif
