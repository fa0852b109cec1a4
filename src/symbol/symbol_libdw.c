/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Loading libdw by dlopen. */
#include "symbol/symbol_libdw.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

static struct axp__libdw functions;
static bool is_loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool find(void *library, const char *name, void *out)
{
    void *found = dlsym(library, name);
    memcpy(out, &found, sizeof found);
    return found != NULL;
}

static void load(void)
{
    void *library = dlopen("libdw.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!library) return;
    is_loaded = true;
#define DW(name) is_loaded &= find(library, #name, &functions.name);
#include "symbol/symbol_libdw.def"
#undef DW
}

const struct axp__libdw *axp__libdw_load(void)
{
    pthread_once(&once, load);
    return is_loaded ? &functions : NULL;
}
