/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Declares work around a region of OpenMP, and around none. */
#include <stdlib.h>

#include <axprof/axprof.h>

static float numbers[1 << 16];

static void spin(int times)
{
    for (int k = 0; k < times; k++)
        for (int i = 0; i < 1 << 16; i++)
            numbers[i] = numbers[i] * 0.5f + 1;
}

int main(void)
{
    for (int i = 0; i < 20; i++) {
        AXP_SCOPE_WORK("alone", .flops = 2e6, .bytes = 1e6, .dtype = AXP_F32);
        spin(20);
    }
    for (int i = 0; i < 20; i++) {
        AXP_SCOPE_WORK("together", .flops = 2e6, .bytes = 1e6,
                       .dtype = AXP_F32);
#pragma omp parallel num_threads(2)
        spin(20);
    }
    for (int i = 0; i < 20; i++) {
        AXP_SCOPE_WORK("wrong", .flops = 1e15, .dtype = AXP_F32);
        spin(1);
    }
    return 0;
}
