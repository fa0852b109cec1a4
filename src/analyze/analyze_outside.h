/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What functions take where no scope is open: what scopes say nothing of, in a
 * program that marks a part of what it does, or of which adapters know a part. */
#ifndef AXP_ANALYZE_OUTSIDE_H
#define AXP_ANALYZE_OUTSIDE_H
#include "model/model_view.h"

/* Of the view's functions those that are wanted, with that time for their own; *n
 * of them. malloc; NULL: no memory. */
axp_op *axp__outside_functions(const axp_view *v, const bool *is_wanted,
                               size_t *n);

#endif
