/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* From the path of a trace to its spool: axprof_drain.h.
 *
 * The trace's first block says where the spool is and has the number that is
 * in the spool too. Both must be plain files of our own user: nobody else can
 * make us map or append to something.
 */
#include "axprof/axprof_drain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/record_outside.h"
#include "record/record_spool.h"
#include "record/record_thread.h"
#include "wire/wire_body.h"

#define ABOUT_MAX (1u << 20)

struct where { /* as the trace says */
    char id[33];
    char spool[64];
};

static void take_text(struct axp__text value, char *to, size_t size)
{
    size_t n = value.len < size ? value.len : size - 1;
    memcpy(to, value.at, n);
    to[n] = 0;
}

static bool read_about(const uint8_t *body, size_t n, struct where *out)
{
    struct axp__bytes bytes = {body, body + n, false};
    struct axp__text key, value;
    while (axp__about_get(&bytes, &key, &value)) {
        if (key.len == 2 && !memcmp(key.at, "id", 2))
            take_text(value, out->id, sizeof out->id);
        if (key.len == 5 && !memcmp(key.at, "spool", 5))
            take_text(value, out->spool, sizeof out->spool);
    }
    return strspn(out->id, "0123456789abcdef") == 32 && out->spool[0];
}

/* The first block of a trace that a process has begun. */
static bool find_spool(int fd, struct where *out)
{
    uint8_t head[AXP__FILE_HEAD], block_head[AXP__BLOCK_HEAD];
    struct axp__file_head file;
    struct axp__block block;
    if (pread(fd, head, sizeof head, 0) != (ssize_t)sizeof head ||
        axp__file_head_get(head, &file) != AXP__BLOCK_OK ||
        pread(fd, block_head, sizeof block_head, AXP__FILE_HEAD) !=
            (ssize_t)sizeof block_head ||
        axp__block_get(block_head, &block) != AXP__BLOCK_OK ||
        block.kind != AXP__B_ABOUT || block.body_bytes > ABOUT_MAX)
        return false;
    uint8_t *body = malloc(block.body_bytes);
    bool is_found =
        body &&
        pread(fd, body, block.body_bytes, AXP__FILE_HEAD + AXP__BLOCK_HEAD) ==
            (ssize_t)block.body_bytes &&
        read_about(body, block.body_bytes, out);
    free(body);
    return is_found;
}

static int open_own(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 &&
        (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid())) {
        close(fd);
        errno = EPERM;
        fd = -1;
    }
    return fd;
}

static int open_spool(const char *trace_path, const struct where *where)
{
    char path[4096 + 32];
    if (!strcmp(where->spool, "beside"))
        snprintf(path, sizeof path, "%s" AXP__SPOOL_SUFFIX, trace_path);
    else
        snprintf(path, sizeof path, AXP__SPOOL_PREFIX "%u-%s" AXP__SPOOL_SUFFIX,
                 (unsigned)geteuid(), where->id);
    return open_own(path);
}

axp_drain *axp_drain_open(const char *path)
{
    struct where where = {{0}, {0}};
    int trace = open_own(path);
    if (trace < 0) {
        axp__fail(AXP_E_IO, "%s: %s", path, strerror(errno));
        return NULL;
    }
    int spool = find_spool(trace, &where) ? open_spool(path, &where) : -1;
    if (spool < 0) {
        close(trace);
        axp__fail(AXP_E_STATE, "%s has no spool (yet)", path);
        return NULL;
    }
    return (axp_drain *)axp__outside_open(trace, spool, path);
}

size_t axp_drain_step(axp_drain *d)
{
    return axp__outside_step((struct axp__outside *)d);
}

axp_drain_state axp_drain_look(const axp_drain *d)
{
    const struct axp__outside *o = (const struct axp__outside *)d;
    return (axp_drain_state){.process_id = axp__outside_pid(o),
                             .file_bytes = axp__outside_bytes(o),
                             .n_events = axp__outside_events(o),
                             .n_steps = axp__outside_steps(o)};
}

void axp_drain_close(axp_drain *d)
{
    axp__outside_close((struct axp__outside *)d);
}
