/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Temporary folders, made, found and removed; see cli_temporary.h. */
#include "cli/cli_temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <axprof/axprof_file.h>

#include "cli/cli_say.h"

#define PREFIX "axprof-run-"
enum { NAME_LEN = sizeof PREFIX - 1 + 6, ATTEMPTS = 100 };

const char *cli_temporary_parent(void)
{
    const char *parent = getenv("TMPDIR");
    return parent && *parent == '/' ? parent : "/tmp";
}

static int open_folder(int parent, const char *name)
{
    return openat(parent, name,
                  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* ---- what is in one ----------------------------------------------------- */

static DIR *list(int fd)
{
    int again = open_folder(fd, ".");
    DIR *dir = again >= 0 ? fdopendir(again) : NULL;
    if (!dir && again >= 0) close(again);
    return dir;
}

static uint64_t size_of(int fd)
{
    DIR *dir = list(fd);
    uint64_t bytes = 0;
    struct stat st;
    if (!dir) return 0;
    for (struct dirent *e; (e = readdir(dir));)
        if (!fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW))
            bytes += (uint64_t)st.st_blocks * 512;
    closedir(dir);
    return bytes;
}

static void empty(int fd)
{
    DIR *dir = list(fd);
    if (!dir) return;
    for (struct dirent *e; (e = readdir(dir));)
        unlinkat(fd, e->d_name, 0); /* "." and ".." fail, as folders */
    closedir(dir);
}

/* ctx is the folder: what it had is wanted by nobody. */
static int remove_spool(const axp_spool_info *s, void *ctx)
{
    const char *folder = ctx;
    size_t len = strlen(folder);
    if (!s->is_in_use && !strncmp(s->recording, folder, len) &&
        s->recording[len] == '/')
        (void)axp_spool_remove(s->path);
    return 0;
}

/* ---- one of our own ----------------------------------------------------- */

/* Not if somebody took it for left before it was locked. */
static bool lock(cli_temporary *t)
{
    struct stat ours, there;
    t->fd = open_folder(AT_FDCWD, t->path);
    if (t->fd < 0) return false;
    (void)flock(t->fd, LOCK_EX); /* not everywhere */
    if (!fstat(t->fd, &ours) && !stat(t->path, &there) &&
        ours.st_dev == there.st_dev && ours.st_ino == there.st_ino)
        return true;
    close(t->fd);
    return false;
}

bool cli_temporary_init(cli_temporary *t)
{
    cli_temporary_left(true, NULL);
    for (int i = 0; i < ATTEMPTS; i++) {
        t->path = cli_format("%s/" PREFIX "XXXXXX", cli_temporary_parent());
        bool is_made = mkdtemp(t->path);
        if (is_made && lock(t)) return true;
        int error = errno;
        free(t->path);
        t->path = NULL;
        errno = error;
        if (!is_made) break;
    }
    return false;
}

void cli_temporary_fini(cli_temporary *t)
{
    if (!t->path) return;
    empty(t->fd);
    rmdir(t->path);
    close(t->fd);
    free(t->path);
    t->path = NULL;
}

/* ---- those of others ---------------------------------------------------- */

/* A descriptor with the lock; -1: it is in use, or not ours. */
static int open_left(int parent, const char *name)
{
    struct stat st;
    int fd = open_folder(parent, name);
    if (fd < 0) return -1;
    if (!fstat(fd, &st) && st.st_uid == geteuid() &&
        !flock(fd, LOCK_EX | LOCK_NB))
        return fd;
    close(fd);
    return -1;
}

static void remove_left(int parent, const char *name, int fd, char *path)
{
    axp_spools_list(remove_spool, path);
    empty(fd);
    unlinkat(parent, name, AT_REMOVEDIR);
}

size_t cli_temporary_left(bool is_removed, cli_temporary_fn fn)
{
    DIR *dir = opendir(cli_temporary_parent());
    size_t n = 0;
    if (!dir) return 0;
    for (struct dirent *e; (e = readdir(dir));) {
        if (strlen(e->d_name) != NAME_LEN ||
            strncmp(e->d_name, PREFIX, sizeof PREFIX - 1) != 0)
            continue;
        int fd = open_left(dirfd(dir), e->d_name);
        if (fd < 0) continue;
        char *path = cli_format("%s/%s", cli_temporary_parent(), e->d_name);
        if (fn) fn(path, size_of(fd));
        if (is_removed) remove_left(dirfd(dir), e->d_name, fd, path);
        free(path);
        close(fd);
        n++;
    }
    closedir(dir);
    return n;
}
