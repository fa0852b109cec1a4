/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* ComputeBound: an operation that computes nearly as fast as the machine can.
 * docs/rules/compute_bound.md
 *
 * Tuning gains nothing here: another type or less arithmetic does. */
#include <math.h>

#include "analyze/analyze_roof_advice.h"
#include "analyze/analyze_wall.h"
#include "base/base_number.h"

/* What is left where no code is faster: threads, a type, the algorithm. */
static void advise(struct axp__analysis *a, struct axp__draft *d,
                   const axp_op *op, const struct axp__roof *r)
{
    char all[32], more[128] = "", each[32];
    const struct axp__machine *m = a->v->machine;
    const struct axp__machine_compute *c =
        m && r->threads ? axp__machine_compute_of(m, r->dtype) : NULL;
    if (c && r->threads < m->n_threads && c->all.best > 1.2 * r->roof_flops)
        snprintf(more, sizeof more,
                 "; it has %u of %u threads, which all "
                 "together reach %s GFLOP/s",
                 r->threads, m->n_threads,
                 axp__digits3(all, sizeof all, c->all.best / 1e9));
    axp__draft_advise(
        a, d,
        "tuning %s gains next to nothing: do fewer than its %s million FLOPs a "
        "call, or do them in a type that the machine computes faster%s",
        axp__spoken(op->name, "it"),
        axp__digits3(each, sizeof each,
                     op->flops / (double)op->n_flops_calls / 1e6),
        more);
}

static void add(struct axp__analysis *a, const axp_op *op,
                const struct axp__roof *r)
{
    char reached[32], allowed[32], part[32], threads[48];
    const char *dtype = axp__machine_dtype_word(r->dtype);
    struct axp__draft *d = axp__draft_add(a, AXP__RULE_compute_bound, op->name);
    if (!d) return;
    d->op = op;
    d->specificity = 2;
    d->fraction = 1 - r->ran_share;
    d->is_bound = d->is_capped = true; /* near the roof: always Low */
    d->band = AXP_LOW;
    d->confidence = 0.7;
    axp__draft_say(a, d,
                   "computes %s GFLOP/s, %s %% of the %s that arithmetic%s%s "
                   "allows%s",
                   axp__digits3(reached, sizeof reached, r->flops / 1e9),
                   axp__fixed(part, sizeof part, 100 * r->share, 0),
                   axp__digits3(allowed, sizeof allowed, r->roof_flops / 1e9),
                   dtype ? " of " : "", dtype ? dtype : "",
                   axp__roof_on_threads(r, threads));
    axp__roof_say_starved(a, d, r);
    advise(a, d, op, r);
    axp__draft_metric(d, "gflops_per_sec", r->flops / 1e9);
    axp__draft_metric(d, "roof_share", r->share);
}

void axp__rule_compute_bound(struct axp__analysis *a)
{
    const double *t = a->threshold;
    double least = t[AXP__T_compute_bound_roof_percent] / 100;
    double wall =
        (double)a->v->duration_ns * t[AXP__T_compute_bound_wall_percent] / 100;
    for (size_t i = 0; i < a->v->n_ops; i++) {
        const axp_op *op = &a->v->ops[i];
        const struct axp__roof *r = axp__roof_of(a, op);
        if (r && r->level == AXP_LEVEL_NONE && r->flops > 0 &&
            r->ran_share >= least && !r->is_impossible &&
            (double)axp__wall_ns(a->wall, op) >= wall)
            add(a, op, r);
    }
}
