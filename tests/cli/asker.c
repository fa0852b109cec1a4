/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Preloaded by a program's user: wraps what asks the kernel, and looks up in
 * each call a name that nobody has, as libraries do for what they could use:
 * dlsym allocates what it says of that, and frees what it said before. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/types.h>

#define LONGS long a, long b, long c, long d, long e, long f
#define EACH a, b, c, d, e, f

/* All that they have is in registers, which are passed on as they are. */
#define WRAP(name)                                                             \
    __attribute__((visibility("default"))) long name(LONGS);                   \
    long name(LONGS)                                                           \
    {                                                                          \
        static long (*real)(LONGS);                                            \
        if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name);                  \
        (void)dlsym(RTLD_NEXT, "nobody_has_this");                             \
        return real(EACH);                                                     \
    }

WRAP(mmap)
WRAP(munmap)
WRAP(mremap)
WRAP(madvise)
WRAP(openat)
WRAP(close)
WRAP(read)
WRAP(pread)
WRAP(pwrite)
WRAP(ftruncate)
WRAP(flock)
WRAP(fstat)
WRAP(readlink)
WRAP(getpid)
WRAP(prctl)
WRAP(sched_yield)
WRAP(sched_getaffinity)
WRAP(clock_gettime)
WRAP(sysconf)
WRAP(uname)
WRAP(pthread_mutex_lock)
WRAP(pthread_mutex_trylock)
WRAP(pthread_mutex_unlock)
WRAP(pthread_setspecific)
WRAP(pthread_setcancelstate)

__attribute__((visibility("default"))) long syscall(long n, LONGS);
long syscall(long n, LONGS)
{
    static long (*real)(long, LONGS);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "syscall");
    (void)dlsym(RTLD_NEXT, "nobody_has_this");
    return real(n, EACH);
}
