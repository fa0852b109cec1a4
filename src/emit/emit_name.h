/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names for a terminal: harmless, measured in columns, cut where there is no
 * room, and still distinct.
 *
 *   "a\x1b[31mb"                      a\x1b[31mb      nothing reaches it raw
 *   "transformer.layers.11.attention" transfo…tention  cut in the middle
 *   "transformer.layers.12.attention" …                the same cut twice:
 *                                     tran…11.at…ion   the difference is shown
 *                                     tran…12.at…ion
 *
 *   "void std::sort<std::vector<…>>(…)"   what is between < and >, then ( and ),
 *                                     and then what it is in, gives way first
 *
 * Input      any bytes. What is not UTF-8 becomes U+FFFD; control characters,
 *            line separators and marks that turn or hide text are written
 *            out (\n, \x1b, \u202e).
 * Columns    from a table of our own (emit_width.def): libc's depends on the
 *            locale, which is the program's.
 * Ownership  results are malloc'd and the caller's.
 * Failure    NULL: no memory.
 */
#ifndef AXP_EMIT_NAME_H
#define AXP_EMIT_NAME_H
#include <stdbool.h>
#include <stddef.h>

#define AXP__ELLIPSIS "\xe2\x80\xa6" /* … */

/* "NAME on DEVICE", or the name alone where there is none. */
char *axp__name_on(const char *name, const char *device);
/* The text as it may be printed, uncut. */
char *axp__plain(const char *text);
/* Columns of a text that axp__plain made. */
size_t axp__columns(const char *plain);
/* The bytes of the next character with the marks on it, and its columns; 0 at
 * the end. Plain text alone. */
size_t axp__next_cell(const char *plain, unsigned *columns);

struct axp__fit { /* a name, and the room that it has */
    const char *name;
    size_t columns;
    char *shown; /* result */
};
/* Makes them fit. Those that differ stay different among each other. False:
 * no memory; what is shown is to be freed in any case. */
bool axp__fit_names(struct axp__fit *fits, size_t n);

#endif
