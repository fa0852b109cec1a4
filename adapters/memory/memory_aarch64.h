/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What frames are on aarch64, for memory_row.h and whoever walks: registers, a
 * row's upper half, the kernel's signal frame.
 *
 *   63       45 44                  38 37                 36 35  32 31       0
 *   offset / 8   back: below the CFA,   x29: words before it,  kind   key
 *                or above sp or x29     0: it is the same
 *
 * The return address is wherever x30 was saved: clang does that near the top of
 * a frame, gcc near its bottom. Both have x29, if it was saved, in the word
 * before or in the one before that. */
#ifndef MEMORY_AARCH64_H
#define MEMORY_AARCH64_H
#include <stdbool.h>
#include <stdint.h>

enum { MEMORY_REG_FP = 29, MEMORY_REG_SP = 31, MEMORY_REG_BACK = 30 };

#define MEMORY_CODE_END ((uintptr_t)1 << 48)
#define MEMORY_CODE_ALIGN 4
#define MEMORY_IS_SIGNED true
#define MEMORY_HAS_EXPRESSIONS false
/* As a rule x29 points to a record, which is the caller's x29 and the return
 * address; the CFA is anywhere above it. */
#define MEMORY_HAS_RECORDS true

enum { /* bytes above sp, where a handler returns to: siginfo, then ucontext */
       MEMORY_SIGNAL_FP = 544,
       MEMORY_SIGNAL_LINK = 552,
       MEMORY_SIGNAL_SP = 560,
       MEMORY_SIGNAL_PC = 568,
       /* x29 points to a copy of x29 and x30, above all of it: at least that
        * far. The kernel's code there has no tables. */
       MEMORY_SIGNAL_RECORD = 4688,
};

/* Pointer authentication signs what is above an address. */
static inline uintptr_t memory_code_plain(uintptr_t pc)
{
    return pc & (MEMORY_CODE_END - 1);
}

/* All in words, as in memory_row.h. */
static inline bool memory_row_fits(int64_t offset, int64_t back, int64_t fp)
{
    bool is_low = back + offset >= 0 && back + offset < 64;
    return offset >= 0 && offset < 1 << 19 && back <= 0 &&
           (back >= -64 || is_low) && (!fp || (fp < back && fp > back - 4));
}

static inline uint64_t memory_row_bits(int64_t offset, int64_t back, int64_t fp)
{
    uint64_t place = (uint64_t)(back >= -64 ? back : back + offset);
    return (uint64_t)offset << 45 | (place & 127) << 38 |
           (uint64_t)(fp ? back - fp : 0) << 36;
}

static inline intptr_t memory_row_offset(uint64_t row)
{
    return (intptr_t)(row >> 45);
}

static inline intptr_t memory_row_back(uint64_t row)
{
    intptr_t place = (intptr_t)((int64_t)(row << 19) >> 57);
    return place < 0 ? place : place - memory_row_offset(row);
}

/* The lower of the two. */
static inline intptr_t memory_row_low(uint64_t row)
{
    return memory_row_back(row) - (intptr_t)(row >> 36 & 3);
}

static inline intptr_t memory_row_fp(uint64_t row)
{
    return row >> 36 & 3 ? memory_row_low(row) : 0;
}

#endif
