/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A library with functions that are recorded, built under two names
 * (functions_closed_program.c). */
__attribute__((visibility("default"))) void run_often(unsigned n);

__attribute__((noinline)) static void tiny(void)
{
    __asm__ volatile("" ::: "memory");
}

void run_often(unsigned n)
{
    while (n--)
        tiny();
}
