/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reading /tmp/perf-PID.map; see sampling_jit.h. */
#include "sampling/sampling_jit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os_clock.h"
#include "tally/tally_capture.h"

#define AGAIN_NS 50000000u
#define MOST_BYTES ((off_t)256 << 20) /* of a file */
#define MOST_NAMES 1000000u
#define PIECE 65536u   /* that is read at once; no line is longer */
#define MOST_NAME 1000 /* bytes; longer names are cut */
#define LOOK_MOST 64u  /* names before an address */

struct entry {
    uint64_t first, bytes;
    uint32_t order; /* of its line */
    char *path;
};

struct axp__jit {
    uint32_t pid;
    uint64_t read_ns; /* when it was last looked at; 0: never */
    ino_t inode;      /* of the file */
    off_t at;         /* what was read of it */
    bool is_in_long;  /* … which is within a line that is too long */
    struct entry *entry;
    size_t n, cap;
    uint32_t n_lines;
};

struct axp__jit *axp__jit_create(uint32_t pid)
{
    struct axp__jit *j = calloc(1, sizeof *j);
    if (j) j->pid = pid;
    return j;
}

void axp__jit_destroy(struct axp__jit *j)
{
    if (!j) return;
    for (size_t i = 0; i < j->n; i++)
        free(j->entry[i].path);
    free(j->entry);
    free(j);
}

/* ---- the file ----------------------------------------------------------- */

/* The number that the process has where it is itself. */
static uint32_t number_inside(uint32_t pid)
{
    char path[48], line[256];
    uint32_t number = pid;
    snprintf(path, sizeof path, "/proc/%lu/status", (unsigned long)pid);
    FILE *status = fopen(path, "re");
    while (status && fgets(line, sizeof line, status)) {
        const char *last = strrchr(line, '\t');
        if (!strncmp(line, "NSpid:", 6) && last)
            number = (uint32_t)strtoul(last + 1, NULL, 10);
    }
    if (status) fclose(status);
    return number;
}

static int open_of(const char *path, uid_t user)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return -1;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == user) return fd;
    close(fd);
    return -1;
}

/* Of a process that has ended the file may still be there. */
static int open_map(uint32_t pid)
{
    char path[80];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%lu", (unsigned long)pid);
    uid_t user = stat(path, &st) ? geteuid() : st.st_uid;
    snprintf(path, sizeof path, "/proc/%lu/root/tmp/perf-%lu.map",
             (unsigned long)pid, (unsigned long)number_inside(pid));
    int fd = open_of(path, user);
    if (fd >= 0) return fd;
    snprintf(path, sizeof path, "/tmp/perf-%lu.map", (unsigned long)pid);
    return open_of(path, user);
}

/* ---- its lines ---------------------------------------------------------- */

static void clean(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f) *text = '?';
}

static void add_line(struct axp__jit *j, char *line)
{
    char *rest, *path = NULL;
    struct entry e = {.order = j->n_lines++};
    e.first = strtoull(line, &rest, 16);
    if (rest == line || *rest != ' ') return;
    char *length = rest;
    e.bytes = strtoull(length, &rest, 16);
    if (rest == length || *rest != ' ' || !rest[1]) return;
    if (!e.bytes || e.first + e.bytes < e.first || j->n == MOST_NAMES) return;
    clean(rest);
    if (asprintf(&path, AXP__JIT_CODE "%.*s", MOST_NAME, rest + 1) < 0) return;
    if (j->n == j->cap) {
        size_t cap = j->cap ? 2 * j->cap : 256;
        struct entry *wider = realloc(j->entry, cap * sizeof *wider);
        if (!wider) {
            free(path);
            return;
        }
        j->entry = wider;
        j->cap = cap;
    }
    e.path = path;
    j->entry[j->n++] = e;
}

static int by_place(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->first != y->first) return x->first > y->first ? 1 : -1;
    return (x->order > y->order) - (x->order < y->order);
}

/* The whole lines of a piece of the file: how many bytes they are. The last one
 * may be half written, and one that is longer than a piece is none. */
static size_t add_lines(struct axp__jit *j, char *piece, size_t n)
{
    size_t done = 0;
    for (char *end; (end = memchr(piece + done, '\n', n - done));) {
        *end = 0;
        if (!j->is_in_long) add_line(j, piece + done);
        j->is_in_long = false;
        done = (size_t)(end - piece) + 1;
    }
    if (done || n < PIECE) return done;
    j->is_in_long = true;
    return n;
}

static void read_lines(struct axp__jit *j, int fd)
{
    char *piece = malloc(PIECE);
    while (piece && j->at < MOST_BYTES) {
        ssize_t n = pread(fd, piece, PIECE, j->at);
        size_t done = n > 0 ? add_lines(j, piece, (size_t)n) : 0;
        if (!done) break;
        j->at += (off_t)done;
    }
    free(piece);
}

static void forget(struct axp__jit *j)
{
    for (size_t i = 0; i < j->n; i++)
        free(j->entry[i].path);
    j->n = 0;
    j->at = 0;
    j->is_in_long = false;
}

/* A file that is another, or shorter than it was, is read from its beginning. */
static void look(struct axp__jit *j)
{
    struct stat st;
    uint64_t now = axp__clock_of(CLOCK_MONOTONIC);
    if (j->read_ns && now - j->read_ns < AGAIN_NS) return;
    j->read_ns = now;
    int fd = open_map(j->pid);
    if (fd < 0) return;
    if (!fstat(fd, &st) && (st.st_ino != j->inode || st.st_size < j->at)) {
        forget(j);
        j->inode = st.st_ino;
    }
    size_t before = j->n;
    read_lines(j, fd);
    if (j->n > before) qsort(j->entry, j->n, sizeof *j->entry, by_place);
    close(fd);
}

/* ---- finding ------------------------------------------------------------ */

static const struct entry *find(const struct axp__jit *j, uint64_t pc)
{
    const struct entry *found = NULL;
    size_t low = 0, high = j->n;
    while (low < high) { /* the first that begins after it */
        size_t mid = (low + high) / 2;
        if (j->entry[mid].first <= pc)
            low = mid + 1;
        else
            high = mid;
    }
    for (size_t n = 0; low-- && n < LOOK_MOST; n++) {
        const struct entry *e = &j->entry[low];
        if (pc - e->first < e->bytes && (!found || e->order > found->order))
            found = e;
    }
    return found;
}

bool axp__jit_find(struct axp__jit *j, uint64_t pc, struct axp__jit_code *out)
{
    look(j); /* what is there may have another name by now */
    const struct entry *e = find(j, pc);
    if (!e) return false;
    *out = (struct axp__jit_code){e->first, e->bytes, e->path};
    return true;
}
