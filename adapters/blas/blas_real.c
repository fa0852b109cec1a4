/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Finding routines; see blas_real.h. */
#include "blas_real.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
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
static uint32_t n_closing; /* threads that are in dlclose */
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

static void fill(struct blas_caller *c, const struct dl_find_object *object)
{
    c->dynamic = object->dlfo_link_map->l_ld;
    c->first = (uintptr_t)object->dlfo_map_start;
    c->end = (uintptr_t)object->dlfo_map_end;
}

static bool is_of(const struct blas_caller *c,
                  const struct dl_find_object *object)
{
    return c->dynamic == object->dlfo_link_map->l_ld &&
           c->first == (uintptr_t)object->dlfo_map_start;
}

/* The one whose code lies there, made when new, also where another was; NULL: no
 * room, or another thread makes one, and nothing is kept. */
static struct blas_caller *caller_at(const void *from)
{
    struct dl_find_object object;
    uint32_t n = __atomic_load_n(&n_callers, __ATOMIC_ACQUIRE), i = 0;
    uintptr_t at = (uintptr_t)from;
    if (_dl_find_object((void *)at, &object)) return NULL;
    while (i < n && !is_of(&callers[i], &object))
        i++;
    if (i < n) return &callers[i];
    if (__atomic_exchange_n(&is_locked, 1, __ATOMIC_ACQUIRE)) return NULL;
    n = __atomic_load_n(&n_callers, __ATOMIC_RELAXED);
    for (i = 0; i < n && callers[i].dynamic; i++)
        continue;
    struct blas_caller *c = i < MOST_CALLERS ? &callers[i] : NULL;
    if (c) fill(c, &object);
    if (c && i == n) __atomic_store_n(&n_callers, n + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&is_locked, 0, __ATOMIC_RELEASE);
    return c;
}

/* Between the unmapping of an object and the return of dlclose another thread
 * may have another one there already: meanwhile nothing that is known is used,
 * and nothing is kept. */
static bool is_closing(void)
{
    return __atomic_load_n(&n_closing, __ATOMIC_SEQ_CST);
}

static void know_nobody(void)
{
    __atomic_store_n(&blas_last_caller, &nobody, __ATOMIC_SEQ_CST);
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
    struct blas_caller *c = is_closing() ? NULL : caller_at(from);
    void *real = c ? __atomic_load_n(&c->real[call], __ATOMIC_ACQUIRE) : NULL;
    if (!real) real = look_for(symbols[call], from);
    if (c) {
        __atomic_store_n(&c->real[call], real, __ATOMIC_RELEASE);
        __atomic_store_n(&blas_last_caller, c, __ATOMIC_SEQ_CST);
        if (is_closing()) know_nobody();
    }
    errno = error;
    return real;
}

/* ---- objects that go -------------------------------------------------------- */

static bool is_gone(const struct blas_caller *c)
{
    struct dl_find_object object;
    return _dl_find_object((void *)c->first, &object) || !is_of(c, &object);
}

/* The same object may have come again, and what it needs to another place: what
 * is known of all is looked for again. Nobody is in one that is gone. */
static void forget_all(void)
{
    bool is_mine = !__atomic_exchange_n(&is_locked, 1, __ATOMIC_ACQUIRE);
    uint32_t n = __atomic_load_n(&n_callers, __ATOMIC_ACQUIRE);
    for (struct blas_caller *c = callers; c < callers + n; c++) {
        for (int i = 0; i < BLAS_CALLS; i++)
            __atomic_store_n(&c->real[i], NULL, __ATOMIC_RELEASE);
        if (is_mine && is_gone(c)) c->dynamic = NULL;
    }
    if (is_mine) __atomic_store_n(&is_locked, 0, __ATOMIC_RELEASE);
}

/* A thread that was in dlclose, or made a caller known, is not here. */
static void free_in_child(void)
{
    n_closing = 0;
    is_locked = 0;
}

__attribute__((constructor)) static void see_forks(void)
{
    (void)pthread_atfork(NULL, NULL, free_in_child);
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
    __atomic_add_fetch(&n_closing, 1, __ATOMIC_SEQ_CST);
    know_nobody();
    int rc = found ? found(object) : -1;
    int error = errno;
    forget_all();
    __atomic_sub_fetch(&n_closing, 1, __ATOMIC_SEQ_CST);
    errno = error;
    return rc;
}
