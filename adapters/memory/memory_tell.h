/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How wrappers tell of what the allocator does: after it has handed a block out,
 * before it gets one back, with the stack of whoever called.
 *
 * Place    in memory_wrap.c and memory_new.c, whose wrappers it is inlined into.
 */
#ifndef MEMORY_TELL_H
#define MEMORY_TELL_H
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include <axprof/axprof_adapter.h>

#include "memory_cost.h"
#include "memory_sample.h"
#include "memory_walk.h"

#define WRAPPER __attribute__((visibility("default")))
#define HIDDEN __attribute__((visibility("hidden")))
#define unlikely(x) __builtin_expect(!!(x), 0)

/* There in libaxprof_memory_new alone. */
extern const int memory_wraps_new __attribute__((weak, visibility("hidden")));
extern int memory_is_on HIDDEN; /* since the constructor */
extern enum memory_stacks memory_how HIDDEN;
extern const uint32_t *memory_depths HIDDEN; /* axp_heap_frames */
extern __thread int memory_inside
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

static inline uint32_t depth_for(size_t bytes)
{
    uint32_t n = __atomic_load_n(&memory_depths[bytes >= AXP_HEAP_LARGE],
                                 __ATOMIC_RELAXED);
    return n < MEMORY_FRAMES_DEFAULT ? n : MEMORY_FRAMES_DEFAULT;
}

static inline bool is_told(void)
{
    return memory_is_on && !memory_inside;
}

/* The allocator's own, called by it: not told. */
#define CALL(result, call)                                                     \
    do {                                                                       \
        memory_inside++;                                                       \
        result = call;                                                         \
        memory_inside--;                                                       \
    } while (0)

/* ---- telling --------------------------------------------------------------- */

static inline void tell_failed(size_t bytes, const axp_heap_stack *where)
{
    int error = errno;
    memory_inside++;
    axp_heap_failed(bytes, where);
    memory_inside--;
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
static inline void tell_kept(const void *p, axp_heap_block was)
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
        if (memory_how == MEMORY_STACKS_NONE) /* a call less */                \
            stack_.hash = stack_.n = 0;                                        \
        else                                                                   \
            memory_walk(&stack_, memory_how, depth_for(bytes));                \
        axp_heap_stack where_ = {sizeof where_, stack_.frames, stack_.n,       \
                                 stack_.hash};                                 \
        if (unlikely(!(p)))                                                    \
            tell_failed(bytes, &where_);                                       \
        else                                                                   \
            tell(p, counted_, &where_, began_);                                \
        memory_cost_end(began_);                                               \
    } while (0)

#endif
