/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The spools in /dev/shm that are this user's: listed, and those that nobody
 * writes to any more removed. Part of libaxprof.
 *
 * Input    untrusted: anyone may put files of any name there. A spool is a
 *          regular file of this user, opened without following a link, that is
 *          called by the number in it.
 * In use   as long as it is locked (os_space.h).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "axprof/axprof_file.h"
#include "outside/outside_recover.h"
#include "record/record_spool.h"
#include "record/record_thread.h"

#define WHERE "/dev/shm/"

/* What stands before the extents, and the owner behind them. */
struct head {
    struct axp__space space;
    char path[sizeof WHERE + 256];
    uint64_t bytes;
};

static bool is_called_by(const char *name, const uint8_t id[16])
{
    char right[128];
    int n = snprintf(right, sizeof right, "axprof-");
    for (int i = 0; i < 16; i++)
        n += snprintf(right + n, sizeof right - (size_t)n, "%02x", id[i]);
    snprintf(right + n, sizeof right - (size_t)n, AXP__SPOOL_SUFFIX);
    return !strcmp(name, right);
}

/* A descriptor, and what the file says of itself; -1: it is none of ours. */
static int open_spool(const char *name, struct head *h)
{
    struct stat st;
    memset(h, 0, sizeof *h);
    if (strlen(name) > 255) return -1;
    snprintf(h->path, sizeof h->path, WHERE "%s", name);
    int fd = open(h->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return -1;
    struct axp__space *s = &h->space;
    size_t least = offsetof(struct axp__space, extent);
    ssize_t n = pread(fd, s, sizeof *s, 0);
    if (n >= (ssize_t)least && !fstat(fd, &st) && S_ISREG(st.st_mode) &&
        st.st_uid == geteuid() &&
        !memcmp(s->magic, AXP__SPACE_MAGIC, sizeof s->magic) &&
        is_called_by(name, s->id)) {
        s->owner[sizeof s->owner - 1] = 0;
        h->bytes = (uint64_t)st.st_blocks * 512;
        return fd;
    }
    close(fd);
    return -1;
}

axp_status axp_spools_list(int (*fn)(const axp_spool_info *s, void *ctx),
                           void *ctx)
{
    struct head *h = aligned_alloc(_Alignof(struct head), sizeof *h);
    if (!h) return axp__fail(AXP_E_NO_MEMORY, "no memory to list spools");
    DIR *d = opendir(WHERE);
    int stop = 0;
    for (struct dirent *e; d && !stop && (e = readdir(d));) {
        if (strncmp(e->d_name, "axprof-", 7) != 0) continue;
        int fd = open_spool(e->d_name, h);
        if (fd < 0) continue;
        bool is_ours = h->space.layout == AXP__SPACE_LAYOUT;
        axp_spool_info info = {h->path, is_ours ? h->space.owner : "",
                               h->space.pid, h->bytes,
                               axp__spool_is_in_use_by(fd, h->space.pid)};
        close(fd);
        stop = fn(&info, ctx);
    }
    if (d) closedir(d);
    free(h);
    return AXP_OK;
}

axp_status axp_spool_remove(const char *path)
{
    size_t n = sizeof WHERE - 1;
    struct head *h = aligned_alloc(_Alignof(struct head), sizeof *h);
    if (!h) return axp__fail(AXP_E_NO_MEMORY, "no memory to remove a spool");
    int fd = path && !strncmp(path, WHERE, n) && !strchr(path + n, '/')
                 ? open_spool(path + n, h)
                 : -1;
    axp_status status = AXP_OK;
    if (fd < 0)
        status = axp__fail(AXP_E_NOT_FOUND, "%s is no spool of this user",
                           path ? path : "(null)");
    else if (axp__spool_is_in_use_by(fd, h->space.pid))
        status = axp__fail(AXP_E_STATE, "%s is in use by process %llu", path,
                           (unsigned long long)h->space.pid);
    else if (unlink(path))
        status = axp__fail(AXP_E_IO, "%s: %s", path, strerror(errno));
    if (fd >= 0) close(fd);
    free(h);
    return status;
}
