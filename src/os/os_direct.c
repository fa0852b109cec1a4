/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What libaxprof_rt asks the kernel for, asked directly.
 *
 * Why      a library of the program's own may wrap mmap or openat. When we call
 *          that in the middle of a malloc or free which it, or the loader for
 *          it, makes, it comes back to us: without an end, or to free a second
 *          time what is being freed (dlsym's last error).
 * How      the C library's names, defined once more for the shared library
 *          alone: its version script hides them, so that nobody else's calls
 *          change, and ours go nowhere else.
 * errno    is set as the C library's functions do.
 *
 * Not here the static library, which would replace the program's own calls;
 *          builds with a sanitizer, which has to see each mapping; what takes
 *          more than the kernel: os_libc.c, os_mutex.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* NOLINTBEGIN(readability-*): declared elsewhere, with names of its own */
struct words {
    long at[6];
};

static long ask(long number, struct words w)
{
#if defined __aarch64__
    register long x0 __asm__("x0") = w.at[0], x1 __asm__("x1") = w.at[1];
    register long x2 __asm__("x2") = w.at[2], x3 __asm__("x3") = w.at[3];
    register long x4 __asm__("x4") = w.at[4], x5 __asm__("x5") = w.at[5];
    register long x8 __asm__("x8") = number;
    __asm__ volatile("svc #0"
                     : "+r"(x0)
                     : "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5), "r"(x8)
                     : "memory");
    long result = x0;
#elif defined __x86_64__
    register long r10 __asm__("r10") = w.at[3], r8 __asm__("r8") = w.at[4];
    register long r9 __asm__("r9") = w.at[5];
    long result = number;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(w.at[0]), "S"(w.at[1]), "d"(w.at[2]), "r"(r10),
                       "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
#endif
    if (result >= 0 || result < -4095) return result;
    errno = (int)-result;
    return -1;
}

#define ASK(name, ...) ask(SYS_##name, (struct words){{__VA_ARGS__}})
#define AT(pointer) (long)(pointer)

/* ---- memory ------------------------------------------------------------- */

void *mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
    return (void *)ASK(mmap, AT(at), (long)bytes, prot, flags, fd, offset);
}

int munmap(void *at, size_t bytes)
{
    return (int)ASK(munmap, AT(at), (long)bytes);
}

void *mremap(void *at, size_t old, size_t bytes, int flags, ...)
{
    void *to = NULL;
    if (flags & MREMAP_FIXED) {
        va_list more;
        va_start(more, flags);
        to = va_arg(more, void *);
        va_end(more);
    }
    return (void *)ASK(mremap, AT(at), (long)old, (long)bytes, flags, AT(to));
}

int madvise(void *at, size_t bytes, int advice)
{
    return (int)ASK(madvise, AT(at), (long)bytes, advice);
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *to, unsigned long n_to,
                         const struct iovec *from, unsigned long n_from,
                         unsigned long flags)
{
    return ASK(process_vm_readv, pid, AT(to), (long)n_to, AT(from),
               (long)n_from, (long)flags);
}

/* ---- files -------------------------------------------------------------- */

int openat(int folder, const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    bool is_made = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
    mode_t mode = is_made ? va_arg(more, mode_t) : 0;
    va_end(more);
    return (int)ASK(openat, folder, AT(path), flags, mode);
}

int close(int fd)
{
    return (int)ASK(close, fd);
}

ssize_t read(int fd, void *to, size_t bytes)
{
    return ASK(read, fd, AT(to), (long)bytes);
}

ssize_t pread(int fd, void *to, size_t bytes, off_t at)
{
    return ASK(pread64, fd, AT(to), (long)bytes, at);
}

ssize_t pwrite(int fd, const void *from, size_t bytes, off_t at)
{
    return ASK(pwrite64, fd, AT(from), (long)bytes, at);
}

int ftruncate(int fd, off_t bytes)
{
    return (int)ASK(ftruncate, fd, bytes);
}

int flock(int fd, int operation)
{
    return (int)ASK(flock, fd, operation);
}

int fstat(int fd, struct stat *is)
{
    return (int)ASK(fstat, fd, AT(is));
}

int lstat(const char *restrict path, struct stat *restrict is)
{
    return (int)ASK(newfstatat, AT_FDCWD, AT(path), AT(is),
                    AT_SYMLINK_NOFOLLOW);
}

int statfs(const char *path, struct statfs *is)
{
    return (int)ASK(statfs, AT(path), AT(is));
}

ssize_t readlink(const char *restrict path, char *restrict to, size_t bytes)
{
    return ASK(readlinkat, AT_FDCWD, AT(path), AT(to), (long)bytes);
}

int rename(const char *from, const char *to)
{
    return (int)ASK(renameat, AT_FDCWD, AT(from), AT_FDCWD, AT(to));
}

int renameat2(int from_in, const char *from, int to_in, const char *to,
              unsigned flags)
{
    return (int)ASK(renameat2, from_in, AT(from), to_in, AT(to), flags);
}

int unlink(const char *path)
{
    return (int)ASK(unlinkat, AT_FDCWD, AT(path), 0);
}

/* ---- the process -------------------------------------------------------- */

pid_t getpid(void)
{
    return (pid_t)ASK(getpid, 0);
}

pid_t getppid(void)
{
    return (pid_t)ASK(getppid, 0);
}

uid_t geteuid(void)
{
    return (uid_t)ASK(geteuid, 0);
}

int getrlimit(__rlimit_resource_t which, struct rlimit *is)
{
    return (int)ASK(prlimit64, 0, which, AT(0), AT(is));
}

ssize_t getrandom(void *to, size_t bytes, unsigned flags)
{
    return ASK(getrandom, AT(to), (long)bytes, flags);
}

int nanosleep(const struct timespec *time, struct timespec *left)
{
    return (int)ASK(nanosleep, AT(time), AT(left));
}

int sched_yield(void)
{
    return (int)ASK(sched_yield, 0);
}

/* The C library clears what the kernel has no CPUs for, and gives 0. */
int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *is)
{
    long n = ASK(sched_getaffinity, pid, (long)bytes, AT(is));
    if (n < 0) return -1;
    memset((char *)is + n, 0, bytes - (size_t)n);
    return 0;
}

int uname(struct utsname *is)
{
    return (int)ASK(uname, AT(is));
}

int unshare(int flags)
{
    return (int)ASK(unshare, flags);
}

int sysinfo(struct sysinfo *is)
{
    return (int)ASK(sysinfo, AT(is));
}

/* All there can be: who gave fewer is not asked for them. */
static struct words words_of(va_list list)
{
    struct words w;
    for (int i = 0; i < 6; i++)
        w.at[i] = va_arg(list, long);
    return w;
}

int prctl(int option, ...)
{
    va_list more;
    va_start(more, option);
    struct words w = words_of(more);
    va_end(more);
    return (int)ASK(prctl, option, w.at[0], w.at[1], w.at[2], w.at[3]);
}

long syscall(long number, ...)
{
    va_list more;
    va_start(more, number);
    struct words w = words_of(more);
    va_end(more);
    return ask(number, w);
}
/* NOLINTEND(readability-*) */
