/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Debug information that a module has in a file of its own.
 *
 *   /usr/lib/debug/.build-id/ab/cdef….debug    by its build id
 *   DIR/NAME  DIR/.debug/NAME  /usr/lib/debug/DIR/NAME
 *                                 by the name and checksum that it has in itself
 *
 * libdw's own search asks servers in the network (debuginfod) when there is none of
 * these: a report neither waits for them nor tells them what was run.
 */
#ifndef AXP_SYMBOL_DEBUG_H
#define AXP_SYMBOL_DEBUG_H
#include "symbol/symbol_libdw.h"

/* libdw's callback. A descriptor, and in *found where it is from (malloc); -1:
 * there is none. */
int axp__debug_find(Dwfl_Module *module, void **user, const char *name,
                    Dwarf_Addr base, const char *path, const char *link,
                    GElf_Word checksum, char **found);

#endif
