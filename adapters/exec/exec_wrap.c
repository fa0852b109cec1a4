/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Programs that adapters do not fit are executed without them.
 *
 * Everything that executes passes through here. If the program is one that
 * adapters would harm (exec_fit.h), or the process has set a filter of system
 * calls (exec_leave.h), it gets an environment without them
 * (exec_environment.h). Else that is passed on as it came. Each process is
 * counted, for those that are over before axprof run looks at them.
 *
 * Safe       in a child of vfork and of fork with threads: memory is on the
 *            stack. Nothing is recorded here.
 * Not here   system and popen: they start /bin/sh, from inside the C library,
 *            with the process's own environment.
 */
#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exec_environment.h"
#include "exec_fit.h"
#include "exec_leave.h"
#include "exec_real.h"
#include "adapters/common/common_own.h"

#define WRAPPER __attribute__((visibility("default")))

/* ---- the C library's own ------------------------------------------------ */

static struct {
    int (*execve)(const char *, char *const[], char *const[]);
    int (*execvpe)(const char *, char *const[], char *const[]);
    int (*execveat)(int, const char *, char *const[], char *const[], int);
    int (*fexecve)(int, char *const[], char *const[]);
    int (*posix_spawn)(pid_t *, const char *,
                       const posix_spawn_file_actions_t *,
                       const posix_spawnattr_t *, char *const[], char *const[]);
    int (*posix_spawnp)(pid_t *, const char *,
                        const posix_spawn_file_actions_t *,
                        const posix_spawnattr_t *, char *const[],
                        char *const[]);
} real;

/* ---- being counted ------------------------------------------------------ */

/* Where axprof run counts processes; read once, since the program may change
 * its environment. */
static char *count_path;

/* Past a limit on files there is SIGXFSZ, which ends the program. */
static bool has_room(int fd, size_t bytes)
{
    struct rlimit limit;
    struct stat file;
    return !getrlimit(RLIMIT_FSIZE, &limit) && !fstat(fd, &file) &&
           (limit.rlim_cur == RLIM_INFINITY ||
            (rlim_t)file.st_size + bytes <= limit.rlim_cur);
}

#define FORKED ((uint64_t)1 << 63) /* no program has begun: cli_count.h */

/* A process that is over before the run looks at it would not be known of. Also
 * in the child of a fork, which is no point of cancellation: nothing that waits
 * or allocates. */
static void be_counted(uint64_t how)
{
    int error = errno, cancel;
    struct stat space;
    uint64_t record[2] = {0};
    if (!count_path || exec_is_filtered) return;
    record[0] = (uint64_t)getpid() | how;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    if (!stat("/proc/self/ns/pid", &space)) record[1] = space.st_ino;
    int fd = open(count_path,
                  O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0) {
        if (has_room(fd, sizeof record))
            (void)!write(fd, record, sizeof record);
        close(fd);
    }
    pthread_setcancelstate(cancel, NULL);
    errno = error;
}

static void count_fork(void)
{
    be_counted(FORKED);
}

static void begin_counting(void)
{
    const char *path = secure_getenv("AXPROF_COUNT");
    if (!path || count_path) return;
    count_path = common_own_text(path);
    be_counted(0);
    pthread_atfork(NULL, NULL, count_fork);
}

__attribute__((constructor)) static void load(void)
{
    int error = errno;
    begin_counting();
    if (real.execve) return;
    exec_real_find("posix_spawnp", &real.posix_spawnp);
    exec_real_find("posix_spawn", &real.posix_spawn);
    exec_real_find("execveat", &real.execveat);
    exec_real_find("fexecve", &real.fexecve);
    exec_real_find("execvpe", &real.execvpe);
    exec_real_find("execve", &real.execve);
    errno = error;
}

/* ---- programs ------------------------------------------------------------ */

/* Where a program without a slash is found, as execvp looks; path has
 * PATH_MAX bytes. NULL: nowhere. */
static const char *search(const char *file, char *path)
{
    const char *list = getenv("PATH");
    if (strchr(file, '/')) return file;
    if (!list) list = "/bin:/usr/bin";
    for (;; list++) {
        size_t len = strcspn(list, ":"), file_len = strlen(file);
        if (len + file_len + 2 <= PATH_MAX) {
            memcpy(path, list, len);
            path[len] = '/';
            memcpy(path + len + !!len, file, file_len + 1);
            if (!access(path, X_OK)) return path;
        }
        list += len;
        if (!*list) return NULL;
    }
}

/* The same of one that is found by its name. */
static bool fits_found(const char *file)
{
    char room[PATH_MAX];
    const char *path = search(file, room);
    return !path || exec_fits(AT_FDCWD, path);
}

/* env, or where the program at path is harmed by ours, one without: sets it. */
#define FIT(env, does_fit)                                                     \
    do {                                                                       \
        int fit_error = errno;                                                 \
        bool may_ask = !exec_is_filtered && !exec_child_is_filtered;           \
        size_t room = (env) ? exec_environment_room(env, may_ask) : 0;         \
        if (room && !(may_ask && (does_fit)))                                  \
            (env) = exec_environment_without(env, alloca(room));               \
        errno = fit_error;                                                     \
    } while (0)

/* ---- the wrappers ------------------------------------------------------- */

WRAPPER int execve(const char *path, char *const argv[], char *const envp[])
{
    load();
    FIT(envp, exec_fits(AT_FDCWD, path));
    return real.execve(path, argv, envp);
}

WRAPPER int execv(const char *path, char *const argv[])
{
    return execve(path, argv, environ);
}

WRAPPER int execvpe(const char *file, char *const argv[], char *const envp[])
{
    load();
    FIT(envp, fits_found(file));
    return real.execvpe(file, argv, envp);
}

WRAPPER int execvp(const char *file, char *const argv[])
{
    return execvpe(file, argv, environ);
}

WRAPPER int fexecve(int fd, char *const argv[], char *const envp[])
{
    load();
    FIT(envp, exec_fits_fd(fd));
    return real.fexecve(fd, argv, envp);
}

/* Where a path may be none the program is the descriptor's. */
WRAPPER int execveat(int fd, const char *path, char *const argv[],
                     char *const envp[], int flags)
{
    load();
    FIT(envp,
        exec_fits(fd, path) && (!(flags & AT_EMPTY_PATH) || exec_fits_fd(fd)));
    return real.execveat(fd, path, argv, envp, flags);
}

/* Arguments of execl and its kin into argv; the list is after the first. */
#define COUNT_ARGUMENTS(n, first)                                              \
    size_t n = 1;                                                              \
    do {                                                                       \
        va_list count_list;                                                    \
        va_start(count_list, first);                                           \
        while (va_arg(count_list, char *))                                     \
            n++;                                                               \
        va_end(count_list);                                                    \
    } while (0)

static void take_arguments(char **argv, size_t n, const char *first,
                           va_list list)
{
    argv[0] = (char *)first;
    for (size_t i = 1; i <= n; i++)
        argv[i] = va_arg(list, char *); /* the last is NULL */
}

WRAPPER int execl(const char *path, const char *first, ...)
{
    va_list list;
    COUNT_ARGUMENTS(n, first);
    char **argv = alloca((n + 1) * sizeof *argv);
    va_start(list, first);
    take_arguments(argv, n, first, list);
    va_end(list);
    return execve(path, argv, environ);
}

WRAPPER int execlp(const char *file, const char *first, ...)
{
    va_list list;
    COUNT_ARGUMENTS(n, first);
    char **argv = alloca((n + 1) * sizeof *argv);
    va_start(list, first);
    take_arguments(argv, n, first, list);
    va_end(list);
    return execvpe(file, argv, environ);
}

WRAPPER int execle(const char *path, const char *first, ...)
{
    va_list list;
    COUNT_ARGUMENTS(n, first);
    char **argv = alloca((n + 1) * sizeof *argv);
    va_start(list, first);
    take_arguments(argv, n, first, list);
    char **envp = va_arg(list, char **);
    va_end(list);
    return execve(path, argv, envp);
}

WRAPPER int posix_spawn(pid_t *pid, const char *path,
                        const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attr, char *const argv[],
                        char *const envp[])
{
    load();
    FIT(envp, exec_fits(AT_FDCWD, path));
    return real.posix_spawn(pid, path, actions, attr, argv, envp);
}

WRAPPER int posix_spawnp(pid_t *pid, const char *file,
                         const posix_spawn_file_actions_t *actions,
                         const posix_spawnattr_t *attr, char *const argv[],
                         char *const envp[])
{
    load();
    FIT(envp, fits_found(file));
    return real.posix_spawnp(pid, file, actions, attr, argv, envp);
}
