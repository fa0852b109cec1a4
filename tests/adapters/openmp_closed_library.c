/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A library with a region, built under two names (openmp_many_program.c). */
__attribute__((visibility("default"))) void run_region(void);

void run_region(void)
{
#pragma omp parallel num_threads(2)
    __asm__ volatile("" ::: "memory");
}
