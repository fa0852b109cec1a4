/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* From a function's address to its site.
 *
 * A table of all functions seen, by address, shared by all threads and never
 * emptied: 2^20 places of 16 bytes, touched sparsely.
 *
 * Names      are not looked up here. A function is recorded as MODULE+0xOFFSET
 *            with the module's path as its file; the reader finds the name in
 *            the module's symbols.
 * Cost       a lookup is one multiplication and, mostly, one cache line. A
 *            function's first call formats a text of some hundred bytes.
 * Threads    any; no lock. Two threads that meet a function first both register
 *            it, which gives the same site.
 */
#ifndef FUNCTIONS_SITES_H
#define FUNCTIONS_SITES_H
#include <stdint.h>

enum { FUNCTIONS_TEXT_MAX = 1024 };

/* NULL: no room for another function. */
uint32_t *functions_site(const void *function);
/* What axp__scope_begin wants beside a site that is still 0: name, file and
 * line with 0 bytes between. text has FUNCTIONS_TEXT_MAX bytes. */
void functions_text(const void *function, char *text);

#endif
