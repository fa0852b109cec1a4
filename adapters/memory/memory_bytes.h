/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Numbers out of a range of bytes, as DWARF writes them. Reading past the end
 * gives 0 and marks the range as bad: who reads asks once, at the end. */
#ifndef MEMORY_BYTES_H
#define MEMORY_BYTES_H
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct memory_bytes {
    const uint8_t *at, *end;
    bool is_bad;
};

/* The next n bytes; NULL: they are not there. */
static inline const uint8_t *memory_bytes_take(struct memory_bytes *b,
                                               uint64_t n)
{
    const uint8_t *at = b->at;
    if (b->is_bad || n > (uint64_t)(b->end - at)) {
        b->is_bad = true;
        return NULL;
    }
    b->at += n;
    return at;
}

#define MEMORY_BYTES_NUMBER(name, type)                                        \
    static inline type memory_bytes_##name(struct memory_bytes *b)             \
    {                                                                          \
        type value = 0;                                                        \
        const uint8_t *at = memory_bytes_take(b, sizeof value);                \
        if (at) memcpy(&value, at, sizeof value);                              \
        return value;                                                          \
    }

MEMORY_BYTES_NUMBER(u8, uint8_t)
MEMORY_BYTES_NUMBER(u16, uint16_t)
MEMORY_BYTES_NUMBER(u32, uint32_t)
MEMORY_BYTES_NUMBER(u64, uint64_t)

/* Bits past the 64th are dropped. The last byte goes to *last. */
static inline uint64_t memory_bytes_leb(struct memory_bytes *b, uint8_t *last,
                                        unsigned *shift)
{
    uint64_t value = 0;
    *shift = 0;
    do {
        *last = memory_bytes_u8(b);
        if (*shift < 64) value |= (uint64_t)(*last & 0x7f) << *shift;
        *shift += 7;
    } while (*last & 0x80);
    return value;
}

static inline uint64_t memory_bytes_uleb(struct memory_bytes *b)
{
    uint8_t last;
    unsigned shift;
    return memory_bytes_leb(b, &last, &shift);
}

static inline int64_t memory_bytes_sleb(struct memory_bytes *b)
{
    uint8_t last;
    unsigned shift;
    uint64_t value = memory_bytes_leb(b, &last, &shift);
    if (shift < 64 && last & 0x40) value |= ~(uint64_t)0 << shift;
    return (int64_t)value;
}

#endif
