/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A BLAS that does nothing, so that what is measured is what stands before it. */
#define EXPORT __attribute__((visibility("default")))

EXPORT void sgemm_(void);
EXPORT void sgemm_(void)
{
    __asm__ volatile("");
}

EXPORT double ddot_(void);
EXPORT double ddot_(void)
{
    __asm__ volatile("");
    return 0;
}
