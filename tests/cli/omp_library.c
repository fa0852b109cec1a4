/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A library that computes with OpenMP: regions, a lock, tasks. */
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
