/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Finding the functions behind the wrappers; see timer_real.h. */
#include "timer_real.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

static struct timer_real functions;
static int is_loaded;
static __thread volatile int is_loading
    __attribute__((tls_model("initial-exec")));

/* What comes while it looks (a malloc that starts a thread) finds what was found
 * so far; volatile: the compiler believes that dlsym never comes back here. */
const struct timer_real *timer_real(void)
{
    void *found;
    int error = errno;
    if (__atomic_load_n(&is_loaded, __ATOMIC_ACQUIRE) || is_loading)
        return &functions;
    is_loading = 1;
#define REAL(result, name, parameters)                                         \
    found = dlsym(RTLD_NEXT, #name);                                           \
    memcpy(&functions.name, &found, sizeof found);
    TIMER_REAL_FUNCTIONS
#undef REAL
    is_loading = 0;
    __atomic_store_n(&is_loaded, 1, __ATOMIC_RELEASE);
    errno = error;
    return &functions;
}
