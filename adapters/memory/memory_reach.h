/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How far up a stack may be read: a walk follows words that may be anything
 * and must not fault.
 *
 * Own stack  from the deepest stack pointer seen to its top, which is
 *            __libc_stack_end for the first thread and the thread's control
 *            block for others (glibc puts it above the stack, the program's own
 *            stacks of pthread_attr_setstack included). Its pages are probed
 *            once and known from then on, in the thread's block.
 * Others     signal stacks, makecontext, coroutines: the page of the stack
 *            pointer can be read, as it is in use. What is above it is probed
 *            page by page, by each walk anew: such a stack may be unmapped and
 *            another mapped at its place. A probe is a system call.
 * Threads    all state is the thread's own. A signal handler that walks in the
 *            middle of a walk, and a child of fork or vfork, find it usable.
 * Failure    none: what cannot be told apart is not read.
 */
#ifndef MEMORY_REACH_H
#define MEMORY_REACH_H
#include <stdbool.h>
#include <stdint.h>

#define MEMORY_PAGE ((uintptr_t)4096) /* or a part of one */

/* What one walk may read: end and above it is not known to be there. */
struct memory_reach {
    uintptr_t end;
    bool is_own; /* then there is nothing above it */
};

/* The thread's own stack as far as it is known; 0, 0: not yet. */
struct memory_own {
    uintptr_t low, high;
    /* Addresses that were found to be on no stack of its own. */
    uintptr_t other_low, other_high;
};

extern __thread struct memory_own memory_own
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

struct memory_reach memory_reach_find(uintptr_t sp);

/* Of a stack pointer that nobody uses now, as a signal came: not even its own
 * page is taken for granted. A stack that overflowed ends there. */
struct memory_reach memory_reach_of(uintptr_t sp);

bool memory_reach_extend(struct memory_reach *reach, uintptr_t end);

/* HOT. What may be read from a stack pointer upwards. */
static inline struct memory_reach memory_reach_from(uintptr_t sp)
{
    uintptr_t high = memory_own.high;
    if (sp >= memory_own.low && sp < high)
        return (struct memory_reach){high, true};
    return memory_reach_find(sp);
}

/* HOT. May all below end be read, from where the reach began? */
static inline bool memory_reach_has(struct memory_reach *reach, uintptr_t end)
{
    return end <= reach->end || memory_reach_extend(reach, end);
}

#endif
