/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* GNU's runtime: its entries, which compilers call, are wrapped.
 *
 * A region's function is swapped for one of ours, which each member runs.
 *
 * Not found  under Python libgomp is loaded where RTLD_NEXT does not look:
 *            then it is looked for among all objects that are loaded.
 * LLVM's     runtime has these entries too, for programs of gcc, and tells us
 *            by itself (openmp_tools.c): then they are passed on.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include "openmp_lock.h"
#include "openmp_team.h"
#include "openmp_tools.h"

#define WRAPPER __attribute__((visibility("default")))
#define MOST_OBJECTS 512

typedef void function_t(void *);

/* ---- the real ones ------------------------------------------------------ */

/* REAL(result, name, parameters) */
#define LOOP (function_t *, void *, unsigned, long, long, long, long, unsigned)
#define LOOP_NO_CHUNK                                                          \
    (function_t *, void *, unsigned, long, long, long, unsigned)
#define REAL_FUNCTIONS                                                         \
    REAL(void, GOMP_parallel, (function_t *, void *, unsigned, unsigned))      \
    REAL(void, GOMP_parallel_sections,                                         \
         (function_t *, void *, unsigned, unsigned, unsigned))                 \
    REAL(void, GOMP_parallel_loop_static, LOOP)                                \
    REAL(void, GOMP_parallel_loop_dynamic, LOOP)                               \
    REAL(void, GOMP_parallel_loop_guided, LOOP)                                \
    REAL(void, GOMP_parallel_loop_nonmonotonic_dynamic, LOOP)                  \
    REAL(void, GOMP_parallel_loop_nonmonotonic_guided, LOOP)                   \
    REAL(void, GOMP_parallel_loop_runtime, LOOP_NO_CHUNK)                      \
    REAL(void, GOMP_parallel_loop_nonmonotonic_runtime, LOOP_NO_CHUNK)         \
    REAL(void, GOMP_parallel_loop_maybe_nonmonotonic_runtime, LOOP_NO_CHUNK)   \
    REAL(void, GOMP_barrier, (void))                                           \
    REAL(void, GOMP_loop_end, (void))                                          \
    REAL(void, GOMP_sections_end, (void))                                      \
    REAL(void, GOMP_critical_start, (void))                                    \
    REAL(void, GOMP_critical_end, (void))                                      \
    REAL(void, GOMP_critical_name_start, (void **))                            \
    REAL(void, GOMP_critical_name_end, (void **))                              \
    REAL(int, omp_get_num_threads, (void))                                     \
    REAL(int, omp_get_thread_num, (void))

static struct {
#define REAL(result, name, parameters) result(*name) parameters;
    REAL_FUNCTIONS
#undef REAL
} real;
static int is_loaded;

struct objects {
    const char *name[MOST_OBJECTS];
    size_t n;
};

static int add_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct objects *o = ctx;
    (void)size;
    if (*info->dlpi_name && o->n < MOST_OBJECTS &&
        strstr(info->dlpi_name, "omp"))
        o->name[o->n++] = info->dlpi_name;
    return 0;
}

/* Not while dl_iterate_phdr runs: it holds what dlopen waits for. */
static void *find_elsewhere(const char *symbol)
{
    struct objects o = {.n = 0};
    void *ours = dlsym(RTLD_DEFAULT, symbol), *found = NULL;
    dl_iterate_phdr(add_object, &o);
    for (size_t i = 0; !found && i < o.n; i++) {
        void *object = dlopen(o.name[i], RTLD_LAZY | RTLD_NOLOAD);
        if (!object) continue;
        found = dlsym(object, symbol);
        if (found == ours) found = NULL;
        dlclose(object);
    }
    return found;
}

static void *find(const char *symbol)
{
    void *found = dlsym(RTLD_NEXT, symbol);
    return found ? found : find_elsewhere(symbol);
}

static __attribute__((noinline)) void load(void)
{
    int error = errno;
    void *found;
#define REAL(result, name, parameters)                                         \
    found = find(#name);                                                       \
    memcpy(&real.name, &found, sizeof found);
    REAL_FUNCTIONS
#undef REAL
        (void)
    dlerror();
    __atomic_store_n(&is_loaded, 1, __ATOMIC_RELEASE);
    errno = error;
}

static inline void look(void)
{
    if (__builtin_expect(!__atomic_load_n(&is_loaded, __ATOMIC_ACQUIRE), 0))
        load();
}

/* ---- regions ------------------------------------------------------------ */

struct call {
    function_t *function;
    void *data;
    struct openmp_team *team;
};

static void member_main(void *p)
{
    struct call call = *(struct call *)p;
    openmp_enter(call.team, (uint32_t)real.omp_get_num_threads(),
                 real.omp_get_thread_num() != 0);
    call.function(call.data);
    openmp_leave();
}

static struct call begin(function_t *function, void *data)
{
    void *at;
    int error = errno;
    memcpy(&at, &function, sizeof at);
    struct call call = {function, data, openmp_team_begin(at)};
    errno = error;
    return call;
}

static bool is_seen(void)
{
    look();
    return real.omp_get_num_threads && real.omp_get_thread_num &&
           !openmp_tools_are_on();
}

/* Without a runtime, which cannot be, the caller does it all. */
#define REGION(name, parameters, pass, swapped)                                \
    WRAPPER void name parameters;                                              \
    WRAPPER void name parameters                                               \
    {                                                                          \
        bool seen = is_seen();                                                 \
        if (!real.name) {                                                      \
            function(data);                                                    \
        } else if (!seen) {                                                    \
            real.name pass;                                                    \
        } else {                                                               \
            struct call call = begin(function, data);                          \
            real.name swapped;                                                 \
            openmp_team_end(call.team);                                        \
        }                                                                      \
    }
#define REGION_LOOP(name)                                                      \
    REGION(name,                                                               \
           (function_t * function, void *data, unsigned n, long from, long to, \
            long by, long chunk, unsigned flags),                              \
           (function, data, n, from, to, by, chunk, flags),                    \
           (member_main, &call, n, from, to, by, chunk, flags))
#define REGION_LOOP_NO_CHUNK(name)                                             \
    REGION(name,                                                               \
           (function_t * function, void *data, unsigned n, long from, long to, \
            long by, unsigned flags),                                          \
           (function, data, n, from, to, by, flags),                           \
           (member_main, &call, n, from, to, by, flags))

REGION(GOMP_parallel,
       (function_t * function, void *data, unsigned n, unsigned flags),
       (function, data, n, flags), (member_main, &call, n, flags))
REGION(GOMP_parallel_sections,
       (function_t * function, void *data, unsigned n, unsigned count,
        unsigned flags),
       (function, data, n, count, flags), (member_main, &call, n, count, flags))
REGION_LOOP(GOMP_parallel_loop_static)
REGION_LOOP(GOMP_parallel_loop_dynamic)
REGION_LOOP(GOMP_parallel_loop_guided)
REGION_LOOP(GOMP_parallel_loop_nonmonotonic_dynamic)
REGION_LOOP(GOMP_parallel_loop_nonmonotonic_guided)
REGION_LOOP_NO_CHUNK(GOMP_parallel_loop_runtime)
REGION_LOOP_NO_CHUNK(GOMP_parallel_loop_nonmonotonic_runtime)
REGION_LOOP_NO_CHUNK(GOMP_parallel_loop_maybe_nonmonotonic_runtime)

/* ---- barriers and critical sections ------------------------------------- */

#define BARRIER(name)                                                          \
    WRAPPER void name(void);                                                   \
    WRAPPER void name(void)                                                    \
    {                                                                          \
        bool seen = is_seen();                                                 \
        if (!real.name) return;                                                \
        struct openmp_arrival a = {0};                                         \
        if (seen) a = openmp_arrive();                                         \
        real.name();                                                           \
        openmp_passed(&a);                                                     \
    }

BARRIER(GOMP_barrier)
BARRIER(GOMP_loop_end)
BARRIER(GOMP_sections_end)

static char unnamed; /* what stands for the critical sections without a name */

#define CRITICAL(start, stop, parameters, arguments, object)                   \
    WRAPPER void start parameters;                                             \
    WRAPPER void stop parameters;                                              \
    WRAPPER void start parameters                                              \
    {                                                                          \
        bool seen = is_seen();                                                 \
        if (!real.start) return;                                               \
        struct openmp_lock lock = {0};                                         \
        if (seen) lock = openmp_lock_want(object);                             \
        real.start arguments;                                                  \
        if (seen) openmp_lock_got(&lock);                                      \
    }                                                                          \
    WRAPPER void stop parameters                                               \
    {                                                                          \
        if (is_seen()) openmp_lock_free(object);                               \
        if (real.stop) real.stop arguments;                                    \
    }

CRITICAL(GOMP_critical_start, GOMP_critical_end, (void), (), &unnamed)
CRITICAL(GOMP_critical_name_start, GOMP_critical_name_end, (void **name),
         (name), name)
