/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Finding the C library's functions. */
#include "pthread_real.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

struct pthread_real pthread_real_functions;
int pthread_real_is_loaded;

/* Condition variables changed once: on x86-64 a plain dlsym gives the functions
 * for the old ones, which hang with the new. Only these are asked for by version:
 * a name that is not found makes the C library allocate, and the program's malloc
 * may lock. */
static void *find(const char *name)
{
    void *found = NULL;
    if (!strncmp(name, "pthread_cond_", 13) &&
        strcmp(name, "pthread_cond_clockwait") != 0) /* a younger one */
        found = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
    return found ? found : dlsym(RTLD_NEXT, name);
}

/* What comes while it looks finds what was found so far: plain locks first.
 * volatile: the compiler believes that dlsym never comes back here. */
static __thread volatile int is_loading
    __attribute__((tls_model("initial-exec")));

const struct pthread_real *pthread_real_load(void)
{
    int error = errno;
    struct pthread_real *r = &pthread_real_functions;
    void *found;
    if (is_loading) return r;
    is_loading = 1;
#define REAL(name, parameters)                                                 \
    found = find(#name);                                                       \
    memcpy(&r->name, &found, sizeof found);
    PTHREAD_REAL_FUNCTIONS
    REAL(mtx_destroy, )
    REAL(cnd_destroy, )
#undef REAL
    is_loading = 0;
    __atomic_store_n(&pthread_real_is_loaded, 1, __ATOMIC_RELEASE);
    errno = error;
    return r;
}

__attribute__((constructor)) static void load_early(void)
{
    pthread_real();
}
