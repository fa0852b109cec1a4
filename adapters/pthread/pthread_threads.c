/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads: when they begin and end, and what they are called.
 *
 * A thread's row in the recording goes from its first to its last event: so
 * one is recorded at either end. The first thread has none, so that a program
 * without threads records nothing here and leaves nothing.
 */
#include <errno.h>
#include <stdlib.h>

#include <axprof/axprof.h>

#include "pthread_real.h"

#define WRAPPER __attribute__((visibility("default")))

struct start {
    void *(*function)(void *);
    void *argument;
};

static void on_end(void *unused)
{
    int error = errno;
    (void)unused;
    axp_instant(axp_global(), "thread ends");
    errno = error;
}

/* A cancelled thread, and one that calls pthread_exit, passes on_end too. */
static void *thread_main(void *p)
{
    struct start start = *(struct start *)p;
    void *result;
    free(p);
    axp_instant(axp_global(), "thread begins");
    pthread_cleanup_push(on_end, NULL);
    result = start.function(start.argument);
    pthread_cleanup_pop(1);
    return result;
}

WRAPPER int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                           void *(*function)(void *), void *argument)
{
    const struct pthread_real *real = pthread_real();
    struct start *start = malloc(sizeof *start);
    if (!start) return real->pthread_create(thread, attr, function, argument);
    *start = (struct start){function, argument};
    int rc = real->pthread_create(thread, attr, thread_main, start);
    if (rc) free(start);
    return rc;
}

WRAPPER int pthread_setname_np(pthread_t thread, const char *name)
{
    int rc = pthread_real()->pthread_setname_np(thread, name);
    if (rc == 0 && pthread_equal(thread, pthread_self()))
        axp_thread_name(axp_global(), name);
    return rc;
}
