/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The malloc family, wrapped: each call does what it did, and is told.
 *
 * Order      a block is told of after the allocator has returned it, and before
 *            it gets it back: so it is never known twice. A realloc is a free
 *            and an allocation; where it fails, the free is taken back.
 * Inside     what the allocator calls in turn (reallocarray → realloc) is not
 *            told again.
 * Before     this library's constructor nothing is told: the recorder may not be
 *            ready, and frees of what is not known are none.
 * errno      is the allocator's alone.
 *
 * Not here   mmap (memory_map.c): a total of its own, since heaps grow by it.
 */
#include "memory_wrap.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <axprof/axprof_adapter.h>

#include "memory_fde.h"
#include "memory_real.h"
#include "memory_tell.h"

int memory_is_on;
enum memory_stacks memory_how = MEMORY_STACKS_NONE;
const uint32_t *memory_depths;
__thread int memory_inside;
/* This thread's malloc came here while nothing was told. */
static __thread int was_asked __attribute__((tls_model("initial-exec")));

/* As `axprof run --stacks` says. Where no row can be found, a walk by rows is
 * one by frame pointers, and slow. */
static enum memory_stacks stacks_wanted(void)
{
    const char *text = secure_getenv("AXPROF_STACKS");
    if (text && !strcmp(text, "none")) return MEMORY_STACKS_NONE;
    if (text && !strcmp(text, "fp")) return MEMORY_STACKS_FP;
    return memory_fde_can_find() ? MEMORY_STACKS_UNWIND : MEMORY_STACKS_FP;
}

static const char *file_name(const Dl_info *of)
{
    const char *slash = strrchr(of->dli_fname, '/');
    return slash ? slash + 1 : of->dli_fname;
}

/* An operator new that is in one file with malloc does not call it; the C++
 * library's does. */
static void say_if_hidden(const struct memory_real *real)
{
    void *new = dlsym(RTLD_NEXT, "_Znwm"), *next;
    Dl_info of_new, of_malloc;
    memcpy(&next, &real->malloc, sizeof next);
    if (!new || !dladdr(new, &of_new) || !dladdr(next, &of_malloc) ||
        of_new.dli_fbase != of_malloc.dli_fbase)
        return;
    axp_heap_hidden(file_name(&of_new));
}

/* A program that has a malloc of its own comes before what is preloaded: the
 * wrappers are never called. So one block is asked for as the program would; an
 * address alone does not tell, since it may be a program's jump to us. */
static void say_if_bypassed(const struct memory_real *real)
{
    void *ask = dlsym(RTLD_DEFAULT, "malloc");
    void *give = dlsym(RTLD_DEFAULT, "free"), *block;
    void *(*malloc_of)(size_t);
    void (*free_of)(void *);
    Dl_info of;
    if (!ask || !give) return;
    memcpy(&malloc_of, &ask, sizeof ask);
    memcpy(&free_of, &give, sizeof give);
    was_asked = 0;
    block = malloc_of(1);
    if (was_asked) /* the program may have a free that is not malloc's */
        real->free(block);
    else
        free_of(block);
    if (block && !was_asked && dladdr(ask, &of))
        axp_heap_bypassed(file_name(&of));
}

/* It filters its system calls: what stacks and tables take is not asked for. */
static void be_quiet(bool is_quiet)
{
    memory_is_on = !is_quiet;
}

__attribute__((constructor)) static void begin(void)
{
    const char *mean = secure_getenv("AXPROF_MEMORY");
    if (mean) memory_sample_mean = strtoull(mean, NULL, 10);
    if (memory_sample_mean) axp_heap_sampled(memory_sample_mean);
    memory_how = stacks_wanted();
    memory_depths = axp_heap_frames();
    const struct memory_real *real = memory_real();
    if (real && !&memory_wraps_new) say_if_hidden(real);
    if (real) say_if_bypassed(real);
    memory_is_on = 1;
    axp_quiet_tell(be_quiet);
}

bool memory_wrap_is_told(void)
{
    return is_told();
}

void memory_wrap_failed(size_t bytes)
{
    TELL(NULL, bytes);
}

/* ---- malloc and its kin ----------------------------------------------------- */

WRAPPER void *malloc(size_t bytes)
{
    const struct memory_real *real = memory_real();
    void *p;
    if (unlikely(!real)) return memory_arena_take(bytes, 0);
    if (unlikely(!is_told())) {
        was_asked = 1;
        return real->malloc(bytes);
    }
    CALL(p, real->malloc(bytes));
    TELL(p, bytes);
    return p;
}

WRAPPER void free(void *p)
{
    const struct memory_real *real = memory_real();
    if (unlikely(!real || memory_arena_left(p))) return;
    if (p && is_told()) tell_free(p, false);
    memory_inside++;
    real->free(p);
    memory_inside--;
}

WRAPPER void *calloc(size_t n, size_t bytes)
{
    const struct memory_real *real = memory_real();
    size_t all;
    void *p;
    if (__builtin_mul_overflow(n, bytes, &all)) all = SIZE_MAX;
    if (unlikely(!real)) return memory_arena_take(all, 0);
    if (unlikely(!is_told())) return real->calloc(n, bytes);
    CALL(p, real->calloc(n, bytes));
    TELL(p, all);
    return p;
}

/* What lies in the arena goes to the allocator. */
static void *move_out(const struct memory_real *real, const void *p,
                      size_t bytes)
{
    size_t left = memory_arena_left(p);
    void *q = real ? real->malloc(bytes) : memory_arena_take(bytes, 0);
    if (q) memcpy(q, p, bytes < left ? bytes : left);
    return q;
}

/* Before and after a realloc; all: bytes asked for. */
#define BEFORE(p)                                                              \
    (p) ? tell_free(p, true) : (axp_heap_block)                                \
    {                                                                          \
        0, 0                                                                   \
    }
#define AFTER(p, q, all, was)                                                  \
    do {                                                                       \
        if (unlikely(!(q) && (p) && (all) && (was).place)) tell_kept(p, was);  \
        if ((q) || (all)) TELL(q, all);                                        \
    } while (0)

WRAPPER void *realloc(void *p, size_t bytes)
{
    const struct memory_real *real = memory_real();
    void *q;
    if (unlikely(!real || memory_arena_left(p)))
        return move_out(real, p, bytes);
    if (unlikely(!is_told())) return real->realloc(p, bytes);
    axp_heap_block was = BEFORE(p);
    CALL(q, real->realloc(p, bytes));
    AFTER(p, q, bytes, was);
    return q;
}

WRAPPER void *reallocarray(void *p, size_t n, size_t bytes)
{
    const struct memory_real *real = memory_real();
    size_t all;
    void *q;
    if (__builtin_mul_overflow(n, bytes, &all)) all = SIZE_MAX;
    if (unlikely(!real || memory_arena_left(p))) return move_out(real, p, all);
    if (unlikely(!is_told())) return real->reallocarray(p, n, bytes);
    axp_heap_block was = BEFORE(p);
    CALL(q, real->reallocarray(p, n, bytes));
    AFTER(p, q, all, was);
    return q;
}

/* ---- aligned -------------------------------------------------------------------- */

#define ALIGNED(name)                                                          \
    WRAPPER void *name(size_t alignment, size_t bytes)                         \
    {                                                                          \
        const struct memory_real *real = memory_real();                        \
        void *p;                                                               \
        if (unlikely(!real)) return memory_arena_take(bytes, alignment);       \
        if (unlikely(!is_told())) return real->name(alignment, bytes);         \
        CALL(p, real->name(alignment, bytes));                                 \
        if (p || errno == ENOMEM) TELL(p, bytes);                              \
        return p;                                                              \
    }
ALIGNED(memalign)
ALIGNED(aligned_alloc)

WRAPPER int posix_memalign(void **p, size_t alignment, size_t bytes)
{
    const struct memory_real *real = memory_real();
    int rc;
    if (unlikely(!real)) {
        *p = memory_arena_take(bytes, alignment);
        return *p ? 0 : ENOMEM;
    }
    if (unlikely(!is_told())) return real->posix_memalign(p, alignment, bytes);
    CALL(rc, real->posix_memalign(p, alignment, bytes));
    void *q = rc ? NULL : *p;
    if (!rc || rc == ENOMEM) TELL(q, bytes);
    return rc;
}

#define PAGES(name)                                                            \
    WRAPPER void *name(size_t bytes)                                           \
    {                                                                          \
        const struct memory_real *real = memory_real();                        \
        void *p;                                                               \
        if (unlikely(!real)) return memory_arena_take(bytes, 4096);            \
        if (unlikely(!is_told())) return real->name(bytes);                    \
        CALL(p, real->name(bytes));                                            \
        TELL(p, bytes);                                                        \
        return p;                                                              \
    }
PAGES(valloc)
PAGES(pvalloc)
