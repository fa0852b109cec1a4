/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What code an address is in, by debug information: the function, the blocks and
 * the functions inlined into it, each within the one before.
 *
 * libdw's own search for scopes does not tell: from an inlined function it goes on to
 * where that was written, and not to where it was inlined. And it goes through all
 * that a unit declares, for each address; here that is done once a unit.
 *
 * Input      untrusted: each entry is seen once, and no more than so deep.
 * Memory     48 bytes a function of the units that are asked for.
 * Ownership  init with {0}; fini frees. Units are the caller's, and stay.
 */
#ifndef AXP_SYMBOL_CHAIN_H
#define AXP_SYMBOL_CHAIN_H
#include "symbol/symbol_libdw.h"

struct axp__code_index { /* of a module */
    struct axp__unit_code *units;
};

void axp__code_index_fini(struct axp__code_index *x);

/* At most cap, outermost first; how many. 0: no function of the unit has it, or
 * no memory. */
size_t axp__code_chain(struct axp__code_index *x, const struct axp__libdw *dw,
                       Dwarf_Die *unit, Dwarf_Addr address, Dwarf_Die *out,
                       size_t cap);

#endif
