/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Operations near their roof; see analyze_near.h. */
#include "analyze/analyze_near.h"

#include "analyze/analyze_wall.h"

static void add(struct axp__analysis *a, const struct axp__near_rule *rule,
                const axp_op *op, const struct axp__roof *r)
{
    struct axp__draft *d = axp__draft_add(a, rule->rule, op->name);
    if (!d) return;
    d->op = op;
    d->specificity = 2;
    d->fraction = 1;
    d->is_bound = d->is_capped = true;
    d->band = AXP_LOW;
    d->confidence = 0.7;
    rule->say(a, d, op, r);
    axp__draft_metric(d, "roof_share", r->share);
}

void axp__near_look(struct axp__analysis *a, const struct axp__near_rule *rule)
{
    double least = a->threshold[rule->roof_percent] / 100;
    double wall =
        (double)a->v->duration_ns * a->threshold[rule->wall_percent] / 100;
    for (size_t i = 0; i < a->v->n_ops; i++) {
        const axp_op *op = &a->v->ops[i];
        const struct axp__roof *r = axp__roof_of(a, op);
        if (r && rule->is_memory == (r->level != AXP_LEVEL_NONE) &&
            (rule->is_memory ? r->bytes : r->flops) > 0 &&
            r->ran_share >= least && !r->is_impossible &&
            (double)axp__wall_ns(a->wall, op) >= wall)
            add(a, rule, op, r);
    }
}
