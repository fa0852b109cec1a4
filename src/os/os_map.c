/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* mmap and membarrier; see os_map.h. */
#include "os/os_map.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

#include "base/base_atomic.h"

#include "axprof/axprof_adapter.h"

#define LARGE_PAGE ((size_t)2 << 20)

void *axp__map(size_t bytes)
{
    int keep = errno;
    void *m =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, AXP_OWN_MAPPING);
    errno = keep;
    return m == MAP_FAILED ? NULL : m;
}

uint64_t axp__limit_of_memory(void)
{
    static const __rlimit_resource_t which[] = {RLIMIT_AS, RLIMIT_DATA};
    uint64_t least = UINT64_MAX;
    int keep = errno;
    for (unsigned i = 0; i < 2; i++) {
        struct rlimit r;
        if (!getrlimit(which[i], &r) && r.rlim_cur != RLIM_INFINITY &&
            r.rlim_cur < least)
            least = r.rlim_cur;
    }
    errno = keep;
    return least == UINT64_MAX ? 0 : least;
}

void *axp__map_scattered(size_t bytes)
{
    int keep = errno;
    void *m = axp__map(bytes);
    if (m && bytes >= LARGE_PAGE) (void)madvise(m, bytes, MADV_HUGEPAGE);
    errno = keep;
    return m;
}

void *axp__map_sparse(size_t bytes)
{
    int keep = errno;
    void *m = axp__map(bytes);
    if (m) (void)madvise(m, bytes, MADV_NOHUGEPAGE);
    errno = keep;
    return m;
}

void *axp__map_large(size_t bytes)
{
    int keep = errno;
    char *m = axp__map(bytes + LARGE_PAGE);
    if (m) {
        size_t before = -(uintptr_t)m & (LARGE_PAGE - 1);
        size_t used = (bytes + 4095) & ~(size_t)4095;
        char *from = m + before;
        if (before) munmap(m, before);
        if (LARGE_PAGE + bytes - before > used)
            munmap(from + used, LARGE_PAGE + bytes - before - used);
        (void)madvise(from, bytes, MADV_HUGEPAGE);
        m = from;
    }
    errno = keep;
    return m;
}

void *axp__map_wiped_on_fork(size_t bytes)
{
    int keep = errno;
    void *m = axp__map(bytes);
    if (m && madvise(m, bytes, MADV_WIPEONFORK)) {
        /* Before Linux 4.14: pthread_atfork's handler does it alone. */
    }
    errno = keep;
    return m;
}

void axp__unmap(void *memory, size_t bytes)
{
    int keep = errno;
    if (memory) munmap(memory, bytes);
    errno = keep;
}

/* Without a signal, by a call that reads a set of signals before it looks at what
 * is to be done with them, which is nothing. */
static bool is_readable(const char *at)
{
    uintptr_t word = (uintptr_t)at & ~(uintptr_t)7; /* of one page */
    return syscall(SYS_rt_sigprocmask, -1, word, NULL, 8) < 0 &&
           errno != EFAULT;
}

/* A page, or what is wanted of it; 0: it cannot be read. */
static size_t copy_page(char *to, const char *from, size_t bytes)
{
    size_t n = 4096 - (uintptr_t)from % 4096;
    if (n > bytes) n = bytes;
    if (!is_readable(from)) return 0;
    memcpy(to, from, n);
    return n;
}

/* The kernel does the reading: where a load would be SIGBUS it stops. Where it may
 * not (containers refuse that call) each page is asked for, which leaves a moment
 * in which one may go. */
bool axp__copy_mapped(void *to, const void *from, size_t bytes)
{
    int keep = errno;
    bool is_whole = true;
    for (size_t at = 0; at < bytes;) {
        const char *source = (const char *)from + at;
        struct iovec here = {(char *)to + at, bytes - at};
        struct iovec there = {(void *)(uintptr_t)source, bytes - at};
        ssize_t n = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
        if (n < 0 && errno != EFAULT)
            n = (ssize_t)copy_page((char *)to + at, source, bytes - at);
        if (n > 0) {
            at += (size_t)n;
            continue;
        }
        size_t rest = 4096 - (uintptr_t)source % 4096;
        if (rest > bytes - at) rest = bytes - at;
        memset((char *)to + at, 0, rest);
        at += rest;
        is_whole = false;
    }
    errno = keep;
    return is_whole;
}

bool axp__barrier_is_there(void)
{
    static uint8_t state; /* 0 unknown, 1 registered, 2 cannot */
    int keep = errno;
    if (axp__get(&state) == 0) {
        long r = syscall(SYS_membarrier,
                         MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
        axp__put(&state, r == 0 ? 1 : 2);
    }
    errno = keep;
    return axp__get(&state) == 1;
}

static __attribute__((constructor)) void register_early(void)
{
    (void)axp__barrier_is_there();
}

/* A process that never had a second thread needs no barrier: its filter of
 * system calls may kill it for one. */
static bool is_alone(void)
{
#if __has_include(<sys/single_threaded.h>)
    return __libc_single_threaded;
#else
    return false;
#endif
}

bool axp__barrier_all_threads(void)
{
    int keep = errno;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (is_alone()) return true;
    bool ok =
        axp__barrier_is_there() &&
        syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
    errno = keep;
    return ok;
}
