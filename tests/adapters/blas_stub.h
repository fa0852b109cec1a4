/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What blas_stub.c saw of the last call. */
#ifndef BLAS_STUB_H
#define BLAS_STUB_H
#include <stddef.h>
#include <stdint.h>

#define BLAS_STUB_RESULT 77

extern struct blas_seen {
    const char *symbol;
    intptr_t word[19];
    size_t n_words;
    uint64_t scalar[2]; /* their bytes */
} blas_seen;
/* Called by each routine, if it is set. */
extern void (*blas_on_call)(const char *symbol);
/* cblas_sgemm calls sgemm_, with 5, 7 and 3. */
extern int blas_is_reference;

#endif
