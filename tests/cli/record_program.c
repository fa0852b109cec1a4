/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program that links libaxprof_rt and has no code for files or reports:
 *
 *   record_program scopes N            N scopes "outer" with one "inner" each
 *   record_program workers N SCOPES    N children that record, one that does
 *                                      not, and the program itself
 *   record_program leave N SCOPES      N children that record and _exit
 *   record_program steps N MS SLOW     N steps of MS ms; every SLOWth takes
 *                                      thirty times as long
 *   record_program fill N              N steps that each keep 64 KiB that they
 *                                      say of, and as much of malloc's
 *   record_program whole N MS          N steps of so long in one scope
 *   record_program serve MS            scopes for so long, one every 100 us
 *   record_program kill N              N scopes, and then SIGKILL
 *   record_program die N SIGNAL        N scopes in "train" and "forward", and
 *                                      then the signal, in "backward"
 *   record_program idle N MS           N scopes, and then nothing for so long
 *   record_program busy N MS           N scopes, and then at work for so long
 *   record_program mixed N MS          N scopes, and then "short work" for so
 *                                      long and "long work" for twice as long
 *   record_program open N              N scopes to open.axp, by code, and in a
 *                                      child
 *   record_program late                opens a file after its first scope
 *   record_program clear N             clears its environment, N scopes
 *   record_program own N               N scopes, and as many in a profiler of
 *                                      its own that records to own.axp
 *   record_program threads N           N scopes in each of two threads, none in
 *                                      the first one
 *   record_program starts N            N threads that do nothing: each is started
 *                                      in "start" and waited for in "join"
 *   record_program helpers N MS        a scope "main", and N threads "helper" at
 *                                      work for so long that record nothing
 *   record_program families N          N children one after the other, every
 *                                      second by clone itself, each with two
 *                                      threads that do nothing, of which
 *                                      nothing is told
 *   record_program first               one step: ns of it, and of it those of
 *                                      its first event
 *
 * Each prints what a recording of it must hold.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <axprof/axprof.h>

static void sleep_us(long us)
{
    struct timespec t = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&t, NULL);
}

static void scopes(long n)
{
    for (long i = 0; i < n; i++) {
        AXP_SCOPE("outer");
        AXP_SCOPE("inner");
    }
}

/* Milliseconds of processor time. */
static long cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void work_until(long ms)
{
    while (cpu_ms() < ms)
        continue;
}

static void work(const char *name, long ms)
{
    uint64_t token = axp_begin(axp_global(), name);
    work_until(cpu_ms() + ms);
    axp_end(token);
}

static void *scopes_of_thread(void *n)
{
    scopes((long)n);
    return NULL;
}

static void threads(long n)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, scopes_of_thread, (void *)n);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
}

static void *help(void *ms)
{
    struct timespec t = {0, 0};
    pthread_setname_np(pthread_self(), "helper");
    while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < (long)ms)
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return NULL;
}

static void helpers(long n, long ms)
{
    AXP_SCOPE("main");
    pthread_t t[8];
    for (int i = 0; i < n && i < 8; i++)
        if (pthread_create(&t[i], NULL, help, (void *)ms)) exit(4);
    for (int i = 0; i < n && i < 8; i++)
        pthread_join(t[i], NULL);
}

static void *do_nothing(void *unused)
{
    return unused;
}

static void starts(long n)
{
    for (long i = 0; i < n; i++) {
        pthread_t t;
        uint64_t token = axp_begin(axp_global(), "start");
        if (pthread_create(&t, NULL, do_nothing, NULL)) exit(4);
        axp_end(token);
        AXP_SCOPE("join");
        pthread_join(t, NULL);
    }
}

static void have_two_threads(void)
{
    pthread_t t[2];
    sleep_us(5000);
    for (int i = 0; i < 2; i++)
        if (pthread_create(&t[i], NULL, do_nothing, NULL)) _exit(4);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    _exit(0);
}

/* The C library does not know of every second one. */
static void families(long n)
{
    for (long i = 0; i < n; i++) {
        sleep_us(20000);
        long pid = i % 2 ? syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
        if (pid == 0) have_two_threads();
        waitpid((pid_t)pid, NULL, 0);
    }
}

/* A fork that comes while another thread begins leaves a lock of the leak
 * checker's closed in the child, which then waits for it when it exits. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

static void workers(long n, long n_scopes)
{
    for (long i = 0; i <= n; i++) {
        if (fork() > 0) continue;
        if (i < n) scopes(n_scopes);
        exit(0);
    }
    scopes(n_scopes);
    while (wait(NULL) > 0)
        continue;
}

/* Children that end as os._exit does: without handlers. */
static void leave(long n, long n_scopes)
{
    for (long i = 0; i < n; i++) {
        if (fork() > 0) continue;
        scopes(n_scopes);
        _exit(0);
    }
    while (wait(NULL) > 0)
        continue;
}

/* Each step keeps a block that it says of, and one that malloc gives. */
static void fill(long n)
{
    static char named[4096];
    for (long i = 0; i < n && i < (long)sizeof named; i++) {
        void *volatile kept = malloc(64 << 10);
        (void)kept;
        axp_track_alloc(axp_global(), "filled", &named[i], 64 << 10);
        axp_step(axp_global());
    }
}

static void steps(long n, long ms, long slow)
{
    axp_thread_name(axp_global(), "trainer");
    for (long i = 1; i <= n; i++) {
        AXP_SCOPE("step");
        /* Enough to fill a chunk: then the drain sees it. */
        scopes(600);
        sleep_us(1000 * ms * (slow && i % slow == 0 ? 30 : 1));
        axp_step(axp_global());
    }
}

static void whole(long n, long ms)
{
    AXP_SCOPE("whole");
    steps(n, ms, 0);
}

static void serve(long ms)
{
    for (long i = 0; i < ms * 10; i++) {
        AXP_SCOPE("request");
        scopes(50);
        sleep_us(100);
    }
}

static void die(long n, long signal)
{
    AXP_SCOPE("train");
    {
        AXP_SCOPE("forward");
        scopes(n);
    }
    AXP_SCOPE("backward");
    if (signal == SIGABRT) abort();
    raise((int)signal);
}

static void own(long n)
{
    axp_options options = {.path = "own.axp"};
    axp_profiler *p = axp_profiler_create(&options);
    scopes(n);
    for (long i = 0; i < n; i++) {
        axp_start(p, "mine");
        axp_stop(p, "mine");
    }
    axp_profiler_destroy(p);
}

static long long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void first(void)
{
    long long begin = now_ns();
    axp_reset(axp_global()); /* the step begins */
    long long before = now_ns();
    axp_instant(axp_global(), "first");
    long long after = now_ns();
    axp_step(axp_global());
    printf("%lld %lld\n", now_ns() - begin, after - before);
}

int main(int argc, char **argv)
{
    long a[3] = {0, 0, 0};
    const char *word = argc > 1 ? argv[1] : "";
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 0; i < 3 && i + 2 < argc; i++)
        a[i] = atol(argv[i + 2]);
    puts("ready");
    if (!strcmp(word, "scopes")) scopes(a[0]);
    if (!strcmp(word, "workers")) workers(a[0], a[1]);
    if (!strcmp(word, "leave")) leave(a[0], a[1]);
    if (!strcmp(word, "steps")) steps(a[0], a[1], a[2]);
    if (!strcmp(word, "fill")) fill(a[0]);
    if (!strcmp(word, "rest")) {
        steps(a[0], a[1], 0);
        scopes(a[2]);
    }
    if (!strcmp(word, "whole")) whole(a[0], a[1]);
    if (!strcmp(word, "serve")) serve(a[0]);
    if (!strcmp(word, "threads")) threads(a[0]);
    if (!strcmp(word, "starts")) starts(a[0]);
    if (!strcmp(word, "helpers")) helpers(a[0], a[1]);
    if (!strcmp(word, "families")) families(a[0]);
    if (!strcmp(word, "first")) first();
    if (!strcmp(word, "die")) die(a[0], a[1]);
    if (!strcmp(word, "idle")) {
        scopes(a[0]);
        sleep_us(1000 * a[1]);
    }
    if (!strcmp(word, "busy")) {
        scopes(a[0]);
        work_until(a[1]);
    }
    if (!strcmp(word, "mixed")) {
        scopes(a[0]);
        work("short work", a[1]);
        work("long work", 2 * a[1]);
    }
    if (!strcmp(word, "open")) {
        if (axp_global_open("") != AXP_E_INVALID) return 1;
        if (axp_global_open("open.axp") != AXP_OK) return 2;
        scopes(a[0]);
        axp_status again = axp_global_open("again.axp");
        if (again != (getenv("AXPROF_OUT") ? AXP_OK : AXP_E_STATE)) return 3;
        if (fork() == 0) {
            scopes(a[0]);
            exit(0);
        }
        wait(NULL);
    }
    if (!strcmp(word, "late")) {
        scopes(1);
        return axp_global_open("late.axp") == AXP_E_STATE ? 0 : 1;
    }
    if (!strcmp(word, "clear")) {
        clearenv();
        scopes(a[0]);
    }
    if (!strcmp(word, "own")) own(a[0]);
    if (!strcmp(word, "kill")) {
        scopes(a[0]);
        kill(getpid(), SIGKILL);
    }
    return 0;
}
