/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The most memory that a command had resident, in KiB:
 *
 *   peak_of COMMAND ARGUMENT…
 *
 * A process's peak counts what it was before it became another program, and a
 * test in Python is larger than what it measures: so this one starts it. What
 * the command writes goes nowhere; its status is ours. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct rusage use;
    int status = -1;
    pid_t child = argc > 1 ? fork() : -1;
    if (child == 0) {
        dup2(open("/dev/null", O_WRONLY), 1);
        execv(argv[1], argv + 1);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &use) != child) return 126;
    printf("%ld\n", use.ru_maxrss);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}
