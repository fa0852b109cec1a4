/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Registers as the kernel gives them with a sample, as DWARF counts them, which of
 * them a called function keeps, and whether code keeps frame pointers as a rule, so
 * that the kernel's chain is asked for (sampling_chain.h). */
#ifndef AXP_SAMPLING_REGS_H
#define AXP_SAMPLING_REGS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
/* ax bx cx dx si di bp sp ip, r8 … r15 */
#define AXP__REGS_MASK (UINT64_C(0x1ff) | UINT64_C(0xff) << 16)
#define AXP__REGS_N 17u
/* rax rdx rcx rbx rsi rdi rbp rsp r8 … r15, return address */
#define AXP__DWARF_REGS 17u
#define AXP__DWARF_FP 6u
#define AXP__DWARF_SP 7u
#define AXP__DWARF_PC 16u
#define AXP__HAS_CHAIN 0
static const uint8_t axp__reg_place[AXP__DWARF_REGS] = {
    0, 3, 2, 1, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 8};
/* rbx rbp r12 … r15, return address */
static const uint8_t axp__reg_kept[] = {3, 6, 12, 13, 14, 15, 16};
#elif defined(__aarch64__)
/* x0 … x30, sp, pc; DWARF has no number for the pc, the return address is in
 * x30. */
#define AXP__REGS_MASK ((UINT64_C(1) << 33) - 1)
#define AXP__REGS_N 33u
#define AXP__DWARF_REGS 33u
#define AXP__DWARF_FP 29u
#define AXP__DWARF_SP 31u
#define AXP__DWARF_PC 32u
#define AXP__DWARF_LINK 30u
#define AXP__HAS_CHAIN 1
static const uint8_t axp__reg_place[AXP__DWARF_REGS] = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
    17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};
static const uint8_t axp__reg_kept[] = {19, 20, 21, 22, 23, 24,
                                        25, 26, 27, 28, 29, 30};
#else
#error "neither x86-64 nor aarch64"
#endif
#define AXP__REGS_KEPT (sizeof axp__reg_kept / sizeof *axp__reg_kept)

/* Of those that are kept: where a function returns to. */
static inline bool axp__reg_is_return(size_t i)
{
#if defined(__aarch64__)
    return axp__reg_kept[i] == AXP__DWARF_LINK;
#else
    return axp__reg_kept[i] == AXP__DWARF_PC;
#endif
}

#endif
