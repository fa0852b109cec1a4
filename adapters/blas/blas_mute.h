/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Small calls that come so often that recording them would take a good part of
 * the time: a loop of dot products of three numbers.
 *
 * Rule     a small call has fewer than 16384 FLOPs and bytes together, which take
 *          some microseconds at most. Of each routine a thread records 16384 of
 *          them in any case. If then 1024 come within 0.25 ms, so that recording
 *          (50 ns) takes a fifth of the time or more, the thread from then on
 *          counts that routine's small calls. Large ones are always recorded, so
 *          their work is exact; numpy and PyTorch, whose calls take 0.5 us and
 *          more, never come so far.
 * Counts   are exact, and are told (axp_muted) now and then, when the thread
 *          ends, and for all when the process ends (common_exit.h).
 * Memory   some pages a thread, used again by later threads and never unmapped.
 */
#ifndef BLAS_MUTE_H
#define BLAS_MUTE_H
#include <axprof/axprof.h>

#include "blas_real.h"

enum {
    BLAS_SMALL = 16384,
    BLAS_FREE = 16384,
    BLAS_OFTEN = 1024,
    BLAS_TELL = 1 << 20
};

/* What a thread knows of a routine's small calls. */
struct blas_small {
    uint64_t n_muted; /* not told yet */
    uint64_t since_ns;
    uint32_t n_calls;
    bool is_muted;
};

struct blas_counts {
    struct blas_counts *next;
    uint32_t is_taken;
    struct blas_small of[BLAS_CALLS];
};

extern __thread struct blas_counts *blas_own
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

struct blas_counts *blas_counts_take(void); /* NULL: no memory */
void blas_judge(struct blas_small *small);
void blas_tell(struct blas_counts *c, enum blas_call call);

/* Whether it is not to be recorded: then it was counted. HOT */
static inline bool blas_is_muted(enum blas_call call, const axp_work *work)
{
    if (__builtin_expect(work->flops + work->bytes >= BLAS_SMALL, 1))
        return false;
    struct blas_counts *c = blas_own ? blas_own : blas_counts_take();
    if (!c) return false;
    struct blas_small *small = &c->of[call];
    if (!small->is_muted) {
        if (++small->n_calls % BLAS_OFTEN == 0) blas_judge(small);
        return false;
    }
    if (__builtin_expect(++small->n_muted % BLAS_TELL == 0, 0))
        blas_tell(c, call);
    return true;
}

#endif
