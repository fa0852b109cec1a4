/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads and processes with scopes, to be run below another namespace of
 * process ids.
 *
 *   namespaced_program threads N MS    N threads at once, each MS in "spin"
 *   namespaced_program one_by_one N US N threads one after the other, each US in
 *                                      "spin", and as long again in the first
 *   namespaced_program fork N MS       N children at once, each with a thread
 */
#define _GNU_SOURCE
#include <axprof/axprof.h>

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NEVER_INLINE __attribute__((noinline, noipa))

static volatile double sink;
static uint64_t spin_ns;

static uint64_t used_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

NEVER_INLINE static void turn(void)
{
    double x = 1;
    for (int i = 0; i < 20000; i++)
        x = x * 1.0000001 + 0.1;
    sink = x;
}

static void *spin(void *arg)
{
    uint64_t until = used_ns() + spin_ns;
    AXP_SCOPE("spin");
    while (used_ns() < until)
        turn();
    return arg;
}

static void spin_at_once(long n)
{
    pthread_t *threads = calloc((size_t)n + 1, sizeof *threads);
    if (!threads) _exit(1);
    for (long i = 0; i < n; i++)
        if (pthread_create(&threads[i], NULL, spin, NULL)) _exit(1);
    for (long i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    free(threads);
}

static void spin_one_by_one(long n)
{
    for (long i = 0; i < n; i++) {
        spin_at_once(1);
        spin(NULL);
    }
}

static void fork_all(long n)
{
    for (long i = 0; i < n; i++) {
        pid_t pid = fork();
        if (pid < 0) _exit(1);
        if (pid) continue;
        spin_at_once(1);
        exit(0);
    }
    while (wait(NULL) > 0)
        continue;
}

int main(int argc, char **argv)
{
    if (argc != 4) return 2;
    long n = strtol(argv[2], NULL, 10);
    spin_ns = strtoul(argv[3], NULL, 10) * 1000;
    AXP_SCOPE("main");
    if (!strcmp(argv[1], "one_by_one")) {
        spin_one_by_one(n);
        return 0;
    }
    spin_ns *= 1000;
    if (!strcmp(argv[1], "threads")) spin_at_once(n);
    if (!strcmp(argv[1], "fork")) fork_all(n);
    return 0;
}
