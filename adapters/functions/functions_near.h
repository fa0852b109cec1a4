/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Muted functions that a thread calls, by address: what makes a muted call a
 * comparison and an addition.
 *
 * An entry is there while a call of its function needs nothing but to be
 * counted. Where that ends (functions_hooks.c) it is taken out, or the thread is
 * given the empty table.
 *
 * Cost       8 KiB a thread. Two functions that meet in one entry: the other one
 *            is looked up as if there were none, and takes its place once in a
 *            while.
 * Signals    an entry is whole or empty at any point.
 * Threads    its own alone, but for what is forgotten.
 */
#ifndef FUNCTIONS_NEAR_H
#define FUNCTIONS_NEAR_H
#include <stddef.h>
#include <stdint.h>

enum { FUNCTIONS_NEAR = 512, FUNCTIONS_NEAR_TURN = 64 };

struct functions_near {
    const void *function; /* NULL: none */
    uint64_t *n_calls;    /* where they are counted */
};

extern const struct functions_near functions_near_none[FUNCTIONS_NEAR]
    __attribute__((visibility("hidden")));

/* Where it is, if it is there: a function that calls hooks has more than 16
 * bytes. HOT */
static inline size_t functions_near_at(const void *function)
{
    uintptr_t a = (uintptr_t)function;
    return (a ^ a >> 9) >> 4 & (FUNCTIONS_NEAR - 1);
}

static inline void functions_near_remove(struct functions_near *all,
                                         const void *function)
{
    struct functions_near *at = &all[functions_near_at(function)];
    if (at->function == function) at->function = NULL;
}

/* The same by any thread, of a function that nobody calls any more. */
static inline void functions_near_forget(struct functions_near *all,
                                         const void *function)
{
    const void **at = &all[functions_near_at(function)].function;
    const void *is = function;
    __atomic_compare_exchange_n(at, &is, NULL, 0, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
}

/* n_misses: of the thread, so far. */
static inline void functions_near_put(struct functions_near *all,
                                      const void *function, uint64_t *n_calls,
                                      uint32_t *n_misses)
{
    struct functions_near *at = &all[functions_near_at(function)];
    if (at->function && ++*n_misses % FUNCTIONS_NEAR_TURN) return;
    at->function = NULL;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    at->n_calls = n_calls;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    at->function = function;
}

#endif
