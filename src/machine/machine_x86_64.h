/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What this x86-64 processor has, and the kernel lets programs use. */
#ifndef AXP_MACHINE_X86_64_H
#define AXP_MACHINE_X86_64_H

enum axp__x86 {
    AXP__X86_SSE2 = 1,
    AXP__X86_AVX2 = 2, /* and FMA */
    AXP__X86_AVX_VNNI = 4,
    AXP__X86_AVX512 = 8,
    AXP__X86_AVX512_VNNI = 16,
    AXP__X86_AVX512_BF16 = 32,
    AXP__X86_AVX512_FP16 = 64,
    AXP__X86_AMX_BF16 = 128, /* its tiles have to be asked for */
    AXP__X86_AMX_I8 = 256
};
unsigned axp__x86_has(void);

#endif
