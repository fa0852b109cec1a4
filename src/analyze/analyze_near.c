/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Operations near their roof; see analyze_near.h. */
#include "analyze/analyze_near.h"

#include <math.h>

#include "analyze/analyze_roof_advice.h"
#include "analyze/analyze_wall.h"
#include "base/base_number.h"

/* What one figure must be of another to be more than noise. */
#define MORE 1.2

bool axp__near_bandwidth(const struct axp__analysis *a,
                         const struct axp__roof *r, double *one, double *all)
{
    const struct axp__machine *m = a->v->machine;
    for (size_t i = 0; m && r->threads && i < m->n_memory; i++) {
        const struct axp__machine_memory *is = &m->memory[i];
        *one = fmax(is->read_one.best, is->move_one.best);
        *all = fmax(is->read_all.best, is->move_all.best);
        if (is->level == r->level) return *one > 0 && *all > 0;
    }
    return false;
}

bool axp__near_is_full(const struct axp__analysis *a, const struct axp__roof *r)
{
    double one, all;
    return r->level == AXP_LEVEL_MEMORY && r->threads > 1 &&
           axp__near_bandwidth(a, r, &one, &all) &&
           all <= MORE * r->roof_bytes &&
           one * r->threads >= MORE * r->roof_bytes;
}

void axp__near_advise_bytes(struct axp__analysis *a, struct axp__draft *d,
                            const axp_op *op, const struct axp__roof *r,
                            const char *before, const char *more)
{
    char moved[32];
    double each = op->bytes / (double)op->n_bytes_calls;
    const char *smaller = op->dtype == AXP_F64 ? "; as f32 it has half of them"
                          : op->dtype == AXP_F32
                              ? "; as bf16 it has half of them"
                              : "";
    axp__draft_advise(
        a, d,
        "%sonly fewer bytes make it faster: a call moves %s, so fuse %s with "
        "what comes before or after%s%s%s",
        before, axp_format_bytes(moved, sizeof moved, axp__whole(each)),
        axp__spoken(op->name, "it"),
        r->flops > 0 ? ", or work in blocks that stay in a cache" : "", smaller,
        more);
}

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
            (!rule->fits || rule->fits(a, r)) && r->ran_share >= least &&
            !r->is_impossible && axp__wall_reaches(a->wall, op, wall))
            add(a, rule, op, r);
    }
}
