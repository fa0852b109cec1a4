/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The lock of our own: one at a time, and whoever waits gets it. */
#include "test_support.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "base/base_atomic.h"
#include "os/os_mutex.h"

#define THREADS 4
#define TURNS 20000

struct shared {
    struct axp__mutex mutex;
    uint64_t sum; /* by it, not atomic */
    uint32_t n_inside, n_met;
};

static void only_one_holds_it(void **state)
{
    (void)state;
    struct axp__mutex m = {0};
    assert_true(axp__mutex_try(&m));
    assert_false(axp__mutex_try(&m));
    axp__mutex_unlock(&m);
    axp__mutex_lock(&m);
    assert_false(axp__mutex_try(&m));
    axp__mutex_unlock(&m);
    assert_int_equal(m.state, 0);
}

static void *add(void *ctx)
{
    struct shared *s = ctx;
    for (int i = 0; i < TURNS; i++) {
        axp__mutex_lock(&s->mutex);
        if (axp__add(&s->n_inside, 1)) axp__add(&s->n_met, 1);
        s->sum++;
        if (i % 64 == 0) sched_yield(); /* so that others have to wait */
        axp__add(&s->n_inside, -1);
        axp__mutex_unlock(&s->mutex);
    }
    return NULL;
}

static void threads_take_turns(void **state)
{
    (void)state;
    struct shared s = {.sum = 0};
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add, &s), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(s.sum, THREADS * TURNS);
    assert_int_equal(s.n_met, 0);
    assert_int_equal(s.mutex.state, 0);
}

static void *wait_for_it(void *ctx)
{
    struct shared *s = ctx;
    axp__mutex_lock(&s->mutex);
    s->sum = 1;
    axp__mutex_unlock(&s->mutex);
    return NULL;
}

/* As a profiler's slot becomes a page of its spool: what the waiting thread
 * said was in the old one. */
static void who_waits_is_not_forgotten_with_the_page(void **state)
{
    (void)state;
    struct shared s = {.sum = 0};
    pthread_t thread;
    axp__mutex_lock(&s.mutex);
    struct axp__mutex copy = s.mutex;
    assert_int_equal(pthread_create(&thread, NULL, wait_for_it, &s), 0);
    while (axp__get(&s.mutex.state) == copy.state)
        sched_yield();
    nanosleep(&(struct timespec){0, 20000000}, NULL); /* it sleeps */
    axp__put(&s.mutex.state, copy.state);
    axp__mutex_unlock(&s.mutex);
    pthread_join(thread, NULL);
    assert_int_equal(s.sum, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_one_holds_it),
        cmocka_unit_test(threads_take_turns),
        cmocka_unit_test(who_waits_is_not_forgotten_with_the_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
