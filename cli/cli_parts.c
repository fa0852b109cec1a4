/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Folders of parts: made, locked, listed, removed; see cli_parts.h. */
#include "cli/cli_parts.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <axprof/axprof_file.h>

#include "cli/cli_say.h"

#define SUFFIX ".parts"

static bool ends_with(const char *text, size_t len, const char *end)
{
    size_t n = strlen(end);
    return len > n && !strncmp(text + len - n, end, n);
}

char *cli_parts_folder(const char *recording)
{
    return cli_format("%s" SUFFIX, recording);
}

/* "x.axp.parts", "x.axp.parts/", "x.axp.parts/4711.axp" */
char *cli_parts_recording(const char *path)
{
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    if (!ends_with(path, len, ".axp" SUFFIX)) {
        while (len && path[len - 1] != '/')
            len--;
        while (len && path[len - 1] == '/')
            len--;
    }
    if (!ends_with(path, len, ".axp" SUFFIX)) return NULL;
    return cli_format("%.*s", (int)(len - strlen(SUFFIX)), path);
}

/* ---- making and locking ------------------------------------------------- */

static int open_folder(const char *folder)
{
    return open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Not if somebody took it for left before it was locked, and removed it. */
static bool is_there(int fd, const char *folder)
{
    struct stat ours, there;
    return !fstat(fd, &ours) && !lstat(folder, &there) &&
           ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

bool cli_parts_is_folder(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

int cli_parts_make(const char *folder)
{
    for (int i = 0; i < 100; i++) {
        if (mkdir(folder, 0700)) return -1;
        int fd = open_folder(folder);
        if (fd < 0) return -1;
        (void)flock(fd, LOCK_EX); /* not everywhere */
        if (is_there(fd, folder)) return fd;
        close(fd);
    }
    errno = EBUSY;
    return -1;
}

int cli_parts_lock(const char *folder)
{
    int fd = open_folder(folder);
    struct stat st;
    if (fd < 0) return -1;
    if (!fstat(fd, &st) && st.st_uid == geteuid() &&
        !flock(fd, LOCK_EX | LOCK_NB) && is_there(fd, folder))
        return fd;
    close(fd);
    errno = EWOULDBLOCK;
    return -1;
}

/* ---- what is in one ----------------------------------------------------- */

typedef struct part {
    char *path;
    bool is_outside; /* seen by the parent … */
    bool is_sampled; /* … who sampled it */
    uint64_t number, turn;
} part;

/* Is the name one that a run gives? Its numbers. */
static bool read_name(const char *name, part *p)
{
    char *end;
    p->is_sampled = !strncmp(name, "sampled-", 8);
    p->is_outside = p->is_sampled || !strncmp(name, "outside-", 8);
    if (p->is_outside) name += 8;
    if (!isdigit((unsigned char)*name)) return false;
    p->number = strtoull(name, &end, 10);
    p->turn = 1;
    if (*end == '-' && isdigit((unsigned char)end[1]))
        p->turn = strtoull(end + 1, &end, 10);
    return !strcmp(end, ".axp");
}

static int by_number(const void *a, const void *b)
{
    const part *x = a, *y = b;
    if (x->is_outside != y->is_outside) return x->is_outside ? 1 : -1;
    if (x->is_sampled != y->is_sampled) return x->is_sampled ? -1 : 1;
    if (x->number != y->number) return x->number > y->number ? 1 : -1;
    return (x->turn > y->turn) - (x->turn < y->turn);
}

/* Numbers are used again, so that the program's need not be the least: what
 * saw it from outside is called by it. */
static void put_program_first(part *parts, size_t n)
{
    size_t first = 0, last = 0;
    if (!n || !parts[n - 1].is_outside) return;
    while (first < n && parts[first].number != parts[n - 1].number)
        first++;
    for (last = first; last < n && !parts[last].is_outside &&
                       parts[last].number == parts[n - 1].number;)
        last++;
    for (size_t i = first; i < last; i++) {
        part p = parts[i];
        memmove(&parts[i - first + 1], &parts[i - first], first * sizeof p);
        parts[i - first] = p;
    }
}

void cli_parts_list(const char *folder, cli_parts *out)
{
    DIR *dir = opendir(folder);
    part *parts = NULL;
    size_t n = 0, cap = 0;
    *out = (cli_parts){0};
    if (!dir) return;
    for (struct dirent *e; (e = readdir(dir));) {
        part p;
        if (!read_name(e->d_name, &p)) continue;
        if (n == cap) {
            cap = cap ? 2 * cap : 16;
            parts = realloc(parts, cap * sizeof *parts);
            if (!parts) abort();
        }
        p.path = cli_format("%s/%s", folder, e->d_name);
        parts[n++] = p;
    }
    closedir(dir);
    if (n) qsort(parts, n, sizeof *parts, by_number);
    put_program_first(parts, n);
    out->paths = cli_alloc(n + 1, sizeof *out->paths);
    out->n = n;
    for (size_t i = 0; i < n; i++)
        out->paths[i] = parts[i].path;
    free(parts);
}

void cli_parts_fini(cli_parts *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->paths[i]);
    free(p->paths);
    *p = (cli_parts){0};
}

uint64_t cli_parts_bytes(const char *folder)
{
    DIR *dir = opendir(folder);
    uint64_t bytes = 0;
    struct stat st;
    if (!dir) return 0;
    for (struct dirent *e; (e = readdir(dir));)
        if (e->d_name[0] != '.' &&
            !fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW))
            bytes += (uint64_t)st.st_blocks * 512;
    closedir(dir);
    return bytes;
}

/* ---- removing ----------------------------------------------------------- */

struct removal {
    const char *folder; /* what it had is wanted by nobody */
    cli_parts_spools spools;
};

static int remove_spool(const axp_spool_info *s, void *ctx)
{
    const struct removal *r = ctx;
    size_t len = strlen(r->folder);
    if (strncmp(s->recording, r->folder, len) != 0 || s->recording[len] != '/')
        return 0;
    if (!s->is_in_use)
        (void)axp_spool_remove(s->path);
    else if (r->spools == CLI_SPOOLS_ALL)
        (void)unlink(s->path);
    return 0;
}

/* A part, its spool where /dev/shm had no room, or what a writer that was
 * killed had begun: "4711.axp.Kx72ab". */
static bool is_ours(const char *name)
{
    part p;
    char text[256];
    const char *end = strstr(name, ".axp");
    if (!strcmp(name, CLI_PARTS_COUNT) || !strcmp(name, CLI_PARTS_RING) ||
        !strcmp(name, CLI_PARTS_UNRECORDED))
        return true;
    if (!end || (size_t)(end - name) > sizeof text - 8) return false;
    snprintf(text, sizeof text, "%.*s.axp", (int)(end - name), name);
    end += 4;
    return read_name(text, &p) &&
           (!*end || !strcmp(end, ".spool") ||
            (strlen(end) == 7 && end[0] == '.' && !strchr(end + 1, '.')));
}

/* The folder first: a process that begins to record after that finds none, and
 * gives its spool up itself. */
void cli_parts_remove(const char *folder, cli_parts_spools spools)
{
    struct removal removal = {folder, spools};
    DIR *dir = opendir(folder);
    if (!dir) return;
    for (struct dirent *e; (e = readdir(dir));)
        if (is_ours(e->d_name)) unlinkat(dirfd(dir), e->d_name, 0);
    closedir(dir);
    rmdir(folder);
    if (spools != CLI_SPOOLS_STAY) axp_spools_list(remove_spool, &removal);
}

void cli_parts_remove_empty(const char *folder)
{
    cli_parts parts;
    cli_parts_list(folder, &parts);
    if (!parts.n) cli_parts_remove(folder, CLI_SPOOLS_STAY);
    cli_parts_fini(&parts);
}
