/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Operations that are near their roof, for the rules that say which it is.
 *
 * Nothing is to be gained by doing the same faster, so they are Low; doing less may
 * gain all of their time, which is the bound. */
#ifndef AXP_ANALYZE_NEAR_H
#define AXP_ANALYZE_NEAR_H
#include "analyze/analyze.h"

struct axp__near_rule {
    enum axp__rule_id rule;
    bool is_memory; /* that binds it, or arithmetic */
    enum axp__threshold roof_percent, wall_percent;
    /* What is said of one, and what to do. */
    void (*say)(struct axp__analysis *a, struct axp__draft *d, const axp_op *op,
                const struct axp__roof *r);
};
void axp__near_look(struct axp__analysis *a, const struct axp__near_rule *rule);

#endif
