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
    closefrom(0);
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

/* They stay pending: the next ones are for another witness. It is there before
 * this one is asked for the last time, so that none passes both by. */
static uint64_t take_pending(cli_witness *w)
{
    pid_t old = w->pid;
    if (!old || !cli_proc_pending(old)) return 0;
    cli_witness_init(w);
    uint64_t pending = cli_proc_pending(old);
    kill(old, SIGKILL);
    waitpid(old, NULL, 0);
    return pending;
}

uint64_t cli_witness_saw(cli_witness *w, uint64_t came)
{
    uint64_t seen = w->early | take_pending(w);
    w->early = seen & ~came;
    return seen & came;
}

void cli_witness_fini(cli_witness *w)
{
    if (!w->pid) return;
    kill(w->pid, SIGKILL);
    waitpid(w->pid, NULL, 0);
    w->pid = 0;
}
