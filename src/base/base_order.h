/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Plain numbers from the least up, for qsort and bsearch. */
#ifndef AXP_BASE_ORDER_H
#define AXP_BASE_ORDER_H
#include <stdint.h>

static inline int axp__by_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static inline int axp__by_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static inline int axp__by_f64(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

#endif
