/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Waiting for the program while passing signals on. */
#include "cli/cli_watch.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli_proc.h"

static const int passed_on[] = {SIGHUP,  SIGINT,  SIGQUIT,  SIGTERM,
                                SIGUSR2, SIGALRM, SIGWINCH, SIGTSTP};
enum { N_PASSED_ON = sizeof passed_on / sizeof *passed_on };

uint64_t cli_watch_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void cli_watch_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGCHLD);
    sigaddset(set, SIGCONT);
    sigaddset(set, SIGUSR1);
    for (int i = 0; i < N_PASSED_ON; i++)
        sigaddset(set, passed_on[i]);
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

/* Adds what is to be passed on to *set. */
static void take_signal(cli_watch *w, const struct signalfd_siginfo *info,
                        uint64_t *set)
{
    int number = (int)info->ssi_signo;
    if (number == SIGCHLD) return;
    if (number == SIGUSR1)
        w->on_user(w->ctx);
    else if (number == SIGCONT)
        continue_program(w);
    else if (info->ssi_pid != (uint32_t)w->pid && !is_from_terminal(w, info))
        *set |= (uint64_t)1 << (number - 1);
}

static void take_signals(cli_watch *w, int fd, uint64_t *set)
{
    struct signalfd_siginfo info;
    while (fd >= 0 && read(fd, &info, sizeof info) == sizeof info)
        take_signal(w, &info, set);
}

/* Whoever sends one to the group may be at it, or, as timeout does, send it to
 * us first and then to the group: so there is some time before it is asked
 * whether it went there. */
static void pass_on(cli_watch *w, int fd, uint64_t set)
{
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    take_signals(w, fd, &set);
    set &= ~cli_witness_saw(&w->witness);
    for (int number = 1; set; number++, set >>= 1)
        if (set & 1) kill(w->pid, number);
}

/* true: it has ended. */
static bool reap(cli_watch *w)
{
    int status;
    for (;;) {
        pid_t pid = wait4(w->pid, &status, WNOHANG | WUNTRACED, &w->usage);
        if (pid != w->pid) return pid < 0 && errno == ECHILD;
        if (!WIFSTOPPED(status)) {
            w->status = status;
            w->end_ns = cli_watch_clock();
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
    uint64_t now = cli_watch_clock();
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
        uint64_t to_pass = 0;
        /* Without a descriptor (no more of them) it is asked now and then. */
        int wait_ms = timeout_ms(due_ns);
        poll(&ready, fd >= 0, fd >= 0 || wait_ms < 50 ? wait_ms : 50);
        take_signals(w, fd, &to_pass);
        if (to_pass) pass_on(w, fd, to_pass);
        uint64_t now = cli_watch_clock();
        if (now >= due_ns) w->on_time(w->ctx, now, &due_ns);
    }
    if (fd >= 0) close(fd);
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
