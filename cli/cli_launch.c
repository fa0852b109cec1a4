/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* fork, wait for the word, exec.
 *
 * The environment goes to the child through the channel, since it names the
 * child's pid, and is the word to go on. It is built by the parent: the child
 * calls only what is safe after a fork in a process with threads.
 */
#include "cli/cli_launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli_adapter.h"
#include "cli/cli_say.h"

extern char **environ;

/* What the parent sends, before the strings. A file in memory would do as well,
 * but for a limit on files. */
typedef struct block_head {
    size_t n_strings, n_bytes;
} block_head;

/* ---- the environment ---------------------------------------------------- */

static bool is_ours(const char *entry)
{
    return !strncmp(entry, "AXPROF_", 7) || !strncmp(entry, "LD_PRELOAD=", 11);
}

/* Is the path one of a list joined by ":"? */
static bool is_in_list(const char *list, const char *path, size_t len)
{
    while (list && *list) {
        size_t n = strcspn(list, ":");
        if (n == len && !strncmp(list, path, len)) return true;
        list += n + (list[n] == ':');
    }
    return false;
}

/* One of a list after those that are there. */
static char *append(char *to, const char *begin, const char *path, size_t len)
{
    if (to != begin) *to++ = ':';
    return stpncpy(to, path, len);
}

/* The user's LD_PRELOAD without what an outer run put there, then ours, but for
 * one that is to be first. */
static char *chain_preload(const char *ours)
{
    const char *theirs = getenv("LD_PRELOAD");
    const char *outer = getenv("AXPROF_PRELOAD");
    size_t room = (theirs ? strlen(theirs) : 0) + (ours ? strlen(ours) : 0);
    char *entry = cli_alloc(room + 16, 1);
    char *to = stpcpy(entry, "LD_PRELOAD="), *begin = to;
    for (int turn = 0; turn < 3; turn++) {
        const char *at = turn == 1 ? theirs : ours;
        for (size_t len; at && *at; at += len + (at[len] != 0)) {
            len = strcspn(at, turn == 1 ? ": " : ":");
            bool is_next = turn == 1
                               ? !is_in_list(outer, at, len)
                               : cli_adapter_is_first(at, len) == (turn == 0);
            if (len && is_next) to = append(to, begin, at, len);
        }
    }
    if (to != begin) return entry;
    free(entry);
    return NULL;
}

char **cli_launch_environment(char *const *own, const char *preload)
{
    size_t n = 0, n_own = 0, to = 0;
    while (environ[n])
        n++;
    while (own[n_own])
        n_own++;
    char **env = cli_alloc(n + n_own + 3, sizeof *env);
    for (size_t i = 0; i < n; i++)
        if (!is_ours(environ[i])) env[to++] = cli_format("%s", environ[i]);
    for (size_t i = 0; i < n_own; i++)
        env[to++] = cli_format("%s", own[i]);
    if (preload) env[to++] = cli_format("AXPROF_PRELOAD=%s", preload);
    env[to] = chain_preload(preload);
    return env;
}

void cli_launch_free(char **env)
{
    for (size_t i = 0; env && env[i]; i++)
        free(env[i]);
    free(env);
}

static bool send_all(int channel, const void *bytes, size_t n)
{
    for (const char *at = bytes; n;) {
        ssize_t k = send(channel, at, n, MSG_NOSIGNAL);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return false;
        at += k;
        n -= (size_t)k;
    }
    return true;
}

/* A head and the strings, one after the other. */
static bool send_environment(int channel, char *const *env)
{
    block_head head = {0, 0};
    for (; env[head.n_strings]; head.n_strings++)
        head.n_bytes += strlen(env[head.n_strings]) + 1;
    bool ok = send_all(channel, &head, sizeof head);
    for (size_t i = 0; ok && i < head.n_strings; i++)
        ok = send_all(channel, env[i], strlen(env[i]) + 1);
    return ok;
}

/* ---- the child: nothing here may allocate ------------------------------- */

static void *map_anonymous(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static bool receive(int channel, void *bytes, size_t n)
{
    for (char *at = bytes; n;) {
        ssize_t k = read(channel, at, n);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return false;
        at += k;
        n -= (size_t)k;
    }
    return true;
}

/* Waits for it. */
static char **receive_environment(int channel)
{
    block_head head;
    if (!receive(channel, &head, sizeof head)) return NULL;
    char *at = map_anonymous(head.n_bytes + 1); /* none is no mapping */
    char **env = map_anonymous((head.n_strings + 1) * sizeof *env);
    if (!at || !env || !receive(channel, at, head.n_bytes)) return NULL;
    for (size_t i = 0; i < head.n_strings; i++, at += strlen(at) + 1)
        env[i] = at;
    env[head.n_strings] = NULL;
    return env;
}

/* A text file without #!, as shells and execvp do it; a binary one is not. */
static void exec_with_sh(const char *path, char *const *argv, char **env)
{
    char first[80];
    size_t n = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd >= 0 ? read(fd, first, sizeof first) : 0;
    if (fd >= 0) close(fd);
    if (len > 0 && memchr(first, 0, (size_t)len)) return;
    while (argv[n])
        n++;
    const char **sh_argv = map_anonymous((n + 2) * sizeof *sh_argv);
    if (!sh_argv) return;
    sh_argv[0] = "sh";
    sh_argv[1] = path;
    for (size_t i = 1; i <= n; i++)
        sh_argv[i + 1] = argv[i]; /* its NULL too */
    execve("/bin/sh", (char *const *)sh_argv, env);
    errno = ENOEXEC;
}

static _Noreturn void become(const cli_launch *l, const cli_target *target,
                             char *const *argv)
{
    char **env = receive_environment(l->channel);
    if (!env) _exit(CLI_CANNOT); /* the parent is gone, or has no memory */
    sigaction(SIGCHLD, &l->on_child, NULL);
    sigprocmask(SIG_SETMASK, &l->mask, NULL);
    execve(target->path, argv, env);
    if (errno == ENOEXEC) exec_with_sh(target->path, argv, env);
    int error = errno;
    (void)!write(l->channel, &error, sizeof error);
    _exit(CLI_NOT_EXECUTABLE);
}

/* ---- the parent --------------------------------------------------------- */

static int cannot_start(void)
{
    cli_fail("cannot start anything: %s", strerror(errno));
    return CLI_CANNOT;
}

int cli_launch_fork(cli_launch *l, const sigset_t *blocked,
                    const cli_target *target, char *const *argv)
{
    struct sigaction normal = {.sa_handler = SIG_DFL};
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return cannot_start();
    /* Whoever started us may have ignored SIGCHLD: then nothing could be
     * waited for. */
    sigaction(SIGCHLD, &normal, &l->on_child);
    sigprocmask(SIG_BLOCK, blocked, &l->mask);
    l->pid = fork();
    if (l->pid < 0) return cannot_start();
    if (l->pid == 0) {
        close(ends[0]);
        l->channel = ends[1];
        become(l, target, argv);
    }
    close(ends[1]);
    l->channel = ends[0];
    return CLI_OK;
}

void cli_launch_cancel(cli_launch *l)
{
    close(l->channel); /* it waits for a word, and ends without one */
    waitpid(l->pid, NULL, 0);
}

static int say_exec_error(const cli_target *t, int error)
{
    bool is_missing = error == ENOENT;
    if (is_missing && strcmp(t->binary, t->path) != 0)
        cli_fail("%s: its interpreter %s is not there", t->path, t->binary);
    else if (is_missing && t->elf.loader[0])
        cli_fail("%s: its loader %s is not there", t->path, t->elf.loader);
    else if (error == ENOEXEC)
        cli_fail("%s: not a program that this machine can execute", t->path);
    else
        cli_fail("%s: %s", t->path, strerror(error));
    return is_missing ? CLI_NOT_FOUND : CLI_NOT_EXECUTABLE;
}

int cli_launch_exec(cli_launch *l, char *const *env, const cli_target *target)
{
    int error = 0;
    bool is_told = send_environment(l->channel, env);
    ssize_t n = is_told ? -1 : 0;
    while (is_told && (n = read(l->channel, &error, sizeof error)) < 0 &&
           errno == EINTR)
        continue;
    close(l->channel);
    if (is_told && n <= 0) return CLI_OK; /* closed by exec: it runs */
    waitpid(l->pid, NULL, 0);
    return is_told ? say_exec_error(target, error) : cannot_start();
}
