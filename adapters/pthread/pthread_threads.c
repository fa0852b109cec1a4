/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads: when they begin and end, and what they are called.
 *
 * A thread's row in the recording begins with its first event: so one is
 * recorded at either end. The first thread's is recorded when it makes another,
 * and counts from when it began, so that a program without threads records
 * nothing here and leaves nothing.
 *
 * BLAS       has threads of its own, which work while somebody's product does and
 *            spin in between, so that nobody sees who waits for whom. That one
 *            began them, and waits for their end when all is done, would say
 *            that the run depends on them, and it depends on the products: both
 *            is left out.
 * Names      a row is called what its thread was called at its first event. A
 *            thread that names itself is heard at once; one that others name,
 *            or that asks the kernel directly, when it ends.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "pthread_real.h"
#include "adapters/common/common_next.h"
#include "adapters/common/common_own.h"
#include "adapters/common/common_sync.h"

#define WRAPPER __attribute__((visibility("default")))

struct start {
    union {
        void *(*posix)(void *);
        thrd_start_t c11;
    } function;
    void *argument;
    axp_giver by; /* who made the thread */
    bool is_blas, is_detached;
};

/* What the recorder knows this thread as. */
static __thread char known[16] __attribute__((tls_model("initial-exec")));

static struct common_left *left; /* by threads that have begun */

static uint64_t first_began; /* when the first thread did, of this process */
static pid_t first_process;

/* It filters its system calls, and is asked nothing any more. */
static bool is_quiet;

/* Threads that ask it something: a filter may be set for all of them at once. */
static uint32_t n_asking;

static bool begin_asking(void)
{
    __atomic_add_fetch(&n_asking, 1, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&is_quiet, __ATOMIC_SEQ_CST)) return true;
    __atomic_sub_fetch(&n_asking, 1, __ATOMIC_RELEASE);
    return false;
}

static void end_asking(void)
{
    __atomic_sub_fetch(&n_asking, 1, __ATOMIC_RELEASE);
}

/* Some 100 ms at most: a handler may be inside of what it would wait for. */
static void be_quiet(bool is)
{
    static const struct timespec moment = {.tv_nsec = 100000};
    __atomic_store_n(&is_quiet, is, __ATOMIC_SEQ_CST);
    for (int i = 0; is && i < 1000; i++) {
        if (!__atomic_load_n(&n_asking, __ATOMIC_ACQUIRE)) return;
        nanosleep(&moment, NULL);
    }
}

/* A library may make threads in a constructor of its own, before ours. A child has
 * a first thread of its own, of which its parent's time tells nothing; where the
 * kernel made it, and not fork, that shows when it makes threads. */
static void see_first(void)
{
    pid_t process = getpid();
    if (first_began && first_process == process) return;
    first_began = axp_wait_begin();
    first_process = process;
}

static void begin_child(void)
{
    n_asking = 0;
    if (!is_quiet) see_first();
}

__attribute__((constructor)) static void hear(void)
{
    axp_quiet_tell(be_quiet);
    (void)pthread_atfork(NULL, NULL, begin_child);
    if (!is_quiet) see_first();
}

/* The recorder begins while there is one thread: what it asks the kernel for then
 * is free, and takes 12 ms once there are two (membarrier waits for all). */
static void on_create(struct start *start)
{
    if (!begin_asking()) return;
    if (gettid() == getpid()) {
        see_first();
        axp_thread_begin(first_began);
    }
    if (!start->is_blas)
        start->by = axp_sync_give(AXP_SYNC_THREAD_START, start, 0);
    end_asking();
}

static void get_name(char name[16])
{
    if (prctl(PR_GET_NAME, name)) name[0] = 0;
}

static struct start on_begin(void *p)
{
    struct start start = *(struct start *)p;
    if (begin_asking()) {
        get_name(known);
        axp_instant(axp_global(), "thread begins");
        if (!start.is_blas)
            axp_sync_take(AXP_SYNC_THREAD_START, p, 0, &start.by);
        end_asking();
    }
    common_own_leave(&left, p);
    return start;
}

static void on_end(void *p)
{
    const struct start *start = p;
    int error = errno;
    char name[16];
    common_wait_no_more();
    if (!begin_asking()) return;
    get_name(name);
    if (*name && strcmp(name, known) != 0) axp_thread_name(axp_global(), name);
    axp_instant(axp_global(), "thread ends");
    if (!start->is_blas)
        common_sync_ended(common_thread(pthread_self()), start->is_detached);
    end_asking();
    errno = error;
}

/* A cancelled thread, and one that calls pthread_exit, passes on_end too. */
static void *posix_main(void *p)
{
    struct start start = on_begin(p);
    void *result;
    pthread_cleanup_push(on_end, &start);
    result = start.function.posix(start.argument);
    pthread_cleanup_pop(1);
    return result;
}

/* The same of one that calls thrd_exit. */
static int c11_main(void *p)
{
    struct start start = on_begin(p);
    int result;
    pthread_cleanup_push(on_end, &start);
    result = start.function.c11(start.argument);
    pthread_cleanup_pop(1);
    return result;
}

/* The drain of a program that records to a file by itself. dladdr would wait for
 * whoever is inside dlopen, who may wait for this thread. */
static bool is_recorders(void *(*function)(void *))
{
    struct dl_find_object its, ours;
    void *at, *of = NULL;
    void (*instant)(axp_profiler *, const char *) = axp_instant;
    memcpy(&at, &function, sizeof at);
    memcpy(&of, &instant, sizeof of);
    return !_dl_find_object(at, &its) && !_dl_find_object(of, &ours) &&
           its.dlfo_link_map == ours.dlfo_link_map;
}

/* Is it a function of an object that has products? The last answer is kept: an
 * object that starts many threads asks once. */
static bool is_of_blas(void *(*function)(void *))
{
    static const char *const names[] = {"sgemm_"};
    static const void *other, *blas; /* objects, by their tables */
    struct dl_find_object object;
    void *at, *found;
    memcpy(&at, &function, sizeof at);
    if (_dl_find_object(at, &object)) return false;
    const struct common_next of = {object.dlfo_link_map->l_ld};
    if (__atomic_load_n(&other, __ATOMIC_RELAXED) == of.dynamic) return false;
    if (__atomic_load_n(&blas, __ATOMIC_RELAXED) == of.dynamic) return true;
    common_next_symbols(&of, names, &found, 1);
    __atomic_store_n(found ? &blas : &other, of.dynamic, __ATOMIC_RELAXED);
    return found;
}

static bool is_detached(const pthread_attr_t *attr)
{
    int state = PTHREAD_CREATE_JOINABLE;
    if (attr) pthread_attr_getdetachstate(attr, &state);
    return state == PTHREAD_CREATE_DETACHED;
}

WRAPPER int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                           void *(*function)(void *), void *argument)
{
    const struct pthread_real *real = pthread_real();
    struct start *start = is_quiet || is_recorders(function)
                              ? NULL
                              : common_own_take_anew(&left, sizeof *start);
    if (!start) return real->pthread_create(thread, attr, function, argument);
    *start = (struct start){.function.posix = function,
                            .argument = argument,
                            .is_blas = is_of_blas(function),
                            .is_detached = is_detached(attr)};
    on_create(start);
    int rc = real->pthread_create(thread, attr, posix_main, start);
    if (rc) common_own_free(start);
    return rc;
}

WRAPPER int thrd_create(thrd_t *thread, thrd_start_t function, void *argument)
{
    const struct pthread_real *real = pthread_real();
    struct start *start =
        is_quiet ? NULL : common_own_take_anew(&left, sizeof *start);
    if (!start) return real->thrd_create(thread, function, argument);
    *start = (struct start){.function.c11 = function, .argument = argument};
    on_create(start);
    int rc = real->thrd_create(thread, c11_main, start);
    if (rc != thrd_success) common_own_free(start);
    return rc;
}

WRAPPER int pthread_setname_np(pthread_t thread, const char *name)
{
    int rc = pthread_real()->pthread_setname_np(thread, name);
    if (rc == 0 && pthread_equal(thread, pthread_self()) && begin_asking()) {
        get_name(known);
        axp_thread_name(axp_global(), name);
        end_asking();
    }
    return rc;
}
