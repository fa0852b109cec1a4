/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Unwind rows (memory_row.h) by return address.
 *
 * A row is made once by memory_cfi, in less than a microsecond, and kept in two
 * tables of the process. It is a word with its key, so that it can be read and
 * written without a lock, and whoever reads it has a whole one; 0 is free.
 *
 * all      32,768 sets of two, by the low 15 bits of the address (without those
 *          that are the same in all); the key is the rest of it.
 * near     on x86-64: what was found last for each stack pointer, in one of
 *          256 windows, chosen by the thread: 256 words by the stack pointer's
 *          bits above the lowest four. The key is the address's low 32 bits. A
 *          walk mostly goes over frames that are where they were before, and
 *          here the next row can be read before the return address is: a frame
 *          took 4 ns, not 9 (20 frames without frame pointers, 2.6 GHz). A key
 *          of 32 bits might fit another address: two modules a multiple of
 *          4 GiB apart, by the byte, with frames at the same height. The stack
 *          is wrong then.
 *
 * On aarch64 nearly all frames have a record that x29 points to. A walk goes by
 * it and waits for no row: that confirms it and says where the CFA is. A frame
 * took 2.3 ns so, and 1.8 by frame pointers alone; 6 where it had no record, of
 * which near would save 1.6, but costs more where paths change
 * (bench_memory.py).
 *
 * Threads  any, in signal handlers too. Two that miss at once do the same.
 * Cost     1 MiB of zeroes, half of it without near. A page of it is there once
 *          it is written to.
 */
#ifndef MEMORY_ROWS_H
#define MEMORY_ROWS_H
#include <stdint.h>

#include "memory_row.h"

#define MEMORY_ROWS_SETS 32768u
#define MEMORY_ROWS_NEAR 256u /* words of a window */

/* Both tables: all, then near. */
extern uint64_t memory_rows_words[] __attribute__((visibility("hidden")));

/* HOT. Where a return address is among all, and its key there. */
static inline uintptr_t memory_rows_set(uintptr_t pc)
{
    return pc / MEMORY_CODE_ALIGN % MEMORY_ROWS_SETS * 2;
}

static inline uint32_t memory_rows_set_key(uintptr_t pc)
{
    return (uint32_t)(pc / MEMORY_CODE_ALIGN / MEMORY_ROWS_SETS);
}

/* HOT. The newer row of its set; 0: it has another address. */
static inline memory_row memory_rows_known(uintptr_t pc)
{
    /* With the store in put. */
    memory_row row = __atomic_load_n(&memory_rows_words[memory_rows_set(pc)],
                                     __ATOMIC_RELAXED);
    return (uint32_t)row == memory_rows_set_key(pc) ? row : 0;
}

/* The window of the calling thread, where there is near. */
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

/* Of a return address from MEMORY_CODE_LOW to MEMORY_CODE_END, and of a frame
 * that has this sp and fp. sp 0: it is not known, and fp points to the frame's
 * record. */
memory_row memory_rows_find(uintptr_t pc, uintptr_t sp, uintptr_t fp);

/* Of any address of an instruction, made anew: for where a signal came. */
memory_row memory_rows_make(uintptr_t place);

/* To be called after each dlclose: other code may come where the object was.
 * Who walks meanwhile may still take old rows, and finds wrong callers. */
void memory_rows_forget(void);

#endif
