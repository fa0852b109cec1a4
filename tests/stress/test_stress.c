/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Everything at once, for as many seconds as the argument says (default 5).
 *
 * Rounds of three phases, each in a process of its own until time is up:
 *   exact   threads begin and end, record on the global and on one more
 *           profiler, while snapshots are taken, other profilers come and go,
 *           children are forked and signal handlers record. Then every
 *           count is what was counted beside it, and a handler's events are
 *           recorded or among signal_drops, each once.
 *   named   threads that hold many named scopes open and end, while others
 *           stop what they find in all lanes, recording to a file. Every start
 *           finds its stop.
 *   chaos   the same with resets, switches, finishes and destroys of the
 *           profilers under the threads' hands. Nothing is exact then; but
 *           afterwards a reset profiler counts exactly again. */
#include <pthread.h>
#include <sys/time.h>
#include <time.h>

#include "stress_check.h"
#include "stress_left.h"

#define N_WORKERS 3
#define N_HANDLES 4

static axp_profiler *prof;
static axp_profiler *handles[N_HANDLES]; /* chaos: exchanged at any time */
static int is_over;
static uint64_t n_sent, n_work, n_hot, n_named, n_async, n_steps, n_forks;
static uint64_t n_views, n_threads;

static void count(uint64_t *n, uint64_t by)
{
    __atomic_add_fetch(n, by, __ATOMIC_RELAXED);
}

static bool over(void)
{
    return __atomic_load_n(&is_over, __ATOMIC_RELAXED);
}

static void on_signal(int sig)
{
    int keep = errno;
    (void)sig;
    count(&n_sent, 1);
    {
        AXP_SCOPE_IN(prof, "in handler");
    }
    errno = keep;
}

/* ---- what workers do ---------------------------------------------------------- */

static void hot_scopes(int n)
{
    for (int i = 0; i < n; i++) {
        AXP_SCOPE("hot");
        AXP_SCOPE_WORK("hot work", .flops = 2, .bytes = 4);
    }
}

static void some_work(axp_profiler *p, unsigned seed)
{
    char block[64], name[24];
    snprintf(name, sizeof name, "path %u", seed % 40);
    for (int i = 0; i < 50; i++) {
        AXP_SCOPE_IN(p, "work");
        AXP_SCOPE_IN(p, name);
        axp_record_alloc(p, name, 100);
        axp_track_alloc(p, "block", block, sizeof block);
        axp_start(p, "named");
        axp_counter(p, "loss", i);
        axp_async_begin(p, "async", (uintptr_t)block + (unsigned)i);
        axp_async_end(p, "async", (uintptr_t)block + (unsigned)i);
        axp_stop(p, "named");
        axp_track_free(p, block);
        axp_record_free(p, name, 100);
    }
    axp_step(p);
}

static void *exact_thread(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;
    for (int i = 0; i < 20; i++) {
        some_work(prof, seed + (unsigned)i);
        hot_scopes(200);
    }
    count(&n_work, 20 * 50);
    count(&n_named, 20 * 50);
    count(&n_async, 20 * 50);
    count(&n_steps, 20);
    count(&n_hot, 20 * 200);
    return NULL;
}

/* Starts short threads one after the other until the phase is over. */
static void *spawner(void *run)
{
    void *(*fn)(void *) = *(void *(**)(void *))run;
    pthread_t t;
    for (uintptr_t i = 0; !over(); i++) {
        CHECK(!pthread_create(&t, NULL, fn, (void *)i));
        CHECK(!pthread_join(t, NULL));
        count(&n_threads, 1);
    }
    return NULL;
}

/* ---- beside them ---------------------------------------------------------------- */

static void *snapshots(void *arg)
{
    (void)arg;
    while (!over()) {
        uint64_t n = 0;
        axp_view *v = axp_snapshot(prof);
        CHECK(v != NULL);
        stress_check_view(v);
        CHECK(axp_view_events(v, NULL, stress_count_event, &n) == AXP_OK);
        CHECK_EQ(n, axp_view_event_count(v));
        axp_view_destroy(v);
        v = axp_snapshot(axp_global());
        CHECK(v != NULL);
        axp_view_destroy(v);
        axp_total_time(prof, "work");
        count(&n_views, 2);
    }
    return NULL;
}

static void check_child(bool is_exact)
{
    stress_watch(60);
    axp_set_enabled(prof, true);
    if (!is_exact) axp_reset(prof);
    if (is_exact) CHECK_EQ(axp_call_count(prof, "work"), 0);
    uint64_t before = axp_call_count(prof, "own");
    for (int i = 0; i < 100; i++) {
        AXP_SCOPE_IN(prof, "own");
    }
    CHECK_EQ(axp_call_count(prof, "own"), before + 100);
    if (STRESS_CHILD_ALLOCATES) {
        axp_view *v = axp_snapshot(prof);
        CHECK(v != NULL);
        stress_check_view(v);
        axp_view_destroy(v);
    }
    _exit(0);
}

static void fork_once(bool is_exact)
{
    int status;
    sigset_t prof_signal, old;
    sigemptyset(&prof_signal);
    sigaddset(&prof_signal, SIGPROF);
    sigaddset(&prof_signal, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &prof_signal, &old);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (!pid) check_child(is_exact);
    while (waitpid(pid, &status, 0) != pid)
        CHECK(errno == EINTR);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    count(&n_forks, 1);
}

static void *forks(void *is_exact)
{
    while (!over()) {
        fork_once(*(bool *)is_exact);
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
    return NULL;
}

/* Others come and go beside the one that counts. */
static void *others(void *arg)
{
    (void)arg;
    while (!over()) {
        axp_profiler *p =
            axp_profiler_create(&(axp_options){.timeline_capacity = 1000});
        CHECK(p != NULL);
        some_work(p, 1);
        CHECK_EQ(axp_call_count(p, "work"), 50);
        CHECK_EQ(axp_current_memory(p), 0);
        CHECK(axp_finish(p) == AXP_OK);
        some_work(p, 2);
        CHECK_EQ(axp_call_count(p, "work"), 50);
        axp_profiler_destroy(p);
        some_work(p, 3);
        CHECK_EQ(axp_call_count(p, "work"), 0);
    }
    return NULL;
}

static void *target; /* a long-lived thread that signals are sent to */

static void *long_worker(void *arg)
{
    while (!over())
        exact_thread(arg);
    return NULL;
}

static void *killer(void *arg)
{
    (void)arg;
    while (!over()) {
        pthread_kill(*(pthread_t *)target, SIGUSR1);
        nanosleep(&(struct timespec){0, 300000}, NULL);
    }
    return NULL;
}

/* ---- phases ---------------------------------------------------------------------- */

static unsigned phase_ms = 600;

static void run_threads(void *(*const *fn)(void *), void *const *arg, int n)
{
    pthread_t t[16];
    target = &t[0];
    for (int i = 0; i < n; i++)
        CHECK(!pthread_create(&t[i], NULL, fn[i], arg[i]));
    nanosleep(&(struct timespec){phase_ms / 1000, phase_ms % 1000 * 1000000},
              NULL);
    __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
    for (int i = n - 1; i >= 0; i--) /* the signals' target last */
        CHECK(!pthread_join(t[i], NULL));
}

static void take_signals(bool is_on)
{
    struct itimerval often = {{0, 400}, {0, 400}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    CHECK(!sigaction(SIGPROF, &action, NULL));
    CHECK(!sigaction(SIGUSR1, &action, NULL));
    CHECK(!setitimer(ITIMER_PROF, is_on ? &often : &never, NULL));
}

static void exact_phase(void)
{
    static void *(*short_life)(void *) = exact_thread;
    static bool is_exact = true;
    void *(*const fn[])(void *) = {long_worker, spawner, spawner, snapshots,
                                   forks,       others,  killer};
    void *const arg[] = {NULL,      &short_life, &short_life, NULL,
                         &is_exact, NULL,        NULL};
    prof = axp_profiler_create(NULL);
    CHECK(prof != NULL);
    axp_reset(axp_global());
    take_signals(true);
    run_threads(fn, arg, 7);
    take_signals(false);

    axp_view *v = axp_snapshot(prof);
    axp_op op;
    CHECK(v != NULL);
    CHECK_EQ(axp_call_count(prof, "work"), n_work);
    CHECK_EQ(axp_call_count(prof, "named"), n_named);
    CHECK_EQ(axp_call_count(prof, "async"), n_async);
    CHECK_EQ(axp_call_count(axp_global(), "hot"), n_hot);
    CHECK_EQ(axp_call_count(axp_global(), "hot work"), n_hot);
    CHECK(axp_view_op(v, "work", &op) == AXP_OK);
    CHECK_EQ(op.calls, n_work);
    CHECK_EQ(axp_view_steps(v).count, n_steps);
    CHECK_EQ(axp_view_memory(v).current_bytes, 0);
    CHECK_EQ(axp_view_memory(v).total_allocated, n_work * 164);
    CHECK_EQ(axp_view_memory(v).n_allocs, n_work * 2);
    CHECK_EQ(axp_call_count(prof, "in handler") +
                 stress_view_warning(v, "signal_drops"),
             n_sent);
    /* Nothing was wrong, so nothing is warned of. */
    CHECK_EQ(stress_view_warning(v, "stop_without_start"), 0);
    CHECK_EQ(stress_view_warning(v, "free_unknown_address"), 0);
    CHECK_EQ(stress_view_warning(v, "free_too_much"), 0);
    CHECK_EQ(stress_view_warning(v, "abandoned_scopes"), 0);
    CHECK_EQ(stress_view_warning(v, "foreign_ends"), 0);
    CHECK_EQ(stress_view_warning(v, "clock_back"), 0);
    CHECK_EQ(stress_view_warning(v, "no_memory"), 0);
    CHECK_EQ(stress_view_warning(v, "open_scopes"), 0);
    axp_view_destroy(v);
    axp_profiler_destroy(prof);
    dprintf(1,
            "exact: %" PRIu64 " threads, %" PRIu64 " scopes, %" PRIu64
            " forks, %" PRIu64 " views, %" PRIu64 " signals\n",
            n_threads, 4 * n_work + 2 * n_hot, n_forks, n_views, n_sent);
}

/* ---- named scopes, threads that end, a file ------------------------------------- */

#define N_OPEN 24 /* more than a lane has room for within itself */
#define N_PAIRS 4

static uint64_t n_overlapping, n_foreign;

/* Holds many open; then stops them all, in no order. */
static void *hold_many(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;
    char name[N_OPEN][24];
    for (unsigned i = 0; i < N_OPEN; i++) {
        snprintf(name[i], sizeof name[i], "held %u", (seed + i) % 40);
        axp_start(prof, name[i]);
    }
    for (unsigned i = 0; i < N_OPEN; i++)
        axp_stop(prof, name[(i * 7 + seed) % N_OPEN]);
    count(&n_overlapping, N_OPEN);
    return NULL;
}

/* One starts, another stops: which searches all lanes, those of threads that
 * have ended too. */
static int n_started[N_PAIRS];

static void *start_only(void *arg)
{
    unsigned pair = (unsigned)(uintptr_t)arg % N_PAIRS;
    static const char *const names[] = {"pair 0", "pair 1", "pair 2", "pair 3"};
    if (__atomic_load_n(&n_started[pair], __ATOMIC_ACQUIRE) > 100)
        return NULL; /* those who stop cannot keep up */
    for (int i = 0; i < 20; i++) {
        axp_start(prof, names[pair]);
        __atomic_add_fetch(&n_started[pair], 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void *stop_only(void *arg)
{
    static const char *const names[] = {"pair 0", "pair 1", "pair 2", "pair 3"};
    (void)arg;
    for (unsigned i = 0;; i++) {
        int *n = &n_started[i % N_PAIRS];
        int now = __atomic_load_n(n, __ATOMIC_ACQUIRE);
        if (now &&
            __atomic_compare_exchange_n(n, &now, now - 1, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            axp_stop(prof, names[i % N_PAIRS]);
            count(&n_foreign, 1);
        } else if (over() && i % N_PAIRS == 0) {
            bool is_left = false;
            for (int k = 0; k < N_PAIRS; k++)
                is_left |= __atomic_load_n(&n_started[k], __ATOMIC_ACQUIRE);
            if (!is_left) return NULL;
        }
    }
}

static uint64_t calls_like(const axp_view *v, const char *start)
{
    size_t n = axp_view_ops(v, AXP_BY_CALLS, NULL, 0);
    axp_op *ops = calloc(n + 1, sizeof *ops);
    uint64_t calls = 0;
    CHECK(ops != NULL);
    axp_view_ops(v, AXP_BY_CALLS, ops, n);
    for (size_t i = 0; i < n; i++)
        if (!strncmp(ops[i].name, start, strlen(start))) calls += ops[i].calls;
    free(ops);
    return calls;
}

static void named_phase(void)
{
    static void *(*hold)(void *) = hold_many, *(*start)(void *) = start_only;
    static bool is_exact = true;
    char folder[] = "/tmp/axprof-stress-XXXXXX", path[64];
    void *(*const fn[])(void *) = {spawner,   spawner,   spawner,   spawner,
                                   stop_only, stop_only, snapshots, forks};
    void *const arg[] = {&hold, &hold, &hold, &start,
                         NULL,  NULL,  NULL,  &is_exact};
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/run.axp", folder);
    prof = axp_profiler_create(&(axp_options){.path = path});
    CHECK(prof != NULL);
    /* The race detector has no threads in such a child, where the drain is
     * one. */
    run_threads(fn, arg, STRESS_TSAN ? 7 : 8);
    for (int i = 0; i < N_PAIRS; i++) /* what began after the last stop */
        for (; n_started[i]; n_started[i]--) {
            char name[16];
            snprintf(name, sizeof name, "pair %d", i);
            axp_stop(prof, name);
            n_foreign++;
        }
    axp_view *v = axp_snapshot(prof);
    CHECK(v != NULL);
    stress_check_view(v);
    CHECK_EQ(calls_like(v, "held "), n_overlapping);
    CHECK_EQ(calls_like(v, "pair "), n_foreign);
    CHECK_EQ(stress_view_warning(v, "stop_without_start"), 0);
    axp_view_destroy(v);
    CHECK(axp_finish(prof) == AXP_OK);
    axp_profiler_destroy(prof);
    stress_left_remove(folder);
    dprintf(1,
            "named: %" PRIu64 " threads, %" PRIu64 " held, %" PRIu64
            " stopped elsewhere, %" PRIu64 " forks\n",
            n_threads, n_overlapping, n_foreign, n_forks);
}

/* ---- chaos ------------------------------------------------------------------------ */

static axp_profiler *handle(unsigned i)
{
    return __atomic_load_n(&handles[i % N_HANDLES], __ATOMIC_ACQUIRE);
}

static void *chaos_thread(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;
    for (unsigned i = 0; i < 6; i++) {
        axp_track *track = axp_track_create(handle(i), "track");
        some_work(handle(i + seed), seed);
        axp_track_span(track, "span", 1, 2, NULL);
        some_work(prof, seed);
        hot_scopes(20);
        axp_thread_name(handle(i), "name");
    }
    return NULL;
}

static void *destroyer(void *arg)
{
    (void)arg;
    for (unsigned i = 0; !over(); i++) {
        axp_profiler *fresh =
            axp_profiler_create(&(axp_options){.timeline_capacity = 500});
        CHECK(fresh != NULL);
        axp_profiler *old = __atomic_exchange_n(&handles[i % N_HANDLES], fresh,
                                                __ATOMIC_ACQ_REL);
        if (i % 3 == 0) axp_finish(old);
        if (i % 5 == 0) axp_view_destroy(axp_snapshot(old));
        axp_profiler_destroy(old);
    }
    return NULL;
}

static void *switcher(void *arg)
{
    (void)arg;
    for (unsigned i = 0; !over(); i++) {
        axp_set_enabled(i % 2 ? prof : axp_global(), i % 4 < 2);
        axp_set_enabled(handle(i), i % 3);
        if (i % 7 == 0) axp_reset(prof);
        if (i % 11 == 0) axp_reset(axp_global());
        axp_reset(handle(i));
        axp_call_count(handle(i + 1), "work");
    }
    return NULL;
}

static void chaos_phase(void)
{
    static void *(*short_life)(void *) = chaos_thread;
    static bool is_exact = false;
    void *(*const fn[])(void *) = {spawner,   spawner,  spawner, snapshots,
                                   destroyer, switcher, forks};
    void *const arg[] = {&short_life, &short_life, &short_life, NULL,
                         NULL,        NULL,        &is_exact};
    prof = axp_profiler_create(NULL);
    CHECK(prof != NULL);
    for (int i = 0; i < N_HANDLES; i++)
        handles[i] = axp_profiler_create(NULL);
    take_signals(true);
    run_threads(fn, arg, 7);
    take_signals(false);

    axp_set_enabled(prof, true);
    axp_set_enabled(axp_global(), true);
    axp_reset(prof);
    axp_reset(axp_global());
    some_work(prof, 1);
    hot_scopes(10);
    CHECK_EQ(axp_call_count(prof, "work"), 50);
    CHECK_EQ(axp_call_count(prof, "path 1"), 50);
    CHECK_EQ(axp_call_count(prof, "path 2"), 0);
    CHECK_EQ(axp_call_count(axp_global(), "hot"), 10);
    CHECK_EQ(axp_current_memory(prof), 0);
    axp_view *v = axp_snapshot(prof);
    CHECK(v != NULL);
    stress_check_view(v);
    CHECK_EQ(axp_view_memory(v).total_allocated, 50 * 164);
    CHECK_EQ(axp_view_event_count(v), 50 * (4 + 2 + 2 + 2 + 1 + 2) + 1);
    CHECK_EQ(stress_view_warning(v, "no_memory"), 0);
    axp_view_destroy(v);
    for (int i = 0; i < N_HANDLES; i++)
        axp_profiler_destroy(handles[i]);
    axp_profiler_destroy(prof);
    dprintf(
        1, "chaos: %" PRIu64 " threads, %" PRIu64 " forks, %" PRIu64 " views\n",
        n_threads, n_forks, n_views);
}

int main(int argc, char **argv)
{
    unsigned seconds = argc > 1 ? (unsigned)atoi(argv[1]) : 5;
    int failed = 0;
    time_t end = time(NULL) + (time_t)seconds;
    do {
        failed += STRESS_RUN(exact_phase, 60);
        failed += STRESS_RUN(named_phase, 60);
        failed += STRESS_RUN(chaos_phase, 60);
    } while (time(NULL) < end && !failed);
    return failed ? 1 : 0;
}
