/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Control groups of both versions; see os_cgroup.h.
 *
 *   /proc/self/cgroup     0::/a/b            the process's group, version 2
 *                         4:memory:/a/b      version 1
 *   /proc/self/mountinfo  … /a /mnt … - cgroup2 …
 *                                            which group is mounted where
 *
 * A limit holds for all groups below it, so those from the process's own up to
 * the one that is mounted are told, and the least counts. Lines are short but
 * for mountinfo's, of which those that are longer than the buffer are of no
 * file system here.
 *
 * Threads  nothing is shared but what the constructor read, before there are
 *          any.
 * Failure  what cannot be read has no limit.
 */
#include "os/os_cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "os/os_file.h"

#define PATH_BYTES AXP__CGROUP_PATH

struct reader {
    int fd;
    size_t at, n;
    char bytes[1024];
};

struct search {
    const char *root, *controller;
    axp__cgroup_fn fn;
    void *ctx;
    char group[2][PATH_BYTES]; /* of the process, in version 1 and 2 */
    bool has_group[2];
};

static bool read_byte(struct reader *r, char *out)
{
    if (r->at == r->n) {
        ssize_t n = axp__fd_read(r->fd, r->bytes, sizeof r->bytes);
        if (n <= 0) return false;
        r->at = 0;
        r->n = (size_t)n;
    }
    *out = r->bytes[r->at++];
    return true;
}

/* The next line, cut where it is longer; false: there is none. */
static bool read_line(struct reader *r, char *line, size_t size)
{
    size_t len = 0;
    char c = 0;
    bool is_any = false;
    while (read_byte(r, &c)) {
        is_any = true;
        if (c == '\n') break;
        if (len + 1 < size) line[len++] = c;
    }
    line[len] = 0;
    return is_any;
}

/* Joins up to four texts; false: too long. */
static bool join(char *to, const char *a, const char *b, const char *c,
                 const char *d)
{
    const char *parts[] = {a, b, c, d};
    size_t len = 0;
    for (int i = 0; i < 4; i++) {
        size_t n = strlen(parts[i]);
        if (len + n >= PATH_BYTES) return false;
        memcpy(to + len, parts[i], n);
        len += n;
    }
    to[len] = 0;
    return true;
}

static int open_below(const char *root, const char *path)
{
    char whole[PATH_BYTES];
    if (!join(whole, root, path, "", "")) return -1;
    return axp__fd_open(whole, O_RDONLY | O_CLOEXEC, 0);
}

bool axp__cgroup_read(const struct axp__cgroup *g, const char *file, char *text,
                      size_t size)
{
    char path[PATH_BYTES];
    text[0] = 0;
    if (!join(path, g->root, g->folder, "/", file)) return false;
    int fd = axp__fd_open(path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) return false;
    ssize_t n = axp__fd_read(fd, text, size - 1);
    text[n > 0 ? n : 0] = 0;
    axp__fd_close(fd);
    return n > 0;
}

/* Whether a list separated by commas holds a word. */
static bool holds_word(const char *list, const char *word)
{
    size_t len = strlen(word);
    for (; *list; list++) {
        size_t n = strcspn(list, ",");
        if (n == len && !memcmp(list, word, len)) return true;
        list += n;
        if (!*list) break;
    }
    return false;
}

/* "number:controllers:path" */
static void note_group(struct search *s, char *line)
{
    char *controllers = strchr(line, ':');
    char *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path) return;
    *controllers++ = 0;
    *path++ = 0;
    bool is_second = !*controllers && !strcmp(line, "0");
    if (!is_second && !holds_word(controllers, s->controller)) return;
    s->has_group[is_second] = join(s->group[is_second], path, "", "", "");
}

/* A group and those above it, up to where it is mounted. */
static void walk_up(const struct search *s, const char *mounted,
                    const char *group, bool is_second)
{
    char below[PATH_BYTES], folder[PATH_BYTES];
    struct axp__cgroup g = {s->root, folder, is_second, true};
    if (!join(below, group, "", "", "")) return;
    for (;; g.is_own = false) {
        if (join(folder, mounted, below, "", "")) s->fn(s->ctx, &g);
        char *last = strrchr(below, '/');
        if (!last) return;
        *last = 0;
    }
}

/* Of the group what is below the one that is mounted; what is elsewhere
 * cannot be seen, and the mounted one stands for it. */
static const char *below_mount(const char *group, const char *top)
{
    size_t len = strcmp(top, "/") ? strlen(top) : 0;
    if (strncmp(group, top, len) != 0 || (group[len] && group[len] != '/'))
        return "";
    return group + len;
}

/* "id parent device root mount options … - type source options" */
static void note_mount(struct search *s, char *line)
{
    char *field[5], *type = strstr(line, " - ");
    if (!type) return;
    *type = 0;
    type += 3;
    char *source = strchr(type, ' ');
    char *options = source ? strchr(source + 1, ' ') : NULL;
    if (!options) return;
    *source = 0;
    bool is_second = !strcmp(type, "cgroup2");
    if (!is_second && (strcmp(type, "cgroup") != 0 ||
                       !holds_word(options + 1, s->controller)))
        return;
    for (int i = 0; i < 5; i++) {
        field[i] = line;
        line += strcspn(line, " ");
        if (*line) *line++ = 0;
    }
    if (!s->has_group[is_second]) return;
    const char *group = below_mount(s->group[is_second], field[3]);
    if (strstr(group, "..")) group = "";
    walk_up(s, field[4], group, is_second);
}

static void each_line(struct search *s, const char *path,
                      void (*fn)(struct search *, char *))
{
    char line[PATH_BYTES];
    struct reader r = {.fd = open_below(s->root, path)};
    if (r.fd < 0) return;
    while (read_line(&r, line, sizeof line))
        fn(s, line);
    axp__fd_close(r.fd);
}

void axp__cgroup_walk(const char *root, const char *controller,
                      axp__cgroup_fn fn, void *ctx)
{
    struct search s = {root, controller, fn, ctx, {{0}}, {0}};
    int keep = errno;
    each_line(&s, "/proc/self/cgroup", note_group);
    each_line(&s, "/proc/self/mountinfo", note_mount);
    errno = keep;
}

/* ---- memory -------------------------------------------------------------- */

struct memory {
    uint64_t least;
    char *folder; /* of the group of version 2; NULL: not asked */
};

/* "max", or no number: none. */
static uint64_t parse_number(const char *text)
{
    uint64_t v = 0;
    if (*text < '0' || *text > '9') return UINT64_MAX;
    for (; *text >= '0' && *text <= '9'; text++) {
        if (v > UINT64_MAX / 10 - 1) return UINT64_MAX;
        v = v * 10 + (uint64_t)(*text - '0');
    }
    return v;
}

static void note_memory(void *ctx, const struct axp__cgroup *g)
{
    struct memory *m = ctx;
    char text[32];
    if (m->folder && g->is_second && g->is_own) strcpy(m->folder, g->folder);
    if (!axp__cgroup_read(g,
                          g->is_second ? "memory.max" : "memory.limit_in_bytes",
                          text, sizeof text))
        return;
    uint64_t limit = parse_number(text);
    if (limit < m->least) m->least = limit;
}

uint64_t axp__cgroup_read_memory(const char *root, char *folder)
{
    struct memory m = {UINT64_MAX, folder};
    axp__cgroup_walk(root, "memory", note_memory, &m);
    /* Version 1 says no limit as the largest number of pages. */
    return m.least > (uint64_t)1 << 60 ? UINT64_MAX : m.least;
}

static uint64_t memory = UINT64_MAX;
static char own_folder[PATH_BYTES];

static __attribute__((constructor)) void read_early(void)
{
    memory = axp__cgroup_read_memory("", own_folder);
}

const char *axp__cgroup_folder(void)
{
    return own_folder;
}

uint64_t axp__cgroup_memory(void)
{
    return memory;
}
