/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* C++ names as people write them.
 *
 * The C++ runtime of the machine does it, loaded when the first mangled name
 * comes: whoever has C++ programs has it. Without it names stay as they are.
 */
#ifndef AXP_SYMBOL_DEMANGLE_H
#define AXP_SYMBOL_DEMANGLE_H

/* Caller frees. NULL: not mangled, or not possible. */
char *axp__symbol_demangle(const char *name);

#endif
