/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* C++'s operators new and delete, wrapped as malloc is.
 *
 * Those of the C++ library call malloc and free, which tell. An allocator that
 * takes malloc's place often brings its own (tcmalloc, jemalloc, mimalloc), which
 * call neither: where the next operator new is in the same file as the next
 * malloc, these wrappers tell, and else they are as if they were not there.
 *
 * Place    in libaxprof_memory_new alone, which `axprof run` loads in place of
 *          libaxprof_memory where a program is linked with such an allocator or
 *          has one preloaded: elsewhere there is nothing to wrap, and the next
 *          definition may be hidden from us (libraries of Python's extensions).
 * Failure  new that finds nothing throws. No exception goes through a wrapper
 *          that counts: the one that returns NULL is asked, and where it does,
 *          the other is called last.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "memory_real.h"
#include "memory_tell.h"

/* The names are those of the C++ ABI, with size_t as unsigned long. */
#define OPERATORS                                                              \
    OPERATOR(_Znwm, void *, (size_t))                                          \
    OPERATOR(_Znam, void *, (size_t))                                          \
    OPERATOR(_ZnwmRKSt9nothrow_t, void *, (size_t, const void *))              \
    OPERATOR(_ZnamRKSt9nothrow_t, void *, (size_t, const void *))              \
    OPERATOR(_ZnwmSt11align_val_t, void *, (size_t, size_t))                   \
    OPERATOR(_ZnamSt11align_val_t, void *, (size_t, size_t))                   \
    OPERATOR(_ZnwmSt11align_val_tRKSt9nothrow_t, void *,                       \
             (size_t, size_t, const void *))                                   \
    OPERATOR(_ZnamSt11align_val_tRKSt9nothrow_t, void *,                       \
             (size_t, size_t, const void *))                                   \
    OPERATOR(_ZdlPv, void, (void *))                                           \
    OPERATOR(_ZdaPv, void, (void *))                                           \
    OPERATOR(_ZdlPvm, void, (void *, size_t))                                  \
    OPERATOR(_ZdaPvm, void, (void *, size_t))                                  \
    OPERATOR(_ZdlPvRKSt9nothrow_t, void, (void *, const void *))               \
    OPERATOR(_ZdaPvRKSt9nothrow_t, void, (void *, const void *))               \
    OPERATOR(_ZdlPvSt11align_val_t, void, (void *, size_t))                    \
    OPERATOR(_ZdaPvSt11align_val_t, void, (void *, size_t))                    \
    OPERATOR(_ZdlPvmSt11align_val_t, void, (void *, size_t, size_t))           \
    OPERATOR(_ZdaPvmSt11align_val_t, void, (void *, size_t, size_t))           \
    OPERATOR(_ZdlPvSt11align_val_tRKSt9nothrow_t, void,                        \
             (void *, size_t, const void *))                                   \
    OPERATOR(_ZdaPvSt11align_val_tRKSt9nothrow_t, void,                        \
             (void *, size_t, const void *))

const int memory_wraps_new = 1;

static struct operators {
#define OPERATOR(name, type, parameters) type(*name) parameters;
    OPERATORS
#undef OPERATOR
} next;

static const char nothrow = 0; /* nobody looks at it */

enum { UNKNOWN, PASSED_ON, TOLD };
static int state;

static const void *file_of(const void *function)
{
    Dl_info info;
    return function && dladdr(function, &info) ? info.dli_fbase : NULL;
}

/* Where the allocator's is not to be seen from here: that of whoever calls. */
static void *find(const char *name, const void *caller)
{
    Dl_info info;
    void *found = dlsym(RTLD_NEXT, name), *file;
    if (found || !dladdr(caller, &info)) return found;
    file = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!file) return NULL;
    found = dlsym(file, name);
    dlclose(file);
    return found;
}

static __attribute__((noinline)) int load(const void *caller)
{
    const struct memory_real *real = memory_real();
    struct operators found;
    void *at;
    int error = errno;
#define OPERATOR(name, type, parameters)                                       \
    at = find(#name, caller);                                                  \
    memcpy(&found.name, &at, sizeof at);
    OPERATORS
#undef OPERATOR
    if (!found._Znwm || !found._ZnwmRKSt9nothrow_t)
        abort(); /* C++ without it */
    void *malloc_of;
    memcpy(&malloc_of, &real->malloc, sizeof malloc_of);
    memcpy(&at, &found._Znwm, sizeof at);
    bool is_own = file_of(at) && file_of(at) == file_of(malloc_of);
    next = found;
    __atomic_store_n(&state, is_own ? TOLD : PASSED_ON, __ATOMIC_RELEASE);
    errno = error;
    return state;
}

/* Whether the wrappers tell; the next definitions are known then. */
static inline bool is_told_here(const void *caller)
{
    int now = __atomic_load_n(&state, __ATOMIC_ACQUIRE);
    if (unlikely(now == UNKNOWN)) now = load(caller);
    return now == TOLD && is_told();
}
#define IS_TOLD is_told_here(__builtin_return_address(0))

/* ---- new --------------------------------------------------------------------- */

/* quiet: the operator that does not throw. */
#define NEW(name, quiet)                                                       \
    WRAPPER void *name(size_t bytes)                                           \
    {                                                                          \
        void *p;                                                               \
        if (!IS_TOLD) return next.name(bytes);                                 \
        CALL(p, next.quiet(bytes, &nothrow));                                  \
        TELL(p, bytes);                                                        \
        return p ? p : next.name(bytes);                                       \
    }                                                                          \
    WRAPPER void *quiet(size_t bytes, const void *tag)                         \
    {                                                                          \
        void *p;                                                               \
        if (!IS_TOLD) return next.quiet(bytes, tag);                           \
        CALL(p, next.quiet(bytes, tag));                                       \
        TELL(p, bytes);                                                        \
        return p;                                                              \
    }
#define NEW_ALIGNED(name, quiet)                                               \
    WRAPPER void *name(size_t bytes, size_t alignment)                         \
    {                                                                          \
        void *p;                                                               \
        if (!IS_TOLD) return next.name(bytes, alignment);                      \
        CALL(p, next.quiet(bytes, alignment, &nothrow));                       \
        TELL(p, bytes);                                                        \
        return p ? p : next.name(bytes, alignment);                            \
    }                                                                          \
    WRAPPER void *quiet(size_t bytes, size_t alignment, const void *tag)       \
    {                                                                          \
        void *p;                                                               \
        if (!IS_TOLD) return next.quiet(bytes, alignment, tag);                \
        CALL(p, next.quiet(bytes, alignment, tag));                            \
        TELL(p, bytes);                                                        \
        return p;                                                              \
    }
NEW(_Znwm, _ZnwmRKSt9nothrow_t)
NEW(_Znam, _ZnamRKSt9nothrow_t)
NEW_ALIGNED(_ZnwmSt11align_val_t, _ZnwmSt11align_val_tRKSt9nothrow_t)
NEW_ALIGNED(_ZnamSt11align_val_t, _ZnamSt11align_val_tRKSt9nothrow_t)

/* ---- delete ------------------------------------------------------------------- */

#define DELETE(name, parameters, arguments)                                    \
    WRAPPER void name parameters                                               \
    {                                                                          \
        if (!IS_TOLD) {                                                        \
            next.name arguments;                                               \
            return;                                                            \
        }                                                                      \
        if (p) tell_free(p, false);                                            \
        memory_inside++;                                                       \
        next.name arguments;                                                   \
        memory_inside--;                                                       \
    }
#define PLAIN (void *p), (p)
#define SIZED (void *p, size_t a), (p, a)
#define TAGGED (void *p, const void *tag), (p, tag)
#define EACH(name, both) DELETE_(name, both)
#define DELETE_(name, ...) DELETE(name, __VA_ARGS__)
EACH(_ZdlPv, PLAIN)
EACH(_ZdaPv, PLAIN)
EACH(_ZdlPvm, SIZED)
EACH(_ZdaPvm, SIZED)
EACH(_ZdlPvRKSt9nothrow_t, TAGGED)
EACH(_ZdaPvRKSt9nothrow_t, TAGGED)
EACH(_ZdlPvSt11align_val_t, SIZED)
EACH(_ZdaPvSt11align_val_t, SIZED)
DELETE(_ZdlPvmSt11align_val_t, (void *p, size_t a, size_t b), (p, a, b))
DELETE(_ZdaPvmSt11align_val_t, (void *p, size_t a, size_t b), (p, a, b))
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t,
       (void *p, size_t a, const void *tag), (p, a, tag))
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t,
       (void *p, size_t a, const void *tag), (p, a, tag))
