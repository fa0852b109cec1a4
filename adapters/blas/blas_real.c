/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Finding routines; see blas_real.h. */
#include "blas_real.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>

#define MOST_CALLERS 32u
#define MOST_OBJECTS 1024u

static const char *const symbols[] = {
#define SUB(symbol, ...) #symbol,
#define FUN(symbol, ...) #symbol,
#include "blas_calls.def"
};

static struct blas_caller callers[MOST_CALLERS], nobody;
static uint32_t n_callers;
static int is_locked;
struct blas_caller *blas_last_caller = &nobody;

/* ---- objects ------------------------------------------------------------- */

static const struct link_map *map_of(const void *address)
{
    struct dl_find_object object;
    if (_dl_find_object((void *)(uintptr_t)address, &object)) return NULL;
    return object.dlfo_link_map;
}

static bool is_own(const void *function)
{
    return map_of(function) == map_of(callers);
}

/* What a handle leads to; NULL: nothing but ours. */
static void *search(void *handle, const char *symbol)
{
    void *found = handle ? dlsym(handle, symbol) : NULL;
    return found && !is_own(found) ? found : NULL;
}

static void *search_by_name(const char *name, const char *symbol)
{
    void *handle = dlopen(*name ? name : NULL, RTLD_LAZY | RTLD_NOLOAD);
    void *found = search(handle, symbol);
    if (handle) dlclose(handle);
    return found;
}

struct names {
    const char *at[MOST_OBJECTS];
    size_t n;
};

static int collect(struct dl_phdr_info *info, size_t size, void *p)
{
    struct names *names = p;
    (void)size;
    if (*info->dlpi_name && names->n < MOST_OBJECTS)
        names->at[names->n++] = info->dlpi_name;
    return 0;
}

/* All that is loaded, once the loader's list is let go of: opening inside of
 * dl_iterate_phdr waits for a thread that loads, which waits for us. */
static void *search_all(const char *symbol)
{
    struct names names = {.n = 0};
    void *found = NULL;
    dl_iterate_phdr(collect, &names);
    for (size_t i = 0; i < names.n && !found; i++)
        found = search_by_name(names.at[i], symbol);
    return found;
}

static void *look_for(const char *symbol, const struct link_map *from)
{
    void *found = from ? search_by_name(from->l_name, symbol) : NULL;
    if (!found) found = search(RTLD_NEXT, symbol);
    if (!found) found = search_all(symbol);
    const struct link_map *map = found ? map_of(found) : NULL;
    if (map && *map->l_name)
        (void)dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    return found;
}

/* ---- callers --------------------------------------------------------------- */

/* The one whose code lies there, made when new; NULL: no room, or another thread
 * makes one, and nothing is kept. */
static struct blas_caller *caller_at(const void *from)
{
    struct dl_find_object object;
    uint32_t n = __atomic_load_n(&n_callers, __ATOMIC_ACQUIRE);
    uintptr_t at = (uintptr_t)from;
    for (uint32_t i = 0; i < n; i++)
        if (at - callers[i].first < callers[i].end - callers[i].first)
            return &callers[i];
    if (__atomic_exchange_n(&is_locked, 1, __ATOMIC_ACQUIRE)) return NULL;
    struct blas_caller *c = NULL;
    n = __atomic_load_n(&n_callers, __ATOMIC_RELAXED);
    if (n < MOST_CALLERS && !_dl_find_object((void *)at, &object)) {
        c = &callers[n];
        c->first = (uintptr_t)object.dlfo_map_start;
        c->end = (uintptr_t)object.dlfo_map_end;
        __atomic_store_n(&n_callers, n + 1, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&is_locked, 0, __ATOMIC_RELEASE);
    return c;
}

void *blas_real_find(enum blas_call call, const void *from)
{
    int error = errno;
    struct blas_caller *c = caller_at(from);
    void *real = c ? __atomic_load_n(&c->real[call], __ATOMIC_ACQUIRE) : NULL;
    if (!real) real = look_for(symbols[call], map_of(from));
    if (c) {
        __atomic_store_n(&c->real[call], real, __ATOMIC_RELEASE);
        __atomic_store_n(&blas_last_caller, c, __ATOMIC_RELEASE);
    }
    errno = error;
    return real;
}
