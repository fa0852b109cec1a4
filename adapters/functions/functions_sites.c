/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The table of functions, and the text that stands for one. */
#include "functions_sites.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define N_SLOTS ((size_t)1 << FUNCTIONS_SLOT_BITS)
#define MAX_PROBES 64

struct functions_site *functions_table;
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

static struct functions_site *map_slots(void)
{
    size_t size = N_SLOTS * sizeof(struct functions_site);
    struct functions_site *fresh =
        mmap(NULL, size, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct functions_site *none = NULL;
    if (fresh == MAP_FAILED) return NULL;
    if (__atomic_compare_exchange_n(&functions_table, &none, fresh, 0,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return fresh;
    munmap(fresh, size);
    return none; /* another thread was first */
}

struct functions_site *functions_site_find(const void *function)
{
    struct functions_site *table =
        __atomic_load_n(&functions_table, __ATOMIC_ACQUIRE);
    if (!table && !(table = map_slots())) return NULL;
    size_t i = ((uintptr_t)function * 0x9e3779b97f4a7c15u) >>
               (64 - FUNCTIONS_SLOT_BITS);
    for (unsigned probe = 0; probe < MAX_PROBES; probe++) {
        struct functions_site *s = &table[(i + probe) % N_SLOTS];
        const void *is = __atomic_load_n(&s->function, __ATOMIC_RELAXED);
        if (is == function) return s;
        if (is) continue;
        if (__atomic_compare_exchange_n(&s->function, &is, function, 0,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
            is == function)
            return s;
    }
    return NULL;
}

/* ---- the text ----------------------------------------------------------- */

static char *put(char *to, const char *end, const char *text)
{
    while (*text && to < end)
        *to++ = *text++;
    *to = 0;
    return to;
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
    return put(to, end, digits + i);
}

void functions_text(const void *function, char *text)
{
    struct dl_find_object object;
    const char *end = text + FUNCTIONS_TEXT_MAX - 3, *path = "";
    uintptr_t address = (uintptr_t)function;
    char *to = text;
    /* No lock, unlike dladdr: the program may be inside dlopen. */
    if (!_dl_find_object((void *)function, &object)) {
        const struct link_map *map = object.dlfo_link_map;
        path = map->l_name && *map->l_name ? map->l_name : program;
        address -= map->l_addr;
    }
    const char *base = strrchr(path, '/');
    to = put(to, text + FUNCTIONS_TEXT_MAX / 2, base ? base + 1 : path);
    to = put_hex(put(to, end, "+0x"), end, address) + 1;
    if (*path && *path != '/') {
        to = put(to, end, folder);
        to = put(to, end, "/");
    }
    to = put(to, end, path) + 1;
    put(to, text + FUNCTIONS_TEXT_MAX - 1, "0");
}
