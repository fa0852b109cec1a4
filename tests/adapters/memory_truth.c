/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* See memory_truth.h. Each call is followed by counting, so that none of them
 * is a jump, which would leave no frame of ours. */
#include "memory_truth.h"

#include <inttypes.h>
#include <malloc.h>

static struct truth now;

void truth_fail(const char *file, int line, const char *what)
{
    fflush(stdout);
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
    _Exit(1);
}

static void add(uint64_t *to, uint64_t n)
{
    __atomic_fetch_add(to, n, __ATOMIC_SEQ_CST);
}

static uint64_t read_of(const uint64_t *from)
{
    return __atomic_load_n(from, __ATOMIC_SEQ_CST);
}

/* Right where calls do not overlap. */
static void raise_peak(void)
{
    uint64_t live = read_of(&now.allocated_bytes) - read_of(&now.freed_bytes);
    uint64_t peak = read_of(&now.peak_bytes);
    while (live > peak &&
           !__atomic_compare_exchange_n(&now.peak_bytes, &peak, live, 0,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        continue;
}

void truth_did_alloc(size_t n)
{
    add(&now.n_allocs, 1);
    add(&now.allocated_bytes, n);
    raise_peak();
}

void truth_did_free(size_t n)
{
    add(&now.n_frees, 1);
    add(&now.freed_bytes, n);
}

static void did_replace(size_t old, size_t n)
{
    truth_did_free(old);
    truth_did_alloc(n);
}

/* ---- the calls ---------------------------------------------------------- */

APART void *truth_malloc(size_t n)
{
    void *block = malloc(n);
    if (block) truth_did_alloc(n);
    return block;
}

APART void *truth_calloc(size_t n, size_t size)
{
    void *block = calloc(n, size);
    if (block) truth_did_alloc(n * size);
    return block;
}

static void *did_realloc(void *was, void *is, size_t old, size_t n)
{
    if (!was && is)
        truth_did_alloc(n);
    else if (was && is)
        did_replace(old, n);
    else if (was && !n)
        truth_did_free(old);
    return is;
}

APART void *truth_realloc(void *block, size_t old, size_t n)
{
    void *is = realloc(block, n);
    return did_realloc(block, is, old, n);
}

APART void *truth_reallocarray(void *block, size_t old, size_t n, size_t size)
{
    void *is = reallocarray(block, n, size);
    return did_realloc(block, is, old, n * size);
}

APART int truth_posix_memalign(void **block, size_t alignment, size_t n)
{
    int error = posix_memalign(block, alignment, n);
    if (!error) truth_did_alloc(n);
    return error;
}

APART void *truth_aligned_alloc(size_t alignment, size_t n)
{
    void *block = aligned_alloc(alignment, n);
    if (block) truth_did_alloc(n);
    return block;
}

APART void *truth_memalign(size_t alignment, size_t n)
{
    void *block = memalign(alignment, n);
    if (block) truth_did_alloc(n);
    return block;
}

APART void *truth_valloc(size_t n)
{
    void *block = valloc(n);
    if (block) truth_did_alloc(n);
    return block;
}

APART void *truth_pvalloc(size_t n)
{
    void *block = pvalloc(n);
    if (block) truth_did_alloc(n);
    return block;
}

APART void truth_free(void *block, size_t n)
{
    if (block) truth_did_free(n);
    free(block);
}

/* ---- the sum ------------------------------------------------------------ */

void truth_reset(void)
{
    now = (struct truth){0};
}

struct truth truth_now(void)
{
    return (struct truth){read_of(&now.n_allocs), read_of(&now.n_frees),
                          read_of(&now.allocated_bytes),
                          read_of(&now.freed_bytes), read_of(&now.peak_bytes)};
}

void truth_add(const struct truth *other)
{
    add(&now.n_allocs, other->n_allocs);
    add(&now.n_frees, other->n_frees);
    add(&now.allocated_bytes, other->allocated_bytes);
    add(&now.freed_bytes, other->freed_bytes);
}

void truth_print(enum truth_calls calls, const char *more)
{
    struct truth t = truth_now();
    char peak[24] = "null";
    if (calls == TRUTH_ONE_AT_A_TIME)
        snprintf(peak, sizeof peak, "%" PRIu64, t.peak_bytes);
    printf("{\"n_allocs\": %" PRIu64 ", \"n_frees\": %" PRIu64
           ", \"allocated_bytes\": %" PRIu64 ", \"freed_bytes\": %" PRIu64
           ", \"live_bytes_at_end\": %" PRIu64 ", \"n_live_at_end\": %" PRIu64
           ", \"peak_bytes\": %s%s}\n",
           t.n_allocs, t.n_frees, t.allocated_bytes, t.freed_bytes,
           t.allocated_bytes - t.freed_bytes, t.n_allocs - t.n_frees, peak,
           more);
    fflush(stdout);
}
