/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A histogram of durations: a value read back from its bucket is within 1.6 %
 * of what went in.
 *
 *   u = value + 64;  page: the leading zeros of u less 1, that is its octave;
 *   bucket: the octave in 64 equal parts
 *
 * The offset makes the values 0…63 a page of their own, exact, without a
 * branch. A page is 512 bytes and exists once something fell into it: an op
 * usually touches two or three of the 57.
 */
#ifndef AXP_TALLY_HIST_H
#define AXP_TALLY_HIST_H
#include <stdint.h>

#define AXP__HIST_PAGES 57
#define AXP__HIST_BUCKETS 64
#define AXP__HIST_MAX (UINT64_MAX / 2 - 64) /* larger ones count as this */

struct axp__hist_at {
    uint64_t page, bucket;
    uint64_t slot; /* page, or from the other end: what is at hand first */
};

static inline struct axp__hist_at axp__hist_at(uint64_t value)
{
    uint64_t u = value + 64;
#if defined(__x86_64__) /* which counts from below, and shifts in cl alone */
    uint64_t top;       /* (gcc makes an int of it, and 64 bits of that) */
    __asm__("bsrq %1, %0" : "=r"(top) : "r"(u) : "cc");
    return (struct axp__hist_at){62 - top, (u >> (top - 6)) - 64, top - 6};
#else
    uint64_t zeros = (unsigned)__builtin_clzll(u);
    return (struct axp__hist_at){zeros - 1, u << zeros >> 57 & 63, zeros - 1};
#endif
}

/* Lowest value of a bucket, and the value that stands for it. */
static inline uint64_t axp__hist_low(uint32_t page, uint32_t bucket)
{
    return ((uint64_t)(64 + bucket) << (56 - page)) - 64;
}

static inline uint64_t axp__hist_mid(uint32_t page, uint32_t bucket)
{
    return axp__hist_low(page, bucket) + ((uint64_t)1 << (56 - page)) / 2;
}

#endif
