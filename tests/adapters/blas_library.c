/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A library of blas_program.c's that calls BLAS, from below its caller. */
#include "adapters/blas/blas_work.h"

void sgemm_ PARAMETERS_S0(15);

extern void call_from_elsewhere(void);
__attribute__((visibility("default"))) void call_from_elsewhere(void)
{
    float one = 1, none = 0;
    int n = 2;
    char room[4096];
    __asm__ volatile("" ::"r"(room) : "memory");
    sgemm_((W) "N", (W) "N", (W)&n, (W)&n, (W)&n, (W)&one, 0, (W)&n, 0, (W)&n,
           (W)&none, 0, (W)&n, 1, 1);
    __asm__ volatile("" ::"r"(room) : "memory");
}
