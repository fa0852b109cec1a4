/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Files that are others by now than when they were recorded: a program that was
 * built again, a library that was updated. Their functions have no names, and a
 * view says why.
 *
 * Input  untrusted: of a file that a recording names, its build id is read.
 * Cost   each file is opened once: some 10 us.
 */
#ifndef AXP_MODEL_CHANGED_H
#define AXP_MODEL_CHANGED_H
#include "model/model_view.h"
#include "symbol/symbol_module.h"

/* A warning where there are any; what is in these folders is not missed. False:
 * no memory. */
bool axp__view_warn_of_changed(axp_view *v, struct axp__folders folders);

#endif
