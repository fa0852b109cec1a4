/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Protobuf messages, written into a buffer that keeps them (axp__out with no
 * file), field by field.
 *
 * A message inside another gets four bytes for its length, which is written
 * when it ends: a longer varint than need be, which every reader takes. */
#ifndef AXP_EMIT_PROTO_H
#define AXP_EMIT_PROTO_H
#include "emit/emit_number.h"
#include "emit/emit_out.h"

enum { AXP__PB_VARINT = 0, AXP__PB_FIXED64 = 1, AXP__PB_BYTES = 2 };

static inline void axp__pb_raw(struct axp__out *m, uint64_t value)
{
    char *at = axp__out_room(m, AXP__NUMBER_ROOM);
    m->len += (size_t)(axp__print_varint(at, value) - at);
}

static inline void axp__pb_tag(struct axp__out *m, unsigned field,
                               unsigned type)
{
    axp__pb_raw(m, (uint64_t)field << 3 | type);
}

static inline void axp__pb_u64(struct axp__out *m, unsigned field,
                               uint64_t value)
{
    axp__pb_tag(m, field, AXP__PB_VARINT);
    axp__pb_raw(m, value);
}

static inline void axp__pb_fixed64(struct axp__out *m, unsigned field,
                                   uint64_t value)
{
    char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (char)(value >> 8 * i);
    axp__pb_tag(m, field, AXP__PB_FIXED64);
    axp__out_bytes(m, bytes, 8);
}

static inline void axp__pb_double(struct axp__out *m, unsigned field,
                                  double value)
{
    uint64_t bits;
    memcpy(&bits, &value, 8);
    axp__pb_fixed64(m, field, bits);
}

/* Returns what its end needs. */
static inline size_t axp__pb_begin(struct axp__out *m, unsigned field)
{
    axp__pb_tag(m, field, AXP__PB_BYTES);
    axp__out_bytes(m, "\0\0\0", 4);
    return m->len;
}

static inline void axp__pb_end(struct axp__out *m, size_t begin)
{
    size_t len = m->len - begin;
    char *at = m->buffer + begin - 4;
    if (m->error || m->n_bytes) return; /* it has not all been kept */
    for (int i = 0; i < 4; i++)
        at[i] = (char)((len >> 7 * i & 127) | (i < 3 ? 128 : 0));
}

/* Text as valid UTF-8. */
static inline void axp__pb_text(struct axp__out *m, unsigned field,
                                const char *text, size_t len)
{
    size_t begin = axp__pb_begin(m, field);
    axp__out_utf8(m, text, len);
    axp__pb_end(m, begin);
}

#endif
