/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The child of a fork starts its own recording; the parent's is untouched.
 *
 * Each case runs in a process of its own. "Child" below is that process's
 * child: by fork, by a raw clone that no pthread_atfork handler sees, by
 * vfork, from a thread, from a child, and from a signal handler that
 * interrupted a recording call. */
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "stress_check.h"

static axp_profiler *prof;

static void record(axp_profiler *p, const char *name, int n)
{
    for (int i = 0; i < n; i++) {
        AXP_SCOPE_IN(p, name);
    }
}

static void record_hot(int n)
{
    for (int i = 0; i < n; i++) {
        AXP_SCOPE("hot");
    }
}

static void wait_ok(pid_t pid)
{
    int status = 0;
    CHECK(pid > 0);
    while (waitpid(pid, &status, 0) != pid)
        CHECK(errno == EINTR);
    CHECK(WIFEXITED(status));
    CHECK_EQ((uint64_t)WEXITSTATUS(status), 0);
}

/* In a child: nothing of the parent's, all of its own, on every road. */
static void check_own(axp_profiler *p)
{
    int something = 0;
    CHECK_EQ(axp_call_count(p, "work"), 0);
    CHECK_EQ(axp_call_count(axp_global(), "hot"), 0);
    CHECK_EQ(axp_current_memory(p), 0);
    CHECK(axp_is_enabled(p));
    record(p, "work", 300);
    record_hot(1000);
    axp_start(p, "named");
    axp_stop(p, "named");
    axp_record_alloc(p, "heap", 100);
    axp_track_alloc(p, "block", &something, 10);
    axp_step(p);
    axp_counter(p, "loss", 1);
    CHECK_EQ(axp_call_count(p, "work"), 300);
    CHECK_EQ(axp_call_count(axp_global(), "hot"), 1000);
    if (axp_call_count(p, "named") != 1) stress_print_warnings(p);
    CHECK_EQ(axp_call_count(p, "named"), 1);
    CHECK_EQ(axp_current_memory(p), 110);
    axp_view *v = axp_snapshot(p);
    CHECK(v != NULL);
    stress_check_view(v);
    axp_op op;
    axp_thread_info thread;
    CHECK(axp_view_op(v, "work", &op) == AXP_OK);
    CHECK_EQ(op.calls, 300);
    CHECK_EQ(axp_view_threads(v, &thread, 1), 1);
    CHECK_EQ(thread.process_id, (uint64_t)getpid());
    CHECK_EQ(axp_view_steps(v).count, 1);
    CHECK_EQ(axp_view_cut_count(v), 0);
    uint64_t n = 0;
    CHECK(axp_view_events(v, NULL, stress_count_event, &n) == AXP_OK);
    CHECK_EQ(n, axp_view_event_count(v));
    CHECK_EQ(n, 600 + 2 + 2 + 1 + 1);
    CHECK_EQ(stress_view_warning(v, "stop_without_start"), 0);
    CHECK_EQ(stress_view_warning(v, "abandoned_scopes"), 0);
    CHECK_EQ(stress_view_warning(v, "foreign_ends"), 0);
    axp_view_destroy(v);
}

static void begin_case(void)
{
    prof = axp_profiler_create(NULL);
    CHECK(prof != NULL);
    record(prof, "work", 50);
    record_hot(70);
    axp_record_alloc(prof, "heap", 1 << 20);
}

static void end_case(void)
{
    CHECK_EQ(axp_call_count(prof, "work"), 50);
    CHECK_EQ(axp_call_count(axp_global(), "hot"), 70);
    CHECK_EQ(axp_current_memory(prof), 1 << 20);
    record(prof, "work", 5);
    record_hot(5);
    CHECK_EQ(axp_call_count(prof, "work"), 55);
    CHECK_EQ(axp_call_count(axp_global(), "hot"), 75);
    axp_profiler_destroy(prof);
}

static void plain_fork(void)
{
    begin_case();
    pid_t pid = fork();
    if (!pid) {
        check_own(prof);
        _exit(0);
    }
    wait_ok(pid);
    end_case();
}

/* The child asks before it records. */
static void question_first(void)
{
    begin_case();
    pid_t pid = fork();
    if (!pid) {
        axp_view *v = axp_snapshot(prof);
        CHECK(v != NULL);
        axp_op op;
        CHECK(axp_view_op(v, "work", &op) == AXP_E_NOT_FOUND);
        CHECK_EQ(axp_view_event_count(v), 0);
        CHECK_EQ(axp_view_memory(v).current_bytes, 0);
        CHECK_EQ(axp_view_memory(v).peak_bytes, 0);
        axp_view_destroy(v);
        check_own(prof);
        _exit(0);
    }
    wait_ok(pid);
    end_case();
}

static void child_of_child(void)
{
    begin_case();
    pid_t pid = fork();
    if (!pid) {
        check_own(prof);
        pid_t inner = fork();
        if (!inner) {
            check_own(prof);
            _exit(0);
        }
        wait_ok(inner);
        CHECK_EQ(axp_call_count(prof, "work"), 300);
        record(prof, "work", 1);
        CHECK_EQ(axp_call_count(prof, "work"), 301);
        _exit(0);
    }
    wait_ok(pid);
    end_case();
}

static void *fork_in_thread(void *arg)
{
    (void)arg;
    record(prof, "other", 3);
    pid_t pid = fork();
    if (!pid) {
        check_own(prof);
        pthread_exit(NULL); /* the last thread: the process ends with 0 */
    }
    wait_ok(pid);
    return NULL;
}

static void from_thread(void)
{
    pthread_t t;
    begin_case();
    for (int i = 0; i < 8; i++) {
        CHECK(!pthread_create(&t, NULL, fork_in_thread, NULL));
        CHECK(!pthread_join(t, NULL));
    }
    CHECK_EQ(axp_call_count(prof, "other"), 24);
    end_case();
}

static volatile int keep_going;
static int n_busy;

static void *busy_thread(void *arg)
{
    char name[32];
    (void)arg;
    for (unsigned i = 0; __atomic_load_n(&keep_going, __ATOMIC_RELAXED); i++) {
        snprintf(name, sizeof name, "busy %u", i % 500);
        record(prof, name, 3);
        if (!i) __atomic_fetch_add(&n_busy, 1, __ATOMIC_RELAXED);
        axp_track_alloc(prof, name, &name[i % 32], 8);
        axp_track_free(prof, &name[i % 32]);
        if (i % 64 == 0) axp_call_count(prof, name); /* takes the lock */
    }
    return NULL;
}

/* Others are in the middle of everything when the child begins; of everything
 * of ours: a sanitizer's runtime allocates while it begins a thread, and a child
 * forked meanwhile can never allocate. */
static void beside_busy_threads(void)
{
    pthread_t t[3];
    begin_case();
    keep_going = 1;
    n_busy = 0;
    for (int i = 0; i < 3; i++)
        CHECK(!pthread_create(&t[i], NULL, busy_thread, NULL));
    while (__atomic_load_n(&n_busy, __ATOMIC_RELAXED) < 3)
        sched_yield();
    for (int i = 0; i < 100; i++) {
        pid_t pid = fork();
        if (!pid) {
            stress_watch(30);
            check_own(prof);
            _exit(0);
        }
        wait_ok(pid);
    }
    __atomic_store_n(&keep_going, 0, __ATOMIC_RELAXED);
    for (int i = 0; i < 3; i++)
        CHECK(!pthread_join(t[i], NULL));
    end_case();
}

/* Scopes that were open end silently, by token and by name. */
static void open_scopes(void)
{
    begin_case();
    pid_t pid;
    axp_start(prof, "open by name");
    axp_async_begin(prof, "open async", 1);
    {
        AXP_SCOPE("open hot");
        AXP_SCOPE_IN(prof, "open in");
        pid = fork();
    }
    if (!pid) {
        axp_stop(prof, "open by name");
        axp_async_end(prof, "open async", 1);
        CHECK_EQ(axp_call_count(prof, "open by name"), 0);
        CHECK_EQ(axp_call_count(prof, "open async"), 0);
        CHECK_EQ(axp_call_count(prof, "open in"), 0);
        CHECK_EQ(axp_call_count(axp_global(), "open hot"), 0);
        CHECK_EQ(stress_warning(prof, "stop_without_start"), 0);
        CHECK_EQ(stress_warning(prof, "async_end_unknown"), 0);
        CHECK_EQ(stress_warning(axp_global(), "foreign_ends"), 0);
        CHECK_EQ(stress_warning(axp_global(), "abandoned_scopes"), 0);
        axp_reset(prof);
        check_own(prof);
        _exit(0);
    }
    wait_ok(pid);
    axp_stop(prof, "open by name");
    axp_async_end(prof, "open async", 1);
    CHECK_EQ(axp_call_count(prof, "open by name"), 1);
    CHECK_EQ(axp_call_count(prof, "open async"), 1);
    CHECK_EQ(axp_call_count(prof, "open in"), 1);
    CHECK_EQ(axp_call_count(axp_global(), "open hot"), 1);
    end_case();
}

/* The child first records under scopes that it inherited open. */
static void under_open_scope(void)
{
    begin_case();
    pid_t pid;
    {
        AXP_SCOPE("open hot");
        AXP_SCOPE_IN(prof, "open in");
        pid = fork();
        if (!pid) check_own(prof);
    }
    if (!pid) {
        CHECK_EQ(axp_call_count(prof, "work"), 300);
        CHECK_EQ(axp_call_count(prof, "open in"), 0);
        CHECK_EQ(axp_call_count(axp_global(), "open hot"), 0);
        record(prof, "work", 1);
        CHECK_EQ(axp_call_count(prof, "work"), 301);
        _exit(0);
    }
    wait_ok(pid);
    end_case();
}

static void disabled_and_finished(void)
{
    begin_case();
    axp_profiler *off = axp_profiler_create(NULL);
    axp_profiler *done = axp_profiler_create(NULL);
    CHECK(off && done);
    record(done, "before", 4);
    axp_set_enabled(off, false);
    CHECK(axp_finish(done) == AXP_OK);
    pid_t pid = fork();
    if (!pid) {
        record(off, "off", 1);
        record(done, "done", 1);
        CHECK(!axp_is_enabled(off));
        CHECK_EQ(axp_call_count(off, "off"), 0);
        CHECK_EQ(axp_call_count(done, "done"), 0);
        CHECK_EQ(axp_call_count(done, "before"), 4); /* frozen: as good here */
        axp_profiler_destroy(off);
        axp_profiler_destroy(done);
        check_own(prof);
        _exit(0);
    }
    wait_ok(pid);
    axp_profiler_destroy(off);
    axp_profiler_destroy(done);
    end_case();
}

/* No atfork handler runs: the kernel's wiping must do. */
static void raw_clone(void)
{
    begin_case();
    pid_t pid = (pid_t)syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);
    if (!pid) {
        check_own(prof);
        _exit(0);
    }
    wait_ok(pid);
    end_case();
}

static void raw_clone_of_clone(void)
{
    begin_case();
    pid_t pid = (pid_t)syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);
    if (!pid) {
        check_own(prof);
        pid_t inner = (pid_t)syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);
        if (!inner) {
            CHECK_EQ(axp_call_count(prof, "work"), 0);
            record(prof, "work", 7);
            CHECK_EQ(axp_call_count(prof, "work"), 7);
            _exit(0);
        }
        wait_ok(inner);
        CHECK_EQ(axp_call_count(prof, "work"), 300);
        _exit(0);
    }
    wait_ok(pid);
    end_case();
}

/* The child shares memory and stack: what it records is the parent's. */
static void by_vfork(void)
{
    begin_case();
    pid_t pid = vfork(); /* NOLINT */
    if (!pid) {
        AXP_SCOPE_IN(prof, "in vfork");
        axp_instant(prof, "mark");
        _exit(0);
    }
    wait_ok(pid);
    char *argv[] = {(char *)"true", NULL};
    char *env[] = {NULL};
    CHECK(!posix_spawnp(&pid, "true", NULL, NULL, argv, env));
    wait_ok(pid);
    CHECK_EQ(axp_call_count(prof, "in vfork"), 1); /* never ended: open */
    end_case();
}

/* ---- from a handler ------------------------------------------------------- */

static volatile sig_atomic_t n_inside, n_outside, is_child;
#define WANTED_INSIDE 60

static void fork_here(int sig)
{
    (void)sig;
    int keep = errno;
    if (is_child || n_inside >= WANTED_INSIDE) return;
    uint64_t token = axp_begin(prof, "probe");
    if (token) {
        axp_end(token);
        n_outside = n_outside + 1;
        return; /* nothing was interrupted: not what is asked for */
    }
    pid_t pid = fork();
    if (!pid) {
        struct itimerval never = {{0, 0}, {0, 0}};
        setitimer(ITIMER_PROF, &never, NULL);
        stress_watch(30);
        record(prof, "in handler", 2);
        CHECK_EQ(axp_call_count(prof, "in handler"), 2);
        is_child = 1; /* and on with the call that was interrupted */
        return;
    }
    wait_ok(pid);
    n_inside = n_inside + 1;
    errno = keep;
}

static unsigned n_loops;

static void hot_call(void)
{
    AXP_SCOPE("interrupted hot");
}

static void general_call(void)
{
    AXP_SCOPE_IN(prof, "interrupted");
    axp_record_alloc(prof, "interrupted", 8);
    axp_record_free(prof, "interrupted", 8);
}

static void first_call(void)
{
    char name[32];
    snprintf(name, sizeof name, "interrupted %u", n_loops % 400000);
    AXP_SCOPE_IN(prof, name);
}

static void interrupt(void (*call)(void))
{
    struct itimerval often = {{0, 500}, {0, 500}};
    struct sigaction action = {.sa_handler = fork_here, .sa_flags = SA_RESTART};
    prof = axp_profiler_create(NULL);
    CHECK(prof != NULL);
    axp_track_alloc(prof, "x", prof, 8);
    record_hot(3);
    CHECK(!sigaction(SIGPROF, &action, NULL));
    CHECK(!setitimer(ITIMER_PROF, &often, NULL));
    for (n_loops = 0; n_inside < WANTED_INSIDE && !is_child; n_loops++)
        call();
    if (is_child) {
        axp_reset(prof);
        axp_reset(axp_global());
        check_own(prof);
        record(prof, "work", 100000); /* round the ring: both writers met? */
        CHECK_EQ(axp_call_count(prof, "work"), 100300);
        axp_view *v = axp_snapshot(prof);
        CHECK(v != NULL);
        CHECK_EQ(stress_view_warning(v, "abandoned_scopes"), 0);
        CHECK_EQ(stress_view_warning(v, "signal_drops"), 0);
        axp_view_destroy(v);
        _exit(0);
    }
    struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_PROF, &never, NULL);
    CHECK_EQ(stress_warning(prof, "signal_drops"), WANTED_INSIDE);
    dprintf(1, "        %d forks inside a call, %d signals outside\n",
            (int)n_inside, (int)n_outside);
}

static void in_handler_hot(void)
{
    interrupt(hot_call);
}

static void in_handler_general(void)
{
    interrupt(general_call);
}

static void in_handler_new_names(void)
{
    interrupt(first_call);
}

/* The same, without the reset in the child: what it records by itself after
 * the interrupted call is exact from the first event on. */
static void in_handler_no_reset(void)
{
    struct itimerval often = {{0, 500}, {0, 500}};
    struct sigaction action = {.sa_handler = fork_here, .sa_flags = SA_RESTART};
    prof = axp_profiler_create(NULL);
    CHECK(prof != NULL);
    CHECK(!sigaction(SIGPROF, &action, NULL));
    CHECK(!setitimer(ITIMER_PROF, &often, NULL));
    while (n_inside < WANTED_INSIDE && !is_child)
        hot_call();
    if (is_child) {
        uint64_t before = axp_call_count(axp_global(), "interrupted hot");
        CHECK(before <= 1); /* the interrupted one at most */
        for (int i = 0; i < 1000; i++)
            hot_call();
        CHECK_EQ(axp_call_count(axp_global(), "interrupted hot"),
                 before + 1000);
        record_hot(1000);
        CHECK_EQ(axp_call_count(axp_global(), "hot"), 1000);
        _exit(0);
    }
    struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_PROF, &never, NULL);
}

int main(void)
{
    int failed = 0;
    failed += STRESS_RUN(plain_fork, 60);
    failed += STRESS_RUN(question_first, 60);
    failed += STRESS_RUN(child_of_child, 60);
    failed += STRESS_RUN(from_thread, 60);
    failed += STRESS_RUN(beside_busy_threads, 120);
    failed += STRESS_RUN(open_scopes, 60);
    failed += STRESS_RUN(under_open_scope, 60);
    failed += STRESS_RUN(disabled_and_finished, 60);
    if (!STRESS_TSAN) { /* its runtime needs its own fork, and delays signals */
        failed += STRESS_RUN(by_vfork, 60);
        failed += STRESS_RUN(raw_clone, 60);
        failed += STRESS_RUN(raw_clone_of_clone, 60);
        failed += STRESS_RUN(in_handler_hot, 60);
        failed += STRESS_RUN(in_handler_general, 60);
        failed += STRESS_RUN(in_handler_new_names, 60);
        failed += STRESS_RUN(in_handler_no_reset, 60);
    }
    return failed ? 1 : 0;
}
