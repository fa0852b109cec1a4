/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Finding the functions behind the wrappers; see timer_real.h. */
#include "timer_real.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

static struct timer_real functions;
static int is_loaded;

const struct timer_real *timer_real(void)
{
    if (__atomic_load_n(&is_loaded, __ATOMIC_ACQUIRE)) return &functions;
    int error = errno;
    void *create = dlsym(RTLD_NEXT, "pthread_create");
    void *action = dlsym(RTLD_NEXT, "sigaction");
    void *of_signal = dlsym(RTLD_NEXT, "signal");
    memcpy(&functions.pthread_create, &create, sizeof create);
    memcpy(&functions.sigaction, &action, sizeof action);
    memcpy(&functions.signal, &of_signal, sizeof of_signal);
    __atomic_store_n(&is_loaded, 1, __ATOMIC_RELEASE);
    errno = error;
    return &functions;
}
