/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The call stack of the calling thread: return addresses, and a hash over them.
 *
 *   void *malloc(size_t n)
 *   {
 *       struct memory_stack stack;
 *       memory_walk(&stack, how, MEMORY_FRAMES_DEFAULT);
 *       ...
 *
 * Place    in each wrapper that records a call of malloc or its like.
 * Ways     by frame pointers, where code has them (aarch64, as a rule). By
 *          unwind rows (memory_row.h), where code uses rbp or x29 as any other
 *          register; over code without rows, such as a JIT's, by frame pointers
 *          if there seems to be one.
 * Threads  any, at any time: in signal handlers, on other stacks, before
 *          constructors, in children of fork and vfork. No lock, no allocation,
 *          errno is left alone.
 * Failure  the walk ends early. No word is read that is not known to be there
 *          (memory_reach.h), whatever registers and stack hold.
 */
#ifndef MEMORY_WALK_H
#define MEMORY_WALK_H
#include <stdint.h>

#define MEMORY_FRAMES 64
#define MEMORY_FRAMES_DEFAULT 32

enum memory_stacks {
    MEMORY_STACKS_NONE,
    MEMORY_STACKS_FP,
    MEMORY_STACKS_UNWIND,
};

struct memory_stack {
    uint64_t hash; /* 0: there are no frames */
    uint32_t n;
    uint64_t frames[MEMORY_FRAMES]; /* return addresses, innermost first */
};

/* HOT. At most n_max frames, and no more than MEMORY_FRAMES, from the caller of
 * the function that calls this and whose frame pointer this is: two words, the
 * caller's frame pointer and the address that is returned to. */
__attribute__((noinline)) void memory_walk_from(struct memory_stack *out,
                                                enum memory_stacks how,
                                                uint32_t n_max,
                                                const void *frame);

/* HOT. From the caller of the function that this is written in, which is not
 * inlined itself. It gets a frame pointer by this. */
static inline __attribute__((always_inline)) void memory_walk(
    struct memory_stack *out, enum memory_stacks how, uint32_t n_max)
{
    memory_walk_from(out, how, n_max, __builtin_frame_address(0));
}

#endif
