/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Moving bytes on x86-64, by vectors of 16, 32 and 64 bytes; and with stores
 * that pass the caches by, which spare memory a read for each write. */
#include "machine/machine_kernel.h"

#ifdef __x86_64__
#include <string.h>

#include "machine/machine_x86_64.h"

#define CLOBBERED                                                              \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm15",   \
        "cc", "memory"

/* Eight vectors a turn. */
#define READ(name, isas, load, wide, turn, leave)                              \
    __attribute__((target(isas))) static void name(const void *from,           \
                                                   size_t bytes)               \
    {                                                                          \
        const char *end = (const char *)from + bytes;                          \
        __asm__ volatile("1:\n"                                                \
                         ".irp r,0,1,2,3,4,5,6,7\n" load " \\r*" turn          \
                         "/8(%0), %%" wide "\\r\n"                             \
                         ".endr\n"                                             \
                         "add $" turn ", %0\n"                                 \
                         "cmp %1, %0\n"                                        \
                         "jb 1b\n" leave                                       \
                         : "+&r"(from)                                         \
                         : "r"(end)                                            \
                         : CLOBBERED);                                         \
    }

READ(sse2_read, "sse2", "movaps", "xmm", "128", "")
READ(avx2_read, "avx2", "vmovaps", "ymm", "256", "vzeroupper\n")
READ(avx512_read, "avx512f", "vmovaps", "zmm", "512", "vzeroupper\n")

/* Four vectors a turn. */
#define COPY(name, isas, load, store, wide, turn, leave)                       \
    __attribute__((target(isas))) static void name(void *to, const void *from, \
                                                   size_t bytes)               \
    {                                                                          \
        const char *end = (const char *)to + bytes;                            \
        __asm__ volatile("1:\n"                                                \
                         ".irp r,0,1,2,3\n" load " \\r*" turn                  \
                         "/4(%1), %%" wide "\\r\n" store " %%" wide            \
                         "\\r, \\r*" turn "/4(%0)\n"                           \
                         ".endr\n"                                             \
                         "add $" turn ", %0\n"                                 \
                         "add $" turn ", %1\n"                                 \
                         "cmp %2, %0\n"                                        \
                         "jb 1b\n"                                             \
                         "sfence\n" leave                                      \
                         : "+&r"(to), "+&r"(from)                              \
                         : "r"(end)                                            \
                         : CLOBBERED);                                         \
    }

COPY(sse2_copy, "sse2", "movaps", "movaps", "xmm", "64", "")
COPY(sse2_copy_direct, "sse2", "movaps", "movntps", "xmm", "64", "")
COPY(avx2_copy, "avx2", "vmovaps", "vmovaps", "ymm", "128", "vzeroupper\n")
COPY(avx2_copy_direct, "avx2", "vmovaps", "vmovntps", "ymm", "128",
     "vzeroupper\n")
COPY(avx512_copy, "avx512f", "vmovaps", "vmovaps", "zmm", "256", "vzeroupper\n")
COPY(avx512_copy_direct, "avx512f", "vmovaps", "vmovntps", "zmm", "256",
     "vzeroupper\n")

static const double three[2] __attribute__((aligned(16))) = {3, 3};

#define SSE2_TRIAD(name, store)                                                \
    static void name(void *to, const void *a, const void *b, size_t bytes)     \
    {                                                                          \
        const char *end = (const char *)to + bytes;                            \
        __asm__ volatile("movapd %4, %%xmm15\n"                                \
                         "1:\n"                                                \
                         ".irp at,0,16,32,48\n"                                \
                         "movapd \\at(%2), %%xmm0\n"                           \
                         "mulpd %%xmm15, %%xmm0\n"                             \
                         "addpd \\at(%1), %%xmm0\n" store                      \
                         " %%xmm0, \\at(%0)\n"                                 \
                         ".endr\n"                                             \
                         "add $64, %0\n"                                       \
                         "add $64, %1\n"                                       \
                         "add $64, %2\n"                                       \
                         "cmp %3, %0\n"                                        \
                         "jb 1b\n"                                             \
                         "sfence\n"                                            \
                         : "+&r"(to), "+&r"(a), "+&r"(b)                       \
                         : "r"(end), "m"(three)                                \
                         : CLOBBERED);                                         \
    }
SSE2_TRIAD(sse2_triad, "movapd")
SSE2_TRIAD(sse2_triad_direct, "movntpd")

#define VEX_TRIAD(name, isas, wide, steps, turn, store)                        \
    __attribute__((target(isas))) static void name(                            \
        void *to, const void *a, const void *b, size_t bytes)                  \
    {                                                                          \
        const char *end = (const char *)to + bytes;                            \
        __asm__ volatile("vbroadcastsd %4, %%" wide "15\n"                     \
                         "1:\n"                                                \
                         ".irp at," steps "\n"                                 \
                         "vmovapd \\at(%1), %%" wide "0\n"                     \
                         "vfmadd231pd \\at(%2), %%" wide "15, %%" wide         \
                         "0\n" store " %%" wide "0, \\at(%0)\n"                \
                         ".endr\n"                                             \
                         "add $" turn ", %0\n"                                 \
                         "add $" turn ", %1\n"                                 \
                         "add $" turn ", %2\n"                                 \
                         "cmp %3, %0\n"                                        \
                         "jb 1b\n"                                             \
                         "sfence\n"                                            \
                         "vzeroupper\n"                                        \
                         : "+&r"(to), "+&r"(a), "+&r"(b)                       \
                         : "r"(end), "m"(three)                                \
                         : CLOBBERED);                                         \
    }
VEX_TRIAD(avx2_triad, "avx2,fma", "ymm", "0,32,64,96", "128", "vmovapd")
VEX_TRIAD(avx2_triad_direct, "avx2,fma", "ymm", "0,32,64,96", "128", "vmovntpd")
VEX_TRIAD(avx512_triad, "avx512f", "zmm", "0,64,128,192", "256", "vmovapd")
VEX_TRIAD(avx512_triad_direct, "avx512f", "zmm", "0,64,128,192", "256",
          "vmovntpd")

size_t axp__movers(struct axp__mover *out, size_t cap)
{
    static const struct {
        unsigned needs;
        struct axp__mover mover;
    } all[] = {
        {AXP__X86_SSE2, {"sse2", false, sse2_read, sse2_copy, sse2_triad}},
        {AXP__X86_SSE2,
         {"sse2", true, NULL, sse2_copy_direct, sse2_triad_direct}},
        {AXP__X86_AVX2, {"avx2", false, avx2_read, avx2_copy, avx2_triad}},
        {AXP__X86_AVX2,
         {"avx2", true, NULL, avx2_copy_direct, avx2_triad_direct}},
        {AXP__X86_AVX512,
         {"avx512", false, avx512_read, avx512_copy, avx512_triad}},
        {AXP__X86_AVX512,
         {"avx512", true, NULL, avx512_copy_direct, avx512_triad_direct}},
    };
    unsigned has = axp__x86_has();
    size_t n = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all && n < cap; i++)
        if (has & all[i].needs) out[n++] = all[i].mover;
    /* Each takes a part of the time that there is: the widest copies. */
    for (size_t i = 0; i < n; i++)
        if (strcmp(out[i].isa, out[n - 1].isa) != 0) out[i].copy = NULL;
    return n;
}

#endif
