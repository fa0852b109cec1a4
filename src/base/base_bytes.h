/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Numbers as bytes: little-endian words of fixed size, and varints.
 *
 *   varint   7 bits a byte, low ones first; the top bit says that more follow
 *   zigzag   signed as unsigned, small ones small: 0 -1 1 -2 → 0 1 2 3
 *
 * Place    everything that writes or reads a trace file.
 * Input    of the getters untrusted: they never pass the end; what is not
 *          there reads as 0 and sets is_bad, so that a caller may read a whole
 *          record and ask once.
 */
#ifndef AXP_BASE_BYTES_H
#define AXP_BASE_BYTES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define AXP__VARINT_MAX 10u /* bytes of the longest */

/* Here alone: words are written and read as they lie in memory. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "traces, spools and exports are little-endian, and so must be "
               "the machine");

static inline void axp__put_u16(void *at, uint16_t v)
{
    memcpy(at, &v, 2);
}

static inline void axp__put_u32(void *at, uint32_t v)
{
    memcpy(at, &v, 4);
}

static inline void axp__put_u64(void *at, uint64_t v)
{
    memcpy(at, &v, 8);
}

static inline uint16_t axp__get_u16(const void *at)
{
    uint16_t v;
    memcpy(&v, at, 2);
    return v;
}

static inline uint32_t axp__get_u32(const void *at)
{
    uint32_t v;
    memcpy(&v, at, 4);
    return v;
}

static inline uint64_t axp__get_u64(const void *at)
{
    uint64_t v;
    memcpy(&v, at, 8);
    return v;
}

/* Returns where the next goes; room for AXP__VARINT_MAX bytes is there. */
static inline uint8_t *axp__put_varint(uint8_t *at, uint64_t v)
{
    for (; v >= 128; v >>= 7)
        *at++ = (uint8_t)(v | 128);
    *at++ = (uint8_t)v;
    return at;
}

static inline uint64_t axp__zigzag(uint64_t v)
{
    return v << 1 ^ (0 - (v >> 63));
}

static inline uint64_t axp__unzigzag(uint64_t v)
{
    return v >> 1 ^ (0 - (v & 1));
}

/* A double as a number whose varint is short where the fraction is: its bytes
 * in reverse, so that the exponent comes lowest. */
static inline uint64_t axp__f64_bits(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, 8);
    return __builtin_bswap64(bits);
}

static inline double axp__f64_of_bits(uint64_t bits)
{
    double v;
    bits = __builtin_bswap64(bits);
    memcpy(&v, &bits, 8);
    return v;
}

/* ---- reading ---------------------------------------------------------------- */
struct axp__bytes {
    const uint8_t *at, *end;
    bool is_bad; /* something was missing or impossible */
};

static inline size_t axp__bytes_left(const struct axp__bytes *b)
{
    return (size_t)(b->end - b->at);
}

static inline uint64_t axp__get_varint(struct axp__bytes *b)
{
    uint64_t v = 0;
    for (unsigned shift = 0; b->at < b->end && shift < 64; shift += 7) {
        uint8_t byte = *b->at++;
        if (shift == 63 && byte > 1) break;
        v |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return v;
    }
    b->is_bad = true;
    b->at = b->end;
    return 0;
}

/* The next n bytes; NULL: they are not there. */
static inline const uint8_t *axp__get_bytes(struct axp__bytes *b, uint64_t n)
{
    if (n > axp__bytes_left(b)) {
        b->is_bad = true;
        b->at = b->end;
        return NULL;
    }
    const uint8_t *at = b->at;
    b->at += n;
    return at;
}

#endif
