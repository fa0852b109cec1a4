/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* CRC-32C (Castagnoli, reflected 0x82f63b78), as iSCSI and ext4 have it.
 *
 * By the processor's instruction where it has one, which is asked once; else
 * slicing by 8: eight tables, made when they are first needed.
 *
 * Cost     on a Neoverse V1 0.05 ns a byte by instruction, 0.8 by tables
 *          (bench/bench_file.c).
 * Threads  any: what is made twice is made the same.
 */
#include "base/base_atomic.h"
#include "base/base_bytes.h"
#include "wire/wire_block.h"

#define POLYNOMIAL 0x82f63b78u

/* ---- tables ------------------------------------------------------------------ */

static uint32_t table[8][256];
static uint8_t has_table;

static void make_table(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
        axp__put(&table[0][i], crc);
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int t = 1; t < 8; t++) {
            uint32_t before = table[t - 1][i];
            axp__put(&table[t][i], before >> 8 ^ table[0][before & 255]);
        }
    axp__put_release(&has_table, 1);
}

uint32_t axp__crc32c_by_table(uint32_t crc, const void *bytes, size_t n)
{
    const uint8_t *at = bytes;
    if (!axp__get_acquire(&has_table)) make_table();
    crc = ~crc;
    for (; n >= 8; at += 8, n -= 8) {
        uint64_t w = axp__get_u64(at) ^ crc;
        crc = 0;
        for (int t = 7; t >= 0; t--, w >>= 8)
            crc ^= table[t][w & 255];
    }
    for (; n; n--)
        crc = crc >> 8 ^ table[0][(crc ^ *at++) & 255];
    return ~crc;
}

/* ---- the instruction ------------------------------------------------------------ */

#if defined(__aarch64__)
#include <sys/auxv.h>
#ifndef HWCAP_CRC32
#define HWCAP_CRC32 (1 << 7)
#endif
#define CRC_TARGET /* by hand: gcc and clang name the target differently */
static inline uint32_t step64(uint32_t crc, uint64_t v)
{
    __asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1"
            : "+r"(crc)
            : "r"(v));
    return crc;
}
static inline uint32_t step8(uint32_t crc, uint8_t v)
{
    __asm__(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1"
            : "+r"(crc)
            : "r"((uint32_t)v));
    return crc;
}
static bool has_instruction(void)
{
    return getauxval(AT_HWCAP) & HWCAP_CRC32;
}
#elif defined(__x86_64__)
#include <nmmintrin.h>
#define CRC_TARGET __attribute__((target("sse4.2")))
CRC_TARGET static inline uint32_t step64(uint32_t crc, uint64_t v)
{
    return (uint32_t)_mm_crc32_u64(crc, v);
}
CRC_TARGET static inline uint32_t step8(uint32_t crc, uint8_t v)
{
    return _mm_crc32_u8(crc, v);
}
static bool has_instruction(void)
{
    return __builtin_cpu_supports("sse4.2");
}
#endif

#ifdef CRC_TARGET
CRC_TARGET static uint32_t by_instruction(uint32_t crc, const uint8_t *at,
                                          size_t n)
{
    crc = ~crc;
    for (; n >= 8; at += 8, n -= 8)
        crc = step64(crc, axp__get_u64(at));
    for (; n; n--)
        crc = step8(crc, *at++);
    return ~crc;
}
#endif

uint32_t axp__crc32c(uint32_t crc, const void *bytes, size_t n)
{
#ifdef CRC_TARGET
    static uint8_t known; /* 1: has it, 2: has not */
    if (axp__unlikely(!axp__get(&known)))
        axp__put(&known, has_instruction() ? 1 : 2);
    if (axp__likely(axp__get(&known) == 1))
        return by_instruction(crc, bytes, n);
#endif
    return axp__crc32c_by_table(crc, bytes, n);
}
