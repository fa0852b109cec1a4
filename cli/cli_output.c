/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Files that appear when complete. */
#include "cli/cli_output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli_say.h"

static const int deadly[] = {SIGINT,  SIGTERM, SIGHUP, SIGQUIT, SIGPIPE,
                             SIGSEGV, SIGBUS,  SIGFPE, SIGILL,  SIGABRT};
enum { N_DEADLY = sizeof deadly / sizeof *deadly };

/* What a deadly signal has to remove; the string is never freed while set. */
static const char *volatile half_file;

static void remove_half_file(int signal_number)
{
    const char *path = half_file;
    if (path) unlink(path);
    raise(signal_number); /* the handler is already the default one again */
}

static void watch_signals(void)
{
    signal(SIGXFSZ, SIG_IGN); /* a limit on files is an error like others */
    for (int i = 0; i < N_DEADLY; i++) {
        struct sigaction now, ours = {.sa_handler = remove_half_file,
                                      .sa_flags = (int)SA_RESETHAND};
        /* SIGPIPE may have been ignored by whoever started us. */
        if (!sigaction(deadly[i], NULL, &now) && now.sa_handler == SIG_DFL)
            sigaction(deadly[i], &ours, NULL);
    }
}

static int say_errno(const char *path, const char *option, int error)
{
    const char *help = "", *with = option;
    if (error == ENOENT || error == ENOTDIR)
        help = "; make the folder first, or choose another with ";
    else if (error == EACCES || error == EPERM || error == EROFS)
        help = "; choose a place that you may write to with ";
    else if (error == ENOSPC || error == EDQUOT)
        help = "; make room, or choose another disk with ";
    else
        with = "";
    if (error == EISDIR)
        help = "; name a file in it";
    else if (error == EFBIG)
        help = "; it is larger than files may be here (ulimit -f)";
    return cli_fail("cannot write %s: %s%s%s", path, strerror(error), help,
                    with);
}

static bool is_standard(const char *path)
{
    return !path || !strcmp(path, "-");
}

/* The folder that a file is made in and renamed, or what is no regular file. */
static char *place_of(const char *path)
{
    struct stat st;
    bool is_there = !stat(path, &st);
    if (is_there && !S_ISREG(st.st_mode)) return cli_format("%s", path);
    char *real = is_there ? realpath(path, NULL) : NULL;
    const char *file = real ? real : path, *slash = strrchr(file, '/');
    char *folder = !slash ? cli_format(".")
                   : slash == file
                       ? cli_format("/")
                       : cli_format("%.*s", (int)(slash - file), file);
    free(real);
    return folder;
}

/* 0 or the errno of making it. */
static int place_error(const char *path)
{
    struct stat st;
    char *place = place_of(path);
    bool is_folder = !stat(place, &st) && S_ISDIR(st.st_mode);
    bool is_itself = !strcmp(place, path);
    int error = 0;
    if (is_itself && is_folder)
        error = EISDIR;
    else if (!is_itself && !is_folder)
        error = ENOTDIR;
    else if (access(place, is_folder ? W_OK | X_OK : W_OK))
        error = errno;
    if (error == ENOTDIR && stat(place, &st)) error = errno;
    free(place);
    return error;
}

int cli_output_check(const char *path, const char *option)
{
    if (is_standard(path)) return CLI_OK;
    int error = place_error(path);
    return error ? say_errno(path, option, error) : CLI_OK;
}

/* A file with the mode of the one it replaces, else as the umask says. */
static int create_beside(cli_output *out)
{
    struct stat old;
    for (unsigned attempt = 0; attempt < 100; attempt++) {
        out->temporary =
            cli_format("%s.%ld.%u.tmp", out->path, (long)getpid(), attempt);
        half_file = out->temporary;
        int fd =
            open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0) {
            if (!stat(out->path, &old)) fchmod(fd, old.st_mode & 0777);
            return fd;
        }
        int error = errno;
        half_file = NULL;
        free(out->temporary);
        out->temporary = NULL;
        errno = error;
        if (error != EEXIST) return -1;
    }
    return -1;
}

static int open_file(cli_output *out, const char *path)
{
    struct stat st;
    bool is_there = !stat(path, &st);
    if (is_there && S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        return -1;
    }
    if (is_there && !S_ISREG(st.st_mode))
        return open(path, O_WRONLY | O_CLOEXEC);
    char *real = is_there ? realpath(path, NULL) : strdup(path);
    if (!real) return -1;
    out->path = real;
    watch_signals();
    return create_beside(out);
}

static void forget(cli_output *out)
{
    half_file = NULL;
    free(out->path);
    free(out->temporary);
    *out = (cli_output){0};
}

int cli_output_open(cli_output *out, const char *path, const char *option)
{
    *out = (cli_output){
        .to = stdout, .shown = "standard output", .option = option};
    if (is_standard(path)) return CLI_OK;
    out->shown = path;
    int fd = open_file(out, path);
    out->to = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (out->to) return CLI_OK;

    int error = errno;
    if (out->temporary) unlink(out->temporary);
    if (fd >= 0) close(fd);
    forget(out);
    return say_errno(path, option, error);
}

/* Everything is in the file, under its own name; else the reason. */
static int finish(cli_output *out)
{
    int error = 0;
    errno = 0;
    if (fflush(out->to) || ferror(out->to)) error = errno ? errno : EIO;
    if (out->to != stdout && fclose(out->to) && !error) error = errno;
    if (!error && out->temporary && rename(out->temporary, out->path))
        error = errno;
    return error;
}

int cli_output_close(cli_output *out, axp_status status)
{
    int error = errno, rc = CLI_FAILED;
    const char *shown = out->shown, *option = out->option;
    if (status == AXP_OK) {
        error = finish(out);
    } else {
        if (!ferror(out->to)) error = 0;
        if (out->to != stdout) fclose(out->to);
        if (!error) cli_fail("%s", axp_last_error());
    }
    if (status == AXP_OK && !error) rc = CLI_OK;
    if (rc != CLI_OK && out->temporary) unlink(out->temporary);
    forget(out);
    if (error && error != EPIPE) say_errno(shown, option, error);
    return rc;
}
