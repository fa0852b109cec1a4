/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What frames are on x86-64, for memory_row.h and whoever walks: registers, a
 * row's upper half, the kernel's signal frame.
 *
 *   63          44 43          36 35  32 31       0
 *   offset / 8     rbp's place    kind   key
 *
 * The return address is below the CFA, always. */
#ifndef MEMORY_X86_64_H
#define MEMORY_X86_64_H
#include <stdbool.h>
#include <stdint.h>

enum { MEMORY_REG_FP = 6, MEMORY_REG_SP = 7, MEMORY_REG_BACK = 16 };

#define MEMORY_CODE_END ((uintptr_t)1 << 47)
#define MEMORY_CODE_ALIGN 1
#define MEMORY_IS_SIGNED false      /* are return addresses? */
#define MEMORY_HAS_EXPRESSIONS true /* do programs, in their tables? */
/* As a rule rbp is a register as any other; where it is not, the record that it
 * points to ends at the CFA. */
#define MEMORY_HAS_RECORDS false

enum { /* bytes above rsp, where a handler returns to: the kernel's ucontext */
       MEMORY_SIGNAL_FP = 120,
       MEMORY_SIGNAL_SP = 160,
       MEMORY_SIGNAL_PC = 168,
       MEMORY_SIGNAL_LINK = 0,   /* there is no such register */
       MEMORY_SIGNAL_RECORD = 0, /* the C library's tables tell */
};

static inline uintptr_t memory_code_plain(uintptr_t pc)
{
    return pc;
}

/* All in words, as in memory_row.h. */
static inline bool memory_row_fits(int64_t offset, int64_t back, int64_t fp)
{
    return offset >= -(1 << 19) && offset < 1 << 19 && back == -1 &&
           fp >= -128 && fp < 128;
}

static inline uint64_t memory_row_bits(int64_t offset, int64_t back, int64_t fp)
{
    (void)back;
    return (uint64_t)offset << 44 | (uint64_t)(uint8_t)fp << 36;
}

static inline intptr_t memory_row_offset(uint64_t row)
{
    return (intptr_t)((int64_t)row >> 44);
}

static inline intptr_t memory_row_back(uint64_t row)
{
    (void)row;
    return -1;
}

static inline intptr_t memory_row_fp(uint64_t row)
{
    return (int8_t)(row >> 36);
}

/* The lower of the two, if fp was saved. */
static inline intptr_t memory_row_low(uint64_t row)
{
    return memory_row_fp(row);
}

#endif
