/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Unwind rows by return address: how one gets from a frame to its caller.
 *
 *   CFA = rsp or rbp plus an offset, or a word at rbp plus an offset
 *   the return address lies at CFA - 8, the caller's rsp is the CFA, its rbp is
 *   what it is now, or lies at a distance below the CFA, or at rbp
 *
 * A row is made once by memory_cfi, in less than a microsecond, and kept in two
 * tables of the process. It is a word with its key, so that it can be read and
 * written without a lock, and whoever reads it has a whole one:
 *
 *   63          44 43       36 35  32 31       0
 *   offset / 8     rbp's place  kind  key             0: free
 *
 * all      32,768 sets of two, by the address's low 15 bits; the key is the
 *          rest of it.
 * near     what was found last for each stack pointer, in one of 256 windows,
 *          chosen by the thread: 256 words by the stack pointer's bits above
 *          the lowest four. The key is the address's low 32 bits. A walk mostly
 *          goes over frames that are where they were before, and here the next
 *          row can be read before the return address is: a frame took 4 ns, not
 *          9 (20 frames without frame pointers, 2.6 GHz). A key of 32 bits might
 *          fit another address: two modules a multiple of 4 GiB apart, by the
 *          byte, with frames at the same height. The stack is wrong then.
 *
 * Threads  any, in signal handlers too. Two that miss at once do the same.
 * Cost     1 MiB of zeroes, a page of which is there once it is written to.
 * Not here frames of more than 4 MiB that have no frame pointer.
 */
#ifndef MEMORY_ROWS_H
#define MEMORY_ROWS_H
#include <stdbool.h>
#include <stdint.h>

#define MEMORY_ROWS_NEAR 256u /* words of a window */
/* Where code can be; nothing is mapped below, and no tag of an address is 0. */
#define MEMORY_CODE_LOW ((uintptr_t)1 << 16)
#if defined(__x86_64__)
#define MEMORY_CODE_END ((uintptr_t)1 << 47)
#else
#define MEMORY_CODE_END ((uintptr_t)1 << 48)
#endif

typedef uint64_t memory_row; /* with any key */

enum memory_row_kind {
    MEMORY_ROW_RSP = 1, /* CFA = rsp + offset, which rbp's place is within */
    MEMORY_ROW_RBP,     /* CFA = rbp + offset */
    MEMORY_ROW_AT_RBP,  /* CFA = word at rbp + offset: realigned stacks */
    MEMORY_ROW_SIGNAL,  /* the kernel saved all registers, at rsp */
    MEMORY_ROW_END,     /* it has no caller */
    MEMORY_ROW_UNKNOWN, /* an object's code, with nothing usable about it */
    MEMORY_ROW_NOWHERE, /* no object's code; not kept, as one may come there */
};

enum { /* rbp's place: words from the CFA, -1 to -128, or */
       MEMORY_RBP_SAME = 0,
       MEMORY_RBP_AT_RBP = 1,
};

/* An offset is in words. */
static inline memory_row memory_row_make(enum memory_row_kind kind,
                                         int32_t offset, int8_t rbp)
{
    return (uint64_t)offset << 44 | (uint64_t)(uint8_t)rbp << 36 |
           (uint64_t)kind << 32;
}

static inline enum memory_row_kind memory_row_kind(memory_row row)
{
    return (enum memory_row_kind)(row >> 32 & 15);
}

/* Both in words. */
static inline intptr_t memory_row_offset(memory_row row)
{
    return (intptr_t)((int64_t)row >> 44);
}

static inline intptr_t memory_row_rbp(memory_row row)
{
    return (int8_t)(row >> 36);
}

/* The window of the calling thread. */
const uint64_t *memory_rows_window(void);

/* HOT. The word for a stack pointer, whatever its key. */
static inline memory_row memory_rows_near(const uint64_t *window, uintptr_t sp)
{
    /* With the store in put. */
    return __atomic_load_n(&window[sp >> 4 & (MEMORY_ROWS_NEAR - 1)],
                           __ATOMIC_RELAXED);
}

/* HOT. What its key must be. 1 more than the address: 0, at the end of a stack,
 * is not found where nothing is. */
static inline uint32_t memory_rows_key(uintptr_t pc)
{
    return (uint32_t)pc + 1;
}

/* Of a return address from MEMORY_CODE_LOW to MEMORY_CODE_END; next time it is
 * near that stack pointer, too. */
memory_row memory_rows_find(uintptr_t pc, uintptr_t sp);

/* Of any address of an instruction, made anew: for where a signal came. */
memory_row memory_rows_make(uintptr_t place);

/* To be called after each dlclose: other code may come where the object was.
 * Who walks meanwhile may still take old rows, and finds wrong callers. */
void memory_rows_forget(void);

#endif
