/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The most memory that a command had resident, in KiB:
 *
 *   peak_of COMMAND ARGUMENT…
 *
 * The command's own: what wait4 says is the most of it and of those that it
 * waited for. So it is stopped where it exits, and its peak read there; where
 * that cannot be (an emulator), wait4 it is. What the command writes goes
 * nowhere; its status is ours. */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void read_peak(pid_t pid, long *kib)
{
    char text[256];
    long value;
    snprintf(text, sizeof text, "/proc/%ld/status", (long)pid);
    FILE *f = fopen(text, "r");
    while (f && fgets(text, sizeof text, f))
        if (sscanf(text, "VmHWM: %ld", &value) == 1) *kib = value;
    if (f) fclose(f);
}

int main(int argc, char **argv)
{
    struct rusage use;
    long kib = 0;
    int status = -1, ready[2];
    char c;
    if (argc < 2 || pipe(ready)) return 126;
    pid_t child = fork();
    if (child == 0) {
        close(ready[1]);
        (void)!read(ready[0], &c, 1);
        close(ready[0]);
        dup2(open("/dev/null", O_WRONLY), 1);
        execv(argv[1], argv + 1);
        _exit(127);
    }
    ptrace(PTRACE_SEIZE, child, NULL, (void *)PTRACE_O_TRACEEXIT);
    close(ready[0]);
    close(ready[1]);
    while (wait4(child, &status, 0, &use) == child && WIFSTOPPED(status)) {
        bool is_exit = status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8);
        if (is_exit) read_peak(child, &kib);
        long number = is_exit ? 0 : WSTOPSIG(status);
        ptrace(PTRACE_CONT, child, NULL, (void *)number);
    }
    printf("%ld\n", kib ? kib : use.ru_maxrss);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}
