/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The file of a trace: how it comes to its name, gives way to another, and is
 * found again. See record_trace.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os_file.h"
#include "os/os_rename.h"
#include "record/record_trace.h"

void axp__trace_rest(struct axp__trace *t)
{
    if (t->pen.fd >= 0) axp__fd_close(t->pen.fd);
    t->pen.fd = -1;
}

static bool is_it(const char *path, const struct axp__trace *t)
{
    struct stat st;
    return !lstat(path, &st) && (uint64_t)st.st_dev == t->device &&
           (uint64_t)st.st_ino == t->inode;
}

/* A device, a folder, a pipe: it is no file's name, and none is made from it. */
static bool is_other(const struct stat *st)
{
    return !S_ISREG(st->st_mode) && !S_ISLNK(st->st_mode);
}

int axp__trace_make_draft(struct axp__trace *t)
{
    static uint32_t n;
    struct stat st;
    if (!lstat(t->path, &st) && is_other(&st)) return EINVAL;
    const char *slash = strrchr(t->path, '/');
    int folder = slash ? (int)(slash + 1 - t->path) : 0;
    if ((size_t)snprintf(t->draft, sizeof t->draft, "%.*s.axprof-%s-%u.tmp",
                         folder, t->path, t->id,
                         axp__add(&n, 1)) >= sizeof t->draft) {
        t->draft[0] = 0;
        return ENAMETOOLONG;
    }
    t->pen.error = 0;
    t->pen.end = 0;
    t->pen.fd = axp__fd_open(
        t->draft, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (t->pen.fd < 0 || !axp__fd_stat(t->pen.fd, &st)) {
        int error = errno;
        axp__trace_rest(t);
        t->draft[0] = 0; /* of another: it is left alone */
        return error;
    }
    t->device = (uint64_t)st.st_dev;
    t->inode = (uint64_t)st.st_ino;
    return 0;
}

void axp__trace_drop_draft(struct axp__trace *t)
{
    if (t->draft[0]) (void)unlink(t->draft);
    t->draft[0] = 0;
    axp__trace_rest(t);
}

int axp__trace_name(struct axp__trace *t, bool is_overwriting)
{
    struct stat st;
    bool is_there = !lstat(t->path, &st);
    int error;
    if (is_there && is_other(&st))
        error = EINVAL;
    else if (is_there && is_overwriting && S_ISLNK(st.st_mode))
        error = ELOOP;
    else if (!axp__pen_head(&t->pen, &t->head)) /* its number may be new */
        error = t->pen.error;
    else if (!is_there || !is_overwriting)
        error = axp__rename_new(t->draft, t->path);
    else if (st.st_uid != geteuid())
        error = EPERM; /* somebody else's, who could read it */
    else
        error = rename(t->draft, t->path) ? errno : 0;
    if (!error) t->draft[0] = 0;
    return error;
}

bool axp__trace_make_fresh(const struct axp__trace *t, struct axp__trace *fresh)
{
    *fresh = *t;
    return !t->pen.error && !axp__trace_make_draft(fresh);
}

/* Changes places with what has t's name, and back if that is not t's. */
static bool take_name(const struct axp__trace *t,
                      const struct axp__trace *fresh)
{
    if (!is_it(t->path, t)) return false;
    if (renameat2(AT_FDCWD, fresh->draft, AT_FDCWD, t->path, RENAME_EXCHANGE))
        return (errno == EINVAL || errno == ENOSYS) &&
               !rename(fresh->draft, t->path);
    if (is_it(fresh->draft, t)) return !unlink(fresh->draft);
    (void)renameat2(AT_FDCWD, fresh->draft, AT_FDCWD, t->path, RENAME_EXCHANGE);
    return false;
}

bool axp__trace_take_over(struct axp__trace *t, struct axp__trace *fresh,
                          bool is_good)
{
    if (!is_good || !take_name(t, fresh)) {
        axp__trace_drop_draft(fresh);
        return false;
    }
    axp__fd_close(t->pen.fd);
    t->pen.fd = fresh->pen.fd;
    t->device = fresh->device;
    t->inode = fresh->inode;
    t->pen.end = fresh->pen.end;
    t->n_cut_events = fresh->n_cut_events;
    return true;
}

bool axp__trace_reopen(struct axp__trace *t)
{
    struct stat st;
    if (t->pen.error || t->pen.fd >= 0) return !t->pen.error;
    t->pen.fd =
        axp__fd_open(t->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
    if (t->pen.fd < 0 || !axp__fd_stat(t->pen.fd, &st)) {
        t->pen.error = errno;
    } else if ((uint64_t)st.st_dev != t->device ||
               (uint64_t)st.st_ino != t->inode) {
        t->pen.error = ESTALE; /* another file has its name */
        axp__trace_rest(t);
    }
    return !t->pen.error;
}

void axp__trace_remove(const struct axp__trace *t)
{
    if (t->inode && is_it(t->path, t)) (void)unlink(t->path);
}
