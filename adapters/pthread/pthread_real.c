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
 * for the old ones, which hang with the new. */
static void *find(const char *name)
{
    void *found = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
    return found ? found : dlsym(RTLD_NEXT, name);
}

const struct pthread_real *pthread_real_load(void)
{
    int error = errno;
    struct pthread_real *r = &pthread_real_functions;
    void *found;
#define REAL(name, parameters)                                                 \
    found = find(#name);                                                       \
    memcpy(&r->name, &found, sizeof found);
    PTHREAD_REAL_FUNCTIONS
    REAL(mtx_destroy, )
    REAL(cnd_destroy, )
#undef REAL
    __atomic_store_n(&pthread_real_is_loaded, 1, __ATOMIC_RELEASE);
    errno = error;
    return r;
}

__attribute__((constructor)) static void load_early(void)
{
    pthread_real();
}
