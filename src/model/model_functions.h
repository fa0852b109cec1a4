/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What samples say: functions with their processor time, and their places in
 * the call tree, below the scopes that were open when they were seen.
 *
 *   sample ─► scopes open then ─► place in the tree ─┐
 *          └► stack ─► functions, outermost first ───┴─► places below it
 *
 * A function is a name in a module, inlined ones too; code without names is
 * one for each function that its module's tables have, or for each place. It
 * has time and samples, and no calls.
 *
 * Place      axp_open, at the end: live views have no samples.
 * Parts      of a recording that covers a part of a run only samples of that
 *            part count.
 */
#ifndef AXP_MODEL_FUNCTIONS_H
#define AXP_MODEL_FUNCTIONS_H
#include "model/model_view.h"

/* Harmless without samples. False: no memory. */
bool axp__view_add_functions(axp_view *v);
void axp__view_free_functions(axp_view *v);

/* Half of the interval that a share of n samples is in at 95 %. */
double axp__share_error(double share, double n);

/* For those who show times that do not overlap: of a scope's own time what no
 * function below it has, by samples; of a function its own. n_tree of them;
 * malloc, NULL: no memory. */
axp_ns *axp__view_rest(const axp_view *v);

#endif
