/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Heads of a trace as they should be: magic, lengths that fit, checksums. So
 * what lies behind them is reached by bytes that were changed at random. */
#ifndef FUZZ_REPAIR_H
#define FUZZ_REPAIR_H
#include <string.h>

#include "base/base_bytes.h"
#include "wire/wire_block.h"

static inline void fuzz_repair(uint8_t *bytes, size_t size)
{
    static const uint8_t magic[8] = {0x89, 'A',  'X',  'P',
                                     '\r', '\n', 0x1a, '\n'};
    if (size < AXP__FILE_HEAD) return;
    memcpy(bytes, magic, 8);
    axp__put_u32(bytes + 8, AXP__FILE_VERSION);
    axp__put_u32(bytes + 12, AXP__FILE_HEAD);
    axp__put_u32(bytes + 124, axp__crc32c(0, bytes, 124));
    for (size_t at = AXP__FILE_HEAD; size - at >= AXP__BLOCK_HEAD;) {
        uint8_t *head = bytes + at;
        size_t left = size - at - AXP__BLOCK_HEAD;
        if (!memcmp(head, "AXP end\n", 8) && left == 0) {
            axp__put_u32(head + 60, axp__crc32c(0, head, 60));
            return;
        }
        uint64_t len = axp__get_u64(head + 8);
        if (len > left) len %= left + 1;
        memcpy(head, "AXPB", 4);
        axp__put_u64(head + 8, len);
        axp__put_u32(head + 56,
                     axp__crc32c(0, head + AXP__BLOCK_HEAD, (size_t)len));
        axp__put_u32(head + 60, axp__crc32c(0, head, 60));
        at += AXP__BLOCK_HEAD + (((size_t)len + 7) & ~(size_t)7);
        if (at > size) return;
    }
}

#endif
