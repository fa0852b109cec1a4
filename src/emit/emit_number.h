/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Numbers as text and as varints, written where the caller has room: the
 * inner loops of the timeline exports.
 *
 * Each returns where the number ends and may write AXP__NUMBER_ROOM bytes.
 */
#ifndef AXP_EMIT_NUMBER_H
#define AXP_EMIT_NUMBER_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define AXP__NUMBER_ROOM 32u

static inline char *axp__put_bytes(char *at, const void *bytes, size_t len)
{
    memcpy(at, bytes, len);
    return at + len;
}
#define AXP__PUT_TEXT(at, literal)                                             \
    axp__put_bytes(at, literal, sizeof(literal) - 1)

static const char axp__two_digits[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536"
    "37383940414243444546474849505152535455565758596061626364656667686970717273"
    "7475767778798081828384858687888990919293949596979899";

static inline unsigned axp__count_digits(uint64_t value)
{
    static const uint64_t powers[] = {0,
                                      10u,
                                      100u,
                                      1000u,
                                      10000u,
                                      100000u,
                                      1000000u,
                                      10000000u,
                                      100000000u,
                                      1000000000u,
                                      10000000000u,
                                      100000000000u,
                                      1000000000000u,
                                      10000000000000u,
                                      100000000000000u,
                                      1000000000000000u,
                                      10000000000000000u,
                                      100000000000000000u,
                                      1000000000000000000u,
                                      10000000000000000000u};
    /* bits * log10(2), then corrected by one comparison */
    unsigned guess = (unsigned)(64 - __builtin_clzll(value | 1)) * 1233u >> 12;
    return guess + (value >= powers[guess]);
}

static inline char *axp__print_u64(char *at, uint64_t value)
{
    unsigned n = axp__count_digits(value);
    char *end = at + n, *p = end;
    while (value >= 100) {
        p -= 2;
        memcpy(p, axp__two_digits + 2 * (value % 100), 2);
        value /= 100;
    }
    if (value >= 10)
        memcpy(p - 2, axp__two_digits + 2 * value, 2);
    else
        p[-1] = (char)('0' + value);
    return end;
}

/* Nanoseconds as a decimal number of microseconds: 1234567 → 1234.567 */
static inline char *axp__put_us(char *at, uint64_t ns)
{
    unsigned rest = (unsigned)(ns % 1000);
    at = axp__print_u64(at, ns / 1000);
    at[0] = '.';
    at[1] = (char)('0' + rest / 100);
    memcpy(at + 2, axp__two_digits + 2 * (rest % 100), 2);
    return at + 4;
}

/* As protobuf has it: 7 bits a byte, the lowest first. */
static inline char *axp__print_varint(char *at, uint64_t value)
{
    while (value >= 128) {
        *at++ = (char)(value | 128);
        value >>= 7;
    }
    *at++ = (char)value;
    return at;
}

/* The same without a loop, for the times of the inner loops: three steps pull
 * the groups of 7 bits apart, and one store writes them. */
static inline char *axp__put_varint_fast(char *at, uint64_t value)
{
    if (__builtin_expect(value >> 56 != 0, 0))
        return axp__print_varint(at, value);
    uint64_t x = value;
    unsigned bits = 64 - (unsigned)__builtin_clzll(x | 1);
    unsigned n = (bits + 6) * 37 >> 8; /* / 7 */
    x = (x & 0x000000000fffffff) | (x & 0x00fffffff0000000) << 4;
    x = (x & 0x00003fff00003fff) | (x & 0x0fffc0000fffc000) << 2;
    x = (x & 0x007f007f007f007f) | (x & 0x3f803f803f803f80) << 1;
    x |= 0x8080808080808080 & (((uint64_t)1 << 8 * (n - 1)) - 1);
    memcpy(at, &x, 8); /* little-endian, as both our machines are */
    return at + n;
}

#endif
