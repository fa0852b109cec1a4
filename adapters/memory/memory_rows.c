/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Unwind rows by return address; see memory_rows.h. */
#include "memory_rows.h"

#include "memory_cfi.h"

#define SET_BITS 15
#define WINDOW_BITS 8
#define N_SETS (1u << SET_BITS)
#define N_ALL (2 * N_SETS)
#define N_NEAR (MEMORY_ROWS_NEAR << WINDOW_BITS)
#define BLOCK 256u /* words that are cleared together */

/* Both tables: all, then near. */
static uint64_t words[N_ALL + N_NEAR] __attribute__((aligned(64)));
static uint8_t is_used[(N_ALL + N_NEAR) / BLOCK];

/* Stacks lie at like distances from each other, so that stack pointers alone
 * would not spread threads over the table. */
static uint32_t window(void)
{
    uint64_t thread = (uintptr_t)__builtin_thread_pointer();
    uint64_t i = thread * 0x9e3779b97f4a7c15u >> (64 - WINDOW_BITS);
    return N_ALL + (uint32_t)i * MEMORY_ROWS_NEAR;
}

const uint64_t *memory_rows_window(void)
{
    return &words[window()];
}

/* In this order: a block that has a word is cleared by the next who forgets. */
static void put(uint32_t i, uint64_t word)
{
    __atomic_store_n(&words[i], word, __ATOMIC_RELAXED);
    __atomic_store_n(&is_used[i / BLOCK], 1, __ATOMIC_RELEASE);
}

memory_row memory_rows_make(uintptr_t place)
{
    return memory_cfi_row(place);
}

/* A return address is that of the instruction after the call, which may be
 * another function's: what counts is the call. */
static memory_row find(uintptr_t pc)
{
    uint32_t set = 2 * (uint32_t)(pc & (N_SETS - 1));
    uint32_t key = (uint32_t)(pc >> SET_BITS);
    uint64_t newer = __atomic_load_n(&words[set], __ATOMIC_RELAXED);
    if ((uint32_t)newer == key) return newer;
    uint64_t older = __atomic_load_n(&words[set + 1], __ATOMIC_RELAXED);
    if ((uint32_t)older == key) return older;
    memory_row row = memory_rows_make(pc - 1);
    if (memory_row_kind(row) == MEMORY_ROW_NOWHERE) return row;
    put(set + 1, newer);
    put(set, row | key);
    return row;
}

memory_row memory_rows_find(uintptr_t pc, uintptr_t sp)
{
    memory_row row = find(pc);
    uint32_t near = window() + (sp >> 4 & (MEMORY_ROWS_NEAR - 1));
    if (memory_row_kind(row) != MEMORY_ROW_NOWHERE)
        put(near, row >> 32 << 32 | memory_rows_key(pc));
    return row;
}

/* From all to near, as rows go. */
void memory_rows_forget(void)
{
    for (uint32_t i = 0; i < sizeof is_used; i++) {
        if (!__atomic_load_n(&is_used[i], __ATOMIC_RELAXED)) continue;
        __atomic_store_n(&is_used[i], 0, __ATOMIC_SEQ_CST);
        for (uint32_t j = i * BLOCK; j < (i + 1) * BLOCK; j++)
            __atomic_store_n(&words[j], 0, __ATOMIC_RELAXED);
    }
}
