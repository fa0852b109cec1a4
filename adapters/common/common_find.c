/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Looking through what is loaded; see common_find.h. */
#include "adapters/common/common_find.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

#define MOST_OBJECTS 1024u

static const struct link_map *map_of(const void *address)
{
    struct dl_find_object object;
    if (_dl_find_object((void *)(uintptr_t)address, &object)) return NULL;
    return object.dlfo_link_map;
}

bool common_find_range(const void *from, uintptr_t *first, uintptr_t *end)
{
    struct dl_find_object object;
    if (_dl_find_object((void *)(uintptr_t)from, &object)) return false;
    *first = (uintptr_t)object.dlfo_map_start;
    *end = (uintptr_t)object.dlfo_map_end;
    return true;
}

static bool is_own(const void *function)
{
    static const char here;
    return map_of(function) == map_of(&here);
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

void *common_find_beside(const char *symbol, const void *function)
{
    const struct link_map *map = map_of(function);
    return map ? search_by_name(map->l_name, symbol) : NULL;
}

void *common_find(const char *symbol, const void *from)
{
    void *found = common_find_beside(symbol, from);
    if (!found) found = search(RTLD_NEXT, symbol);
    if (!found) found = search_all(symbol);
    const struct link_map *map = found ? map_of(found) : NULL;
    if (map && *map->l_name)
        (void)dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    return found;
}
