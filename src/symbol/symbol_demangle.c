/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* __cxa_demangle of libstdc++ or libc++abi, by dlopen. */
#include "symbol/symbol_demangle.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef char *(*demangle_fn)(const char *name, char *buf, size_t *len,
                             int *status);

#define MANGLED_MAX 16384 /* demangling deep templates takes stack */

static demangle_fn demangle;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
    static const char *const libraries[] = {"libstdc++.so.6", "libc++abi.so.1"};
    for (size_t i = 0; !demangle && i < 2; i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_LOCAL);
        void *found = library ? dlsym(library, "__cxa_demangle") : NULL;
        memcpy(&demangle, &found, sizeof found);
    }
}

char *axp__symbol_demangle(const char *name)
{
    int status = -1;
    if (name[0] != '_' || name[1] != 'Z') return NULL;
    if (strnlen(name, MANGLED_MAX) == MANGLED_MAX) return NULL;
    pthread_once(&once, load);
    char *text = demangle ? demangle(name, NULL, NULL, &status) : NULL;
    if (status == 0) return text;
    free(text);
    return NULL;
}

size_t axp__symbol_name_length(const char *name)
{
    static const char *const made[] = {".constprop.", ".isra.",     ".part.",
                                       ".cold",       ".lto_priv.", ".llvm."};
    size_t len = strlen(name), at = strcspn(name, "@");
    if (at && at < len) len = at;
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        const char *found = strstr(name, made[i]);
        if (found && found > name && (size_t)(found - name) < len)
            len = (size_t)(found - name);
    }
    return len;
}
