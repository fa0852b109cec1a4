/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Moving bytes on aarch64: pairs of 16 bytes, and whole vectors of SVE. */
#include "machine/machine_kernel.h"

#ifdef __aarch64__
#include <sys/auxv.h>

#define HAS_SVE (1ul << 22) /* AT_HWCAP */

static void neon_read(const void *from, size_t bytes)
{
    const char *end = (const char *)from + bytes;
    __asm__ volatile("1:\n"
                     ".irp at,0,32,64,96,128,160,192,224\n"
                     "ldp q0, q1, [%0, #\\at]\n"
                     ".endr\n"
                     "add %0, %0, #256\n"
                     "cmp %0, %1\n"
                     "b.lo 1b\n"
                     : "+&r"(from)
                     : "r"(end)
                     : "v0", "v1", "cc", "memory");
}

static void neon_copy(void *to, const void *from, size_t bytes)
{
    char *end = (char *)to + bytes;
    __asm__ volatile("1:\n"
                     ".irp at,0,32,64,96\n"
                     "ldp q0, q1, [%1, #\\at]\n"
                     "stp q0, q1, [%0, #\\at]\n"
                     ".endr\n"
                     "add %0, %0, #128\n"
                     "add %1, %1, #128\n"
                     "cmp %0, %2\n"
                     "b.lo 1b\n"
                     : "+&r"(to), "+&r"(from)
                     : "r"(end)
                     : "v0", "v1", "cc", "memory");
}

static void neon_triad(void *to, const void *a, const void *b, size_t bytes)
{
    char *end = (char *)to + bytes;
    __asm__ volatile("fmov v31.2d, #3.0\n"
                     "1:\n"
                     ".irp at,0,32,64,96\n"
                     "ldp q0, q1, [%1, #\\at]\n"
                     "ldp q2, q3, [%2, #\\at]\n"
                     "fmla v0.2d, v2.2d, v31.2d\n"
                     "fmla v1.2d, v3.2d, v31.2d\n"
                     "stp q0, q1, [%0, #\\at]\n"
                     ".endr\n"
                     "add %0, %0, #128\n"
                     "add %1, %1, #128\n"
                     "add %2, %2, #128\n"
                     "cmp %0, %3\n"
                     "b.lo 1b\n"
                     : "+&r"(to), "+&r"(a), "+&r"(b)
                     : "r"(end)
                     : "v0", "v1", "v2", "v3", "v31", "cc", "memory");
}

/* Eight vectors a turn: 128 to 2048 bytes. What is left at the end where vectors
 * are that long is not read. */
static void sve_read(const void *from, size_t bytes)
{
    register const void *at __asm__("x0");
    register const void *last __asm__("x1");
    __asm__ volatile(".inst 0x04bf5100\n" /* rdvl x0, #8 */ : "=r"(at));
    size_t turn = (size_t)(uintptr_t)at;
    if (bytes < turn) return;
    last = (const char *)from + bytes - turn;
    at = from;
    __asm__ volatile("1:\n"
                     ".inst 0x85804000\n" /* ldr z0, [x0] */
                     ".inst 0x85804401\n" /* ldr z1, [x0, #1, mul vl] */
                     ".inst 0x85804802\n" /* … */
                     ".inst 0x85804c03\n"
                     ".inst 0x85805004\n"
                     ".inst 0x85805405\n"
                     ".inst 0x85805806\n"
                     ".inst 0x85805c07\n" /* ldr z7, [x0, #7, mul vl] */
                     ".inst 0x04205100\n" /* addvl x0, x0, #8 */
                     "cmp %0, %1\n"
                     "b.ls 1b\n"
                     : "+&r"(at)
                     : "r"(last)
                     : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "cc",
                       "memory");
}

size_t axp__movers(struct axp__mover *out, size_t cap)
{
    const struct axp__mover all[] = {
        {"neon", false, neon_read, neon_copy, neon_triad},
        {"sve", false, sve_read, NULL, NULL}};
    size_t n = getauxval(AT_HWCAP) & HAS_SVE ? 2 : 1;
    if (n > cap) n = cap;
    for (size_t i = 0; i < n; i++)
        out[i] = all[i];
    return n;
}

#endif
