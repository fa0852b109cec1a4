/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Waiting for the program while passing signals on. */
#include "cli/cli_watch.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli_clock.h"
#include "cli/cli_proc.h"

/* What others send; not what a process does to itself. */
static const int passed_on[] = {SIGHUP,  SIGINT,   SIGQUIT, SIGTERM, SIGUSR2,
                                SIGALRM, SIGWINCH, SIGTSTP, SIGXCPU, SIGVTALRM,
                                SIGPROF, SIGIO,    SIGPWR,  SIGURG};
enum { N_PASSED_ON = sizeof passed_on / sizeof *passed_on };

void cli_watch_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGCHLD);
    sigaddset(set, SIGCONT);
    sigaddset(set, SIGUSR1);
    for (int i = 0; i < N_PASSED_ON; i++)
        sigaddset(set, passed_on[i]);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
        sigaddset(set, number);
}

/* Does a shell with job control wait for us? Then it has put us into a group
 * of our own, on a terminal. */
static bool is_job(void)
{
    return getpgid(getppid()) != getpgrp() && getsid(0) == getsid(getppid());
}

static bool is_stopped(pid_t pid)
{
    cli_proc_stat stat;
    int fd = cli_proc_open(pid);
    bool is_read = fd >= 0 && cli_proc_read(fd, &stat);
    if (fd >= 0) close(fd);
    return is_read && stat.state == 'T';
}

static void continue_program(const cli_watch *w)
{
    /* A shell continues the whole group: then it runs already. */
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (is_stopped(w->pid)) kill(w->pid, SIGCONT);
}

/* Without a witness the kernel's signals are taken for the terminal's, and
 * those for the group's. */
static bool is_from_terminal(const cli_watch *w,
                             const struct signalfd_siginfo *info)
{
    return !w->witness.pid && info->ssi_code == SI_KERNEL;
}

/* Signals that have come; bit n - 1 is signal n. */
struct signals {
    uint64_t all, to_pass;
};

static void take_signal(cli_watch *w, const struct signalfd_siginfo *info,
                        struct signals *set)
{
    int number = (int)info->ssi_signo;
    uint64_t bit = (uint64_t)1 << (number - 1);
    if (number == SIGCHLD) return;
    set->all |= bit;
    if (number == SIGUSR1)
        w->on_user(w->ctx);
    else if (number == SIGCONT)
        continue_program(w);
    else if (info->ssi_pid != (uint32_t)w->pid && !is_from_terminal(w, info))
        set->to_pass |= bit;
}

static void take_signals(cli_watch *w, int fd, struct signals *set)
{
    struct signalfd_siginfo info;
    while (fd >= 0 && read(fd, &info, sizeof info) == sizeof info)
        take_signal(w, &info, set);
}

/* Whoever sends one to the group may be at it, or, as timeout does, send it to
 * us first and then to the group: so there is some time before it is asked
 * whether it went there. */
static void pass_on(cli_watch *w, int fd, struct signals set)
{
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    take_signals(w, fd, &set);
    set.to_pass &= ~cli_witness_saw(&w->witness, set.all);
    for (int number = 1; set.to_pass; number++, set.to_pass >>= 1)
        if (set.to_pass & 1) kill(w->pid, number);
}

/* true: it has ended. The witness may have, too, and as process 1 of a
 * container we have orphans, which nobody else waits for. */
static bool reap(cli_watch *w)
{
    int status;
    struct rusage usage;
    for (;;) {
        pid_t pid = wait4(-1, &status, WNOHANG | WUNTRACED, &usage);
        if (pid <= 0) return pid < 0 && errno == ECHILD;
        if (pid == w->witness.pid && !WIFSTOPPED(status)) w->witness.pid = 0;
        if (pid != w->pid) continue;
        if (!WIFSTOPPED(status)) {
            w->status = status;
            w->usage = usage;
            w->end_ns = cli_clock_ns(CLOCK_MONOTONIC);
            return true;
        }
        if (is_job()) {
            w->on_screen(w->ctx);
            raise(SIGSTOP);
        }
    }
}

static int timeout_ms(uint64_t due_ns)
{
    uint64_t now = cli_clock_ns(CLOCK_MONOTONIC);
    if (due_ns <= now) return 0;
    uint64_t ms = (due_ns - now + 999999) / 1000000;
    return ms > 60000 ? 60000 : (int)ms;
}

void cli_watch_run(cli_watch *w)
{
    sigset_t set;
    uint64_t due_ns = 0;
    cli_watch_signals(&set);
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    while (!reap(w)) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        struct signals came = {0, 0};
        /* Without a descriptor (no more of them) it is asked now and then. */
        int wait_ms = timeout_ms(due_ns);
        poll(&ready, fd >= 0, fd >= 0 || wait_ms < 50 ? wait_ms : 50);
        take_signals(w, fd, &came);
        if (came.all) pass_on(w, fd, came);
        uint64_t now = cli_clock_ns(CLOCK_MONOTONIC);
        if (now >= due_ns) w->on_time(w->ctx, now, &due_ns);
    }
    if (fd >= 0) close(fd);
}

void cli_watch_release_keys(void)
{
    static const struct timespec at_once;
    sigset_t keys;
    sigemptyset(&keys);
    sigaddset(&keys, SIGINT);
    sigaddset(&keys, SIGQUIT);
    while (sigtimedwait(&keys, NULL, &at_once) > 0)
        continue;
    sigprocmask(SIG_UNBLOCK, &keys, NULL);
}

int cli_watch_exit_status(int status)
{
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    int number = WTERMSIG(status);
    struct rlimit none = {0, 0};
    sigset_t set;
    setrlimit(RLIMIT_CORE, &none); /* one core file is enough */
    signal(number, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(number);
    return 128 + number;
}
