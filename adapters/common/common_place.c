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

void common_place(const void *address, bool is_inside, char *text)
{
    struct dl_find_object object;
    const char *end = text + COMMON_PLACE_MAX - 3, *path = "";
    uintptr_t at = (uintptr_t)address;
    char *to = text;
    /* No lock, unlike dladdr: the program may be inside dlopen. */
    if (!_dl_find_object((void *)(uintptr_t)address, &object)) {
        const struct link_map *map = object.dlfo_link_map;
        path = map->l_name && *map->l_name ? map->l_name : program;
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
