/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads that wait for each other, run with the adapter loaded: the waits are
 * there and take the time they took, what did not wait left nothing, threads
 * have their names. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>

#include "wait_check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore, ready, named, never;
static int is_set;

/* Each waits while main holds, or before main gives. */
static void *waiter(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "waiter");
    waiter_id = gettid();
    while (state_of(getpid()) != 'S')
        sleep_ms(1);
    sleep_ms(20); /* main waits for the semaphore */
    sem_post(&ready);
    enter_phase(1);
    pthread_mutex_lock(&mutex);
    enter_phase(2);
    while (!is_set)
        pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    enter_phase(3);
    pthread_rwlock_rdlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
    enter_phase(4);
    pthread_barrier_wait(&barrier);
    enter_phase(5);
    while (sem_wait(&semaphore))
        continue;
    pthread_exit(NULL);
}

static void *nothing(void *argument)
{
    return argument;
}

/* Locks that nobody else wants: nothing may be recorded of them. */
static void lock_alone(void)
{
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER, checked;
    pthread_mutexattr_t attr;
    for (int i = 0; i < 100000; i++) {
        pthread_mutex_lock(&own);
        pthread_mutex_unlock(&own);
    }
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&checked, &attr);
    CHECK(pthread_mutex_lock(&checked) == 0);
    CHECK(pthread_mutex_lock(&checked) == EDEADLK);
    CHECK(pthread_mutex_unlock(&checked) == 0);
    errno = 77;
    CHECK(pthread_mutex_lock(&own) == 0 && errno == 77);
    pthread_mutex_unlock(&own);
}

static void wait_for_each_other(void)
{
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    sem_init(&semaphore, 0, 0);
    sem_init(&ready, 0, 0);
    pthread_mutex_lock(&mutex);
    pthread_rwlock_wrlock(&rwlock);
    CHECK(pthread_create(&thread, NULL, waiter, NULL) == 0);
    while (sem_wait(&ready))
        continue;
    let_wait(1); /* for the mutex */
    pthread_mutex_unlock(&mutex);
    let_wait(2); /* for the condition */
    pthread_mutex_lock(&mutex);
    is_set = 1;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    let_wait(3); /* for the lock */
    pthread_rwlock_unlock(&rwlock);
    let_wait(4); /* at the barrier */
    pthread_barrier_wait(&barrier);
    let_wait(5); /* for the semaphore */
    sem_post(&semaphore);
    pthread_join(thread, NULL);
}

/* Its whole life, of which it waited for 100 ms. */
static void check_thread(const axp_view *view)
{
    axp_thread_info waiter_info = thread_of(view, "waiter");
    check_first(view);
    CHECK(waiter_info.end - waiter_info.begin >= 100 * MS);
}

/* Waits with a limit, which nothing ends before: three times, since a busy
 * machine may leave none of the 20 ms to one of them. */
static void *wait_with_limit(void *unused)
{
    (void)unused;
    while (sem_wait(&named))
        continue;
    for (int i = 0; i < 3; i++) {
        struct timespec until = in_20_ms();
        CHECK(pthread_rwlock_timedwrlock(&rwlock, &until) == ETIMEDOUT);
    }
    struct timespec until = in_20_ms();
    CHECK(sem_timedwait(&never, &until) && errno == ETIMEDOUT);
    return NULL;
}

/* A thread that another one names. */
static void wait_in_a_thread(void)
{
    pthread_t thread;
    sem_init(&named, 0, 0);
    sem_init(&never, 0, 0);
    pthread_rwlock_rdlock(&rwlock);
    CHECK(pthread_create(&thread, NULL, wait_with_limit, NULL) == 0);
    pthread_setname_np(thread, "limited");
    sem_post(&named);
    pthread_join(thread, NULL);
    pthread_rwlock_unlock(&rwlock);
}

int main(void)
{
    void *result = NULL;
    int argument;
    pthread_t thread;
    lock_alone();
    axp_view *view = axp_snapshot(axp_global());
    CHECK(axp_view_event_count(view) == 0); /* nothing waited yet */
    axp_view_destroy(view);

    wait_for_each_other();
    CHECK(pthread_create(&thread, NULL, nothing, &argument) == 0);
    CHECK(pthread_join(thread, &result) == 0 && result == &argument);
    view = axp_snapshot(axp_global());
    CHECK(view);
    check_wait(view, "mutex wait");
    check_wait(view, "condition wait");
    check_wait(view, "read lock wait");
    check_wait(view, "barrier wait");
    check_wait(view, "semaphore wait");
    /* The first event of a thread, too, has its whole time. */
    CHECK(op_of(view, "semaphore wait").calls == 2);
    check_thread(view);
    axp_view_destroy(view);

    wait_in_a_thread();
    view = axp_snapshot(axp_global());
    check_wait(view, "write lock wait");
    thread_of(view, "limited");
    axp_view_destroy(view);
    puts("waits are recorded");
    return 0;
}
