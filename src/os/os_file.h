/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Calls on descriptors in a table of our own (os_apart.h).
 *
 * They are the system's. The race detector alone is not told of the
 * descriptors: it believes that all threads have one table, so that number 0
 * of the drain and number 0 of a child that opens a spool would race, and
 * whoever reads from one would come after whoever wrote to the other, which
 * would hide races. It is told of the memory that they read and write.
 *
 * Place  what opens, reads, writes or maps a file in a profiled process.
 */
#ifndef AXP_OS_FILE_H
#define AXP_OS_FILE_H
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base_atomic.h"

#ifdef AXP__TSAN
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
void AnnotateIgnoreSyncBegin(const char *file, int line);
void AnnotateIgnoreSyncEnd(const char *file, int line);
void __tsan_read_range(void *memory, long bytes);
void __tsan_write_range(void *memory, long bytes);

static inline void axp__fd_begin(void)
{
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
}

static inline void axp__fd_end(void)
{
    AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}

static inline void axp__fd_takes(const void *from, size_t n)
{
    __tsan_read_range((void *)(uintptr_t)from, (long)n);
}

static inline void axp__fd_gives(void *to, ssize_t n)
{
    if (n > 0) __tsan_write_range(to, n);
}
#else
static inline void axp__fd_begin(void) {}

static inline void axp__fd_end(void) {}

static inline void axp__fd_takes(const void *from, size_t n)
{
    (void)from, (void)n;
}

static inline void axp__fd_gives(void *to, ssize_t n)
{
    (void)to, (void)n;
}
#endif

/* openat, which the detector does not know. The mode is for O_CREAT. */
static inline int axp__fd_open(const char *path, int flags, mode_t mode)
{
    return openat(AT_FDCWD, path, flags, mode);
}

static inline void axp__fd_close(int fd)
{
#ifdef AXP__TSAN
    syscall(SYS_close, fd);
#else
    close(fd);
#endif
}

static inline ssize_t axp__fd_read(int fd, void *to, size_t n)
{
    axp__fd_begin();
    ssize_t k = read(fd, to, n);
    axp__fd_end();
    axp__fd_gives(to, k);
    return k;
}

static inline ssize_t axp__fd_read_at(int fd, void *to, size_t n, off_t at)
{
    axp__fd_begin();
    ssize_t k = pread(fd, to, n, at);
    axp__fd_end();
    axp__fd_gives(to, k);
    return k;
}

static inline ssize_t axp__fd_write_at(int fd, const void *from, size_t n,
                                       off_t at)
{
    axp__fd_takes(from, n);
    axp__fd_begin();
    ssize_t k = pwrite(fd, from, n, at);
    axp__fd_end();
    return k;
}

static inline bool axp__fd_stat(int fd, struct stat *to)
{
    axp__fd_begin();
    bool is_known = !fstat(fd, to);
    axp__fd_end();
    return is_known;
}

/* Of the file, shared. NULL: errno says why. */
static inline void *axp__fd_map(int fd, int protection, off_t at, size_t bytes)
{
    axp__fd_begin();
    void *m = mmap(NULL, bytes, protection, MAP_SHARED, fd, at);
    axp__fd_end();
    return m == MAP_FAILED ? NULL : m;
}

#endif
