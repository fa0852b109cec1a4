/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Temporary folders, made, found and removed; see cli_temporary.h. */
#include "cli/cli_temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli/cli_parts.h"
#include "cli/cli_say.h"

#define PREFIX "axprof-run-"
enum { NAME_LEN = sizeof PREFIX - 1 + 6 };

/* Where they may be; a TMPDIR that is no folder is no reason to stop. */
static const char *place(int i)
{
    const char *first = getenv("TMPDIR");
    if (i == 0) return first && *first == '/' ? first : "/tmp";
    return i == 1 ? "/tmp" : i == 2 ? "/dev/shm" : NULL;
}

bool cli_temporary_has_room(const char *folder, uint64_t bytes)
{
    struct statvfs fs;
    return statvfs(folder, &fs) || !fs.f_blocks ||
           (uint64_t)fs.f_bavail * fs.f_frsize >= bytes;
}

/* On a full disk a folder can be made, and nothing be written into it. */
static char *make_in(uint64_t least_bytes, int *error)
{
    for (int i = 0; place(i); i++) {
        if (!cli_temporary_has_room(place(i), least_bytes)) continue;
        char *path = cli_format("%s/" PREFIX "XXXXXX", place(i));
        if (mkdtemp(path)) return path;
        if (!*error) *error = errno;
        free(path);
    }
    return NULL;
}

char *cli_temporary_make(void)
{
    int error = 0;
    cli_temporary_left(true, NULL);
    char *path = make_in(CLI_TEMPORARY_LEAST, &error);
    if (!path) path = make_in(0, &error);
    if (!path) errno = error;
    return path;
}

/* ---- those of others ---------------------------------------------------- */

static bool is_own_folder(int parent, const char *name)
{
    struct stat st;
    return !fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) &&
           S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

/* True: it was left. */
static bool look(const char *path, bool is_removed, cli_temporary_fn fn)
{
    char *parts = cli_format("%s/" CLI_TEMPORARY_STEM ".axp.parts", path);
    int fd = cli_parts_lock(parts);
    if (fd >= 0) {
        if (fn) fn(path, cli_parts_bytes(parts));
        if (is_removed) cli_parts_remove(parts, CLI_SPOOLS_ALL);
        if (is_removed) rmdir(path);
        close(fd);
    }
    free(parts);
    return fd >= 0;
}

static size_t look_in(const char *parent, bool is_removed, cli_temporary_fn fn)
{
    DIR *dir = opendir(parent);
    size_t n = 0;
    if (!dir) return 0;
    for (struct dirent *e; (e = readdir(dir));) {
        if (strlen(e->d_name) != NAME_LEN ||
            strncmp(e->d_name, PREFIX, sizeof PREFIX - 1) != 0 ||
            !is_own_folder(dirfd(dir), e->d_name))
            continue;
        char *path = cli_format("%s/%s", parent, e->d_name);
        n += look(path, is_removed, fn);
        free(path);
    }
    closedir(dir);
    return n;
}

size_t cli_temporary_left(bool is_removed, cli_temporary_fn fn)
{
    size_t n = 0;
    for (int i = 0; place(i); i++)
        if (i == 0 || strcmp(place(i), place(0)) != 0)
            n += look_in(place(i), is_removed, fn);
    return n;
}
