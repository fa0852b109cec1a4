/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A BLAS that computes nothing: each routine notes what it was called with, for
 * whoever wants to know, and a function returns a number. */
#include "blas_stub.h"

#include <string.h>

#include "adapters/blas/blas_work.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT struct blas_seen blas_seen;
EXPORT void (*blas_on_call)(const char *symbol);
EXPORT int blas_is_reference;

/* The reference's C routines call Fortran's, as ours does here. */
static void call_inner(const char *symbol)
{
    void sgemm_ PARAMETERS_S0(15);
    int m = 5, n = 7, k = 3;
    if (!blas_is_reference || strcmp(symbol, "cblas_sgemm") != 0) return;
    sgemm_((W) "N", (W) "N", (W)&m, (W)&n, (W)&k, 0, 0, (W)&m, 0, (W)&k, 0, 0,
           (W)&m, 1, 1);
}

static void note(const char *symbol, const W *words, size_t n_words,
                 const void *s, size_t s_bytes, const void *t, size_t t_bytes)
{
    blas_seen = (struct blas_seen){.symbol = symbol, .n_words = n_words};
    memcpy(blas_seen.word, words, n_words * sizeof *words);
    if (s) memcpy(&blas_seen.scalar[0], s, s_bytes);
    if (t) memcpy(&blas_seen.scalar[1], t, t_bytes);
    if (blas_on_call) blas_on_call(symbol);
    call_inner(symbol);
}

#define WORDS(...) (W[]){__VA_ARGS__}, sizeof((W[]){__VA_ARGS__}) / sizeof(W)
#define NOTE_S0(n) WORDS(A_##n(a)), NULL, 0, NULL, 0
#define NOTE_S1(n, S, k) WORDS(A_##n(a), A_##k(b)), &s, sizeof s, NULL, 0
#define NOTE_S2(n, S, k, T, l)                                                 \
    WORDS(A_##n(a), A_##k(b), A_##l(c)), &s, sizeof s, &t, sizeof t
#define NOTE_S3(n, S, T) WORDS(A_##n(a)), &s, sizeof s, &t, sizeof t

#define SUB(symbol, signature, op, work)                                       \
    EXPORT void symbol PARAMETERS_##signature;                                 \
    EXPORT void symbol PARAMETERS_##signature                                  \
    {                                                                          \
        note(#symbol, NOTE_##signature);                                       \
    }
#define FUN(symbol, result, signature, op, work)                               \
    EXPORT result symbol PARAMETERS_##signature;                               \
    EXPORT result symbol PARAMETERS_##signature                                \
    {                                                                          \
        note(#symbol, NOTE_##signature);                                       \
        return (result)BLAS_STUB_RESULT;                                       \
    }
#include "adapters/blas/blas_calls.def"
