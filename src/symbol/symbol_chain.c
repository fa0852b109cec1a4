/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* From a unit down to an address; see symbol_chain.h. */
#include "symbol/symbol_chain.h"

#include <dwarf.h>
#include <stdbool.h>

#define MOST_AROUND 16 /* namespaces and classes around a function */

struct search {
    const struct axp__libdw *dw;
    Dwarf_Addr address;
};

static bool has_range(const struct search *s, Dwarf_Die *die)
{
    Dwarf_Attribute attr;
    return s->dw->dwarf_attr(die, DW_AT_low_pc, &attr) ||
           s->dw->dwarf_attr(die, DW_AT_ranges, &attr);
}

static bool is_code(int tag)
{
    return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine ||
           tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
           tag == DW_TAG_catch_block;
}

static bool is_around(int tag)
{
    return tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
           tag == DW_TAG_structure_type || tag == DW_TAG_union_type ||
           tag == DW_TAG_module;
}

/* What has the address, of all that is directly in a die, or in what has no code
 * of its own. */
static bool find_in(const struct search *s, Dwarf_Die *die, int depth,
                    Dwarf_Die *out)
{
    Dwarf_Die child;
    if (s->dw->dwarf_child(die, &child)) return false;
    do {
        int tag = s->dw->dwarf_tag(&child);
        if (is_code(tag) && s->dw->dwarf_haspc(&child, s->address) == 1) {
            *out = child;
            return true;
        }
        bool is_open = is_around(tag) ||
                       (tag == DW_TAG_lexical_block && !has_range(s, &child));
        if (is_open && depth < MOST_AROUND &&
            find_in(s, &child, depth + 1, out))
            return true;
    } while (!s->dw->dwarf_siblingof(&child, &child));
    return false;
}

size_t axp__code_chain(const struct axp__libdw *dw, Dwarf_Die *unit,
                       Dwarf_Addr address, Dwarf_Die *out, size_t cap)
{
    struct search s = {dw, address};
    size_t n = 0;
    for (Dwarf_Die *at = unit; n < cap && find_in(&s, at, 0, &out[n]); n++)
        at = &out[n];
    return n;
}
