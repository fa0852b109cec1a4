/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The routines behind the wrappers: of the BLAS that the calling object would
 * have called without us.
 *
 * Under Python each extension brings its own library, loaded so that nobody else
 * sees it (RTLD_LOCAL), and there may be several: where RTLD_NEXT does not look.
 * So a routine is looked for by who calls (common_next.h), once for each object,
 * known by where its code lies, and is forgotten when one is closed: what it
 * needs stays as long as it does.
 */
#ifndef BLAS_REAL_H
#define BLAS_REAL_H
#include <stdbool.h>
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
    const void *dynamic;  /* by which it is known from another; NULL: free */
    uintptr_t first, end; /* of its code and data */
    void *real[BLAS_CALLS];
};

extern struct blas_caller *blas_last_caller
    __attribute__((visibility("hidden"))); /* never NULL */

/* Whether two places of code are of the same object. */
bool blas_is_one_object(const void *a, const void *b);
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
