/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* mmap and membarrier; see os_map.h. */
#include "os/os_map.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base_atomic.h"

#define LARGE_PAGE ((size_t)2 << 20)

void *axp__map(size_t bytes)
{
    int keep = errno;
    void *m = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    errno = keep;
    return m == MAP_FAILED ? NULL : m;
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

bool axp__barrier_all_threads(void)
{
    int keep = errno;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    bool ok =
        axp__barrier_is_there() &&
        syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
    errno = keep;
    return ok;
}
