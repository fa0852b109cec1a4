/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Choosing windows; see file_bits.h. About 1 us a context. */
#include "file/file_bits.h"

#include <stdbool.h>

#include "file/file_column.h"

#define EXCEPTION_BITS 64u

/* The least value of a bucket; one past the last: past all. */
static uint64_t low_of(uint32_t bucket)
{
    if (bucket < 8) return bucket;
    return (uint64_t)(4 + bucket % 4) << (bucket / 4 - 1);
}

struct sums {
    uint32_t first, end;                     /* buckets in use */
    uint32_t below[AXP__WINDOW_BUCKETS + 1]; /* values in buckets before */
};

static struct sums sum_up(const struct axp__bit_window_counts *c)
{
    struct sums s = {.first = AXP__WINDOW_BUCKETS};
    for (uint32_t i = 0; i < AXP__WINDOW_BUCKETS; i++) {
        s.below[i + 1] = s.below[i] + c->count[i];
        if (!c->count[i]) continue;
        if (s.first == AXP__WINDOW_BUCKETS) s.first = i;
        s.end = i + 1;
    }
    return s;
}

static uint32_t begin_at(uint32_t bucket, unsigned bits)
{
    unsigned unit = axp__bit_window_unit(bits);
    return (uint32_t)(low_of(bucket) >> unit << unit);
}

/* Where a window of so many bits holds most; returns how many. */
static uint32_t best_place(const struct sums *s, unsigned bits, uint32_t *begin)
{
    uint32_t most = 0, end = s->first;
    for (uint32_t i = s->first; i < s->end; i++) {
        uint64_t from = begin_at(i, bits), to = from + ((uint64_t)1 << bits);
        while (end < s->end && low_of(end + 1) <= to)
            end++;
        if (end > i && s->below[end] - s->below[i] > most) {
            most = s->below[end] - s->below[i];
            *begin = (uint32_t)from;
        }
    }
    return most;
}

/* How many of all the second window holds. */
static uint32_t held(const struct sums *s, uint32_t begin, unsigned bits)
{
    uint64_t to = begin + ((uint64_t)1 << bits) - 1;
    uint32_t end = s->end;
    while (end > s->first && low_of(end) > to)
        end--;
    return s->below[end];
}

static unsigned bits_of(uint64_t v)
{
    return v ? 64 - (unsigned)__builtin_clzll(v) : 0;
}

/* Narrower by more than this never pays: too few would be inside. */
#define NARROWER 10u

struct axp__bit_window axp__bit_window_choose(
    const struct axp__bit_window_counts *counts)
{
    struct sums s = sum_up(counts);
    struct axp__bit_window best = {{0, 0}, {0, 0}};
    uint32_t from[AXP__WINDOW_BITS + 1], n_held[AXP__WINDOW_BITS + 1];
    uint64_t least = UINT64_MAX;
    if (!counts->n) return best;
    unsigned widest = bits_of(low_of(s.end) - low_of(s.first)) + 1;
    if (widest > AXP__WINDOW_BITS) widest = AXP__WINDOW_BITS;
    unsigned narrow = widest > NARROWER ? widest - NARROWER : 0;
    for (unsigned wide = narrow; wide <= widest; wide++) {
        from[wide] = begin_at(s.first, wide);
        n_held[wide] = held(&s, from[wide], wide);
    }
    for (; narrow <= widest; narrow++) {
        uint32_t begin = 0, n_first = best_place(&s, narrow, &begin);
        for (unsigned wide = narrow; wide <= widest; wide++) {
            uint32_t n = n_held[wide] < n_first ? n_first : n_held[wide];
            uint64_t cost = (uint64_t)n_first * narrow +
                            (uint64_t)(n - n_first) * wide +
                            (uint64_t)(counts->n - n) * (wide + EXCEPTION_BITS);
            if (cost >= least) continue;
            least = cost;
            best = (struct axp__bit_window){{begin, from[wide]},
                                            {(uint8_t)narrow, (uint8_t)wide}};
        }
    }
    return best;
}
