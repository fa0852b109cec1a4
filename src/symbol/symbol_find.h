/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* From an address in a module (a program or a library) to the function it is
 * in, its file and line, and what was inlined there.
 *
 *   struct axp__symbolizer *s = axp__symbolizer_create(folders);
 *   struct axp__symbol frames[8];
 *   size_t n = axp__symbol_find(s, &(struct axp__place){path, id, 0x1149},
 *                               frames, 8);
 *
 * Place      after a run, when a view is made: modules and addresses come from
 *            the recording, names from the files that lie on this machine.
 * Input      not trusted: any path, any number. A recording does not choose
 *            what is read here: only a regular file that has the build id
 *            that the recording has of it is given to libdw. Names of
 *            another build would be lies, too.
 * Debug      information is taken from the folders given (symbol_module.h),
 *            else from the module, else from the file that its build id or its
 *            debug link names (/usr/lib/debug); of the system's libraries only
 *            names are taken from there, and lines where a folder is given.
 * Ownership  strings live as long as the axp__symbolizer.
 * Threads    one at a time.
 * Cost       opening a module is some ms for a program, more for libraries
 *            with much debug information; modules stay open.
 * Failure    no module, no symbols: 0 frames.
 */
#ifndef AXP_SYMBOL_FIND_H
#define AXP_SYMBOL_FIND_H
#include <stddef.h>
#include <stdint.h>

#include "symbol/symbol_module.h"

struct axp__symbolizer;

struct axp__place {
    const char *path;     /* of the module */
    const char *build_id; /* as hex digits; NULL: not known, no symbols */
    uint64_t address;     /* as the module's own headers count */
};

struct axp__symbol {
    const char *name; /* demangled */
    const char *file; /* NULL: unknown */
    int line;         /* 0: unknown */
};

/* Looks in these folders too, while it finds. NULL: no memory. */
struct axp__symbolizer *axp__symbolizer_create(struct axp__folders folders);
void axp__symbolizer_destroy(struct axp__symbolizer *s);

/* Fills as many frames as fit: the innermost inlined function first, the
 * function that the address belongs to last; a frame's line is where it calls
 * the one before it. For the address that a function begins at it is the
 * function alone. Returns how many there are. For a return address pass the
 * address before it. */
size_t axp__symbol_find(struct axp__symbolizer *s,
                        const struct axp__place *place, struct axp__symbol *out,
                        size_t cap);

#endif
