/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Where a run's files go, and which they were. */
#include "cli/cli_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli/cli_say.h"

#define LEAST_ROOM ((uint64_t)1 << 20)

static bool is_folder(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* For a recording that is worth beginning. */
static bool has_room(const char *folder)
{
    struct statvfs fs;
    return statvfs(folder, &fs) ||
           (uint64_t)fs.f_bavail * fs.f_frsize >= LEAST_ROOM;
}

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), end_len = strlen(end);
    return len >= end_len && !strcmp(text + len - end_len, end);
}

static int use_temporary(cli_files *f)
{
    free(f->folder);
    f->folder = NULL;
    if (!cli_temporary_init(&f->temporary)) {
        cli_fail("no place for the recording: neither here nor in %s (%s); "
                 "choose one with --output",
                 cli_temporary_parent(), strerror(errno));
        return CLI_CANNOT;
    }
    f->folder = cli_format("%s", f->temporary.path);
    return CLI_OK;
}

/* --output FOLDER/ or FILE. */
static int use_output(cli_files *f, const char *output)
{
    char *folder = NULL;
    if (is_folder(output) || ends_with(output, "/")) {
        if (mkdir(output, 0777) && errno != EEXIST) {
            cli_fail("cannot make the folder %s: %s", output, strerror(errno));
            return CLI_CANNOT;
        }
        folder = cli_format("%s", output);
    } else {
        const char *slash = strrchr(output, '/');
        const char *base = slash ? slash + 1 : output;
        size_t len = strlen(base) - (ends_with(base, ".axp") ? 4 : 0);
        folder = slash ? cli_format("%.*s/", (int)(slash - output), output)
                       : cli_format(".");
        f->exact = cli_format("%.*s", (int)len, base);
    }
    f->folder = realpath(folder, NULL);
    int error = errno;
    bool can_write = f->folder && !access(f->folder, W_OK | X_OK);
    if (f->folder && !can_write) error = errno;
    if (!can_write)
        cli_fail("cannot write into %s: %s", folder, strerror(error));
    free(folder);
    return can_write ? CLI_OK : CLI_CANNOT;
}

/* Does a file of that stem exist? */
static bool is_taken(const cli_files *f, const char *stem)
{
    DIR *dir = opendir(f->folder);
    size_t len = strlen(stem);
    bool is_found = false;
    if (!dir) return false;
    for (struct dirent *e; !is_found && (e = readdir(dir));)
        is_found = !strncmp(e->d_name, stem, len) && e->d_name[len] == '.' &&
                   strstr(e->d_name + len, ".axp");
    closedir(dir);
    return is_found;
}

int cli_files_init(cli_files *f, const cli_args *args, const char *name)
{
    const char *output = cli_args_value(args, OPT_run_output);
    *f = (cli_files){.name = cli_format("%s", name)};
    if (cli_args_has(args, OPT_run_no_file)) return use_temporary(f);
    if (output) {
        int rc = use_output(f, output);
        if (rc != CLI_OK || !f->exact || !is_taken(f, f->exact)) return rc;
        cli_fail("%s exists; remove it or choose another name", output);
        return CLI_CANNOT;
    }
    f->folder = realpath(".", NULL);
    if (!f->folder || access(f->folder, W_OK | X_OK))
        f->why_not_kept = errno == EROFS ? "this folder is read-only"
                                         : "this folder may not be written to";
    else if (!has_room(f->folder))
        f->why_not_kept = "the disk of this folder is full";
    return f->why_not_kept ? use_temporary(f) : CLI_OK;
}

void cli_files_begin(cli_files *f, pid_t pid)
{
    if (f->exact) {
        f->stem = cli_format("%s", f->exact);
        return;
    }
    f->stem = cli_format("%s-%ld", f->name, (long)pid);
    /* The pid was used before: a file of that other run is in the way. */
    for (unsigned i = 2; is_taken(f, f->stem) && i < 1000; i++) {
        free(f->stem);
        f->stem = cli_format("%s-%ld-%u", f->name, (long)pid, i);
    }
}

/* "%" is written twice in a pattern. */
char *cli_files_pattern(const cli_files *f)
{
    char *plain = cli_format("%s/%s", f->folder, f->stem);
    char *pattern = cli_alloc(2 * strlen(plain) + 16, 1), *to = pattern;
    for (const char *c = plain; *c; c++) {
        if (*c == '%') *to++ = '%';
        *to++ = *c;
    }
    memcpy(to, ".%p.axp", 8);
    free(plain);
    return pattern;
}

char *cli_files_own(const cli_files *f)
{
    return cli_format("%s/%s.run.axp", f->folder, f->stem);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names in the folder that begin with the stem and end with .axp. */
static void list_names(cli_files *f, bool is_filled)
{
    DIR *dir = f->stem ? opendir(f->folder) : NULL;
    size_t len = f->stem ? strlen(f->stem) : 0, n = 0;
    if (!dir) return;
    for (struct dirent *e; (e = readdir(dir));) {
        if (strncmp(e->d_name, f->stem, len) != 0 || e->d_name[len] != '.' ||
            !ends_with(e->d_name + len, ".axp"))
            continue;
        if (is_filled && n < f->n_paths)
            f->paths[n] = cli_format("%s/%s", f->folder, e->d_name);
        n++;
    }
    closedir(dir);
    if (!is_filled || n < f->n_paths) f->n_paths = n;
}

static bool move(const cli_files *f, const char *from, const char *to)
{
    char *a = cli_format("%s/%s%s", f->folder, f->stem, from);
    char *b = cli_format("%s/%s%s", f->folder, f->stem, to);
    bool is_moved = !renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_NOREPLACE);
    free(a);
    free(b);
    return is_moved;
}

static void forget_paths(cli_files *f)
{
    for (size_t i = 0; f->paths && i < f->n_paths; i++)
        free(f->paths[i]);
    free(f->paths);
    f->paths = NULL;
    f->n_paths = 0;
}

void cli_files_list(cli_files *f)
{
    forget_paths(f);
    list_names(f, false);
    f->paths = cli_alloc(f->n_paths, sizeof *f->paths);
    list_names(f, true);
    qsort(f->paths, f->n_paths, sizeof *f->paths, by_name);
}

void cli_files_collect(cli_files *f, pid_t pid)
{
    char *own = cli_format(".%ld.axp", (long)pid);
    if (f->stem && !move(f, own, ".axp")) {
        cli_files_list(f);
        if (f->n_paths == 1) move(f, ".run.axp", ".axp");
    }
    free(own);
    cli_files_list(f);
}

uint64_t cli_files_size(const cli_files *f)
{
    DIR *dir = f->stem ? opendir(f->folder) : NULL;
    size_t len = f->stem ? strlen(f->stem) : 0;
    uint64_t bytes = 0;
    struct stat st;
    if (!dir) return 0;
    for (struct dirent *e; (e = readdir(dir));)
        if (!strncmp(e->d_name, f->stem, len) && e->d_name[len] == '.' &&
            !fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW))
            bytes += (uint64_t)st.st_size;
    closedir(dir);
    return bytes;
}

void cli_files_fini(cli_files *f)
{
    cli_temporary_fini(&f->temporary);
    forget_paths(f);
    free(f->folder);
    free(f->stem);
    free(f->name);
    free(f->exact);
    *f = (cli_files){0};
}
