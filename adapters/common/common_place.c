/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The text that stands for a place in the program; see common_place.h. */
#include "adapters/common/common_place.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "adapters/common/common_text.h"

#define PATH_BYTES 512 /* of a library; with more its links are not followed */
#define MOST_LINKS 40

static char program[PATH_MAX], folder[PATH_MAX];

/* Before main, when no signal handler of the program's exists yet. */
__attribute__((constructor)) static void remember_paths(void)
{
    int error = errno;
    ssize_t len = readlink("/proc/self/exe", program, sizeof program - 1);
    if (len < 0) program[0] = 0;
    if (!getcwd(folder, sizeof folder)) folder[0] = 0;
    errno = error;
}

/* snprintf takes locks and may allocate: this runs in signal handlers too. */
static char *put_hex(char *to, const char *end, uintptr_t value)
{
    char digits[2 * sizeof value + 1];
    size_t i = sizeof digits - 1;
    digits[i] = 0;
    do
        digits[--i] = "0123456789abcdef"[value & 15];
    while (value >>= 4);
    return common_put(to, end, digits + i);
}

/* ---- the path that the kernel has of it ----------------------------------- */

/* Puts what the link at `from`..`to` of a path says in place of it, or of all up
 * to there. Returns where the first part to be looked at begins; NULL: it does
 * not fit. */
static char *put_link(char *path, char *from, const char *to, const char *link,
                      size_t n)
{
    char *at = link[0] == '/' ? path : from;
    size_t rest = strlen(to) + 1;
    if (n + rest > (size_t)(path + PATH_BYTES - at)) return NULL;
    memmove(at + n, to, rest);
    memcpy(at, link, n);
    return at;
}

/* Takes "." or ".." out, and for the latter the part before, which is no link. */
static char *put_dots(const char *path, char *from, const char *to, size_t n)
{
    if (n == 2 && from > path + 1)
        for (from--; from[-1] != '/';)
            from--;
    to += *to == '/';
    memmove(from, to, strlen(to) + 1);
    return from;
}

/* Follows the links in a path, as realpath, which may allocate. False: it cannot
 * be done, and the path is some other. */
static bool follow(char path[PATH_BYTES])
{
    char link[PATH_BYTES / 2], *from = path;
    for (unsigned n_links = 0; n_links < MOST_LINKS;) {
        from += *from == '/';
        size_t len = strcspn(from, "/");
        char *to = from + len, end = *to;
        if (!len && !end) return true;
        if (!len || (len <= 2 && !strncmp(from, "..", len))) {
            from = put_dots(path, from, to, len);
            continue;
        }
        *to = 0;
        ssize_t n = readlink(path, link, sizeof link);
        *to = end;
        if (n == (ssize_t)sizeof link) return false;
        if (n > 0) {
            n_links++;
            from = put_link(path, from, to, link, (size_t)n);
            if (!from) return false;
        } else if (errno == EINVAL) {
            from = to;
        } else {
            return false;
        }
    }
    return false;
}

/* The list of what is mapped, which a recording has, has no links in its paths. */
static const char *kernel_path(const char *of, char path[PATH_BYTES])
{
    int error = errno;
    char *to = path;
    if (!*of) return of;
    if (*of != '/') {
        to = common_put(to, path + PATH_BYTES - 1, folder);
        to = common_put(to, path + PATH_BYTES - 1, "/");
    }
    bool is_whole = strlen(of) < (size_t)(path + PATH_BYTES - 1 - to);
    common_put(to, path + PATH_BYTES - 1, of);
    bool is_found = is_whole && follow(path);
    errno = error;
    return is_found ? path : of;
}

/* ---- the text -------------------------------------------------------------- */

void common_place(const void *address, bool is_inside, char *text)
{
    struct dl_find_object object;
    const char *end = text + COMMON_PLACE_MAX - 3, *path = "";
    char followed[PATH_BYTES];
    uintptr_t at = (uintptr_t)address;
    char *to = text;
    /* No lock, unlike dladdr: the program may be inside dlopen. */
    if (!_dl_find_object((void *)(uintptr_t)address, &object)) {
        const struct link_map *map = object.dlfo_link_map;
        path = map->l_name && *map->l_name ? kernel_path(map->l_name, followed)
                                           : program;
        at -= map->l_addr;
    }
    const char *base = strrchr(path, '/');
    to = common_put(to, text + COMMON_PLACE_MAX / 2, base ? base + 1 : path);
    to = put_hex(common_put(to, end, "+0x"), end, at) + 1;
    if (*path && *path != '/') {
        to = common_put(to, end, folder);
        to = common_put(to, end, "/");
    }
    to = common_put(to, end, path) + 1;
    common_put(to, text + COMMON_PLACE_MAX - 1, is_inside ? "1" : "0");
}
