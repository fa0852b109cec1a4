/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reading what the exec adapter has written; see cli_count.h. */
#include "cli/cli_count.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli_say.h"

enum { MOST = 1 << 20 };

#define FORKED ((uint64_t)1 << 63)

typedef struct record {
    uint64_t pid, space;
} record;

static int by_pid(const void *a, const void *b)
{
    const record *x = a, *y = b;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

static int by_number(const void *a, const void *b)
{
    pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
    return (x > y) - (x < y);
}

/* All of it; caller frees. */
static record *read_records(const char *path, size_t *n)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    *n = 0;
    if (fd < 0) return NULL;
    size_t bytes = 0;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0)
        bytes = (size_t)st.st_size / sizeof(record) * sizeof(record);
    if (bytes > MOST * sizeof(record)) bytes = MOST * sizeof(record);
    record *records = cli_alloc(bytes + 1, 1);
    if (read(fd, records, bytes) == (ssize_t)bytes) *n = bytes / sizeof(record);
    close(fd);
    return records;
}

uint64_t cli_count_missed(const char *path, const pid_t *seen, size_t n_seen)
{
    struct stat own;
    size_t n = 0;
    uint64_t missed = 0, last = 0;
    record *records = path ? read_records(path, &n) : NULL;
    if (n && stat("/proc/self/ns/pid", &own)) n = 0;
    for (size_t i = 0; i < n; i++)
        records[i].pid &= ~FORKED;
    if (n) qsort(records, n, sizeof *records, by_pid);
    pid_t *sorted = cli_alloc(n_seen + 1, sizeof *sorted);
    if (n_seen) memcpy(sorted, seen, n_seen * sizeof *sorted);
    if (n_seen) qsort(sorted, n_seen, sizeof *sorted, by_number);
    for (size_t i = 0; i < n; i++) {
        pid_t pid = (pid_t)records[i].pid;
        if (records[i].space != own.st_ino || records[i].pid == last) continue;
        last = records[i].pid;
        missed +=
            !n_seen || !bsearch(&pid, sorted, n_seen, sizeof pid, by_number);
    }
    free(sorted);
    free(records);
    return missed;
}

uint64_t cli_count_begun(const char *path)
{
    size_t n = 0;
    uint64_t begun = 0;
    record *records = path ? read_records(path, &n) : NULL;
    for (size_t i = 0; i < n; i++)
        begun += !(records[i].pid & FORKED);
    free(records);
    return begun;
}
