/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Finding the allocator, and an arena for the time until then. */
#include "memory_real.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

static struct memory_real functions;
const struct memory_real *memory_real_found;

char memory_arena[MEMORY_ARENA] __attribute__((aligned(64)));
static size_t arena_used;

/* volatile: the compiler believes that dlsym never comes back here. */
static __thread volatile int is_loading
    __attribute__((tls_model("initial-exec")));

const struct memory_real *memory_real_load(void)
{
    int error = errno;
    struct memory_real *r = &functions;
    void *found;
    if (is_loading) return NULL;
    is_loading = 1;
#define REAL(name, type, parameters)                                           \
    found = dlsym(RTLD_NEXT, #name);                                           \
    memcpy(&r->name, &found, sizeof found);
    MEMORY_REAL_FUNCTIONS
#undef REAL
    is_loading = 0;
    __atomic_store_n(&memory_real_found, r, __ATOMIC_RELEASE);
    errno = error;
    return r;
}

void *memory_arena_take(size_t bytes, size_t alignment)
{
    size_t align = alignment > 16 ? alignment : 16;
    size_t used = __atomic_load_n(&arena_used, __ATOMIC_RELAXED), first, end;
    do {
        uintptr_t at =
            ((uintptr_t)memory_arena + used + align - 1) & ~(align - 1);
        first = at - (uintptr_t)memory_arena;
        end = first + bytes;
        if (end < bytes || end > MEMORY_ARENA) {
            errno = ENOMEM;
            return NULL;
        }
    } while (!__atomic_compare_exchange_n(&arena_used, &used, end, false,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return memory_arena + first;
}
