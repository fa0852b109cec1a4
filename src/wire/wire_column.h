/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* When a column of a block is packed by zstd, and how hard. */
#ifndef AXP_WIRE_COLUMN_H
#define AXP_WIRE_COLUMN_H
#include <stdbool.h>
#include <stddef.h>

#define AXP__ZSTD_LEVEL 1
#define AXP__LEAST_COLUMN 32u /* bytes: shorter ones stay as they are */

/* Whether what was packed is worth the unpacking. */
static inline bool axp__column_pays(size_t packed, size_t n)
{
    return packed < n - n / 16;
}

#endif
