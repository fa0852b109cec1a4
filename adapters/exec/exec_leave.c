/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Programs that give their rights or their paths away: what they will record
 * gets its file before they do.
 *
 * A recording is made at a process's first event. Who has another root folder
 * by then, is another user or has other namespaces can make none; one that is there
 * is gone on with whatever the process has become, since nothing of it is opened
 * again.
 *
 * Not here   what is asked of the kernel past the C library, and children of a
 *            process that has changed: those say that they are not recorded.
 */
#include "exec_leave.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include <axprof/axprof_adapter.h>

#include "exec_real.h"
#include "adapters/common/common_map.h"

#define WRAPPER __attribute__((visibility("default")))

static struct {
    int (*chroot)(const char *);
    int (*setuid)(uid_t);
    int (*seteuid)(uid_t);
    int (*setreuid)(uid_t, uid_t);
    int (*setresuid)(uid_t, uid_t, uid_t);
    int (*unshare)(int);
    int (*setns)(int, int);
} real;

static pid_t process;
static char *is_noted; /* a page that is 0 in a copy of this memory */

static void note_process(void)
{
    if (exec_is_filtered) return;
    process = getpid();
    if (is_noted) *is_noted = 1;
}

/* NULL where the kernel does not wipe copies: handlers of fork alone are left. */
static void map_note(void)
{
    is_noted = common_map(1);
    if (is_noted && syscall(SYS_madvise, is_noted, 1, MADV_WIPEONFORK)) {
        common_unmap(is_noted, 1);
        is_noted = NULL;
    }
}

__attribute__((constructor)) static void load(void)
{
    int error = errno;
    if (real.chroot) return;
    map_note();
    note_process();
    pthread_atfork(NULL, NULL, note_process);
    exec_real_find("unshare", &real.unshare);
    exec_real_find("setns", &real.setns);
    exec_real_find("setresuid", &real.setresuid);
    exec_real_find("setreuid", &real.setreuid);
    exec_real_find("seteuid", &real.seteuid);
    exec_real_find("setuid", &real.setuid);
    exec_real_find("chroot", &real.chroot);
    errno = error;
}

/* A child of vfork has its parent's memory. One that asked the kernel directly has
 * a copy, and no handler of fork was called. */
bool exec_is_own(void)
{
    load();
    if (is_noted && !*is_noted) note_process();
    return process == getpid();
}

static void before(void)
{
    load();
    if (!exec_is_filtered && exec_is_own()) axp_recording_begin();
}

WRAPPER int chroot(const char *path)
{
    before();
    return real.chroot(path);
}

WRAPPER int setuid(uid_t user)
{
    before();
    return real.setuid(user);
}

WRAPPER int seteuid(uid_t user)
{
    before();
    return real.seteuid(user);
}

WRAPPER int setreuid(uid_t user, uid_t effective)
{
    before();
    return real.setreuid(user, effective);
}

WRAPPER int setresuid(uid_t user, uid_t effective, uid_t saved)
{
    before();
    return real.setresuid(user, effective, saved);
}

WRAPPER int unshare(int flags)
{
    before();
    return real.unshare(flags);
}

WRAPPER int setns(int fd, int kind)
{
    before();
    return real.setns(fd, kind);
}
