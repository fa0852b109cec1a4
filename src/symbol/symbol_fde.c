/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* .eh_frame_hdr; see symbol_fde.h. */
#include "symbol/symbol_fde.h"

#include <string.h>

#include "base/base_bytes.h"

/* How linkers write it: a version, how the three parts are coded, the address
 * of .eh_frame, how many entries there are, and these, sorted: a function and
 * its description, each relative to the table. */
enum {
    HEAD = 12,
    ENTRY = 8,
    VERSION = 1,
    PCREL_4 = 0x1b,
    U_4 = 3,
    HERE_4 = 0x3b
};

static uint64_t function_at(const struct axp__fde_table *t, uint64_t i)
{
    int32_t apart = (int32_t)axp__get_u32(t->bytes + HEAD + i * ENTRY);
    return t->address + (uint64_t)(int64_t)apart;
}

bool axp__fde_begin(const struct axp__fde_table *t, uint64_t address,
                    uint64_t *begin)
{
    static const uint8_t form[4] = {VERSION, PCREL_4, U_4, HERE_4};
    if (t->n < HEAD || memcmp(t->bytes, form, sizeof form) != 0) return false;
    uint64_t n = axp__get_u32(t->bytes + 8), low = 0, high = n;
    if (n > (t->n - HEAD) / ENTRY) return false;
    while (low < high) { /* the first that begins after it */
        uint64_t mid = (low + high) / 2;
        if (function_at(t, mid) <= address)
            low = mid + 1;
        else
            high = mid;
    }
    if (!low) return false;
    *begin = function_at(t, low - 1);
    return true;
}
