/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A new name for a file; see os_rename.h. */
#include "os/os_rename.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "os/os_file.h"

/* Where the file system cannot say no to a name that is taken, an empty file
 * takes it first. */
int axp__rename_new(const char *from, const char *to)
{
    if (!renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE)) return 0;
    if (errno != EINVAL && errno != ENOSYS) return errno;
    int fd = axp__fd_open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return errno;
    axp__fd_close(fd);
    if (!rename(from, to)) return 0;
    int error = errno;
    (void)unlink(to);
    return error;
}
