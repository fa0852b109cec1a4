/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Windows: where the times of one context lie, and how many bits they take.
 *
 *   value in window w of its context: value - begin[w], bits[w] of them
 *
 * Chosen from a histogram of the values, so that the bits of all together are
 * few: the first window where most are, narrow; the second from the least up,
 * wide enough for nearly all. All bits set in the second: an exception.
 */
#ifndef AXP_FILE_BITS_H
#define AXP_FILE_BITS_H
#include <stddef.h>
#include <stdint.h>

#define AXP__WINDOW_BUCKETS 128u

struct axp__bit_window {
    uint32_t begin[2];
    uint8_t bits[2];
};

struct axp__bit_window_counts {
    uint32_t n;
    uint32_t count[AXP__WINDOW_BUCKETS];
};

/* 4 to an octave; those below 8 are exact. */
static inline uint32_t axp__bit_window_bucket(uint32_t v)
{
    if (v < 8) return v;
    uint32_t octave = 31 - (uint32_t)__builtin_clz(v);
    return octave * 4 - 8 + (v >> (octave - 2));
}

/* The unit in which a window's beginning is stored. */
static inline unsigned axp__bit_window_unit(unsigned bits)
{
    return bits > 3 ? bits - 3 : 0;
}

struct axp__bit_window axp__bit_window_choose(
    const struct axp__bit_window_counts *counts);

#endif
