/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Opening recordings, and what to say to someone who gave a wrong path. */
#include "cli/cli_trace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <axprof/axprof_file.h>

#include "cli/cli_say.h"

/* A recording, or the parts of one that runs or was killed; the length of the
 * recording's name, 0: none. */
static size_t recording_len(const char *name)
{
    size_t len = strlen(name);
    if (len > 10 && !strcmp(name + len - 10, ".axp.parts")) return len - 6;
    return len > 4 && !strcmp(name + len - 4, ".axp") ? len : 0;
}

static bool is_later(struct timespec a, struct timespec b)
{
    return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

/* Whether a folder of parts has any. */
static bool has_parts(int folder, const char *name)
{
    int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    bool has = false;
    if (fd >= 0 && !dir) close(fd);
    for (struct dirent *e; dir && !has && (e = readdir(dir));) {
        size_t len = recording_len(e->d_name);
        has = len && !e->d_name[len];
    }
    if (dir) closedir(dir);
    return has;
}

/* The newest recording in a folder; NULL: none. Caller frees. */
static char *newest_in(const char *folder)
{
    DIR *dir = opendir(folder);
    char *best = NULL;
    struct timespec best_time = {0, 0};
    if (!dir) return NULL;
    for (struct dirent *e; (e = readdir(dir));) {
        size_t len = recording_len(e->d_name);
        struct stat st;
        if (!len || fstatat(dirfd(dir), e->d_name, &st, 0)) continue;
        if (e->d_name[len] ? !has_parts(dirfd(dir), e->d_name)
                           : !S_ISREG(st.st_mode))
            continue;
        if (best && !is_later(st.st_mtim, best_time)) continue;
        free(best);
        best = !strcmp(folder, ".")
                   ? cli_format("%.*s", (int)len, e->d_name)
                   : cli_format("%s%s%.*s", folder,
                                !strcmp(folder, "/") ? "" : "/", (int)len,
                                e->d_name);
        best_time = st.st_mtim;
    }
    closedir(dir);
    return best;
}

static int is_missing(const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t len = !slash ? 0 : slash == path ? 1 : (size_t)(slash - path);
    char *folder = slash ? strndup(path, len) : NULL;
    char *newest = newest_in(folder ? folder : ".");
    int rc = newest ? cli_fail("%s: no such file; the newest there is %s", path,
                               newest)
                    : cli_fail("%s: no such file, and no other .axp beside it; "
                               "\"axprof run -- PROGRAM\" makes one",
                               path);
    free(newest);
    free(folder);
    return rc;
}

static int check_path(const char *path)
{
    struct stat st;
    if (!*path) return cli_wrong("an empty name; give a recording, NAME.axp");
    if (stat(path, &st)) {
        if (errno == ENOENT && !strcmp(path, "-"))
            return cli_wrong("recordings cannot be read from standard input; "
                             "give a file, NAME.axp");
        if (errno == ENOENT) return is_missing(path);
        return cli_fail("%s: %s", path, strerror(errno));
    }
    if (S_ISDIR(st.st_mode))
        return cli_fail("%s is a folder; give the recordings in it: %s%s*.axp",
                        path, path, path[strlen(path) - 1] == '/' ? "" : "/");
    if (access(path, R_OK))
        return cli_fail("%s: %s; recordings belong to whoever ran the program",
                        path, strerror(errno));
    return CLI_OK;
}

static void add(cli_parts *list, const char *path)
{
    char **more = cli_alloc(list->n + 2, sizeof *more);
    if (list->n) memcpy(more, list->paths, list->n * sizeof *more);
    free(list->paths);
    list->paths = more;
    list->paths[list->n++] = cli_format("%s", path);
}

/* A recording, and its parts if there are any. */
static int add_recording(cli_parts *list, const char *path)
{
    struct stat st;
    char *recording =
        cli_parts_is_folder(path) ? cli_parts_recording(path) : NULL;
    if (!recording) recording = cli_format("%s", path);
    char *folder = cli_parts_folder(recording);
    cli_parts parts;
    cli_parts_list(folder, &parts);
    int rc = CLI_OK;
    if (!parts.n || !stat(recording, &st)) rc = check_path(recording);
    if (rc == CLI_OK && !stat(recording, &st)) add(list, recording);
    for (size_t i = 0; rc == CLI_OK && i < parts.n; i++)
        add(list, parts.paths[i]);
    cli_parts_fini(&parts);
    free(folder);
    free(recording);
    return rc;
}

/* Programs that are killed while they make their file leave it empty. */
static void leave_out_empty(cli_parts *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->n; i++) {
        bool is_last = i + 1 == list->n && !kept;
        if (is_last || !axp_file_is_empty(list->paths[i])) {
            list->paths[kept++] = list->paths[i];
            continue;
        }
        cli_note("%s is left out: nothing was recorded into it",
                 list->paths[i]);
        free(list->paths[i]);
    }
    list->n = kept;
}

static int find_newest(cli_parts *list)
{
    char *newest = newest_in(".");
    if (!newest)
        return cli_wrong("no file given, and none is here; \"axprof run -- "
                         "PROGRAM\" makes one");
    cli_note("no file given: the newest here is %s", newest);
    int rc = add_recording(list, newest);
    free(newest);
    return rc;
}

int cli_trace_find(const cli_args *args, cli_parts *list)
{
    *list = (cli_parts){0};
    int rc = args->n_rest ? CLI_OK : find_newest(list);
    for (size_t i = 0; rc == CLI_OK && i < args->n_rest; i++)
        rc = add_recording(list, args->rest[i]);
    if (rc == CLI_OK)
        leave_out_empty(list);
    else
        cli_parts_fini(list);
    return rc;
}

/* The folders of the option; the caller frees the list. */
static int read_symbols(const cli_args *args, cli_option_id option,
                        axp_open_options *o)
{
    const char **folders = cli_alloc(args->n_given, sizeof *folders);
    o->n_symbols = cli_args_values(args, option, folders, args->n_given);
    o->symbols = folders;
    for (size_t i = 0; i < o->n_symbols; i++)
        if (!cli_parts_is_folder(folders[i]))
            return cli_wrong("--symbols %s: there is no such folder",
                             folders[i]);
    return CLI_OK;
}

static int open_list(const cli_parts *list, const axp_open_options *o,
                     axp_view **out)
{
    axp_status status =
        axp_open_ex((const char *const *)list->paths, list->n, o, out);
    if (status == AXP_E_INVALID) return cli_wrong("%s", axp_last_error());
    return status ? cli_fail("%s", axp_last_error()) : CLI_OK;
}

int cli_trace_open(const cli_args *args, cli_option_id symbols, axp_view **out)
{
    cli_parts list;
    axp_open_options o = {0};
    int rc = read_symbols(args, symbols, &o);
    if (rc == CLI_OK) rc = cli_trace_find(args, &list);
    if (rc == CLI_OK) {
        rc = open_list(&list, &o, out);
        cli_parts_fini(&list);
    }
    free((void *)o.symbols);
    return rc;
}

int cli_trace_spare(const cli_args *args, const char *path)
{
    struct stat to, from;
    if (!path || !strcmp(path, "-") || stat(path, &to)) return CLI_OK;
    for (size_t i = 0; i < args->n_rest; i++)
        if (!stat(args->rest[i], &from) && from.st_dev == to.st_dev &&
            from.st_ino == to.st_ino)
            return cli_wrong("%s is the recording itself; choose another name "
                             "with -o",
                             path);
    return CLI_OK;
}

/* Texts are plurals: one of them is told without its count, as in reports. */
static void note_warning(const axp_warning *w)
{
    if (w->count > 1)
        cli_note("%llu %s", (unsigned long long)w->count, w->text);
    else
        cli_note("%s", w->text);
}

int cli_trace_damage(const axp_view *view, int rc)
{
    axp_warning list[64];
    size_t n = axp_view_warnings(view, list, 64);
    if (rc != CLI_OK || !axp_view_damage(view)) return rc;
    for (size_t i = 0; i < n && i < 64; i++)
        if (!strcmp(list[i].code, "damaged_blocks") ||
            !strcmp(list[i].code, "cut_file") ||
            !strcmp(list[i].code, "folded_again") ||
            !strcmp(list[i].code, "write_failed"))
            note_warning(&list[i]);
    cli_note("parts of the recording are damaged or missing; what is left was "
             "written (\"axprof check\" says where)");
    return CLI_DAMAGED;
}
