/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The routines behind the wrappers: of the BLAS that the calling object would
 * have called without us.
 *
 * Found once for each object that calls (common_find.h), by where its code lies.
 */
#ifndef BLAS_REAL_H
#define BLAS_REAL_H
#include <stddef.h>
#include <stdint.h>

enum blas_call {
#define SUB(symbol, ...) BLAS_##symbol,
#define FUN(symbol, ...) BLAS_##symbol,
#include "blas_calls.def"
    BLAS_CALLS
};

/* An object that calls, and what it reaches; NULL: not looked for yet. */
struct blas_caller {
    uintptr_t first, end; /* of its code and data */
    void *real[BLAS_CALLS];
};

extern struct blas_caller *blas_last_caller; /* never NULL */

/* NULL: there is none. */
void *blas_real_find(enum blas_call call, const void *from);

/* Relaxed: what is loaded next is loaded by the address that this gives, so it
 * is not older. (An acquire waits for the recorder's releases: 10 ns.) HOT */
static inline void *blas_real(enum blas_call call, const void *from)
{
    const struct blas_caller *c =
        __atomic_load_n(&blas_last_caller, __ATOMIC_RELAXED);
    uintptr_t at = (uintptr_t)from;
    if (__builtin_expect(at - c->first < c->end - c->first, 1)) {
        void *real = __atomic_load_n(&c->real[call], __ATOMIC_RELAXED);
        if (__builtin_expect(real != NULL, 1)) return real;
    }
    return blas_real_find(call, from);
}

#endif
