/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Compute on aarch64: NEON and SVE. Instructions are given by their encoding,
 * since an assembler wants to be told of each extension in its own way; the
 * destination is in the lowest bits. */
#include "machine/machine_kernel.h"

#ifdef __aarch64__
#include <sys/auxv.h>

#define SUMS 24 /* registers 0 to 23; 30 and 31 are the factors */
#define ALL_SUMS "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23"
#define CLOBBERED                                                              \
    "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11",  \
        "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21",  \
        "v22", "v23", "v30", "v31", "cc"

/* bytes of 0x3f: 0.75 as bf16 and f32, 1.8 as f16, 0.0005 as f64. Both factors
 * are loaded, and last: so the first multiply-adds wait for them together, and
 * are given to all units. Otherwise a Neoverse V1 may go on with two of its
 * four units for as long as the loop runs. */
static const uint64_t factors[32] __attribute__((aligned(256))) = {
#define FOUR                                                                   \
    0x3f3f3f3f3f3f3f3f, 0x3f3f3f3f3f3f3f3f, 0x3f3f3f3f3f3f3f3f,                \
        0x3f3f3f3f3f3f3f3f
    FOUR, FOUR, FOUR, FOUR, FOUR, FOUR, FOUR, FOUR};

#define NEON_KERNEL(name, code)                                                \
    static void name(uint64_t passes)                                          \
    {                                                                          \
        __asm__ volatile(".irp r," ALL_SUMS "\n"                               \
                         "ldr q\\r, [%1]\n"                                    \
                         ".endr\n"                                             \
                         "ldr q30, [%1]\n"                                     \
                         "ldr q31, [%1]\n"                                     \
                         "1:\n"                                                \
                         ".irp r," ALL_SUMS "\n"                               \
                         ".inst " #code " + \\r\n"                             \
                         ".endr\n"                                             \
                         ".irp r," ALL_SUMS "\n"                               \
                         ".inst " #code " + \\r\n"                             \
                         ".endr\n"                                             \
                         "subs %0, %0, #1\n"                                   \
                         "b.ne 1b\n"                                           \
                         : "+r"(passes)                                        \
                         : "r"(factors)                                        \
                         : CLOBBERED);                                         \
    }

NEON_KERNEL(neon_f32, 0x4e3fcfc0)    /* fmla v0.4s, v30.4s, v31.4s */
NEON_KERNEL(neon_f64, 0x4e7fcfc0)    /* fmla v0.2d, v30.2d, v31.2d */
NEON_KERNEL(neon_f16, 0x4e5f0fc0)    /* fmla v0.8h, v30.8h, v31.8h */
NEON_KERNEL(neon_bfdot, 0x6e5fffc0)  /* bfdot v0.4s, v30.8h, v31.8h */
NEON_KERNEL(neon_bfmmla, 0x6e5fefc0) /* bfmmla v0.4s, v30.8h, v31.8h */
NEON_KERNEL(neon_dot, 0x4e9f97c0)    /* sdot v0.4s, v30.16b, v31.16b */
NEON_KERNEL(neon_i8mm, 0x4e9fa7c0)   /* smmla v0.4s, v30.16b, v31.16b */

/* The same with vectors of any length; z0 is v0 and what lies above it. p0 is
 * ptrue p0.b, of which no clobber can be told to a compiler without SVE: it
 * does not use it either. */
#define SVE_KERNEL(name, code)                                                 \
    static void name(uint64_t passes)                                          \
    {                                                                          \
        register const uint64_t *from __asm__("x1") = factors;                 \
        __asm__ volatile(".inst 0x2518e3e0\n" /* ptrue p0.b */                 \
                         ".irp r," ALL_SUMS "\n"                               \
                         ".inst 0x85804020 + \\r\n" /* ldr z0, [x1] */         \
                         ".endr\n"                                             \
                         ".inst 0x85804020 + 30\n"                             \
                         ".inst 0x85804020 + 31\n"                             \
                         "1:\n"                                                \
                         ".irp r," ALL_SUMS "\n"                               \
                         ".inst " #code " + \\r\n"                             \
                         ".endr\n"                                             \
                         ".irp r," ALL_SUMS "\n"                               \
                         ".inst " #code " + \\r\n"                             \
                         ".endr\n"                                             \
                         "subs %0, %0, #1\n"                                   \
                         "b.ne 1b\n"                                           \
                         : "+r"(passes)                                        \
                         : "r"(from)                                           \
                         : CLOBBERED);                                         \
    }

SVE_KERNEL(sve_f32, 0x65bf03c0)    /* fmla z0.s, p0/m, z30.s, z31.s */
SVE_KERNEL(sve_f64, 0x65ff03c0)    /* fmla z0.d, p0/m, z30.d, z31.d */
SVE_KERNEL(sve_f16, 0x657f03c0)    /* fmla z0.h, p0/m, z30.h, z31.h */
SVE_KERNEL(sve_bfdot, 0x647f83c0)  /* bfdot z0.s, z30.h, z31.h */
SVE_KERNEL(sve_bfmmla, 0x647fe7c0) /* bfmmla z0.s, z30.h, z31.h */
SVE_KERNEL(sve_dot, 0x449f03c0)    /* sdot z0.s, z30.b, z31.b */
SVE_KERNEL(sve_i8mm, 0x451f9bc0)   /* smmla z0.s, z30.b, z31.b */

static double sve_bytes(void)
{
    register uint64_t bytes __asm__("x0");
    __asm__ volatile(".inst 0x04bf5020\n" /* rdvl x0, #1 */ : "=r"(bytes));
    return (double)bytes;
}

/* Bits of AT_HWCAP and AT_HWCAP2, as the kernel has them. */
enum { FPHP = 1 << 9, ASIMDHP = 1 << 10, ASIMDDP = 1 << 20, SVE = 1 << 22 };
enum { SVEI8MM = 1 << 9, SVEBF16 = 1 << 12, I8MM = 1 << 13, BF16 = 1 << 14 };

struct known {
    axp_dtype dtype;
    const char *isa;
    unsigned long needs, needs2; /* all of these */
    double macs;                 /* of an instruction, each 16 bytes */
    void (*run)(uint64_t);
    bool is_sve;
};

static const struct known known[] = {
    {AXP_F32, "neon", 0, 0, 4, neon_f32, false},
    {AXP_F64, "neon", 0, 0, 2, neon_f64, false},
    {AXP_F16, "neon-fp16", FPHP | ASIMDHP, 0, 8, neon_f16, false},
    {AXP_BF16, "neon-bfdot", 0, BF16, 8, neon_bfdot, false},
    {AXP_BF16, "neon-bfmmla", 0, BF16, 16, neon_bfmmla, false},
    {AXP_I8, "neon-dot", ASIMDDP, 0, 16, neon_dot, false},
    {AXP_I8, "neon-i8mm", 0, I8MM, 32, neon_i8mm, false},
    {AXP_F32, "sve", SVE, 0, 4, sve_f32, true},
    {AXP_F64, "sve", SVE, 0, 2, sve_f64, true},
    {AXP_F16, "sve", SVE, 0, 8, sve_f16, true},
    {AXP_BF16, "sve-bfdot", SVE, SVEBF16, 8, sve_bfdot, true},
    {AXP_BF16, "sve-bfmmla", SVE, SVEBF16, 16, sve_bfmmla, true},
    {AXP_I8, "sve-dot", SVE, 0, 16, sve_dot, true},
    {AXP_I8, "sve-i8mm", SVE, SVEI8MM, 32, sve_i8mm, true},
};

size_t axp__kernels(struct axp__kernel *out, size_t cap)
{
    unsigned long has = getauxval(AT_HWCAP), has2 = getauxval(AT_HWCAP2);
    size_t n = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known && n < cap; i++) {
        const struct known *k = &known[i];
        if ((has & k->needs) != k->needs || (has2 & k->needs2) != k->needs2)
            continue;
        double vectors = k->is_sve ? sve_bytes() / 16 : 1;
        out[n++] = (struct axp__kernel){
            k->dtype, k->isa, 2 * k->macs * 2 * SUMS * vectors, k->run};
    }
    return n;
}

void axp__kernel_chain(uint64_t passes)
{
    uint64_t sum = passes;
    __asm__ volatile("1:\n"
                     ".rept 64\n"
                     "add %0, %0, %1\n"
                     ".endr\n"
                     "subs %1, %1, #1\n"
                     "b.ne 1b\n"
                     : "+r"(sum), "+r"(passes)
                     :
                     : "cc");
}

#endif
