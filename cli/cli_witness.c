/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A process that blocks all signals, and a look at those that wait for it. */
#include "cli/cli_witness.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli_proc.h"

static _Noreturn void be_witness(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "axprof-witness");
    if (getppid() != parent) _exit(0);
    /* Whoever reads the program's output waits for the last one to close it. */
    close_range(0, ~0u, 0);
    for (;;)
        pause();
}

void cli_witness_init(cli_witness *w)
{
    sigset_t all, before;
    pid_t parent = getpid();
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    w->pid = fork();
    if (w->pid == 0) be_witness(parent);
    if (w->pid < 0) w->pid = 0;
    sigprocmask(SIG_SETMASK, &before, NULL);
}

uint64_t cli_witness_saw(cli_witness *w)
{
    uint64_t pending = w->pid ? cli_proc_pending(w->pid) : 0;
    if (!pending) return 0;
    /* They stay pending: the next ones are for another witness, which is there
     * before this one goes. */
    cli_witness old = *w;
    cli_witness_init(w);
    cli_witness_fini(&old);
    return pending;
}

void cli_witness_fini(cli_witness *w)
{
    if (!w->pid) return;
    kill(w->pid, SIGKILL);
    waitpid(w->pid, NULL, 0);
    w->pid = 0;
}
