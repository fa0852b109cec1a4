/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program that takes its paths or its rights away before it allocates:
 *
 *   jailed_program HOW FOLDER
 *
 * each letter of HOW in its turn: f goes on in a child, R and r change the root
 * to FOLDER, by the C library and past it, U and u become another user, P has
 * its children in a namespace of their own, v has a child of vfork become who it
 * is; x ends.
 * Without the right to it a program gets it in a namespace of its own. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 100, BYTES = 1000, NOBODY = 65534 };

static int go_on_in_child(void)
{
    int status = 1;
    pid_t child = fork();
    if (!child) return 0;
    waitpid(child, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

/* As those do who start another program as another user. */
static int ask_in_vfork(void)
{
    int status = 1;
    pid_t child = vfork();
    if (!child) {
        (void)!setuid(geteuid());
        _exit(0);
    }
    return waitpid(child, &status, 0) != child || status;
}

static int step(char how, const char *folder)
{
    switch (how) {
    case 'f': return go_on_in_child();
    case 'R': return chroot(folder);
    case 'r': return (int)syscall(SYS_chroot, folder);
    case 'U': return setuid(NOBODY);
    case 'u': return (int)syscall(SYS_setuid, NOBODY);
    case 'P': return unshare(CLONE_NEWPID);
    case 'v': return ask_in_vfork();
    case 'x': _exit(0);
    default: return 1;
    }
}

int main(int argc, char **argv)
{
    static void *volatile kept[BLOCKS];
    if (argc != 3) return 2;
    if (geteuid() && unshare(CLONE_NEWUSER)) return 3;
    for (const char *how = argv[1]; *how; how++)
        if (step(*how, argv[2])) return 4;
    for (int i = 0; i < BLOCKS; i++)
        kept[i] = malloc(BYTES);
    return !kept[BLOCKS - 1];
}
