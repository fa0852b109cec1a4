/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Stacks of a view: addresses to modules, functions, files and lines.
 *
 *   stack's bytes ─► address ─► module (all that were told) ─► libdw
 *                       └──────────── once each, and remembered
 *
 * Place      axp_view_stack, and exports that show stacks. Nothing is looked up
 *            before somebody asks.
 * Input      untrusted: an address that is in no module, or lay in two, stays a
 *            number; symbols come only from a file with the build id that the
 *            recording has of it (symbol_find.h).
 * Ownership  strings live as long as the view.
 * Threads    any number: one at a time looks up, by a mutex.
 */
#ifndef AXP_MODEL_STACKS_H
#define AXP_MODEL_STACKS_H
#include "axprof/axprof_read.h"
#include "symbol/symbol_module.h"
#include "tally/tally_capture.h"

struct axp__stack_names;

/* NULL: no memory. The capture is lent. */
struct axp__stack_names *axp__stack_names_create(const struct axp__capture *c);
/* Symbols may be in these folders too, which are copied. False: no memory. */
bool axp__stack_names_look_in(struct axp__stack_names *s,
                              struct axp__folders folders);
void axp__stack_names_destroy(struct axp__stack_names *s); /* NULL allowed */

#endif
