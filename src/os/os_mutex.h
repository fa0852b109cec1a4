/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A lock of our own: a word, and the kernel where one has to wait.
 *
 * Why      the C library's are names that a program, or another adapter, may
 *          have wrapped. Ours are taken inside of a malloc or a free, where what
 *          a wrapper does (allocate, look up a name) would come back to us.
 * Zeroed   memory is a free one, and a copy of a free one is another; fork's
 *          child makes its own anew. It stays valid where other pages take the
 *          place of its own, at the same address with the same bytes.
 * Threads  not recursive, and fair to nobody.
 * Signals  try is safe in a handler; neither is a cancellation point.
 */
#ifndef AXP_OS_MUTEX_H
#define AXP_OS_MUTEX_H
#include <stdbool.h>
#include <stdint.h>

struct axp__mutex {
    uint32_t state; /* 0: free; 1: held; 2: held, and somebody waits */
};

bool axp__mutex_try(struct axp__mutex *m);
void axp__mutex_lock(struct axp__mutex *m);
void axp__mutex_unlock(struct axp__mutex *m);

#endif
