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

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <axprof/axprof_adapter.h>

#include "memory_cost.h"
#include "memory_fde.h"
#include "memory_real.h"
#include "memory_sample.h"
#include "memory_walk.h"

#define WRAPPER __attribute__((visibility("default")))
#define unlikely(x) __builtin_expect(!!(x), 0)

static int is_on; /* since the constructor */
static enum memory_stacks how = MEMORY_STACKS_NONE;
static const uint32_t *depths; /* axp_heap_frames */
static __thread int n_inside __attribute__((tls_model("initial-exec")));

/* As `axprof run --stacks` says. Where no row can be found, a walk by rows is
 * one by frame pointers, and slow. */
static enum memory_stacks stacks_wanted(void)
{
    const char *text = secure_getenv("AXPROF_STACKS");
    if (text && !strcmp(text, "none")) return MEMORY_STACKS_NONE;
    if (text && !strcmp(text, "fp")) return MEMORY_STACKS_FP;
    return memory_fde_can_find() ? MEMORY_STACKS_UNWIND : MEMORY_STACKS_FP;
}

__attribute__((constructor)) static void begin(void)
{
    const char *mean = secure_getenv("AXPROF_MEMORY");
    if (mean) memory_sample_mean = strtoull(mean, NULL, 10);
    if (memory_sample_mean) axp_heap_sampled(memory_sample_mean);
    how = stacks_wanted();
    depths = axp_heap_frames();
    memory_real();
    is_on = 1;
}

static inline uint32_t depth_for(size_t bytes)
{
    uint32_t n =
        __atomic_load_n(&depths[bytes >= AXP_HEAP_LARGE], __ATOMIC_RELAXED);
    return n < MEMORY_FRAMES_DEFAULT ? n : MEMORY_FRAMES_DEFAULT;
}

static inline bool is_told(void)
{
    return is_on && !n_inside;
}

bool memory_wrap_is_told(void)
{
    return is_told();
}

/* The allocator's own, called by it: not told. */
#define CALL(result, call)                                                     \
    do {                                                                       \
        n_inside++;                                                            \
        result = call;                                                         \
        n_inside--;                                                            \
    } while (0)

/* ---- telling --------------------------------------------------------------- */

static void tell_failed(size_t bytes, const axp_heap_stack *where)
{
    int error = errno;
    n_inside++;
    axp_heap_failed(bytes, where);
    n_inside--;
    errno = error;
}

static inline void tell(const void *p, uint64_t bytes,
                        const axp_heap_stack *where, uint64_t timed)
{
    if (unlikely(timed)) axp_heap_timed(timed, memory_cost_follows);
    axp_heap_alloc(p, bytes, where);
    if (unlikely(memory_sample_is_on())) memory_sample_taken(p);
}

/* What goes back, or to another place. */
static inline axp_heap_block tell_free(const void *p, bool is_moved)
{
    axp_heap_block was = {0, 0};
    if (!memory_sample_may_be(p)) return was;
    uint64_t began = memory_cost_begin();
    was = is_moved ? axp_heap_move(p) : axp_heap_free(p);
    memory_cost_end(began);
    if (unlikely(memory_sample_is_on()) && was.place) memory_sample_gone(p);
    return was;
}

/* It did not go after all. */
static void tell_kept(const void *p, axp_heap_block was)
{
    axp_heap_keep(p, was);
    if (memory_sample_is_on()) memory_sample_taken(p);
}

/* p may be NULL: the allocator had nothing. To be inlined into wrappers: the
 * stack begins at whoever called them. */
#define TELL(p, bytes)                                                         \
    do {                                                                       \
        struct memory_stack stack_;                                            \
        uint64_t counted_ = (p) ? memory_sample(bytes) : (bytes);              \
        if (!counted_ && (!(p) || memory_sample_is_on())) break;               \
        uint64_t began_ = memory_cost_begin();                                 \
        if (how == MEMORY_STACKS_NONE) /* a call less */                       \
            stack_.hash = stack_.n = 0;                                        \
        else                                                                   \
            memory_walk(&stack_, how, depth_for(bytes));                       \
        axp_heap_stack where_ = {stack_.frames, stack_.n, stack_.hash};        \
        if (unlikely(!(p)))                                                    \
            tell_failed(bytes, &where_);                                       \
        else                                                                   \
            tell(p, counted_, &where_, began_);                                \
        memory_cost_end(began_);                                               \
    } while (0)

/* ---- malloc and its kin ----------------------------------------------------- */

WRAPPER void *malloc(size_t bytes)
{
    const struct memory_real *real = memory_real();
    void *p;
    if (unlikely(!real)) return memory_arena_take(bytes, 0);
    if (unlikely(!is_told())) return real->malloc(bytes);
    CALL(p, real->malloc(bytes));
    TELL(p, bytes);
    return p;
}

WRAPPER void free(void *p)
{
    const struct memory_real *real = memory_real();
    if (unlikely(!real || memory_arena_left(p))) return;
    if (p && is_told()) tell_free(p, false);
    n_inside++;
    real->free(p);
    n_inside--;
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
