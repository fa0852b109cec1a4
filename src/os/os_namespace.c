/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Namespaces of process ids; see os_namespace.h. */
#include "os/os_namespace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The link says "pid:[4026531836]". */
uint64_t axp__pid_namespace(uint64_t pid)
{
    static const char start[] = "pid:[";
    char path[48] = "/proc/self/ns/pid", text[40];
    int keep = errno;
    uint64_t number = 0;
    if (pid)
        snprintf(path, sizeof path, "/proc/%llu/ns/pid",
                 (unsigned long long)pid);
    ssize_t n = readlink(path, text, sizeof text - 1);
    errno = keep;
    if (n <= (ssize_t)sizeof start) return 0;
    text[n] = 0;
    if (strncmp(text, start, sizeof start - 1) != 0) return 0;
    for (const char *s = text + sizeof start - 1; *s >= '0' && *s <= '9'; s++)
        number = 10 * number + (uint64_t)(*s - '0');
    return number;
}
