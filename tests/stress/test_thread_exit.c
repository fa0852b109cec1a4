/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads that end: with open scopes, cancelled, detached, by the thousand,
 * and while keys' destructors still record. What they recorded stays, to the
 * last event. Each case runs in a process of its own. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <time.h>

#include "stress_check.h"

static axp_profiler *prof;

static void record(const char *name, int n)
{
    for (int i = 0; i < n; i++) {
        AXP_SCOPE_IN(prof, name);
    }
}

static void hot_scope(void)
{
    AXP_SCOPE("hot");
}

static void begin_case(void)
{
    prof = axp_profiler_create(NULL);
    CHECK(prof != NULL);
}

static void join(pthread_t t)
{
    CHECK(!pthread_join(t, NULL));
}

/* ---- destructors ------------------------------------------------------------ */

static pthread_key_t late_key[4];
static int n_destroyed;

/* Runs in each of the rounds that POSIX promises. */
static void record_late(void *value)
{
    uintptr_t rounds = (uintptr_t)value;
    record("late", 1);
    hot_scope();
    axp_record_alloc(prof, "late", 16);
    axp_record_free(prof, "late", 16);
    __atomic_add_fetch(&n_destroyed, 1, __ATOMIC_RELAXED);
    if (rounds > 1)
        for (int i = 0; i < 4; i++)
            if (!pthread_getspecific(late_key[i])) {
                pthread_setspecific(late_key[i], (void *)(rounds - 1));
                return;
            }
}

static void *with_destructors(void *rounds)
{
    record("early", 3);
    hot_scope();
    for (int i = 0; i < 4; i++)
        pthread_setspecific(late_key[i], rounds);
    return NULL;
}

/* Keys made before the library's and after it; its first event comes in the
 * destructor itself when `early` is left out. */
static void *only_late(void *rounds)
{
    pthread_setspecific(late_key[0], rounds);
    return NULL;
}

static void destructors_record(void)
{
    pthread_t t;
    for (int i = 0; i < 2; i++)
        CHECK(!pthread_key_create(&late_key[i], record_late));
    begin_case();
    record("first", 1); /* here the library makes its key */
    for (int i = 2; i < 4; i++)
        CHECK(!pthread_key_create(&late_key[i], record_late));
    uint64_t n_hot = 0;
    for (int i = 0; i < 200; i++) {
        bool is_late = i % 2;
        CHECK(!pthread_create(&t, NULL, is_late ? only_late : with_destructors,
                              (void *)(uintptr_t)(1 + i % 4)));
        join(t);
        n_hot += !is_late;
    }
    CHECK(n_destroyed >= 500);
    CHECK_EQ(axp_call_count(prof, "early"), 300);
    CHECK_EQ(axp_call_count(prof, "late"), (uint64_t)n_destroyed);
    CHECK_EQ(axp_call_count(axp_global(), "hot"),
             (uint64_t)n_destroyed + n_hot);
    CHECK_EQ(axp_current_memory(prof), 0);
    CHECK_EQ(stress_warning(prof, "no_memory"), 0);
}

/* ---- many ------------------------------------------------------------------- */

static void *short_life(void *arg)
{
    char name[32];
    uintptr_t i = (uintptr_t)arg;
    snprintf(name, sizeof name, "thread %u", (unsigned)(i % 10));
    axp_thread_name(prof, name);
    record("short", 2);
    record(name, 1);
    hot_scope();
    axp_record_alloc(prof, "short", 8);
    axp_step(prof);
    return NULL;
}

#define MANY 3000

static void three_thousand(void)
{
    pthread_t t[8];
    axp_op op;
    begin_case();
    for (uintptr_t i = 0; i < MANY; i += 8) {
        for (int k = 0; k < 8; k++)
            CHECK(!pthread_create(&t[k], NULL, short_life, (void *)(i + k)));
        for (int k = 0; k < 8; k++)
            join(t[k]);
    }
    CHECK_EQ(axp_call_count(prof, "short"), 2 * MANY);
    CHECK_EQ(axp_call_count(prof, "thread 3"), MANY / 10);
    CHECK_EQ(axp_call_count(axp_global(), "hot"), MANY);
    CHECK_EQ(axp_current_memory(prof), 8 * MANY);
    axp_view *v = axp_snapshot(prof);
    CHECK(v != NULL);
    stress_check_view(v);
    CHECK(axp_view_op(v, "short", &op) == AXP_OK);
    CHECK_EQ(op.calls, 2 * MANY);
    CHECK_EQ(axp_view_threads(v, NULL, 0), MANY);
    CHECK_EQ(axp_view_steps(v).count, MANY);
    CHECK_EQ(axp_view_memory(v).n_allocs, MANY);
    CHECK_EQ(axp_view_event_count(v) + axp_view_cut_count(v), 8 * MANY);
    axp_view_destroy(v);
}

/* Alive at once, not one after the other. */
static pthread_barrier_t gate;

static void *wait_alive(void *arg)
{
    (void)arg;
    record("alive", 1);
    pthread_barrier_wait(&gate);
    record("alive", 1);
    return NULL;
}

#define AT_ONCE 500

static void many_at_once(void)
{
    static pthread_t t[AT_ONCE];
    pthread_attr_t attr;
    begin_case();
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 128 * 1024);
    pthread_barrier_init(&gate, NULL, AT_ONCE + 1);
    for (int i = 0; i < AT_ONCE; i++)
        CHECK(!pthread_create(&t[i], &attr, wait_alive, NULL));
    pthread_barrier_wait(&gate);
    CHECK(axp_call_count(prof, "alive") >= AT_ONCE);
    for (int i = 0; i < AT_ONCE; i++)
        join(t[i]);
    CHECK_EQ(axp_call_count(prof, "alive"), 2 * AT_ONCE);
    CHECK_EQ(stress_warning(prof, "no_memory"), 0);
}

static int n_detached;

static void *detached_life(void *arg)
{
    (void)arg;
    record("detached", 5);
    hot_scope();
    __atomic_add_fetch(&n_detached, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void detached(void)
{
    pthread_attr_t attr;
    pthread_t t;
    begin_case();
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, 128 * 1024);
    for (int i = 0; i < 400; i++) {
        int error;
        while ((error = pthread_create(&t, &attr, detached_life, NULL)))
            CHECK(error == EAGAIN);
    }
    while (__atomic_load_n(&n_detached, __ATOMIC_ACQUIRE) < 400)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    CHECK_EQ(axp_call_count(prof, "detached"), 2000);
    CHECK_EQ(axp_call_count(axp_global(), "hot"), 400);
}

/* ---- open scopes -------------------------------------------------------------- */

static void *leave_open(void *arg)
{
    (void)arg;
    axp_start(prof, "left by name");
    (void)axp_begin(prof, "left open");
    record("inside", 1);
    pthread_exit(NULL);
}

#define LEFT 100

static void left_open(void)
{
    pthread_t t;
    axp_op op;
    begin_case();
    for (int i = 0; i < LEFT; i++) {
        CHECK(!pthread_create(&t, NULL, leave_open, NULL));
        join(t);
    }
    CHECK_EQ(axp_call_count(prof, "inside"), LEFT);
    CHECK_EQ(axp_call_count(prof, "left open"), LEFT);
    CHECK_EQ(axp_call_count(prof, "left by name"), LEFT);
    axp_view *v = axp_snapshot(prof);
    CHECK(v != NULL);
    stress_check_view(v);
    CHECK(axp_view_op(v, "left open", &op) == AXP_OK);
    CHECK_EQ(op.calls, LEFT);
    CHECK_EQ(stress_view_warning(v, "open_scopes"), 2 * LEFT);
    axp_view_destroy(v);
    /* A named one may still be stopped, by anyone. */
    for (int i = 0; i < LEFT; i++)
        axp_stop(prof, "left by name");
    CHECK_EQ(axp_call_count(prof, "left by name"), LEFT);
    CHECK_EQ(stress_warning(prof, "stop_without_start"), 0);
    CHECK_EQ(stress_warning(prof, "open_scopes"), LEFT);
    axp_stop(prof, "left by name");
    CHECK_EQ(stress_warning(prof, "stop_without_start"), 1);
}

/* ---- cancellation --------------------------------------------------------------- */

/* Asked by the address sanitizer. It does not see that a cancelled thread's
 * frames are gone, and its own call of sigaltstack as the thread ends may then
 * hit what it still thinks is around one of their variables: so it does without
 * (gcc 12; a thread with an array that cancels itself is enough). */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "use_sigaltstack=0";
}

static sem_t ready;

/* Cancelled in a sleep within scopes: the unwinder runs the cleanups. */
static void *sleep_in_scope(void *arg)
{
    (void)arg;
    AXP_SCOPE_IN(prof, "cancelled");
    AXP_SCOPE("cancelled hot");
    sem_post(&ready);
    for (;;)
        pause();
    return NULL;
}

static void cancelled(void)
{
    pthread_t t;
    begin_case();
    sem_init(&ready, 0, 0);
    for (int i = 0; i < 50; i++) {
        CHECK(!pthread_create(&t, NULL, sleep_in_scope, NULL));
        while (sem_wait(&ready))
            ;
        CHECK(!pthread_cancel(t));
        join(t);
    }
    CHECK_EQ(axp_call_count(prof, "cancelled"), 50);
    CHECK_EQ(axp_call_count(axp_global(), "cancelled hot"), 50);
}

/* A cancellation that is pending takes no recording call, no answer and no
 * closing by surprise: none of them is a cancellation point. */
static int n_after;

static void *record_while_pending(void *arg)
{
    char name[32];
    (void)arg;
    pthread_cancel(pthread_self()); /* deferred: pending from here on */
    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof name, "pending %d", i);
        record(name, 1);
        hot_scope();
        axp_step(prof);
    }
    axp_call_count(prof, "pending 1");
    axp_profiler *other = axp_profiler_create(NULL);
    CHECK(other != NULL);
    axp_reset(other);
    CHECK(axp_finish(other) == AXP_OK);
    axp_profiler_destroy(other);
    n_after = 1;
    pthread_testcancel();
    n_after = 2;
    return NULL;
}

static void pending_cancel(void)
{
    pthread_t t;
    void *result;
    begin_case();
    CHECK(!pthread_create(&t, NULL, record_while_pending, NULL));
    CHECK(!pthread_join(t, &result));
    CHECK(result == PTHREAD_CANCELED);
    CHECK_EQ((uint64_t)n_after, 1);
    CHECK_EQ(axp_call_count(prof, "pending 1999"), 1);
    CHECK_EQ(axp_call_count(axp_global(), "hot"), 2000);
}

/* ---- closing beside threads that end ----------------------------------------- */

static unsigned n_at_it;

static void *end_soon(void *spins)
{
    record("soon", 1);
    __atomic_add_fetch(&n_at_it, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&n_at_it, __ATOMIC_ACQUIRE) <= 8)
        sched_yield();
    for (volatile uintptr_t i = 0; i < (uintptr_t)spins; i++)
        ;
    return NULL;
}

/* A lane that its closing profiler takes away is no more the thread's to end,
 * whoever has it by then. The slot is given to another profiler at once. With
 * 16 CPUs so many rounds met the moment each time; with 2 it takes luck. */
static void close_beside_ending(void)
{
    for (unsigned round = 0; round < 400; round++) {
        pthread_t t[8];
        begin_case();
        n_at_it = 0;
        for (uintptr_t i = 0; i < 8; i++)
            CHECK(!pthread_create(
                &t[i], NULL, end_soon,
                (void *)(uintptr_t)((round * 8 + i) * 7919 % 40000)));
        while (__atomic_load_n(&n_at_it, __ATOMIC_ACQUIRE) < 8)
            sched_yield();
        __atomic_add_fetch(&n_at_it, 1, __ATOMIC_RELEASE);
        axp_profiler_destroy(prof);
        axp_profiler *next = axp_profiler_create(NULL);
        CHECK(next != NULL);
        for (int i = 0; i < 8; i++)
            join(t[i]);
        CHECK_EQ(axp_call_count(next, "soon"), 0);
        axp_profiler_destroy(next);
    }
}

/* ---- closing beside a thread that stays inside ------------------------------------ */

static sem_t inside, leave;
static volatile sig_atomic_t is_held;

/* Interrupts a recording call and stays there. */
static void hold(int sig)
{
    (void)sig;
    uint64_t token = axp_begin(prof, "probe");
    if (token) {
        axp_end(token);
        return;
    }
    is_held = 1;
    sem_post(&inside);
    while (sem_wait(&leave))
        ;
}

static void *be_held(void *arg)
{
    (void)arg;
    while (!is_held)
        record("held", 1);
    record("after", 1);
    return NULL;
}

static void hold_thread(pthread_t *t)
{
    struct sigaction action = {.sa_handler = hold, .sa_flags = SA_RESTART};
    sem_init(&inside, 0, 0);
    sem_init(&leave, 0, 0);
    CHECK(!sigaction(SIGUSR1, &action, NULL));
    CHECK(!pthread_create(t, NULL, be_held, NULL));
    for (;;) {
        struct timespec until;
        pthread_kill(*t, SIGUSR1);
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 2000000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        if (!sem_timedwait(&inside, &until)) return;
    }
}

static void *reset_while_pending(void *arg)
{
    (void)arg;
    pthread_cancel(pthread_self());
    axp_reset(prof); /* has to wait, in vain */
    n_after = 1;
    return NULL;
}

/* A cancelled reset must not leave the profiler locked. */
static void cancel_in_reset(void)
{
    pthread_t held, t;
    begin_case();
    hold_thread(&held);
    CHECK(!pthread_create(&t, NULL, reset_while_pending, NULL));
    join(t);
    sem_post(&leave);
    join(held);
    CHECK(axp_call_count(prof, "after") <= 1); /* answers at all */
    axp_profiler_destroy(prof);
}

/* Reset, finish and destroy give up on it, and harm nothing. */
static void close_beside_held(void)
{
    pthread_t held;
    begin_case();
    hold_thread(&held);
    axp_reset(prof);
    CHECK(axp_finish(prof) == AXP_OK);
    axp_view *v = axp_snapshot(prof);
    CHECK(v != NULL);
    axp_view_destroy(v);
    axp_profiler_destroy(prof);
    axp_profiler *next = axp_profiler_create(NULL); /* in the same slot */
    CHECK(next != NULL && next != prof);
    sem_post(&leave);
    join(held);
    CHECK_EQ(axp_call_count(next, "after"), 0);
    CHECK_EQ(axp_call_count(next, "held"), 0);
    for (int i = 0; i < 10; i++) {
        AXP_SCOPE_IN(next, "next");
    }
    CHECK_EQ(axp_call_count(next, "next"), 10);
    axp_profiler_destroy(next);
}

/* ---- tracks ------------------------------------------------------------------------ */

static axp_track *track[3];

static void *feed_tracks(void *arg)
{
    uintptr_t i = (uintptr_t)arg;
    for (int k = 0; k < 3; k++) {
        axp_track_span(track[(i + k) % 3], "span", 10, 20, NULL);
        axp_track_alloc_at(track[k], "device", i + 1, 64, 10);
        axp_track_free_at(track[k], i + 1, 20);
    }
    record("feeder", 1);
    return NULL;
}

/* Lanes of tracks come and go with their threads, over resets. */
static void tracks_and_resets(void)
{
    pthread_t t;
    begin_case();
    for (int k = 0; k < 3; k++) {
        char name[16];
        snprintf(name, sizeof name, "track %d", k);
        track[k] = axp_track_create(prof, name);
        CHECK(track[k] != NULL);
    }
    for (uintptr_t round = 0; round < 6; round++) {
        for (uintptr_t i = 0; i < 80; i++) {
            CHECK(!pthread_create(&t, NULL, feed_tracks, (void *)i));
            join(t);
        }
        CHECK_EQ(axp_call_count(prof, "span"), 240);
        CHECK_EQ(axp_call_count(prof, "feeder"), 80);
        CHECK_EQ(axp_current_memory(prof), 0);
        CHECK_EQ(stress_warning(prof, "free_unknown_address"), 0);
        axp_reset(prof);
        CHECK_EQ(axp_call_count(prof, "span"), 0);
    }
    axp_profiler_destroy(prof);
}

int main(void)
{
    int failed = 0;
    if (!STRESS_TSAN) { /* its runtime ends before, and has few threads */
        failed += STRESS_RUN(destructors_record, 60);
        failed += STRESS_RUN(many_at_once, 120);
    }
    failed += STRESS_RUN(three_thousand, 120);
    failed += STRESS_RUN(detached, 60);
    failed += STRESS_RUN(left_open, 60);
    failed += STRESS_RUN(cancelled, 60);
    failed += STRESS_RUN(pending_cancel, 60);
    failed += STRESS_RUN(close_beside_ending, 60);
    if (!STRESS_TSAN) { /* it delays signals: nothing would be interrupted */
        failed += STRESS_RUN(cancel_in_reset, 60);
        failed += STRESS_RUN(close_beside_held, 60);
    }
    failed += STRESS_RUN(tracks_and_resets, 60);
    return failed ? 1 : 0;
}
