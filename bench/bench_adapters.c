/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What adapters cost the calls that they are in: prints nanoseconds, one figure
 * a line, of a program that knows nothing of axprof. bench_run.py runs it with
 * and without.
 *
 *   bench_adapters unlock    leaving a lock that nobody waited for
 *   bench_adapters post      posting a semaphore that nobody waited for
 *   bench_adapters region    a region of OpenMP of about 10 us
 *   bench_adapters range     NVTX: push and pop; and the floor (floor.c)
 *   bench_adapters product   sgemm_ of a BLAS that does nothing, 8 shapes in
 *                            turn; and the floor
 *   bench_adapters dot       the same of ddot_ of 3 numbers, and no floor
 *   bench_adapters threads   3,000 that are made and joined, one after another,
 *                            of 20,000 sines each; prints how many there were
 */
#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "nvtx_client.h"

#define BATCH 1000
#define BATCHES 20000

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* A recursive one is taken often, and then left as often. */
static double unlock(void)
{
    pthread_mutexattr_t attr;
    pthread_mutex_t mutex;
    double ns = 0;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&mutex, &attr);
    for (int i = 0; i < BATCHES; i++) {
        for (int k = 0; k < BATCH; k++)
            pthread_mutex_lock(&mutex);
        double begin = now_ns();
        for (int k = 0; k < BATCH; k++)
            pthread_mutex_unlock(&mutex);
        ns += now_ns() - begin;
    }
    return ns / BATCH / BATCHES;
}

static double post(void)
{
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    double begin = now_ns();
    for (int i = 0; i < BATCH * BATCHES; i++)
        sem_post(&semaphore);
    return (now_ns() - begin) / BATCH / BATCHES;
}

static volatile double sink[2][16];

static double region(void)
{
    const int n = 20000;
    double begin = now_ns();
    for (int i = 0; i < n; i++) {
#pragma omp parallel num_threads(2)
        {
            volatile double *to = sink[omp_get_thread_num()];
            for (int k = 0; k < 3000; k++)
                *to += k;
        }
    }
    return (now_ns() - begin) / n;
}

/* Of this thread, which a busy machine disturbs less. */
static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double range(void)
{
    const int n = 3000000;
    if (!nvtx_begin()) return 0;
    double begin = cpu_ns();
    for (int i = 0; i < n; i++) {
        nvtxRangePushA("range");
        nvtxRangePop();
    }
    return (cpu_ns() - begin) / n;
}

/* As Fortran calls it. */
extern void sgemm_(const char *, const char *, const int *, const int *,
                   const int *, const float *, const float *, const int *,
                   const float *, const int *, const float *, float *,
                   const int *, size_t, size_t);
extern double ddot_(const int *, const double *, const int *, const double *,
                    const int *);

static double product(void)
{
    const int n = 3000000;
    const float one = 1, none = 0;
    double begin = cpu_ns();
    for (int i = 0; i < n; i++) {
        int m = 64 << i % 8;
        sgemm_("N", "N", &m, &m, &m, &one, NULL, &m, NULL, &m, &none, NULL, &m,
               1, 1);
    }
    return (cpu_ns() - begin) / n;
}

static double dot(void)
{
    const int n = 20000000, three = 3, one = 1;
    double begin = cpu_ns();
    for (int i = 0; i < n; i++)
        ddot_(&three, NULL, &one, NULL, &one);
    return (cpu_ns() - begin) / n;
}

static void *sines(void *arg)
{
    volatile double sum = 0;
    for (int i = 0; i < 20000; i++)
        sum += sin(i);
    return arg;
}

static int threads(void)
{
    pthread_attr_t attr;
    int n = 0;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 1 << 16); /* or its own, if that is less */
    for (pthread_t one; n < 3000; n++)
        if (pthread_create(&one, &attr, sines, NULL) || pthread_join(one, NULL))
            break;
    return n;
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    if (!strcmp(word, "unlock")) printf("%.2f\n", unlock());
    if (!strcmp(word, "post")) printf("%.2f\n", post());
    if (!strcmp(word, "region")) printf("%.1f\n", region());
    if (!strcmp(word, "range"))
        printf("%.2f\n%.2f\n", range(), bench_floor(2000000));
    if (!strcmp(word, "product"))
        printf("%.2f\n%.2f\n", product(), bench_floor(2000000));
    if (!strcmp(word, "dot")) printf("%.2f\n", dot());
    if (!strcmp(word, "threads")) printf("%d\n", threads());
    return 0;
}
