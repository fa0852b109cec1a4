/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The most memory that a command had resident, in KiB:
 *
 *   peak_of COMMAND ARGUMENT…
 *
 * The command's own: what wait4 says counts what it was before it became that
 * program, and what those it waited for had. The kernel keeps the peak, so that
 * only what came in the last millisecond is missed. What the command writes
 * goes nowhere; its status is ours. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void read_peak(const char *path, long *kib)
{
    char line[256];
    long value;
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %ld", &value) == 1) *kib = value;
    if (f) fclose(f);
}

int main(int argc, char **argv)
{
    char path[64];
    long kib = 0;
    int status = -1;
    pid_t child = argc > 1 ? fork() : -1, ended = 0;
    if (child == 0) {
        dup2(open("/dev/null", O_WRONLY), 1);
        execv(argv[1], argv + 1);
        _exit(127);
    }
    if (child < 0) return 126;
    snprintf(path, sizeof path, "/proc/%ld/status", (long)child);
    while (!(ended = waitpid(child, &status, WNOHANG))) {
        read_peak(path, &kib);
        usleep(1000);
    }
    if (ended != child) return 126;
    printf("%ld\n", kib);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}
