/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* CommBound: the run waits for what is sent and received.
 * docs/rules/comm_bound.md */
#include "analyze/analyze_ahead.h"

void axp__rule_comm_bound(struct axp__analysis *a)
{
    static const struct axp__ahead_rule rule = {
        AXP__RULE_comm_bound,
        AXP_CAT_COMM,
        AXP__T_comm_bound_wall_percent,
        AXP__T_comm_bound_hidden_percent,
        "sends and receives",
        "begin it when its first part is ready, in parts of a few MB, and wait "
        "for it where its result is used",
        "comm_percentage"};
    axp__ahead_look(a, &rule);
}
