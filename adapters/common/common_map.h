/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Pages of adapters, from the kernel past all wrappers of mmap: no memory of the
 * program's, whoever looks on.
 */
#ifndef COMMON_MAP_H
#define COMMON_MAP_H
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Zeroed, and there as they are touched; NULL: no memory. */
static inline void *common_map(size_t bytes)
{
    long at = syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == -1 ? NULL : (void *)at;
}

/* The same, wider and perhaps elsewhere; NULL: they are as they were. */
static inline void *common_map_widen(void *old, size_t old_bytes, size_t bytes)
{
    long at = syscall(SYS_mremap, old, old_bytes, bytes, MREMAP_MAYMOVE);
    return at == -1 ? NULL : (void *)at;
}

static inline void common_unmap(void *p, size_t bytes)
{
    (void)syscall(SYS_munmap, p, bytes);
}

#endif
