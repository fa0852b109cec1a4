/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A stack as bytes, the same in a spool and in a file: the number of its
 * frames, and each address, innermost first, less the one before it.
 *
 *   n   zigzag(a0)   zigzag(a1 - a0)   …        varints
 *
 * A return address into the caller's own module takes 2 to 4 bytes of 8, so
 * 30 frames some 100 bytes. Equal stacks have equal bytes.
 *
 * Ids      0 is no stack, 1 one that found no room; those that the process
 *          interned begin at 2, those of whoever looks at it from outside at
 *          AXP__STACKS_OUTSIDE: two tables, which nobody has to share.
 * Place    put by src/record and src/outside, got by whoever reads.
 * Input    of the getter untrusted.
 */
#ifndef AXP_WIRE_STACK_H
#define AXP_WIRE_STACK_H
#include "base/base_bytes.h"

#define AXP__STACK_NONE 0u
#define AXP__STACK_NO_ROOM 1u
#define AXP__STACK_FIRST 2u
#define AXP__STACKS_OUTSIDE 0x80000000u

#define AXP__STACK_RECORDED 128u /* frames of one that a process interns */
#define AXP__STACK_MOST 512u     /* of any */
#define AXP__STACK_BYTES(n_frames) (((n_frames) + 1) * AXP__VARINT_MAX)

/* Returns the bytes written; there is room for AXP__STACK_BYTES(n). */
static inline size_t axp__stack_put(uint8_t *out, const uint64_t *frames,
                                    size_t n)
{
    uint8_t *at = axp__put_varint(out, n);
    uint64_t before = 0;
    for (size_t i = 0; i < n; i++) {
        at = axp__put_varint(at, axp__zigzag(frames[i] - before));
        before = frames[i];
    }
    return (size_t)(at - out);
}

/* The next stack: how many frames it has, as many as fit in out. 0: it is
 * empty, or cannot be (is_bad of the bytes). */
static inline size_t axp__stack_get(struct axp__bytes *b, uint64_t *out,
                                    size_t cap)
{
    uint64_t n = axp__get_varint(b), address = 0;
    if (n > AXP__STACK_MOST) b->is_bad = true;
    for (uint64_t i = 0; i < n && !b->is_bad; i++) {
        address += axp__unzigzag(axp__get_varint(b));
        if (i < cap) out[i] = address;
    }
    return b->is_bad ? 0 : (size_t)n;
}

#endif
