/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* C++ names as people write them.
 *
 * The C++ runtime of the machine does it, loaded when the first mangled name
 * comes: whoever has C++ programs has it. Without it names stay as they are.
 */
#ifndef AXP_SYMBOL_DEMANGLE_H
#define AXP_SYMBOL_DEMANGLE_H
#include <stddef.h>

/* Caller frees. NULL: not mangled, or not possible. */
char *axp__symbol_demangle(const char *name);

/* How much of a symbol is the name that its function was given: without the
 * version that a library's table adds (expf@@GLIBC_2.27), and without what a
 * compiler calls a copy or a part that it made (scale.constprop.0, main.cold). */
size_t axp__symbol_name_length(const char *name);

#endif
