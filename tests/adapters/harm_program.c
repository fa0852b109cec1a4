/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Programs that an adapter could harm, run with it loaded: one whose malloc
 * locks, which the loader calls before any constructor; threads that are
 * cancelled where they wait, or would not have to, or end after a handler's jump
 * out of a wait; a condition that is destroyed
 * while those that it woke are still on their way; a library that starts a
 * thread, and waits for it, while it is being loaded. */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>

#include "wait_check.h"

/* ---- malloc ------------------------------------------------------------- */

static pthread_mutex_t of_malloc = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(16) char pool[64 << 20];
static size_t used;

/* For the libraries too, the loader among them. */
#pragma GCC visibility push(default)

void *malloc(size_t n)
{
    pthread_mutex_lock(&of_malloc);
    size_t *block = (size_t *)(void *)(pool + used);
    used += (n + 31) & ~(size_t)15;
    if (used > sizeof pool) abort();
    pthread_mutex_unlock(&of_malloc);
    *block = n;
    return block + 2;
}

void free(void *block)
{
    (void)block;
}

void *calloc(size_t n, size_t size)
{
    return memset(malloc(n * size), 0, n * size);
}

void *realloc(void *block, size_t n)
{
    void *fresh = malloc(n);
    size_t had = block ? ((size_t *)block)[-2] : 0;
    if (had) memcpy(fresh, block, had < n ? had : n);
    return fresh;
}

#pragma GCC visibility pop

/* ---- cancellation ------------------------------------------------------- */

static sem_t semaphore;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

/* Never has to wait: each call is a point of cancellation all the same. */
static void *waits_for_what_is_there(void *unused)
{
    for (;;) {
        sem_wait(&semaphore);
        sem_post(&semaphore);
    }
    return unused;
}

static void unlock(void *unused)
{
    (void)unused;
    pthread_mutex_unlock(&mutex);
}

static void *waits_for_ever(void *unused)
{
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(unlock, NULL);
    for (;;)
        pthread_cond_wait(&condition, &mutex);
    pthread_cleanup_pop(1);
    return unused;
}

static void cancel(void *(*function)(void *))
{
    pthread_t thread;
    void *result = NULL;
    CHECK(!pthread_create(&thread, NULL, function, NULL));
    sleep_ms(20);
    CHECK(!pthread_cancel(thread));
    CHECK(!pthread_join(thread, &result) && result == PTHREAD_CANCELED);
}

/* A frame that a jump leaves is another's afterwards, when the thread ends. */
static sigjmp_buf outside;
static unsigned n_ended;

static void jump(int number)
{
    (void)number;
    siglongjmp(outside, 1);
}

__attribute__((noinline)) static void wait_in_vain(void)
{
    sem_t nobodys;
    sem_init(&nobodys, 0, 0);
    sem_wait(&nobodys);
}

__attribute__((noinline)) static void overwrite(void)
{
    volatile char frames[4096];
    for (size_t i = 0; i < sizeof frames; i++)
        frames[i] = 0x5a;
}

static void count_end(void *unused)
{
    (void)unused;
    n_ended++;
}

static void *jumps_out(void *unused)
{
    if (!sigsetjmp(outside, 1)) wait_in_vain();
    overwrite();
    pthread_cleanup_push(count_end, NULL);
    pthread_exit(&outside);
    pthread_cleanup_pop(0);
    return unused;
}

static void jump_out_of_a_wait(void)
{
    pthread_t thread;
    void *result = NULL;
    signal(SIGUSR1, jump);
    CHECK(!pthread_create(&thread, NULL, jumps_out, NULL));
    sleep_ms(20);
    CHECK(!pthread_kill(thread, SIGUSR1));
    CHECK(!pthread_join(thread, &result) && result == &outside);
    CHECK(n_ended == 1);
}

/* What nobody waits for costs nothing again: no wait is left behind. */
static void signals_are_cheap(void)
{
    struct timespec a, b;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
    for (int i = 0; i < 1000000; i++)
        pthread_cond_signal(&condition);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
    double ns =
        (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec);
    printf("%.1f ns a signal that nobody waits for\n", ns / 1e6);
    axp_view *view = axp_snapshot(axp_global());
    CHECK(axp_view_event_count(view) < 1000);
    axp_view_destroy(view);
    CHECK(ns / 1e6 < 100);
}

/* ---- a condition that goes ---------------------------------------------- */

static int is_set;
static unsigned n_left;

static void *waits_once(void *of)
{
    pthread_mutex_lock(&mutex);
    while (!is_set)
        pthread_cond_wait(of, &mutex);
    pthread_mutex_unlock(&mutex);
    __atomic_add_fetch(&n_left, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void destroy_while_they_leave(void)
{
    pthread_t threads[4];
    for (int round = 0; round < 50; round++) {
        pthread_cond_t gone;
        pthread_cond_init(&gone, NULL);
        is_set = 0;
        for (int i = 0; i < 4; i++)
            CHECK(!pthread_create(&threads[i], NULL, waits_once, &gone));
        sleep_ms(1);
        pthread_mutex_lock(&mutex);
        is_set = 1;
        pthread_cond_broadcast(&gone);
        pthread_mutex_unlock(&mutex);
        pthread_cond_destroy(&gone);
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
    }
    CHECK(n_left == 200);
}

int main(int argc, char **argv)
{
    sem_init(&semaphore, 0, 1);
    cancel(waits_for_what_is_there);
    cancel(waits_for_ever);
    jump_out_of_a_wait();
    signals_are_cheap();
    destroy_while_they_leave();
    if (argc > 1) CHECK(dlopen(argv[1], RTLD_NOW));
    printf("%s: unharmed\n", argv[0]);
    return 0;
}
