/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* elfutils' libdw, loaded when it is first needed: it and the libraries that
 * it needs are no part of what every client of libaxprof loads, and a machine
 * without it only lacks names. */
#ifndef AXP_SYMBOL_LIBDW_H
#define AXP_SYMBOL_LIBDW_H
#include <elfutils/libdwfl.h>

struct axp__libdw {
#define DW(name) __typeof__(&name) name;
#include "symbol/symbol_libdw.def"
#undef DW
};

/* NULL: not installed, or one that lacks a function. */
const struct axp__libdw *axp__libdw_load(void);

#endif
