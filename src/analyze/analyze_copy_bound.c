/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* CopyBound: the run waits for copies between host and device.
 * docs/rules/copy_bound.md */
#include "analyze/analyze_ahead.h"

void axp__rule_copy_bound(struct axp__analysis *a)
{
    static const struct axp__ahead_rule rule = {
        AXP__RULE_copy_bound,
        AXP_CAT_COPY,
        AXP__T_copy_bound_wall_percent,
        AXP__T_copy_bound_hidden_percent,
        "copies",
        "from pinned memory, on a queue of its own, for the step after this one; "
        "what stays on the device need not be copied",
        "copy_percentage"};
    axp__ahead_look(a, &rule);
}
