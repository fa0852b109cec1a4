/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Finding routines; see blas_real.h. */
#include "blas_real.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>

#include "adapters/common/common_next.h"

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

/* ---- routines ------------------------------------------------------------ */

/* RTLD_NEXT alone where a table cannot tell: a routine that is chosen when it is
 * loaded. */
static void *look_for(const char *symbol, const void *from)
{
    struct common_next next;
    void *found = NULL;
    if (common_next_find(&next, from, symbol))
        common_next_symbols(&next, &symbol, &found, 1);
    return found ? found : dlsym(RTLD_NEXT, symbol);
}

/* ---- callers --------------------------------------------------------------- */

/* The one whose code lies there, made when new; NULL: no room, or another thread
 * makes one, and nothing is kept. */
static struct blas_caller *caller_at(const void *from)
{
    struct dl_find_object object;
    uint32_t n = __atomic_load_n(&n_callers, __ATOMIC_ACQUIRE);
    uintptr_t at = (uintptr_t)from;
    for (uint32_t i = 0; i < n; i++)
        if (at - callers[i].first < callers[i].end - callers[i].first)
            return &callers[i];
    if (__atomic_exchange_n(&is_locked, 1, __ATOMIC_ACQUIRE)) return NULL;
    struct blas_caller *c = NULL;
    n = __atomic_load_n(&n_callers, __ATOMIC_RELAXED);
    if (n < MOST_CALLERS && !_dl_find_object((void *)at, &object)) {
        c = &callers[n];
        c->dynamic = object.dlfo_link_map->l_ld;
        c->first = (uintptr_t)object.dlfo_map_start;
        c->end = (uintptr_t)object.dlfo_map_end;
        __atomic_store_n(&n_callers, n + 1, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&is_locked, 0, __ATOMIC_RELEASE);
    return c;
}

bool blas_is_one_object(const void *a, const void *b)
{
    struct dl_find_object of_a, of_b;
    return !_dl_find_object((void *)(uintptr_t)a, &of_a) &&
           !_dl_find_object((void *)(uintptr_t)b, &of_b) &&
           of_a.dlfo_link_map == of_b.dlfo_link_map;
}

void *blas_real_find(enum blas_call call, const void *from)
{
    int error = errno;
    struct blas_caller *c = caller_at(from);
    void *real = c ? __atomic_load_n(&c->real[call], __ATOMIC_ACQUIRE) : NULL;
    if (!real) real = look_for(symbols[call], from);
    if (c) {
        __atomic_store_n(&c->real[call], real, __ATOMIC_RELEASE);
        __atomic_store_n(&blas_last_caller, c, __ATOMIC_RELEASE);
    }
    errno = error;
    return real;
}

/* ---- objects that go -------------------------------------------------------- */

/* Nobody calls from there any more; what comes to where it was reaches its own. */
static void forget(struct blas_caller *c)
{
    struct dl_find_object object;
    if (!_dl_find_object((void *)c->first, &object) &&
        object.dlfo_link_map->l_ld == c->dynamic)
        return;
    for (int i = 0; i < BLAS_CALLS; i++)
        __atomic_store_n(&c->real[i], NULL, __ATOMIC_RELEASE);
}

__attribute__((visibility("default"))) int dlclose(void *object)
{
    static int (*real)(void *);
    int (*found)(void *) = __atomic_load_n(&real, __ATOMIC_RELAXED);
    if (!found) {
        void *at = dlsym(RTLD_NEXT, "dlclose");
        __builtin_memcpy(&found, &at, sizeof found);
        __atomic_store_n(&real, found, __ATOMIC_RELAXED);
    }
    int rc = found ? found(object) : -1;
    int error = errno;
    uint32_t n = __atomic_load_n(&n_callers, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < n; i++)
        forget(&callers[i]);
    errno = error;
    return rc;
}
