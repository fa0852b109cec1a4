/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Where a run's file goes, and how it is made of its parts. */
#include "cli/cli_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <axprof/axprof_file.h>

#include "cli/cli_say.h"
#include "cli/cli_temporary.h"

/* For one that was asked for by name: what little there is may be enough. */
#define LEAST_NAMED ((uint64_t)64 << 10)

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), end_len = strlen(end);
    return len >= end_len && !strcmp(text + len - end_len, end);
}

/* Without a place the program runs nevertheless. */
static void use_temporary(cli_files *f)
{
    free(f->folder);
    free(f->exact);
    f->exact = NULL;
    f->is_temporary = true;
    f->folder = cli_temporary_make();
    if (!f->folder)
        cli_note("nothing is recorded in the program: no place for it in "
                 "TMPDIR, /tmp or /dev/shm (%s)",
                 strerror(errno));
}

/* A device, a pipe: whoever names it wants no file beside it. */
static bool is_other(const char *output)
{
    struct stat st;
    return !stat(output, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

/* --output FOLDER/ or FILE. */
static int use_output(cli_files *f, const char *output)
{
    char *folder = NULL;
    if (is_other(output)) {
        cli_fail("%s is no regular file; --no-file keeps no recording", output);
        return CLI_CANNOT;
    }
    if (cli_parts_is_folder(output) || ends_with(output, "/")) {
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
    if (can_write && !cli_temporary_has_room(f->folder, LEAST_NAMED))
        f->why_not_kept = "the disk that --output names is full";
    return can_write ? CLI_OK : CLI_CANNOT;
}

/* Is there a recording of that stem, or what was left of one? */
static bool is_taken(const cli_files *f, const char *stem)
{
    struct stat st;
    char *path = cli_format("%s/%s.axp", f->folder, stem);
    char *parts = cli_parts_folder(path);
    bool is_there = !lstat(path, &st) || !lstat(parts, &st);
    free(path);
    free(parts);
    return is_there;
}

static int refuse(const cli_files *f, int error)
{
    if (error == EEXIST)
        cli_fail("%s exists; remove it or choose another name", f->output);
    else
        cli_fail("no folder for the parts of %s can be made: %s", f->output,
                 strerror(error));
    return CLI_CANNOT;
}

int cli_files_init(cli_files *f, const cli_args *args, const char *name)
{
    const char *output = cli_args_value(args, OPT_run_output);
    *f = (cli_files){
        .name = cli_format("%s", name), .output = output, .lock = -1};
    if (output && !cli_args_has(args, OPT_run_no_file)) {
        int rc = use_output(f, output);
        if (rc != CLI_OK) return rc;
        if (f->exact && is_taken(f, f->exact)) return refuse(f, EEXIST);
        if (f->why_not_kept) use_temporary(f);
        return CLI_OK;
    }
    f->folder = realpath(".", NULL);
    if (cli_args_has(args, OPT_run_no_file))
        use_temporary(f);
    else if (!f->folder || access(f->folder, W_OK | X_OK))
        f->why_not_kept = errno == EROFS ? "this folder is read-only"
                                         : "this folder may not be written to";
    else if (!cli_temporary_has_room(f->folder, CLI_TEMPORARY_LEAST))
        f->why_not_kept = "the disk of this folder is full";
    if (f->why_not_kept) use_temporary(f);
    return CLI_OK;
}

/* The n-th stem: the pid was used before, and a file of that other run is in
 * the way. */
static char *make_stem(const cli_files *f, unsigned n)
{
    if (f->is_temporary) return cli_format(CLI_TEMPORARY_STEM);
    if (n == 1) return cli_format("%s-%ld", f->name, (long)f->pid);
    return cli_format("%s-%ld-%u", f->name, (long)f->pid, n);
}

static void forget(cli_files *f)
{
    free(f->stem);
    free(f->path);
    free(f->parts);
    f->stem = f->path = f->parts = NULL;
}

static void set_stem(cli_files *f, char *stem)
{
    forget(f);
    f->stem = stem;
    f->path = cli_format("%s/%s.axp", f->folder, stem);
    f->parts = cli_parts_folder(f->path);
}

static bool make_parts(cli_files *f)
{
    for (unsigned i = 1; f->folder && i < 1000; i++) {
        set_stem(f, make_stem(f, i));
        bool is_free = f->is_temporary || !is_taken(f, f->stem);
        if (is_free) f->lock = cli_parts_make(f->parts);
        if (f->lock >= 0) return true;
        if (is_free && errno != EEXIST) break;
    }
    forget(f);
    return false;
}

/* Of runs that were all told the name, and saw it free, one makes the folder.
 * It may have ended since: then its file is there. 0 or the errno. */
static int make_exact_parts(cli_files *f)
{
    struct stat st;
    set_stem(f, cli_format("%s", f->exact));
    f->lock = cli_parts_make(f->parts);
    int error = f->lock < 0 ? errno : 0;
    if (!error && !lstat(f->path, &st)) {
        cli_parts_remove_empty(f->parts);
        error = EEXIST;
    }
    if (error) forget(f);
    return error;
}

/* A run that begins removes what runs that were killed have left, and cannot
 * tell ours from those until its parts are locked. */
static void make_temporary_parts(cli_files *f)
{
    for (int i = 0; i < 100 && f->folder; i++) {
        if (make_parts(f)) return;
        if (cli_parts_is_folder(f->folder)) break;
        use_temporary(f);
    }
    if (f->folder)
        cli_note("nothing is recorded in the program: no folder for it can be "
                 "made in %s",
                 f->folder);
}

int cli_files_begin(cli_files *f, pid_t pid)
{
    f->pid = pid;
    if (f->exact) {
        int error = make_exact_parts(f);
        return error ? refuse(f, error) : CLI_OK;
    }
    if (!f->is_temporary) {
        if (make_parts(f)) return CLI_OK;
        f->why_not_kept = "no folder can be made here for its parts";
        use_temporary(f);
    }
    make_temporary_parts(f);
    return CLI_OK;
}

/* "%" is written twice in a pattern. */
char *cli_files_pattern(const cli_files *f)
{
    if (!f->parts) return NULL;
    char *pattern = cli_alloc(2 * strlen(f->parts) + 16, 1), *to = pattern;
    for (const char *c = f->parts; *c; c++) {
        if (*c == '%') *to++ = '%';
        *to++ = *c;
    }
    memcpy(to, "/%p.axp", 8);
    return pattern;
}

char *cli_files_own(const cli_files *f)
{
    if (!f->parts) return NULL;
    return cli_format("%s/outside-%ld.axp", f->parts, (long)f->pid);
}

char *cli_files_sampled(const cli_files *f)
{
    if (!f->parts) return NULL;
    return cli_format("%s/sampled-%ld.axp", f->parts, (long)f->pid);
}

char *cli_files_ring(const cli_files *f)
{
    if (!f->parts) return NULL;
    return cli_format("%s/" CLI_PARTS_RING, f->parts);
}

char *cli_files_count(const cli_files *f)
{
    if (!f->parts) return NULL;
    char *path = cli_format("%s/" CLI_PARTS_COUNT, f->parts);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) close(fd);
    return path;
}

void cli_files_list(cli_files *f)
{
    cli_parts_fini(&f->now);
    if (f->parts) cli_parts_list(f->parts, &f->now);
}

/* A part that is alone becomes the file; several are copied into it. */
static bool make_one(const cli_files *f, char *const *parts, size_t n)
{
    if (n == 1 &&
        !renameat2(AT_FDCWD, parts[0], AT_FDCWD, f->path, RENAME_NOREPLACE))
        return true;
    if (axp_file_join((const char *const *)parts, n, f->path, false) != AXP_OK)
        return false;
    for (size_t i = 0; i < n; i++)
        unlink(parts[i]);
    return true;
}

/* What processes of the run told beside their recordings. */
static void remove_lists(const cli_files *f)
{
    static const char *const names[] = {CLI_PARTS_COUNT, CLI_PARTS_UNRECORDED};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = cli_format("%s/%s", f->parts, names[i]);
        unlink(path);
        free(path);
    }
}

bool cli_files_join(cli_files *f,
                    bool (*has_ended)(void *ctx, const char *part), void *ctx)
{
    size_t n = 0, n_on = 0;
    cli_files_list(f);
    if (f->is_temporary || !f->now.n) return true;
    char **ended = cli_alloc(f->now.n, sizeof *ended);
    char **on = cli_alloc(f->now.n + 1, sizeof *on);
    for (size_t i = 0; i < f->now.n; i++) {
        char *path = f->now.paths[i];
        if (!has_ended(ctx, path))
            on[++n_on] = path;
        else if (!axp_file_is_empty(path))
            ended[n++] = path;
        else if (!unlink(path))
            free(path);
    }
    bool is_made = !n || make_one(f, ended, n);
    if (is_made) {
        for (size_t i = 0; i < n; i++)
            free(ended[i]);
        if (n)
            on[0] = cli_format("%s", f->path);
        else
            memmove(on, on + 1, n_on * sizeof *on);
        free(f->now.paths);
        f->now = (cli_parts){on, n_on + (n > 0)};
        on = NULL;
        if (!n_on) remove_lists(f);
        rmdir(f->parts); /* unless others go on in it */
    }
    free(ended);
    free(on);
    if (!is_made) {
        free(f->now.paths);
        f->now = (cli_parts){0};
        cli_parts_list(f->parts, &f->now);
    }
    return is_made;
}

void cli_files_fini(cli_files *f)
{
    if (f->is_temporary && f->parts) cli_parts_remove(f->parts, CLI_SPOOLS_ALL);
    if (f->parts) cli_parts_remove_empty(f->parts);
    if (f->is_temporary && f->folder) rmdir(f->folder);
    if (f->lock >= 0) close(f->lock);
    cli_parts_fini(&f->now);
    forget(f);
    free(f->folder);
    free(f->name);
    free(f->exact);
    *f = (cli_files){.lock = -1};
}
