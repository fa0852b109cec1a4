/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Which spool belongs to a trace: the first block of the trace names it. Part
 * of libaxprof; see outside_recover.h.
 *
 * Input    untrusted: a trace that was sent by somebody must not lead to
 *          another file than a spool of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "outside/outside_recover.h"
#include "record/record_spool.h"
#include "wire/wire_body.h"

static bool read_all(int fd, void *to, size_t n, uint64_t at)
{
    return pread(fd, to, n, (off_t)at) == (ssize_t)n;
}

/* The texts of a trace's first block that say where its spool is. */
static bool read_about(int fd, char id[33], bool *is_beside)
{
    uint8_t head[AXP__BLOCK_HEAD];
    struct axp__block b;
    bool has_id = false;
    if (!read_all(fd, head, sizeof head, AXP__FILE_HEAD) ||
        axp__block_get(head, &b) || b.kind != AXP__B_ABOUT ||
        b.body_bytes > AXP__BODY_MAX / 16)
        return false;
    uint8_t *body = malloc(b.body_bytes + 1);
    if (body &&
        read_all(fd, body, b.body_bytes, AXP__FILE_HEAD + AXP__BLOCK_HEAD)) {
        struct axp__bytes in = {body, body + b.body_bytes, false};
        struct axp__slice key, value;
        while (axp__about_get(&in, &key, &value)) {
            if (key.len == 2 && !memcmp(key.at, "id", 2) && value.len == 32) {
                memcpy(id, value.at, 32);
                has_id = true;
            }
            if (key.len == 5 && !memcmp(key.at, "spool", 5))
                *is_beside = value.len == 6 && !memcmp(value.at, "beside", 6);
        }
    }
    free(body);
    id[32] = 0;
    return has_id && strspn(id, "0123456789abcdef") == 32;
}

/* Where the spool of a trace would be; malloc, NULL: it names none. */
static char *name_of(int trace_fd, const char *trace_path, char id[33])
{
    bool is_beside = false;
    if (!read_about(trace_fd, id, &is_beside)) return NULL;
    size_t len = strlen(trace_path) + 128;
    char *name = malloc(len);
    if (name && is_beside)
        snprintf(name, len, "%s" AXP__SPOOL_SUFFIX, trace_path);
    else if (name)
        snprintf(name, len, AXP__SPOOL_PREFIX "%s" AXP__SPOOL_SUFFIX, id);
    return name;
}

void axp__spool_unlink_for(int trace_fd, const char *trace_path)
{
    char id[33] = "";
    int fd = axp__spool_open_for(trace_fd, trace_path); /* it is the one */
    char *name = fd < 0 ? NULL : name_of(trace_fd, trace_path, id);
    if (name) (void)unlink(name);
    if (fd >= 0) close(fd);
    free(name);
}

/* Its owner's lock excludes others; two who ask at once do not. */
bool axp__spool_is_in_use(int fd)
{
    if (flock(fd, LOCK_SH | LOCK_NB)) return true; /* or it cannot be told */
    (void)flock(fd, LOCK_UN);
    return false;
}

#define LINGER_MS 500

/* Not here at least: it may be one of another namespace. */
static bool is_gone(uint64_t pid)
{
    return pid && pid <= INT_MAX && kill((pid_t)pid, 0) && errno == ESRCH;
}

bool axp__spool_is_in_use_by(int fd, uint64_t pid)
{
    for (int i = 0; axp__spool_is_in_use(fd); i++) {
        if (i == LINGER_MS || !is_gone(pid)) return true;
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return false;
}

static bool is_complete(int fd)
{
    uint64_t is = 0;
    return !read_all(fd, &is, sizeof is,
                     offsetof(struct axp__space, is_complete)) ||
           is;
}

bool axp__spool_has_begun(int fd)
{
    uint32_t layout = 0;
    return !read_all(fd, &layout, sizeof layout,
                     offsetof(struct axp__space, layout)) ||
           layout != AXP__SPACE_LAYOUT || is_complete(fd);
}

void axp__spool_wait(int fd)
{
    for (int i = 0; i < LINGER_MS && !is_complete(fd); i++) {
        if (!axp__spool_is_in_use(fd)) return;
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

int axp__spool_open_for(int trace_fd, const char *trace_path)
{
    char id[33] = "", *name = name_of(trace_fd, trace_path, id);
    struct stat trace, spool;
    if (!name || fstat(trace_fd, &trace)) {
        free(name);
        return -1;
    }
    int fd = open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && errno == EACCES)
        fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    free(name);
    if (fd < 0) return -1;
    uint8_t head[offsetof(struct axp__space, pid)];
    bool is_it = !fstat(fd, &spool) && S_ISREG(spool.st_mode) &&
                 spool.st_uid == trace.st_uid &&
                 read_all(fd, head, sizeof head, 0);
    for (int i = 0; is_it && i < 16; i++) {
        char two[3];
        snprintf(two, sizeof two, "%02x",
                 head[offsetof(struct axp__space, id) + (size_t)i]);
        is_it = !memcmp(two, id + 2 * i, 2);
    }
    if (is_it) return fd;
    close(fd);
    return -1;
}
