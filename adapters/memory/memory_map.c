/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* mmap and its kin, wrapped; see memory_map.h. */
#include "memory_map.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <axprof/axprof_adapter.h>

#include "memory_real.h"
#include "memory_wrap.h"

#define WRAPPER __attribute__((visibility("default")))
#define SPINS 1000
#define SLEEPS 5000 /* of 0.1 ms: who has it may not be running */

static struct memory_ranges ranges;
static uint32_t is_locked, is_lost; /* lost: with who was killed having it */
static __thread bool has_lock __attribute__((tls_model("initial-exec")));

static bool wait_for_lock(void)
{
    const struct timespec a_while = {0, 100000};
    for (int i = 0; i < SLEEPS; i++) {
        syscall(SYS_nanosleep, &a_while, NULL); /* no point of cancellation */
        if (!__atomic_exchange_n(&is_locked, 1, __ATOMIC_ACQUIRE)) return true;
    }
    __atomic_store_n(&is_lost, 1, __ATOMIC_RELAXED);
    return false;
}

/* Not for a handler that has interrupted who has it. */
static bool lock(void)
{
    bool is_mine = false;
    if (has_lock || __atomic_load_n(&is_lost, __ATOMIC_RELAXED)) return false;
    has_lock = true;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    for (int i = 0; i < SPINS && !is_mine; i++)
        is_mine = !__atomic_exchange_n(&is_locked, 1, __ATOMIC_ACQUIRE);
    return has_lock = is_mine || wait_for_lock();
}

static void unlock(void)
{
    __atomic_store_n(&is_locked, 0, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    has_lock = false;
}

/* Another thread may have been changing them, even where they lie. */
static void forget_in_child(void)
{
    ranges = (struct memory_ranges){0};
    is_lost = 0;
    unlock();
}

__attribute__((constructor)) static void see_forks(void)
{
    (void)pthread_atfork(NULL, NULL, forget_in_child);
}

/* Whole pages, as the kernel takes them. */
static struct memory_range pages_of(const void *at, size_t bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = (uintptr_t)at & ~(page - 1);
    return (struct memory_range){first, ((uintptr_t)at + bytes + page - 1) &
                                            ~(page - 1)};
}

/* One range is another's now: gone and come may be empty. Whatever lay where the
 * new one is has been mapped over. */
static void change(struct memory_range gone, struct memory_range come)
{
    int error = errno;
    int64_t delta = 0;
    if (!lock()) {
        errno = error;
        return;
    }
    if (gone.end > gone.first)
        delta -= (int64_t)memory_ranges_remove(&ranges, gone.first, gone.end);
    if (come.end > come.first) {
        delta -= (int64_t)memory_ranges_remove(&ranges, come.first, come.end);
        if (memory_ranges_add(&ranges, come.first, come.end))
            delta += (int64_t)(come.end - come.first);
    }
    unlock();
    if (delta) axp_heap_mapped(delta);
    errno = error;
}

static const struct memory_range none;

static void mapped(void *at, size_t bytes, int prot, int flags)
{
    struct memory_range range = pages_of(at, bytes);
    bool is_memory = flags & MAP_ANONYMOUS && prot != PROT_NONE;
    change(is_memory ? none : range, is_memory ? range : none);
}

static bool is_told(int flags, off_t offset)
{
    bool is_own = flags & MAP_ANONYMOUS && offset == AXP_OWN_MAPPING;
    return !is_own && memory_wrap_is_told();
}

/* Before the others are found: the kernel's. */
static void *map(void *at, size_t bytes, int prot, int flags, int fd,
                 off_t offset)
{
    const struct memory_real *real = memory_real();
    if (real && real->mmap)
        return real->mmap(at, bytes, prot, flags, fd, offset);
    return (void *)syscall(SYS_mmap, at, bytes, prot, flags, fd, offset);
}

/* The same name twice: off_t has 64 bits. */
#define MAP(name)                                                              \
    WRAPPER void *name(void *at, size_t bytes, int prot, int flags, int fd,    \
                       off_t offset)                                           \
    {                                                                          \
        void *p = map(at, bytes, prot, flags, fd, offset);                     \
        if (is_told(flags, offset)) {                                          \
            if (p != MAP_FAILED)                                               \
                mapped(p, bytes, prot, flags);                                 \
            else if (errno == ENOMEM && flags & MAP_ANONYMOUS)                 \
                memory_wrap_failed(bytes);                                     \
        }                                                                      \
        return p;                                                              \
    }
MAP(mmap)
MAP(mmap64)

/* Told before: what is free may be mapped by another thread at once. The kernel
 * refuses what does not begin with a page, and nothing else. */
WRAPPER int munmap(void *at, size_t bytes)
{
    const struct memory_real *real = memory_real();
    struct memory_range range = pages_of(at, bytes);
    if (memory_wrap_is_told() && range.first == (uintptr_t)at)
        change(range, none);
    if (real && real->munmap) return real->munmap(at, bytes);
    return (int)syscall(SYS_munmap, at, bytes);
}

/* Is any of it known? */
static bool is_known(struct memory_range range)
{
    int error = errno;
    bool found = false;
    if (!lock()) {
        errno = error;
        return false;
    }
    for (size_t i = 0; i < ranges.n && !found; i++)
        found =
            ranges.at[i].first < range.end && ranges.at[i].end > range.first;
    unlock();
    errno = error;
    return found;
}

WRAPPER void *mremap(void *at, size_t old, size_t bytes, int flags, ...)
{
    const struct memory_real *real = memory_real();
    bool is_ours = memory_wrap_is_told() && is_known(pages_of(at, old));
    void *to = NULL, *p;
    if (flags & MREMAP_FIXED) {
        va_list more;
        va_start(more, flags);
        to = va_arg(more, void *);
        va_end(more);
    }
    p = real && real->mremap
            ? real->mremap(at, old, bytes, flags, to)
            : (void *)syscall(SYS_mremap, at, old, bytes, flags, to);
    if (p != MAP_FAILED && is_ours)
        change(pages_of(at, old), pages_of(p, bytes));
    return p;
}
