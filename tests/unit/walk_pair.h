/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One stack as the walk finds it and as glibc's backtrace() does: what the
 * parts of test_memory_walk share. */
#ifndef WALK_PAIR_H
#define WALK_PAIR_H
#include <stdint.h>

#include "adapters/memory/memory_walk.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WALK_NOINLINE __attribute__((noinline))
/* After a call that must not become a jump. */
#define WALK_STAY() __asm__ volatile("" ::: "memory")

struct walk_pair {
    struct memory_stack ours;
    void *theirs[256]; /* from ours.frames[0] on */
    int n_theirs;
};

extern struct walk_pair walk_pair;
extern enum memory_stacks walk_how;
extern uint32_t walk_max;

/* Stands where a wrapper of malloc would: takes both, from its caller on. */
void walk_take(void);

/* The test fails unless they are the same: all, or the innermost n. */
void walk_same(int n);

#ifdef __cplusplus
}
#endif
#endif
