/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The names of a module by address, sorted once: libdw itself goes through all
 * of them for each question.
 *
 *   address ─► the innermost symbol with a length that holds it
 *              else the nearest label before it, in the same section, which no
 *              symbol with a length ends behind
 *
 * Names      of functions, and of labels without a type, as assembly has them.
 *            Of several at one address: global before weak before local,
 *            then the shortest.
 * Input      a module's symbols, not trusted: any order, lengths that overlap.
 * Ownership  names are the module's, and live as long as its session.
 * Cost       all symbols once, sorted; then a search by halves.
 */
#ifndef AXP_SYMBOL_TABLE_H
#define AXP_SYMBOL_TABLE_H
#include <stddef.h>
#include <stdint.h>

#include "symbol/symbol_libdw.h"

struct axp__named_code {
    uint64_t begin, end; /* in the session's addresses */
    uint64_t reach;      /* the greatest end up to here, of those with one */
    const char *name;
    uint8_t is_label; /* its end is that of its section */
    uint8_t rank;     /* the less, the better */
};

struct axp__name_table {
    struct axp__named_code *at; /* NULL: none, or no memory */
    size_t n;
};

void axp__name_table_fill(struct axp__name_table *t,
                          const struct axp__libdw *dw, Dwfl_Module *module);
void axp__name_table_fini(struct axp__name_table *t);

/* NULL: none. */
const struct axp__named_code *axp__name_table_find(
    const struct axp__name_table *t, uint64_t address);

#endif
