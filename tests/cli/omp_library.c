/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A library that computes with OpenMP: regions, a lock, tasks. With AT_START it
 * does so before dlopen has come back, in a thread that it waits for. */
__attribute__((visibility("default"))) double omp_sum(long n);

double omp_sum(long n)
{
    double total = 0;
    long n_tasks = 0;
    for (int round = 0; round < 20; round++) {
#pragma omp parallel for reduction(+ : total) schedule(dynamic, 1000)
        for (long i = 0; i < n; i++)
            total += (double)(i % 7);
#pragma omp parallel
#pragma omp single
        for (int i = 0; i < 10; i++) {
#pragma omp task shared(n_tasks)
            {
#pragma omp critical(of_tasks)
                n_tasks++;
            }
        }
    }
    return total + (double)n_tasks;
}

#ifdef AT_START
#include <pthread.h>
#include <stddef.h>

static void *sum(void *result)
{
    *(double *)result = omp_sum(1000);
    return NULL;
}

__attribute__((constructor)) static void begin(void)
{
    pthread_t thread;
    double result;
    if (!pthread_create(&thread, NULL, sum, &result))
        pthread_join(thread, NULL);
}
#endif
