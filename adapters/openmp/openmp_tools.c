/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* OMPT, the interface for tools of OpenMP 5.0: a runtime that has it looks for
 * ompt_start_tool when it begins. What is declared here is what of it is used;
 * numbers and types are the specification's.
 *
 * A member leaves its region when it comes to the barrier at its end: pool
 * threads learn that they have left that barrier with their next region.
 */
#include "openmp_tools.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "openmp_call.h"
#include "openmp_lock.h"
#include "openmp_team.h"

#define WRAPPER __attribute__((visibility("default")))

enum { /* events */
       ON_PARALLEL_BEGIN = 3,
       ON_PARALLEL_END = 4,
       ON_TASK_CREATE = 5,
       ON_TASK_SCHEDULE = 6,
       ON_IMPLICIT_TASK = 7,
       ON_SYNC_REGION_WAIT = 16,
       ON_MUTEX_RELEASED = 17,
       ON_WORK = 20,
       ON_SYNC_REGION = 23,
       ON_MUTEX_ACQUIRE = 26,
       ON_MUTEX_ACQUIRED = 27
};
enum { AT_BEGIN = 1, AT_END = 2 };
enum { TASK_INITIAL = 1 };
enum { TASK_COMPLETE = 1, TASK_CANCEL = 3 };
enum { WORK_OF_OTHERS = 4 }; /* who meets a single that another one runs */
enum {                       /* what is waited for */
       BARRIER_IMPLICIT = 2,
       BARRIER_EXPLICIT = 3,
       BARRIER_OF_RUNTIME = 4,
       TASKWAIT = 5,
       TASKGROUP = 6,
       BARRIER_WORKSHARE = 8,
       BARRIER_PARALLEL = 9
};

union data { /* ompt_data_t */
    uint64_t value;
    void *ptr;
};
typedef void any_function(void);
typedef any_function *lookup_function(const char *name);
typedef int set_callback_function(int event, any_function *callback);
struct start_tool_result {
    int (*initialize)(lookup_function *lookup, int device, union data *tool);
    void (*finalize)(union data *tool);
    union data tool;
};

static int is_on;

/* Waits and worksharing that are open on this thread. */
#define MOST_OPEN 16u
static __thread struct {
    struct openmp_arrival barrier;
    struct openmp_lock lock;
    uint64_t work[MOST_OPEN];
    struct openmp_task tasks[MOST_OPEN];
    uint32_t n_work, n_tasks;
} self __attribute__((tls_model("initial-exec")));

bool openmp_tools_are_on(void)
{
    return __atomic_load_n(&is_on, __ATOMIC_RELAXED);
}

/* A task's data: of an implicit one the team that its thread is inside of, of
 * an explicit one this, whether it has begun, and the place that made it. */
#define IS_EXPLICIT 1u
#define HAS_BEGUN 2u
#define PLACE_SHIFT 2

/* ---- scopes that begin and end in pairs --------------------------------- */

static void push_work(uint64_t token)
{
    if (self.n_work < MOST_OPEN) self.work[self.n_work] = token;
    self.n_work++;
}

static void pop_work(void)
{
    if (!self.n_work) return;
    self.n_work--;
    if (self.n_work < MOST_OPEN && self.work[self.n_work])
        axp_end(self.work[self.n_work]);
}

static void push_task(const void *place)
{
    if (self.n_tasks < MOST_OPEN)
        self.tasks[self.n_tasks] = openmp_task_begin(place);
    self.n_tasks++;
}

static void pop_task(void)
{
    if (!self.n_tasks) return;
    self.n_tasks--;
    if (self.n_tasks < MOST_OPEN) openmp_task_end(self.tasks[self.n_tasks]);
}

/* What was wanted and not told to be got: a lock that was tried in vain, or a
 * nested one that the thread has already. The thread has gone on since. */
static void give_up(void)
{
    if (self.lock.object) openmp_lock_gave_up(&self.lock);
    self.lock.object = NULL;
}

/* ---- regions ------------------------------------------------------------ */

/* A return address: the call is before it. */
static const void *place_of(const void *return_address)
{
    return return_address ? (const char *)return_address - 1 : NULL;
}

/* The place that made an explicit task. */
static const void *place_of_task(const union data *task)
{
    return (const void *)(uintptr_t)(task->value >> PLACE_SHIFT);
}

/* The region, or the task, that a region is met in; NULL: none. */
static const void *function_around(const union data *task)
{
    if (!task || !task->ptr) return NULL;
    if (task->value & IS_EXPLICIT) return place_of_task(task);
    return ((const struct openmp_team *)task->ptr)->function;
}

static void on_parallel_begin(union data *task, const void *frame,
                              union data *parallel, unsigned requested,
                              int flags, const void *return_address)
{
    (void)frame, (void)requested, (void)flags;
    int error = errno;
    const void *around = function_around(task);
    if (around && !openmp_call_is_of_runtime(return_address)) around = NULL;
    parallel->ptr =
        openmp_team_begin(openmp_call_place(return_address), around);
    errno = error;
}

static void on_parallel_end(union data *parallel, union data *task, int flags,
                            const void *return_address)
{
    (void)task, (void)flags, (void)return_address;
    int error = errno;
    if (parallel && parallel->ptr) openmp_team_end(parallel->ptr);
    errno = error;
}

/* The task's data says that its member is inside. */
static void on_implicit_task(int endpoint, union data *parallel,
                             union data *task, unsigned n_members,
                             unsigned index, int flags)
{
    if (flags & TASK_INITIAL) return;
    give_up();
    if (endpoint == AT_BEGIN && parallel && parallel->ptr) {
        task->ptr = parallel->ptr;
        openmp_enter(parallel->ptr, n_members, index != 0);
    } else if (endpoint == AT_END && task->ptr) {
        task->ptr = NULL;
        openmp_leave();
    }
}

/* The barrier at a region's end. Runtimes of OpenMP 5.0 give it the kind of all
 * implicit ones, and no place, or the region's own. */
static bool is_of_end(int kind, const struct openmp_team *team,
                      const void *return_address)
{
    return kind == BARRIER_PARALLEL ||
           (kind == BARRIER_IMPLICIT &&
            (!return_address || openmp_call_place(return_address) == team->at));
}

static void on_sync_region(int kind, int endpoint, union data *parallel,
                           union data *task, const void *return_address)
{
    (void)parallel;
    give_up();
    if (endpoint != AT_BEGIN || !task || !task->ptr ||
        task->value & IS_EXPLICIT ||
        !is_of_end(kind, task->ptr, return_address))
        return;
    task->ptr = NULL;
    openmp_leave();
}

static bool is_barrier(int kind)
{
    return kind == BARRIER_IMPLICIT || kind == BARRIER_EXPLICIT ||
           kind == BARRIER_OF_RUNTIME || kind == BARRIER_WORKSHARE;
}

static void on_sync_region_wait(int kind, int endpoint, union data *parallel,
                                union data *task, const void *return_address)
{
    (void)parallel, (void)return_address;
    if (!is_barrier(kind)) return;
    int error = errno;
    if (endpoint == AT_BEGIN) {
        /* not of one who has left: that is the region's end */
        if (task && task->ptr) openmp_arrive(&self.barrier);
    } else if (self.barrier.team) {
        openmp_passed(&self.barrier);
        self.barrier.team = NULL;
    }
    errno = error;
}

/* ---- worksharing and tasks ---------------------------------------------- */

/* Loops, sections, the one who runs a single: each is a place of its own in its
 * region. */
static void on_work(int kind, int endpoint, union data *parallel,
                    union data *task, uint64_t count,
                    const void *return_address)
{
    (void)parallel, (void)task, (void)count;
    if (kind == WORK_OF_OTHERS) return;
    int error = errno;
    if (endpoint == AT_BEGIN)
        push_work(openmp_place_begin(place_of(return_address)));
    else
        pop_work();
    errno = error;
}

static void on_task_create(union data *by, const void *frame,
                           union data *created, int flags, int has_dependences,
                           const void *return_address)
{
    (void)by, (void)frame, (void)has_dependences;
    if (flags & TASK_INITIAL) return;
    created->value = (uint64_t)(uintptr_t)place_of(return_address)
                         << PLACE_SHIFT |
                     IS_EXPLICIT;
}

/* A task that waits for others may run one of them meanwhile, inside of it. */
static void on_task_schedule(union data *prior, int status, union data *next)
{
    int error = errno;
    if (prior && prior->value & IS_EXPLICIT &&
        (status == TASK_COMPLETE || status == TASK_CANCEL))
        pop_task();
    if (next && next->value & IS_EXPLICIT && !(next->value & HAS_BEGUN)) {
        next->value |= HAS_BEGUN;
        push_task(place_of_task(next));
    }
    errno = error;
}

/* ---- locks -------------------------------------------------------------- */

static const void *object_of(uint64_t wait_id)
{
    return (const void *)(uintptr_t)wait_id;
}

static void on_mutex_acquire(int kind, unsigned hint, unsigned how,
                             uint64_t wait_id, const void *return_address)
{
    (void)kind, (void)hint, (void)how, (void)return_address;
    give_up();
    self.lock = openmp_lock_want(object_of(wait_id));
}

static void on_mutex_acquired(int kind, uint64_t wait_id,
                              const void *return_address)
{
    (void)kind, (void)return_address;
    if (self.lock.object == object_of(wait_id)) openmp_lock_got(&self.lock);
    self.lock.object = NULL;
}

static void on_mutex_released(int kind, uint64_t wait_id,
                              const void *return_address)
{
    (void)kind, (void)return_address;
    give_up();
    openmp_lock_freed(object_of(wait_id));
}

/* ---- the beginning ------------------------------------------------------ */

static int initialize(lookup_function *lookup, int device, union data *tool)
{
    (void)device, (void)tool;
    const void *inside;
    set_callback_function *set =
        (set_callback_function *)lookup("ompt_set_callback");
    if (!set) return 0;
    memcpy(&inside, &lookup, sizeof inside);
    openmp_call_runtime(inside);
#define SET(event, callback) set(event, (any_function *)(callback))
    SET(ON_PARALLEL_BEGIN, on_parallel_begin);
    SET(ON_PARALLEL_END, on_parallel_end);
    SET(ON_IMPLICIT_TASK, on_implicit_task);
    SET(ON_SYNC_REGION, on_sync_region);
    SET(ON_SYNC_REGION_WAIT, on_sync_region_wait);
    SET(ON_WORK, on_work);
    SET(ON_TASK_CREATE, on_task_create);
    SET(ON_TASK_SCHEDULE, on_task_schedule);
    SET(ON_MUTEX_ACQUIRE, on_mutex_acquire);
    SET(ON_MUTEX_ACQUIRED, on_mutex_acquired);
    SET(ON_MUTEX_RELEASED, on_mutex_released);
#undef SET
    __atomic_store_n(&is_on, 1, __ATOMIC_RELEASE);
    return 1;
}

static void finalize(union data *tool)
{
    (void)tool;
    __atomic_store_n(&is_on, 0, __ATOMIC_RELEASE);
}

WRAPPER struct start_tool_result *ompt_start_tool(unsigned omp_version,
                                                  const char *runtime);
WRAPPER struct start_tool_result *ompt_start_tool(unsigned omp_version,
                                                  const char *runtime)
{
    static struct start_tool_result result = {initialize, finalize, {0}};
    (void)omp_version, (void)runtime;
    return &result;
}
