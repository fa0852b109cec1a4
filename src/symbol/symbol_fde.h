/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Where a function without a name begins: stripped code has no symbols, but for
 * exceptions a sorted table of all its functions (.eh_frame_hdr).
 *
 * Input  any bytes: of a table of another form nothing is known.
 */
#ifndef AXP_SYMBOL_FDE_H
#define AXP_SYMBOL_FDE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct axp__fde_table {
    const uint8_t *bytes;
    size_t n;
    uint64_t address; /* of its first byte, as the module counts */
};

/* The beginning of the function that an address is in; false: not known. */
bool axp__fde_begin(const struct axp__fde_table *t, uint64_t address,
                    uint64_t *begin);

#endif
