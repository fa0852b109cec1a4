/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What code an address is in, by debug information: the function, the blocks and
 * the functions inlined into it, each within the one before.
 *
 * libdw's own search for scopes does not tell: from an inlined function it goes on to
 * where that was written, and not to where it was inlined.
 *
 * Input  untrusted: bounded by the depth that is asked for, and libdw's own care.
 */
#ifndef AXP_SYMBOL_CHAIN_H
#define AXP_SYMBOL_CHAIN_H
#include "symbol/symbol_libdw.h"

/* At most cap, outermost first; how many. 0: no function of the unit has it. */
size_t axp__code_chain(const struct axp__libdw *dw, Dwarf_Die *unit,
                       Dwarf_Addr address, Dwarf_Die *out, size_t cap);

#endif
