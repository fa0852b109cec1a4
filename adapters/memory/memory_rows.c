/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Unwind rows by return address; see memory_rows.h. */
#include "memory_rows.h"

#include "memory_cfi.h"

#define WINDOW_BITS 8
#define N_ALL (2 * MEMORY_ROWS_SETS)
#define N_NEAR (MEMORY_HAS_RECORDS ? 0 : MEMORY_ROWS_NEAR << WINDOW_BITS)
#define BLOCK 256u /* words that are cleared together */

uint64_t memory_rows_words[N_ALL + N_NEAR] __attribute__((aligned(64)));
static uint64_t *const words = memory_rows_words;
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
 * another function's: what counts is the call. *at: where its row is, unless it
 * is nowhere. */
static memory_row find(uintptr_t pc, uint32_t *at)
{
    uint32_t set = (uint32_t)memory_rows_set(pc);
    uint32_t key = memory_rows_set_key(pc);
    uint64_t newer = __atomic_load_n(&words[set], __ATOMIC_RELAXED);
    *at = set;
    if ((uint32_t)newer == key) return newer;
    uint64_t older = __atomic_load_n(&words[set + 1], __ATOMIC_RELAXED);
    if ((uint32_t)older == key) {
        *at = set + 1;
        return older;
    }
    memory_row row = memory_rows_make(pc - 1);
    if (memory_row_kind(row) == MEMORY_ROW_NOWHERE) return row;
    put(set + 1, newer);
    put(set, row | key);
    return row;
}

static memory_row with_key(memory_row row, uint32_t key)
{
    return row >> 32 << 32 | key;
}

/* Where the CFA is by sp, tables do not say whether fp points to the frame's
 * record. If it points to where the frame has saved it, it does, and will each
 * time. */
static bool is_by_fp(memory_row row, uintptr_t sp, uintptr_t fp)
{
    intptr_t saved = memory_row_fp(row), place = memory_row_offset(row) + saved;
    if (memory_row_kind(row) == MEMORY_ROW_FP) return true;
    return memory_row_kind(row) == MEMORY_ROW_SP &&
           saved == memory_row_back(row) - 1 &&
           (!sp || fp == sp + (uintptr_t)place * sizeof fp);
}

memory_row memory_rows_find(uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
    uint32_t at;
    memory_row row = find(pc, &at);
    if (memory_row_kind(row) == MEMORY_ROW_NOWHERE) return row;
    if (!MEMORY_HAS_RECORDS) {
        uint32_t near = window() + (sp >> 4 & (MEMORY_ROWS_NEAR - 1));
        put(near, with_key(row, memory_rows_key(pc)));
    } else if (is_by_fp(row, sp, fp)) {
        row = memory_row_by_fp(row);
        put(at, with_key(row, memory_rows_set_key(pc)));
    }
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
