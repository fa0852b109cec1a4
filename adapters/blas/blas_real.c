/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Finding routines; see blas_real.h. */
#include "blas_real.h"

#include <errno.h>

#include "adapters/common/common_find.h"

#define MOST_CALLERS 32u

static const char *const symbols[] = {
#define SUB(symbol, ...) #symbol,
#define FUN(symbol, ...) #symbol,
#include "blas_calls.def"
};

static struct blas_caller callers[MOST_CALLERS], nobody;
static uint32_t n_callers;
static int is_locked;
struct blas_caller *blas_last_caller = &nobody;

/* The one whose code lies there, made when new; NULL: no room, or another thread
 * makes one, and nothing is kept. */
static struct blas_caller *caller_at(const void *from)
{
    uint32_t n = __atomic_load_n(&n_callers, __ATOMIC_ACQUIRE);
    uintptr_t at = (uintptr_t)from;
    for (uint32_t i = 0; i < n; i++)
        if (at - callers[i].first < callers[i].end - callers[i].first)
            return &callers[i];
    if (__atomic_exchange_n(&is_locked, 1, __ATOMIC_ACQUIRE)) return NULL;
    struct blas_caller *c = NULL;
    n = __atomic_load_n(&n_callers, __ATOMIC_RELAXED);
    if (n < MOST_CALLERS &&
        common_find_range(from, &callers[n].first, &callers[n].end)) {
        c = &callers[n];
        __atomic_store_n(&n_callers, n + 1, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&is_locked, 0, __ATOMIC_RELEASE);
    return c;
}

void *blas_real_find(enum blas_call call, const void *from)
{
    int error = errno;
    struct blas_caller *c = caller_at(from);
    void *real = c ? __atomic_load_n(&c->real[call], __ATOMIC_ACQUIRE) : NULL;
    if (!real) real = common_find(symbols[call], from);
    if (c) {
        __atomic_store_n(&c->real[call], real, __ATOMIC_RELEASE);
        __atomic_store_n(&blas_last_caller, c, __ATOMIC_RELEASE);
    }
    errno = error;
    return real;
}
