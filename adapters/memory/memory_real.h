/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The allocator behind the wrappers: the C library's, or whichever other comes
 * after this library (jemalloc, tcmalloc …).
 *
 * It is looked up by the first call, which the loader itself may make, before
 * any constructor. Looking up may allocate: what asks meanwhile gets memory of
 * a small arena that is never given back.
 */
#ifndef MEMORY_REAL_H
#define MEMORY_REAL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MEMORY_REAL_FUNCTIONS                                                  \
    REAL(malloc, void *, (size_t))                                             \
    REAL(free, void, (void *))                                                 \
    REAL(calloc, void *, (size_t, size_t))                                     \
    REAL(realloc, void *, (void *, size_t))                                    \
    REAL(reallocarray, void *, (void *, size_t, size_t))                       \
    REAL(memalign, void *, (size_t, size_t))                                   \
    REAL(aligned_alloc, void *, (size_t, size_t))                              \
    REAL(posix_memalign, int, (void **, size_t, size_t))                       \
    REAL(valloc, void *, (size_t))                                             \
    REAL(pvalloc, void *, (size_t))                                            \
    REAL(mmap, void *, (void *, size_t, int, int, int, off_t))                 \
    REAL(munmap, int, (void *, size_t))                                        \
    REAL(mremap, void *, (void *, size_t, size_t, int, ...))                   \
    REAL(dlclose, int, (void *))

struct memory_real {
#define REAL(name, type, parameters) type(*name) parameters;
    MEMORY_REAL_FUNCTIONS
#undef REAL
};

/* NULL: not looked up yet. */
extern const struct memory_real *memory_real_found
    __attribute__((visibility("hidden")));

/* NULL: it is being looked up, by this very thread. */
const struct memory_real *memory_real_load(void);

/* What is read through the pointer is read after it without an acquiring load,
 * which on aarch64 would wait until the allocator's own unlock before it is seen
 * everywhere. */
static inline const struct memory_real *memory_real(void)
{
    const struct memory_real *r =
        __atomic_load_n(&memory_real_found, __ATOMIC_RELAXED);
    return __builtin_expect(r != NULL, 1) ? r : memory_real_load();
}

/* Memory of the arena; NULL: it is used up. */
void *memory_arena_take(size_t bytes, size_t alignment);

#define MEMORY_ARENA 16384u
extern char memory_arena[MEMORY_ARENA] __attribute__((visibility("hidden")));

/* How many bytes there are from p to the arena's end; 0: p is not of it. */
static inline size_t memory_arena_left(const void *p)
{
    uintptr_t at = (uintptr_t)p - (uintptr_t)memory_arena;
    return __builtin_expect(at < MEMORY_ARENA, 0) ? MEMORY_ARENA - at : 0;
}

#endif
