/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Preloaded into axprof: removes a folder just before it is locked, and the one
 * that it is in, as another run does that takes them for left. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static bool take(int fd)
{
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, sizeof path - 1);
    if (len <= 0) return false;
    path[len] = '\0';
    if (rmdir(path)) return false;
    *strrchr(path, '/') = '\0';
    rmdir(path);
    return true;
}

__attribute__((visibility("default"))) int flock(int fd, int operation)
{
    static bool is_taken;
    int (*real)(int, int);
    *(void **)&real = dlsym(RTLD_NEXT, "flock");
    if (!is_taken && operation == LOCK_EX) is_taken = take(fd);
    return real(fd, operation);
}
