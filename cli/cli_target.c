/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Finding a program by PATH, following #! lines, reading what it is. */
#include "cli/cli_target.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli/cli_say.h"

enum { SCRIPT_DEPTH = 4, LINE_MAX_BYTES = 255 };

static bool is_executable(const char *path)
{
    struct stat st;
    if (stat(path, &st)) return false;
    if (S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        return false;
    }
    return access(path, X_OK) == 0;
}

/* The first executable of that name on PATH; errno says why there is none:
 * EACCES where something was there that may not be executed. Caller frees. */
static char *search_path(const char *word)
{
    const char *path = getenv("PATH");
    int error = ENOENT;
    if (!path) path = "/bin:/usr/bin";
    for (const char *part = path;; part++) {
        size_t len = strcspn(part, ":");
        char *full = len ? cli_format("%.*s/%s", (int)len, part, word)
                         : cli_format("./%s", word);
        if (is_executable(full)) return full;
        if (errno == EACCES) error = EACCES;
        free(full);
        part += len;
        if (!*part) break;
    }
    errno = error;
    return NULL;
}

static int cannot(const char *word, int error)
{
    bool is_missing = error == ENOENT || error == ENOTDIR;
    if (is_missing && strchr(word, ' '))
        cli_fail("%s: no such program; a command and its arguments are words "
                 "of their own, without quotes: axprof run -- %s",
                 word, word);
    else if (is_missing && !strchr(word, '/'))
        cli_fail("%s: command not found%s%s", word,
                 is_executable(word) ? "; it is here, so write ./" : "",
                 is_executable(word) ? word : "");
    else if (error == EACCES)
        cli_fail("%s: not executable; if it is a program of yours: "
                 "chmod +x %s",
                 word, word);
    else
        cli_fail("%s: %s", word, strerror(error));
    return is_missing ? CLI_NOT_FOUND : CLI_NOT_EXECUTABLE;
}

/* The interpreter that a #! line names, and with env the program that env
 * will find; NULL: no such line. Caller frees. */
static char *interpreter_of(const char *path)
{
    char line[LINE_MAX_BYTES + 1];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return NULL;
    ssize_t len = read(fd, line, LINE_MAX_BYTES);
    close(fd);
    if (len < 2 || line[0] != '#' || line[1] != '!') return NULL;
    line[len] = 0;
    line[strcspn(line, "\n")] = 0;

    char *rest = NULL;
    char *word = strtok_r(line + 2, " \t", &rest);
    if (!word) return NULL;
    const char *base = strrchr(word, '/');
    if (!strcmp(base ? base + 1 : word, "env")) {
        char *next = strtok_r(NULL, " \t", &rest);
        while (next && (next[0] == '-' || strchr(next, '=')))
            next = strtok_r(NULL, " \t", &rest);
        char *found = next ? search_path(next) : NULL;
        if (found) return found;
    }
    return strdup(word);
}

/* What the kernel loads for it, through #! lines. */
static char *binary_of(const char *path)
{
    char *now = cli_format("%s", path);
    for (int depth = 0; depth < SCRIPT_DEPTH; depth++) {
        char *next = interpreter_of(now);
        if (!next) break;
        free(now);
        now = next;
    }
    return now;
}

/* Does the kernel raise rights when it starts this? Then the loader ignores
 * preloads, and the recorder the environment. */
static bool is_privileged(const char *path)
{
    struct stat st;
    char caps[64];
    if (stat(path, &st)) return false;
    if ((st.st_mode & S_ISUID) && st.st_uid != geteuid()) return true;
    if ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
        st.st_gid != getegid())
        return true;
    return geteuid() != 0 &&
           getxattr(path, "security.capability", caps, sizeof caps) > 0;
}

static const char *why_not(const cli_target *t)
{
    const cli_elf *elf = &t->elf;
    if (is_privileged(t->binary))
        return "it is set-user-id or has capabilities of its own, so the "
               "system loads nothing of ours into it; run it as its owner to "
               "see inside";
    if (t->is_script_for_sh) return NULL;
    if (!elf->machine) return "it is no program of a kind known here";
    if (!elf->is_64)
        return "it is a 32-bit program, and the adapters are 64-bit; build it "
               "for 64 bits to see inside";
    if (!cli_elf_is_native(elf)) return "it is for another machine";
    if (!elf->is_dynamic)
        return "it is statically linked, so nothing can be loaded into it; "
               "link it dynamically, or with libaxprof_rt, to see inside";
    if (elf->is_musl)
        return "it uses musl, and the adapters are for the GNU C library";
    if (elf->needs_asan)
        return "it is built with a sanitizer, which must be the first library "
               "in the process";
    return NULL;
}

/* For `python train.py` the recording is called train, not python. */
static bool is_interpreter(const char *name)
{
    static const char *const known[] = {"python", "pypy", "bash",
                                        "sh",     "dash", "perl",
                                        "ruby",   "node", "Rscript"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t len = strlen(known[i]);
        if (strncmp(name, known[i], len) != 0) continue;
        if (strspn(name + len, "0123456789.") == strlen(name + len))
            return true;
    }
    return false;
}

/* A file name's last part without ending, of characters that are safe in a
 * file name and on a command line. */
static char *plain_name(const char *path)
{
    const char *base = strrchr(path, '/');
    char *name = cli_format("%.64s", base ? base + 1 : path);
    char *dot = strrchr(name, '.');
    if (dot && dot != name && (!strcmp(dot, ".py") || !strcmp(dot, ".sh")))
        *dot = 0;
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._+-", *c)) *c = '_';
    if (!*name || name[0] == '.' || name[0] == '-') {
        char *better = cli_format("run%s", name);
        free(name);
        name = better;
    }
    return name;
}

static char *recording_name(const char *path, char *const *argv)
{
    char *name = plain_name(path);
    if (!is_interpreter(name)) return name;
    for (size_t i = 1; argv[i]; i++) {
        if (argv[i][0] == '-') {
            if (!strcmp(argv[i], "-m") && argv[i + 1]) {
                free(name);
                return plain_name(argv[i + 1]);
            }
            if (!strcmp(argv[i], "-c")) break;
            continue;
        }
        if (access(argv[i], R_OK)) break;
        free(name);
        return plain_name(argv[i]);
    }
    return name;
}

int cli_target_find(cli_target *t, char *const *argv)
{
    const char *word = argv[0];
    *t = (cli_target){0};
    if (strchr(word, '/'))
        t->path = is_executable(word) ? cli_format("%s", word) : NULL;
    else if (*word)
        t->path = search_path(word);
    else
        errno = ENOENT;
    if (!t->path) return cannot(word, errno);
    t->binary = binary_of(t->path);
    bool is_elf = cli_elf_read(t->binary, false, &t->elf);
    if (!strcmp(t->binary, t->path)) t->is_script_for_sh = !is_elf;
    t->name = recording_name(t->path, argv);
    t->why_not = why_not(t);
    t->is_preload_harmful = is_elf && (!cli_elf_is_native(&t->elf) ||
                                       t->elf.is_musl || t->elf.needs_asan);
    return CLI_OK;
}

void cli_target_fini(cli_target *t)
{
    free(t->path);
    free(t->name);
    free(t->binary);
    *t = (cli_target){0};
}
