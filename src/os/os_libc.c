/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What libaxprof_rt needs of the C library in the middle of a malloc or a free,
 * and at the end of a thread, taken from the C library itself, whatever the
 * program wraps: beside os_direct.c, which says why, for what takes more than the
 * kernel.
 *
 * How      each is looked up in the C library by its own handle when this one is
 *          loaded, or when it is needed sooner. Where there is no such library,
 *          or not the name in it (glibc before 2.34), it is whatever comes next.
 *
 * Not here locks (os_mutex.h); what copies, compares and formats, which nobody
 *          wraps to do more; what is called when profilers are made and closed.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/base_atomic.h"

/* NOLINTBEGIN(readability-*): declared elsewhere, with names of its own */
static void *look_up(const char *name)
{
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    void *found = libc ? dlsym(libc, name) : NULL;
    return found ? found : dlsym(RTLD_NEXT, name);
}

#define FUNCTIONS                                                              \
    X(int, clock_gettime, (clockid_t clock, struct timespec * to),             \
      (clock, to))                                                             \
    X(int, pthread_setcancelstate, (int state, int *old), (state, old))        \
    X(int, pthread_setspecific, (pthread_key_t key, const void *value),        \
      (key, value))                                                            \
    X(long, sysconf, (int name), (name))

#define X(type, name, parameters, arguments)                                   \
    static type(*own_##name) parameters;                                       \
    static void find_##name(void)                                              \
    {                                                                          \
        void *found = look_up(#name);                                          \
        __typeof__(own_##name) own;                                            \
        memcpy(&own, &found, sizeof own);                                      \
        axp__put_release(&own_##name, own);                                    \
    }                                                                          \
    type name parameters                                                       \
    {                                                                          \
        if (axp__unlikely(!axp__get_pointer(&own_##name))) find_##name();      \
        return axp__get_pointer(&own_##name) arguments;                        \
    }
FUNCTIONS
#undef X

static __attribute__((constructor(101))) void find_all(void)
{
#define X(type, name, parameters, arguments)                                   \
    if (!axp__get(&own_##name)) find_##name();
    FUNCTIONS
#undef X
}
/* NOLINTEND(readability-*) */
