/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The same as pthread_program.c for the threads of C11, which the C library
 * does not make out of the POSIX functions that others can see. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <threads.h>

#include "wait_check.h"

static mtx_t mutex;
static cnd_t condition, never;
static bool is_set;

static int waiter(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "waiter");
    waiter_id = gettid();
    enter_phase(1);
    CHECK(mtx_lock(&mutex) == thrd_success);
    enter_phase(2);
    while (!is_set)
        CHECK(cnd_wait(&condition, &mutex) == thrd_success);
    mtx_unlock(&mutex);
    thrd_exit(42);
}

static void wait_for_each_other(void)
{
    thrd_t thread;
    int result;
    mtx_lock(&mutex);
    CHECK(thrd_create(&thread, waiter, NULL) == thrd_success);
    let_wait(1); /* for the mutex */
    mtx_unlock(&mutex);
    let_wait(2); /* for the condition */
    mtx_lock(&mutex);
    is_set = true;
    cnd_signal(&condition);
    mtx_unlock(&mutex);
    CHECK(thrd_join(thread, &result) == thrd_success && result == 42);
}

/* Waits that nothing ends before their limit, and a result. Three of each: a
 * busy machine may leave none of the 20 ms to one of them. */
static int wait_with_limit(void *lock)
{
    mtx_t own;
    for (int i = 0; i < 3; i++) {
        struct timespec until = in_20_ms();
        CHECK(mtx_timedlock(lock, &until) == thrd_timedout);
    }
    mtx_init(&own, mtx_plain);
    mtx_lock(&own);
    for (int i = 0; i < 3; i++) {
        struct timespec until = in_20_ms();
        CHECK(cnd_timedwait(&never, &own, &until) == thrd_timedout);
    }
    mtx_unlock(&own);
    return -7;
}

static void join_one_that_waits(void)
{
    thrd_t thread;
    mtx_t timed;
    int result;
    mtx_init(&timed, mtx_timed);
    mtx_lock(&timed);
    CHECK(thrd_create(&thread, wait_with_limit, &timed) == thrd_success);
    CHECK(thrd_join(thread, &result) == thrd_success && result == -7);
    mtx_unlock(&timed);
}

/* Locks that nobody else wants: nothing may be recorded of them. */
static void lock_alone(void)
{
    mtx_t own;
    CHECK(mtx_init(&own, mtx_plain | mtx_recursive) == thrd_success);
    errno = 77;
    for (int i = 0; i < 100000; i++)
        CHECK(mtx_lock(&own) == thrd_success);
    for (int i = 0; i < 100000; i++)
        CHECK(mtx_unlock(&own) == thrd_success);
    CHECK(errno == 77);
    axp_view *view = axp_snapshot(axp_global());
    CHECK(axp_view_event_count(view) == 0);
    axp_view_destroy(view);
}

int main(void)
{
    CHECK(mtx_init(&mutex, mtx_plain) == thrd_success);
    CHECK(cnd_init(&condition) == thrd_success);
    CHECK(cnd_init(&never) == thrd_success);
    lock_alone();
    wait_for_each_other();
    axp_view *view = axp_snapshot(axp_global());
    CHECK(view);
    check_wait(view, "mutex wait");
    check_wait(view, "condition wait");
    axp_thread_info info = thread_of(view, "waiter");
    check_first(view);
    CHECK(info.end - info.begin >= 40 * MS); /* its whole life */
    axp_view_destroy(view);

    axp_reset(axp_global());
    join_one_that_waits();
    view = axp_snapshot(axp_global());
    check_wait(view, "mutex wait");
    check_wait(view, "condition wait");
    check_wait(view, "join wait");
    axp_view_destroy(view);
    puts("waits are recorded");
    return 0;
}
