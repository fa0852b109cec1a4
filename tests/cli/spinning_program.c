/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* spinning_program MS: OpenMP's second thread waits while the first works: for so
 * long at a barrier, again at the end of the region, and again when there is no
 * region any more. With OMP_WAIT_POLICY=active it spins. */
#include <omp.h>
#include <stdlib.h>
#include <time.h>

static volatile double sink;

static double seconds(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

__attribute__((noinline)) static void work(double s)
{
    double end = seconds(CLOCK_MONOTONIC) + s, x = 1;
    while (seconds(CLOCK_MONOTONIC) < end)
        for (int i = 0; i < 1000; i++)
            x = x * 1.0000001 + 0.1;
    sink = x;
}

int main(int argc, char **argv)
{
    double s = argc > 1 ? atof(argv[1]) / 1000 : 0.1;
    omp_set_num_threads(2);
#pragma omp parallel
    {
        if (!omp_get_thread_num()) work(s);
#pragma omp barrier
        if (!omp_get_thread_num()) work(s);
    }
    work(s);
    return 0;
}
