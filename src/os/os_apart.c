/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A child that shares our memory; see os_apart.h. It is made as vfork makes
 * one, so the calling thread waits until it is gone; it has the caller's
 * thread-local memory meanwhile, errno too. Its end is no SIGCHLD, and no
 * wait() of the program sees it. */
#include "os/os_apart.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/base_atomic.h"
#include "os/os_map.h"

#define STACK_BYTES ((size_t)256 << 10)
#define SIGNAL_BYTES 8 /* of the kernel's set */

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#define UNSHARE 2u /* CLOSE_RANGE_UNSHARE */

/* Race detectors take the place of clone() and believe that every child is a
 * fork: one with our memory would unlock what they locked, and its thread
 * would not be looked at any more. It is that thread going on, so by libc's
 * other name for it they learn nothing and are right. */
#ifdef __GLIBC__
int __clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);
#else
#define __clone clone
#endif

struct work {
    void (*fn)(void *);
    void *arg;
    bool is_shared, is_done;
    int error;
};

/* Before Linux 5.9 copies of what the program has open stay in the table. */
bool axp__apart_stay(void)
{
    return !syscall(SYS_close_range, 0u, UINT_MAX, UNSHARE) ||
           !unshare(CLONE_FILES);
}

static int be_child(void *ctx)
{
    struct work *w = ctx;
    w->is_shared = true;
    /* The kernel's own call: a sanitizer's prctl takes a lock, which after a
     * fork a thread may hold that is not there. */
    syscall(SYS_prctl, PR_SET_NAME, AXP__APART_NAME, 0, 0, 0);
    if (!w->fn) return 0;
    if (axp__apart_stay()) {
        w->fn(w->arg);
        w->is_done = true;
    } else {
        w->error = errno;
    }
    return 0;
}

void axp__apart_tell(const uint8_t *id)
{
    static const char digits[] = "0123456789abcdef";
    char name[16] = {0}, *to = name;
    syscall(SYS_prctl, PR_GET_NAME, name, 0, 0, 0);
    if (strcmp(name, AXP__APART_NAME) != 0) return;
    to = stpcpy(to, "(axp");
    for (int i = 0; i < AXP__APART_DIGITS; i++)
        *to++ = digits[id[i / 2] >> (i % 2 ? 0 : 4) & 15];
    strcpy(to, ")");
    syscall(SYS_prctl, PR_SET_NAME, name, 0, 0, 0);
}

/* False: there is no child. */
static bool run_child(struct work *w)
{
    char *stack = axp__map(STACK_BYTES);
    if (!stack) {
        w->error = ENOMEM;
        return false;
    }
    /* The table is shared until the child leaves it: a copy would have to
     * close all that the program has open. Valgrind ends at that flag. */
    int pid = __clone(be_child, stack + STACK_BYTES,
                      CLONE_VM | CLONE_VFORK | (w->fn ? CLONE_FILES : 0), w);
    if (pid < 0) w->error = errno;
    while (pid > 0 && syscall(SYS_wait4, pid, NULL, __WALL, NULL) < 0 &&
           errno == EINTR)
        ;
    axp__unmap(stack, STACK_BYTES);
    return pid > 0;
}

/* Whether such a child has our memory: emulators refuse it, or fork. */
static bool is_possible(void)
{
    static uint8_t state; /* 0 unknown, 1 yes, 2 no */
    if (!axp__get(&state)) {
        struct work probe = {0};
        if (run_child(&probe))
            axp__put(&state, probe.is_shared ? 1 : 2);
        else if (probe.error == EINVAL)
            axp__put(&state, 2);
    }
    return axp__get(&state) != 2;
}

/* Whether a child of this process would be in another namespace of processes, as
 * after unshare(CLONE_NEWPID): the first one there is its init, and when ours had
 * ended the program could never fork again. As long as there is no init the link
 * is there and leads nowhere. */
static bool is_elsewhere(void)
{
    static const char link[] = "/proc/self/ns/pid_for_children";
    char own[64], childrens[64];
    struct stat st;
    ssize_t n = readlink("/proc/self/ns/pid", own, sizeof own);
    if (n <= 0 || lstat(link, &st)) return false; /* nobody knows */
    return readlink(link, childrens, sizeof childrens) != n ||
           memcmp(own, childrens, (size_t)n) != 0;
}

bool axp__apart_is_possible(void)
{
    struct axp__still still;
    axp__still_begin(&still);
    bool is = !is_elsewhere() && is_possible();
    axp__still_end(&still);
    return is;
}

/* A limit on files is no signal here either. */
static void run_here(struct work *w, uint64_t before)
{
    static const struct timespec none;
    sigset_t xfsz;
    w->fn(w->arg);
    w->is_done = true;
    sigemptyset(&xfsz);
    sigaddset(&xfsz, SIGXFSZ);
    if (!(before >> (SIGXFSZ - 1) & 1)) sigtimedwait(&xfsz, NULL, &none);
}

void axp__still_begin(struct axp__still *s)
{
    uint64_t all = UINT64_MAX;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &s->cancel);
    /* The kernel's own call: the library leaves two signals of its own. */
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &s->signals, SIGNAL_BYTES);
}

void axp__still_end(const struct axp__still *s)
{
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &s->signals, NULL, SIGNAL_BYTES);
    pthread_setcancelstate(s->cancel, NULL);
}

bool axp__apart(void (*fn)(void *), void *arg)
{
    struct work w = {.fn = fn, .arg = arg};
    struct axp__still still = {0};
    int keep = errno;
    axp__still_begin(&still);
    if (is_elsewhere())
        w.error = EPERM;
    else if (is_possible())
        run_child(&w);
    else
        run_here(&w, still.signals);
    axp__still_end(&still);
    errno = w.is_done ? keep : w.error ? w.error : EAGAIN;
    return w.is_done;
}
