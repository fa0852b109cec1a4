/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Where debug information is; see symbol_debug.h. */
#include "symbol/symbol_debug.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static bool has_sum(int fd, uint32_t expected)
{
    uint8_t bytes[8192];
    uLong sum = crc32(0, NULL, 0);
    ssize_t n;
    while ((n = read(fd, bytes, sizeof bytes)) > 0)
        sum = crc32(sum, bytes, (uInt)n);
    return n == 0 && sum == expected && !lseek(fd, 0, SEEK_SET);
}

static int open_linked(const char *path, uint32_t checksum)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return -1;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && has_sum(fd, checksum))
        return fd;
    close(fd);
    return -1;
}

/* A name with a folder in it is none: it would lead anywhere. */
static int find_linked(const char *path, const char *link, uint32_t checksum,
                       char **found)
{
    static const struct {
        const char *before, *after; /* the module's folder */
    } places[] = {{"", "/"}, {"", "/.debug/"}, {"/usr/lib/debug", "/"}};
    const char *end = strrchr(path, '/');
    char at[PATH_MAX];
    if (path[0] != '/' || strchr(link, '/')) return -1;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int n = snprintf(at, sizeof at, "%s%.*s%s%s", places[i].before,
                         (int)(end - path), path, places[i].after, link);
        if (n < 0 || (size_t)n >= sizeof at) continue;
        int fd = open_linked(at, checksum);
        if (fd < 0) continue;
        *found = strdup(at);
        return fd;
    }
    return -1;
}

int axp__debug_find(Dwfl_Module *module, void **user, const char *name,
                    Dwarf_Addr base, const char *path, const char *link,
                    GElf_Word checksum, char **found)
{
    const struct axp__libdw *dw = axp__libdw_load();
    int fd = dw->dwfl_build_id_find_debuginfo(module, user, name, base, path,
                                              link, checksum, found);
    if (fd >= 0 || !path || !link || !checksum) return fd;
    return find_linked(path, link, checksum, found);
}
