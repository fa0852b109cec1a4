/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Which blocks are looked at where not all are: every byte that is allocated has
 * the same small chance, so that a block of n bytes is taken with
 * p = 1 - exp(-n / mean), and stands for n / p bytes. Sums of these are right on
 * average, whatever the sizes are; of k blocks the error at 95 % is about
 * 2 / sqrt(k).
 *
 * Cost     a subtraction in thread-local memory for a block that is not taken.
 */
#ifndef MEMORY_SAMPLE_H
#define MEMORY_SAMPLE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes; 0: all blocks are looked at. */
extern uint64_t memory_sample_mean __attribute__((visibility("hidden")));
extern __thread int64_t memory_sample_left
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* The next distance is drawn. Returns what a block of so many bytes stands for;
 * 0: this was the thread's first, which began to count. */
uint64_t memory_sample_draw(size_t bytes);

/* What to count for a block; 0: nothing. */
static inline uint64_t memory_sample(size_t bytes)
{
    if (!memory_sample_mean) return bytes;
    memory_sample_left -= (int64_t)(bytes & INT64_MAX);
    if (__builtin_expect(memory_sample_left > 0, 1)) return 0;
    return memory_sample_draw(bytes);
}

static inline bool memory_sample_is_on(void)
{
    return memory_sample_mean;
}

/* ---- which blocks were taken ---------------------------------------------- */
/* Most frees are of blocks that were not: how many that were have the same hash
 * says so without asking the recorder. */
#define MEMORY_SAMPLE_MARKS 32768u
extern uint16_t memory_sample_marks[MEMORY_SAMPLE_MARKS]
    __attribute__((visibility("hidden")));

static inline uint16_t *memory_sample_mark(const void *block)
{
    uint64_t mixed = ((uintptr_t)block >> 4) * UINT64_C(0x9e3779b97f4a7c15);
    return &memory_sample_marks[mixed >> 49];
}
_Static_assert(MEMORY_SAMPLE_MARKS == 1u << (64 - 49), "marks");

/* Whether a block may be known to the recorder. */
static inline bool memory_sample_may_be(const void *block)
{
    return !memory_sample_mean ||
           __atomic_load_n(memory_sample_mark(block), __ATOMIC_RELAXED);
}

/* It was taken, or was one and is gone. */
void memory_sample_taken(const void *block);
void memory_sample_gone(const void *block);

#endif
