/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* GNU's runtime: its entries, which compilers call, are wrapped.
 *
 * A region's function is swapped for one of ours, which each member runs.
 *
 * Which      the one that the calling object would have called without us: under
 *            Python each module may bring its own, where RTLD_NEXT does not look.
 * LLVM's     runtime has these entries too, for programs of gcc, and tells us
 *            by itself (openmp_tools.c): then they are passed on.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "adapters/common/common_next.h"
#include "openmp_lock.h"
#include "openmp_team.h"
#include "openmp_tools.h"

#define WRAPPER __attribute__((visibility("default")))
#define MOST_OBJECTS 128u

typedef void function_t(void *);
typedef void copy_t(void *, void *);

/* ---- the real ones ------------------------------------------------------ */

/* REAL(result, name, parameters) */
#define LOOP (function_t *, void *, unsigned, long, long, long, long, unsigned)
#define LOOP_NO_CHUNK                                                          \
    (function_t *, void *, unsigned, long, long, long, unsigned)
#define TASKLOOP(type)                                                         \
    (function_t *, void *, copy_t *, long, long, unsigned, unsigned long, int, \
     type, type, type)
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
    REAL(void, GOMP_task,                                                      \
         (function_t *, void *, copy_t *, long, long, bool, unsigned, void **, \
          int, void *))                                                        \
    REAL(void, GOMP_taskloop, TASKLOOP(long))                                  \
    REAL(void, GOMP_taskloop_ull, TASKLOOP(unsigned long long))                \
    REAL(int, omp_get_num_threads, (void))                                     \
    REAL(int, omp_get_thread_num, (void))

/* A runtime, as one object of the program reaches it: there may be several, each
 * brought by another library, and what is called in one must end in it. */
struct runtime {
    struct object { /* that calls; all 0: free */
        const void *map, *at, *dynamic;
    } of;
    struct common_next next; /* the runtime's own */
    bool is_complete, is_llvm;
#define REAL(result, name, parameters) result(*name) parameters;
    REAL_FUNCTIONS
#undef REAL
};

static struct runtime runtimes[MOST_OBJECTS];
static uint32_t n_runtimes;
static int is_locked;
/* Of an object that finds no room, until the next call. */
static __thread struct runtime spare __attribute__((tls_model("initial-exec")));
/* Of the region or task that this thread is in; NULL: none. */
static __thread const struct runtime *inside
    __attribute__((tls_model("initial-exec")));

static const struct link_map *map_of(const void *address)
{
    struct dl_find_object object;
    if (_dl_find_object((void *)(uintptr_t)address, &object)) return NULL;
    return object.dlfo_link_map;
}

static const struct link_map *own_map(void)
{
    static const struct link_map *own;
    const struct link_map *map = __atomic_load_n(&own, __ATOMIC_RELAXED);
    if (map) return map;
    map = map_of(runtimes);
    __atomic_store_n(&own, map, __ATOMIC_RELAXED);
    return map;
}

static void fill(struct runtime *r, const void *caller)
{
#define REAL(result, name, parameters) #name,
    static const char *const names[] = {REAL_FUNCTIONS "__kmpc_fork_call"};
#undef REAL
    void *found[sizeof names / sizeof *names], **at = found;
    (void)common_next_find(&r->next, caller, "GOMP_parallel");
    common_next_symbols(&r->next, names, found, sizeof names / sizeof *names);
#define REAL(result, name, parameters) memcpy(&r->name, at++, sizeof *at);
    REAL_FUNCTIONS
#undef REAL
    r->is_llvm = *at;
    r->is_complete = r->GOMP_parallel && r->GOMP_barrier &&
                     r->omp_get_num_threads && r->omp_get_thread_num;
}

static bool is_of(const struct runtime *r, const struct link_map *map)
{
    return r->of.map == map && r->of.at == (const void *)map->l_addr &&
           r->of.dynamic == map->l_ld;
}

/* Another object may have come to where one was, and its runtime with it. */
static bool is_there(const struct runtime *r)
{
    const void *function;
    memcpy(&function, &r->GOMP_parallel, sizeof function);
    return common_next_is_there(&r->next, function);
}

static const struct runtime *known(const struct link_map *map)
{
    uint32_t n = __atomic_load_n(&n_runtimes, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < n; i++)
        if (is_of(&runtimes[i], map) && is_there(&runtimes[i]))
            return &runtimes[i];
    return NULL;
}

/* Two threads may both look; one of them keeps what it found. */
static __attribute__((noinline)) const struct runtime *load(
    const struct link_map *map, const void *caller)
{
    int error = errno;
    const struct runtime *r = &spare;
    fill(&spare, caller);
    if (map && !__atomic_exchange_n(&is_locked, 1, __ATOMIC_ACQUIRE)) {
        uint32_t n = n_runtimes;
        if (n < MOST_OBJECTS && !known(map)) {
            runtimes[n] = spare;
            runtimes[n].of =
                (struct object){map, (const void *)map->l_addr, map->l_ld};
            __atomic_store_n(&n_runtimes, n + 1, __ATOMIC_RELEASE);
            r = &runtimes[n];
        }
        __atomic_store_n(&is_locked, 0, __ATOMIC_RELEASE);
    }
    errno = error;
    return r;
}

/* A function of the program that ends with such a call leaves it to return to
 * whoever called that function: ours. */
static const struct runtime *look(const void *return_address)
{
    const struct link_map *map = map_of(return_address);
    if (map == own_map() && inside) return inside;
    const struct runtime *r = map ? known(map) : NULL;
    return __builtin_expect(r != NULL, 1) ? r : load(map, return_address);
}

#define LOOK() look(__builtin_return_address(0))

/* LLVM's tells by itself, where it was asked for. */
static bool is_seen(const struct runtime *r)
{
    return r->is_complete && !(r->is_llvm && openmp_tools_are_on());
}

/* ---- regions ------------------------------------------------------------ */

struct call {
    function_t *function;
    void *data;
    struct openmp_team *team;
    const struct runtime *real;
};

static void member_main(void *p)
{
    struct call call = *(struct call *)p;
    const struct runtime *before = inside;
    openmp_enter(call.team, (uint32_t)call.real->omp_get_num_threads(),
                 call.real->omp_get_thread_num() != 0);
    inside = call.real;
    call.function(call.data);
    inside = before;
    openmp_leave();
}

static struct call begin(const struct runtime *real, function_t *function,
                         void *data)
{
    void *at;
    int error = errno;
    memcpy(&at, &function, sizeof at);
    struct call call = {function, data, openmp_team_begin(at, NULL), real};
    errno = error;
    return call;
}

/* Without a runtime, which cannot be, the caller does it all. */
#define REGION(name, parameters, pass, swapped)                                \
    WRAPPER void name parameters;                                              \
    WRAPPER void name parameters                                               \
    {                                                                          \
        const struct runtime *real = LOOK();                                   \
        if (!real->name) {                                                     \
            function(data);                                                    \
        } else if (!is_seen(real)) {                                           \
            real->name pass;                                                   \
        } else {                                                               \
            struct runtime kept;                                               \
            if (real == &spare) kept = spare, real = &kept;                    \
            struct call call = begin(real, function, data);                    \
            real->name swapped;                                                \
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
        const struct runtime *real = LOOK();                                   \
        if (!real->name) return;                                               \
        struct openmp_arrival a = {0};                                         \
        if (is_seen(real)) openmp_arrive(&a);                                  \
        real->name();                                                          \
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
        const struct runtime *real = LOOK();                                   \
        bool seen = is_seen(real);                                             \
        if (!real->start) return;                                              \
        struct openmp_lock lock = {0};                                         \
        if (seen) lock = openmp_lock_want(object);                             \
        real->start arguments;                                                 \
        if (seen) openmp_lock_got(&lock);                                      \
    }                                                                          \
    WRAPPER void stop parameters                                               \
    {                                                                          \
        const struct runtime *real = LOOK();                                   \
        if (is_seen(real)) openmp_lock_free(object);                           \
        if (real->stop) real->stop arguments;                                  \
    }

CRITICAL(GOMP_critical_start, GOMP_critical_end, (void), (), &unnamed)
CRITICAL(GOMP_critical_name_start, GOMP_critical_name_end, (void **name),
         (name), name)

/* ---- tasks -------------------------------------------------------------- */

#define IS_DETACHED 0x2000u    /* of a task's flags: its block is written to */
#define MOST_TASK_BYTES 65536l /* of arguments that are copied here */

/* What a task's block begins with; what the program passed comes behind it. */
struct task {
    uint64_t
        range[2]; /* of a loop: from the runtime, for the program's block */
    uintptr_t *reduces; /* and for the runtime, from there */
    bool is_loop;
    function_t *function;
    copy_t *copy;
    void *data;                 /* the program's, where there is a copy */
    long offset;                /* of what was passed, in the block */
    const struct runtime *real; /* NULL: one that was not kept */
};

static void task_main(void *block)
{
    struct task *task = block;
    void *at, *data = (char *)block + task->offset;
    memcpy(&at, &task->function, sizeof at);
    const struct runtime *before = inside;
    if (task->is_loop) memcpy(data, task->range, sizeof task->range);
    struct openmp_task open = openmp_task_begin(at);
    if (task->real) inside = task->real;
    task->function(data);
    inside = before;
    openmp_task_end(open);
}

static void copy_task(void *to, void *from)
{
    struct task *task = from;
    memcpy(to, task, sizeof *task);
    task->copy((char *)to + task->offset, task->data);
}

static bool is_usual_task(long bytes, long align, unsigned flags)
{
    return !(flags & IS_DETACHED) && bytes >= 0 && align <= 4096 &&
           bytes <= MOST_TASK_BYTES;
}

static long task_align(long align)
{
    long least = (long)_Alignof(struct task);
    return align < least ? least : align;
}

static struct task make_task(const struct runtime *real, function_t *function,
                             void *data, copy_t *copy, long align)
{
    bool is_kept = real >= runtimes && real < runtimes + MOST_OBJECTS;
    return (struct task){.function = function,
                         .copy = copy,
                         .data = data,
                         .offset = ((long)sizeof(struct task) + align - 1) /
                                   align * align,
                         .real = is_kept ? real : NULL};
}

static char *put_task(char *room, const struct task *task, long bytes,
                      long align)
{
    char *block = room + (size_t)(-(uintptr_t)room & (uintptr_t)(align - 1));
    memcpy(block, task, sizeof *task);
    if (!task->copy && bytes)
        memcpy(block + task->offset, task->data, (size_t)bytes);
    return block;
}

/* Room for a block: of what is copied later only its beginning. */
#define TASK_ROOM(copy, bytes, align)                                          \
    (sizeof(struct task) + (size_t)((copy) ? 0 : (bytes)) + 2 * (size_t)(align))

/* The block is the runtime's to copy, by whichever of the two ways; a task that
 * runs at once reads it from here. */
WRAPPER void GOMP_task(function_t *function, void *data, copy_t *copy,
                       long bytes, long align, bool is_deferred, unsigned flags,
                       void **depend, int priority, void *detach);
WRAPPER void GOMP_task(function_t *function, void *data, copy_t *copy,
                       long bytes, long align, bool is_deferred, unsigned flags,
                       void **depend, int priority, void *detach)
{
    const struct runtime *real = LOOK();
    if (!real->GOMP_task) {
        function(data);
        return;
    }
    if (!is_seen(real) || !is_usual_task(bytes, align, flags)) {
        real->GOMP_task(function, data, copy, bytes, align, is_deferred, flags,
                        depend, priority, detach);
        return;
    }
    align = task_align(align);
    struct task task = make_task(real, function, data, copy, align);
    char room[TASK_ROOM(copy, bytes, align)];
    real->GOMP_task(task_main, put_task(room, &task, bytes, align),
                    copy ? copy_task : NULL, task.offset + bytes, align,
                    is_deferred, flags, depend, priority, detach);
}

/* The block of a loop's task begins with its part of the range, which the
 * runtime writes there; behind it, where the loop reduces, stands into what. */
struct loop_head {
    uint64_t range[2];
    uintptr_t *reduces;
};

#define LOOP_OF_TASKS(name, type)                                              \
    WRAPPER void name(function_t *function, void *data, copy_t *copy,          \
                      long bytes, long align, unsigned flags, unsigned long n, \
                      int priority, type from, type to, type by);              \
    WRAPPER void name(function_t *function, void *data, copy_t *copy,          \
                      long bytes, long align, unsigned flags, unsigned long n, \
                      int priority, type from, type to, type by)               \
    {                                                                          \
        const struct runtime *real = LOOK();                                   \
        struct loop_head head = {.reduces = NULL};                             \
        if (!real->name) return;                                               \
        if (!is_seen(real) || !is_usual_task(bytes, align, flags) ||           \
            bytes < (long)sizeof head.range) {                                 \
            real->name(function, data, copy, bytes, align, flags, n, priority, \
                       from, to, by);                                          \
            return;                                                            \
        }                                                                      \
        align = task_align(align);                                             \
        struct task task = make_task(real, function, data, copy, align);       \
        if (bytes >= (long)sizeof head) memcpy(&head, data, sizeof head);      \
        task.reduces = head.reduces;                                           \
        task.is_loop = true;                                                   \
        char room[TASK_ROOM(copy, bytes, align)];                              \
        real->name(task_main, put_task(room, &task, bytes, align),             \
                   copy ? copy_task : NULL, task.offset + bytes, align, flags, \
                   n, priority, from, to, by);                                 \
    }

LOOP_OF_TASKS(GOMP_taskloop, long)
LOOP_OF_TASKS(GOMP_taskloop_ull, unsigned long long)
