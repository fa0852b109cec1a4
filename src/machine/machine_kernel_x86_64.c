/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Compute on x86-64: SSE2, AVX2, AVX-512 and AMX. Registers 0 to 13 are sums,
 * 14 and 15 the factors. */
#include "machine/machine_kernel.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "machine/machine_x86_64.h"

#define SUMS 14
#define ALL_SUMS "0,1,2,3,4,5,6,7,8,9,10,11,12,13"
#define CLOBBERED                                                              \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",    \
        "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "cc"

/* bytes of 0x3f: 0.75 as bf16 and f32, 1.8 as f16, 0.0005 as f64 */
static const uint64_t factor = 0x3f3f3f3f3f3f3f3f;

/* `load` fills 14 with the factor, `copy` has it in 15 too, `clear` sets sum
 * \r to 0, `code` adds to it. */
#define KERNEL(name, isas, load, copy, clear, code, leave)                     \
    __attribute__((target(isas))) static void name(uint64_t passes)            \
    {                                                                          \
        __asm__ volatile(load copy ".irp r," ALL_SUMS "\n" clear ".endr\n"     \
                                   "1:\n"                                      \
                                   ".irp r," ALL_SUMS "\n" code ".endr\n"      \
                                   ".irp r," ALL_SUMS "\n" code ".endr\n"      \
                                   "dec %0\n"                                  \
                                   "jnz 1b\n" leave                            \
                         : "+r"(passes)                                        \
                         : "m"(factor)                                         \
                         : CLOBBERED);                                         \
    }

#define AVX2_KERNEL(name, isas, code)                                          \
    KERNEL(name, isas, "vbroadcastsd %1, %%ymm14\n",                           \
           "vmovaps %%ymm14, %%ymm15\n",                                       \
           "vxorps %%ymm\\r, %%ymm\\r, %%ymm\\r\n", code, "vzeroupper\n")
#define AVX512_KERNEL(name, code)                                              \
    KERNEL(name, "avx512f", "vbroadcastsd %1, %%zmm14\n",                      \
           "vmovapd %%zmm14, %%zmm15\n",                                       \
           "vpxorq %%zmm\\r, %%zmm\\r, %%zmm\\r\n", code, "vzeroupper\n")

AVX2_KERNEL(avx2_f32, "avx2,fma", "vfmadd231ps %%ymm15, %%ymm14, %%ymm\\r\n")
AVX2_KERNEL(avx2_f64, "avx2,fma", "vfmadd231pd %%ymm15, %%ymm14, %%ymm\\r\n")
/* vpdpbusd ymm15, ymm14, ymm\r, and below vfmadd231ph of zmm: older assemblers
 * do not know them */
AVX2_KERNEL(avx_vnni, "avx2",
            ".byte 0xc4, 0xc2 - ((\\r >> 3) << 7), 0x0d, "
            "0x50, 0xc7 + ((\\r & 7) << 3)\n")
AVX512_KERNEL(avx512_f32, "vfmadd231ps %%zmm15, %%zmm14, %%zmm\\r\n")
AVX512_KERNEL(avx512_f64, "vfmadd231pd %%zmm15, %%zmm14, %%zmm\\r\n")
AVX512_KERNEL(avx512_bf16, "vdpbf16ps %%zmm15, %%zmm14, %%zmm\\r\n")
AVX512_KERNEL(avx512_vnni, "vpdpbusd %%zmm15, %%zmm14, %%zmm\\r\n")
AVX512_KERNEL(avx512_f16, ".byte 0x62, 0xd6 - ((\\r >> 3) << 7), 0x0d, 0x48, "
                          "0xb8, 0xc7 + ((\\r & 7) << 3)\n")

/* Without a multiply-add: products beside sums. The products stay 1, the sums
 * grow. */
#define SSE2_KERNEL(name, load, move, product, sum, ones)                      \
    static void name(uint64_t passes)                                          \
    {                                                                          \
        __asm__ volatile(                                                      \
            load " %1, %%xmm15\n"                                              \
                 ".irp r," ALL_SUMS "\n" move " %%xmm15, %%xmm\\r\n"           \
                 ".endr\n"                                                     \
                 "1:\n"                                                        \
                 ".rept 2\n"                                                   \
                 ".irp r,0,1,2,3,4,5,6\n" product " %%xmm15, %%xmm\\r\n"       \
                 ".endr\n"                                                     \
                 ".irp r,7,8,9,10,11,12,13\n" sum " %%xmm15, %%xmm\\r\n"       \
                 ".endr\n"                                                     \
                 ".endr\n"                                                     \
                 "dec %0\n"                                                    \
                 "jnz 1b\n"                                                    \
            : "+r"(passes)                                                     \
            : "m"(ones)                                                        \
            : CLOBBERED);                                                      \
    }

static const float ones_f32[4] __attribute__((aligned(16))) = {1, 1, 1, 1};
static const double ones_f64[2] __attribute__((aligned(16))) = {1, 1};
SSE2_KERNEL(sse2_f32, "movups", "movaps", "mulps", "addps", ones_f32)
SSE2_KERNEL(sse2_f64, "movupd", "movapd", "mulpd", "addpd", ones_f64)

/* Tiles of 16 rows of 64 bytes: 0 to 5 are sums, 6 and 7 the factors. */
#define TILES 6
#define AMX_KERNEL(name, code)                                                 \
    static void name(uint64_t passes)                                          \
    {                                                                          \
        static const struct {                                                  \
            uint8_t palette, start, zero[14];                                  \
            uint16_t columns[16];                                              \
            uint8_t rows[16];                                                  \
        } shape = {1,                                                          \
                   0,                                                          \
                   {0},                                                        \
                   {64, 64, 64, 64, 64, 64, 64, 64},                           \
                   {16, 16, 16, 16, 16, 16, 16, 16}};                          \
        uint64_t data[16 * 8], stride = 64;                                    \
        for (int i = 0; i < 16 * 8; i++)                                       \
            data[i] = factor;                                                  \
        __asm__ volatile("ldtilecfg %1\n"                                      \
                         "tileloadd (%2, %3, 1), %%tmm6\n"                     \
                         "tileloadd (%2, %3, 1), %%tmm7\n"                     \
                         ".irp r,0,1,2,3,4,5\n"                                \
                         "tilezero %%tmm\\r\n"                                 \
                         ".endr\n"                                             \
                         "1:\n"                                                \
                         ".irp r,0,1,2,3,4,5\n" code                           \
                         " %%tmm7, %%tmm6, %%tmm\\r\n"                         \
                         ".endr\n"                                             \
                         "dec %0\n"                                            \
                         "jnz 1b\n"                                            \
                         "tilerelease\n"                                       \
                         : "+r"(passes)                                        \
                         : "m"(shape), "r"(data), "r"(stride)                  \
                         : "cc", "memory");                                    \
    }
AMX_KERNEL(amx_bf16, "tdpbf16ps")
AMX_KERNEL(amx_i8, "tdpbssd")

/* The kernel gives tiles to those who ask: their state is large. */
static bool may_use_tiles(void)
{
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    return !syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA);
}

unsigned axp__x86_has(void)
{
    unsigned a, b, c, d, b7 = 0, c7 = 0, d7 = 0, a71 = 0, has = AXP__X86_SSE2;
    uint32_t low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1)) return has;
    bool has_fma = c >> 12 & 1;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0)); /* kept by the kernel */
    if (__get_cpuid_count(7, 0, &a, &b7, &c7, &d7) && a)
        __get_cpuid_count(7, 1, &a71, &b, &c, &d);
    if ((low & 6) != 6 || !has_fma || !(b7 >> 5 & 1)) return has;
    has |= AXP__X86_AVX2;
    if (a71 >> 4 & 1) has |= AXP__X86_AVX_VNNI;
    if ((low & 0xe6) == 0xe6 && b7 >> 16 & 1) {
        has |= AXP__X86_AVX512;
        if (c7 >> 11 & 1) has |= AXP__X86_AVX512_VNNI;
        if (a71 >> 5 & 1) has |= AXP__X86_AVX512_BF16;
        if (d7 >> 23 & 1) has |= AXP__X86_AVX512_FP16;
    }
    if ((low >> 17 & 3) == 3 && d7 >> 24 & 1) {
        if (d7 >> 22 & 1) has |= AXP__X86_AMX_BF16;
        if (d7 >> 25 & 1) has |= AXP__X86_AMX_I8;
    }
    return has;
}

/* Of an instruction; SSE2's is half of a multiply-add. */
static const struct {
    axp_dtype dtype;
    const char *isa;
    unsigned needs;
    double flops;
    unsigned instructions; /* a pass */
    void (*run)(uint64_t);
} known[] = {
    {AXP_F32, "sse2", AXP__X86_SSE2, 4, 2 * SUMS, sse2_f32},
    {AXP_F64, "sse2", AXP__X86_SSE2, 2, 2 * SUMS, sse2_f64},
    {AXP_F32, "avx2", AXP__X86_AVX2, 16, 2 * SUMS, avx2_f32},
    {AXP_F64, "avx2", AXP__X86_AVX2, 8, 2 * SUMS, avx2_f64},
    {AXP_I8, "avx-vnni", AXP__X86_AVX_VNNI, 64, 2 * SUMS, avx_vnni},
    {AXP_F32, "avx512", AXP__X86_AVX512, 32, 2 * SUMS, avx512_f32},
    {AXP_F64, "avx512", AXP__X86_AVX512, 16, 2 * SUMS, avx512_f64},
    {AXP_F16, "avx512-fp16", AXP__X86_AVX512_FP16, 64, 2 * SUMS, avx512_f16},
    {AXP_BF16, "avx512-bf16", AXP__X86_AVX512_BF16, 64, 2 * SUMS, avx512_bf16},
    {AXP_I8, "avx512-vnni", AXP__X86_AVX512_VNNI, 128, 2 * SUMS, avx512_vnni},
    {AXP_BF16, "amx", AXP__X86_AMX_BF16, 2 * 16 * 16 * 32, TILES, amx_bf16},
    {AXP_I8, "amx", AXP__X86_AMX_I8, 2 * 16 * 16 * 64, TILES, amx_i8},
};

size_t axp__kernels(struct axp__kernel *out, size_t cap)
{
    unsigned has = axp__x86_has(), tiles = AXP__X86_AMX_BF16 | AXP__X86_AMX_I8;
    size_t n = 0;
    if (has & tiles && !may_use_tiles()) has &= ~tiles;
    for (size_t i = 0; i < sizeof known / sizeof *known && n < cap; i++)
        if (has & known[i].needs)
            out[n++] = (struct axp__kernel){
                known[i].dtype, known[i].isa,
                known[i].flops * known[i].instructions, known[i].run};
    return n;
}

/* Of a register to a register: newer ones add constants in no time. */
void axp__kernel_chain(uint64_t passes)
{
    uint64_t sum = passes;
    __asm__ volatile("1:\n"
                     ".rept 64\n"
                     "add %1, %0\n"
                     ".endr\n"
                     "dec %1\n"
                     "jnz 1b\n"
                     : "+r"(sum), "+r"(passes)
                     :
                     : "cc");
}

#endif
