/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Opening recordings, and what to say to someone who gave a wrong path. */
#include "cli/cli_trace.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli_say.h"

/* The newest recording in a folder; NULL: none. Caller frees. */
static char *newest_in(const char *folder)
{
    DIR *dir = opendir(folder);
    char *best = NULL;
    time_t best_time = 0;
    if (!dir) return NULL;
    for (struct dirent *e; (e = readdir(dir));) {
        size_t len = strlen(e->d_name);
        struct stat st;
        if (len < 5 || strcmp(e->d_name + len - 4, ".axp") != 0) continue;
        if (fstatat(dirfd(dir), e->d_name, &st, 0) || !S_ISREG(st.st_mode))
            continue;
        if (best && st.st_mtime <= best_time) continue;
        free(best);
        best = !strcmp(folder, ".") ? cli_format("%s", e->d_name)
                                    : cli_format("%s/%s", folder, e->d_name);
        best_time = st.st_mtime;
    }
    closedir(dir);
    return best;
}

static int none_given(const char *verb)
{
    char *newest = newest_in(".");
    int rc = newest ? cli_wrong("no file given; the newest here: axprof %s %s",
                                verb, newest)
                    : cli_wrong("no file given; \"axprof run -- PROGRAM\" "
                                "makes one");
    free(newest);
    return rc;
}

static int is_missing(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : NULL;
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

int cli_trace_check(const cli_args *args)
{
    if (!args->n_rest) return none_given(cli_verbs[args->verb].name);
    for (size_t i = 0; i < args->n_rest; i++) {
        int rc = check_path(args->rest[i]);
        if (rc != CLI_OK) return rc;
    }
    return CLI_OK;
}

int cli_trace_open(const cli_args *args, axp_view **out)
{
    int rc = cli_trace_check(args);
    if (rc != CLI_OK) return rc;
    axp_status status =
        axp_open((const char *const *)args->rest, args->n_rest, out);
    if (status == AXP_E_INVALID) return cli_wrong("%s", axp_last_error());
    return status ? cli_fail("%s", axp_last_error()) : CLI_OK;
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

int cli_trace_damage(const axp_view *view, int rc)
{
    axp_warning list[64];
    size_t n = axp_view_warnings(view, list, 64);
    if (rc != CLI_OK || !axp_view_damage(view)) return rc;
    for (size_t i = 0; i < n && i < 64; i++)
        if (!strcmp(list[i].code, "damaged_blocks") ||
            !strcmp(list[i].code, "cut_file") ||
            !strcmp(list[i].code, "folded_again"))
            cli_note("%llu %s", (unsigned long long)list[i].count,
                     list[i].text);
    cli_note("parts of the recording are damaged or missing; what is left was "
             "written (\"axprof check\" says where)");
    return CLI_DAMAGED;
}
