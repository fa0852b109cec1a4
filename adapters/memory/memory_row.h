/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* An unwind row: how one gets from a frame to its caller.
 *
 *   CFA   the caller's stack pointer: sp or fp (rbp, x29) plus an offset, or a
 *         word at fp plus an offset
 *   back  where the return address lies, from the CFA
 *   fp    the caller's: what it is now, or where it lies, from the CFA or at fp
 *
 * All distances are in words. A row is a word: in its lower half is the key of
 * whoever keeps it (memory_rows.h), in its upper half the kind and, as the
 * machine's header lays them out, the distances. What does not fit there is
 * unknown.
 *
 * Not here frames of more than 4 MiB that have no frame pointer.
 */
#ifndef MEMORY_ROW_H
#define MEMORY_ROW_H
#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
#include "memory_x86_64.h"
#elif defined(__aarch64__)
#include "memory_aarch64.h"
#else
#error "neither x86-64 nor aarch64"
#endif

/* Where code can be, to MEMORY_CODE_END; nothing is mapped below, and no tag of
 * an address is 0. */
#define MEMORY_CODE_LOW ((uintptr_t)1 << 16)

typedef uint64_t memory_row; /* with any key */

enum memory_row_kind {
    MEMORY_ROW_SP = 1, /* CFA = sp + offset, which the others are within */
    MEMORY_ROW_FP,     /* CFA = fp + offset */
    MEMORY_ROW_RECORD, /* the same; fp points to the two words: aarch64 */
    MEMORY_ROW_AT_FP,  /* CFA = word at fp + offset: x86-64, realigned */
    MEMORY_ROW_LEAF,   /* CFA = sp + offset, back is in x30: it called nobody */
    MEMORY_ROW_LINK,   /* the same, and the row is what was in x30 */
    MEMORY_ROW_SIGNAL, /* the kernel saved all registers, at sp */
    MEMORY_ROW_END,    /* it has no caller */
    MEMORY_ROW_UNKNOWN, /* an object's code, with nothing usable about it */
    MEMORY_ROW_NOWHERE, /* no object's code; not kept, as one may come there */
};

enum { /* fp: words below the CFA, less than 0, or */
       MEMORY_FP_SAME = 0,
       MEMORY_FP_AT_FP = 1,
};

/* Of a kind that says all. */
static inline memory_row memory_row_only(enum memory_row_kind kind)
{
    return (uint64_t)kind << 32;
}

static inline enum memory_row_kind memory_row_kind(memory_row row)
{
    return (enum memory_row_kind)(row >> 32 & 15);
}

static inline memory_row memory_row_make(enum memory_row_kind kind,
                                         int64_t offset, int64_t back,
                                         int64_t fp)
{
    if (!memory_row_fits(offset, back, fp))
        return memory_row_only(MEMORY_ROW_UNKNOWN);
    return memory_row_bits(offset, back, fp) | memory_row_only(kind);
}

/* Out of a LEAF's offset and x30, where a signal came. It has another layout,
 * and no key:
 *
 *   63          52 51               36 35  32 31                0
 *   offset / 16    link, upper half    kind   link, lower half */
static inline memory_row memory_row_link_make(intptr_t offset, uintptr_t link)
{
    if (offset % 2 || offset >= 1 << 13)
        return memory_row_only(MEMORY_ROW_UNKNOWN);
    return (uint64_t)offset >> 1 << 52 | (uint64_t)(link >> 32) << 36 |
           memory_row_only(MEMORY_ROW_LINK) | (uint32_t)link;
}

static inline intptr_t memory_row_link_offset(memory_row row)
{
    return (intptr_t)(row >> 52) * 2;
}

static inline uintptr_t memory_row_link(memory_row row)
{
    return (uintptr_t)(row >> 36 & 0xffff) << 32 | (uint32_t)row;
}

/* Of a frame whose fp points to the record that it saved, whether its stack
 * pointer is known or not. */
static inline memory_row memory_row_by_fp(memory_row row)
{
    intptr_t back = memory_row_back(row), fp = memory_row_fp(row);
    bool has_record = fp == back - 1;
    switch (memory_row_kind(row)) {
    case MEMORY_ROW_SP: break;
    case MEMORY_ROW_FP:
        if (has_record && memory_row_offset(row) == -fp) break;
        return row;
    default: return row;
    }
    return has_record ? memory_row_make(MEMORY_ROW_RECORD, -fp, back, fp)
                      : memory_row_only(MEMORY_ROW_UNKNOWN);
}

#endif
