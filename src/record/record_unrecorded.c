/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The page is mapped, and written to; see record_unrecorded.h. */
#include "record/record_unrecorded.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base_atomic.h"
#include "os/os_file.h"

static axp_unrecorded *map_page(const char *path)
{
    struct stat st;
    void *page = NULL;
    int fd =
        axp__fd_open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0) return NULL;
    if (axp__fd_stat(fd, &st) && S_ISREG(st.st_mode) &&
        st.st_size == (off_t)sizeof(axp_unrecorded))
        page =
            axp__fd_map(fd, PROT_READ | PROT_WRITE, 0, sizeof(axp_unrecorded));
    axp__fd_close(fd);
    return page;
}

void axp__unrecorded_begin(struct axp__unrecorded *u)
{
    struct stat root;
    const char *path = secure_getenv("AXPROF_UNRECORDED");
    if (path) u->page = map_page(path);
    if (!u->page) return;
    u->user = geteuid();
    if (lstat("/", &root)) return;
    u->root_device = (uint64_t)root.st_dev;
    u->root_inode = (uint64_t)root.st_ino;
}

static axp_unrecorded_why why_of(const struct axp__unrecorded *u, int error)
{
    struct stat root;
    if (u->root_inode && !lstat("/", &root) &&
        ((uint64_t)root.st_dev != u->root_device ||
         (uint64_t)root.st_ino != u->root_inode))
        return AXP_UNRECORDED_ROOT;
    if (geteuid() != u->user && (error == EACCES || error == EPERM))
        return AXP_UNRECORDED_USER;
    return AXP_UNRECORDED_ERROR;
}

void axp__unrecorded_tell(const struct axp__unrecorded *u, int error)
{
    int keep = errno;
    if (!u->page) return;
    if (!axp__add(&u->page->n_processes, 1)) {
        u->page->why = why_of(u, error);
        u->page->error = error;
        u->page->process_id = (uint64_t)getpid();
    }
    errno = keep;
}

void axp__unrecorded_tell_filter(const struct axp__unrecorded *u,
                                 uint64_t process_id)
{
    if (!u->page || axp__add(&u->page->n_processes, 1)) return;
    u->page->why = AXP_UNRECORDED_FILTER;
    u->page->error = 0;
    u->page->process_id = process_id;
}
