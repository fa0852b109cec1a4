/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* LatencyBound: an operation that keeps neither arithmetic nor bandwidth busy.
 * docs/rules/latency_bound.md
 *
 * Where it declares FLOPs LowThroughput speaks, and this is its evidence. By
 * itself it speaks of operations that declare bytes alone. */
#include <math.h>

#include "analyze/analyze_roof_advice.h"
#include "analyze/analyze_wall.h"
#include "base/base_number.h"

static void say(struct axp__analysis *a, struct axp__draft *d,
                const struct axp__roof *r)
{
    char computed[32], moved[32], reached[32], allowed[32], threads[48];
    double part = 100 * r->bytes / r->roof_bytes;
    axp__fixed(moved, sizeof moved, part, part < 10 ? 1 : 0);
    if (r->flops > 0) {
        part = 100 * r->flops / r->peak_flops;
        axp__draft_say(
            a, d, "bandwidth is busy to %s %%, arithmetic to %s %%%s", moved,
            axp__fixed(computed, sizeof computed, part, part < 10 ? 1 : 0),
            r->ran_share < AXP__ROOF_FAR ? ": neither binds it" : "");
        return;
    }
    axp__draft_say(a, d, "moves %s GB/s, %s %% of the %s that %s gives%s",
                   axp__digits3(reached, sizeof reached, r->bytes / 1e9), moved,
                   axp__digits3(allowed, sizeof allowed, r->roof_bytes / 1e9),
                   axp__roof_bound(r), axp__roof_on_threads(r, threads));
}

static void advise(struct axp__analysis *a, struct axp__draft *d,
                   const axp_op *op, const struct axp__roof *r)
{
    char moved[32], call[32], enough[32];
    double each = op->bytes / (double)op->n_bytes_calls;
    axp__draft_advise(
        a, d,
        "a call moves %s in %s, for which %s would do: let %s read in order "
        "what it now gathers, or several places at once that do not depend on "
        "each other, and use all of each cache line",
        axp_format_bytes(moved, sizeof moved, axp__whole(each)),
        axp_format_ns(call, sizeof call, op->avg_ns),
        axp_format_ns(enough, sizeof enough,
                      axp__whole((double)op->avg_ns * r->ran_share)),
        axp__spoken(op->name, "it"));
}

static void add(struct axp__analysis *a, const axp_op *op,
                const struct axp__roof *r)
{
    struct axp__draft *d = axp__draft_add(a, AXP__RULE_latency_bound, op->name);
    if (!d) return;
    d->op = op;
    d->specificity = 2;
    d->fraction = 1; /* by moving less; what gathers reaches no peak */
    d->is_bound = d->is_capped = true;
    d->band = AXP_MEDIUM;
    d->confidence = 0.6;
    say(a, d, r);
    advise(a, d, op, r);
    axp__draft_metric(d, "gb_per_sec", r->bytes / 1e9);
    axp__draft_metric(d, "roof_share", r->share);
}

void axp__rule_latency_bound(struct axp__analysis *a)
{
    const double *t = a->threshold;
    double most = t[AXP__T_latency_bound_roof_percent] / 100;
    double wall =
        (double)a->v->duration_ns * t[AXP__T_latency_bound_wall_percent] / 100;
    for (size_t i = 0; i < a->v->n_ops; i++) {
        const axp_op *op = &a->v->ops[i];
        const struct axp__roof *r = axp__roof_of(a, op);
        if (!r || !(r->bytes > 0) || !(r->roof_bytes > 0)) continue;
        if (r->flops > 0 && !(r->flops < most * r->ran * r->peak_flops))
            continue;
        if (r->bytes < most * r->ran * r->roof_bytes &&
            axp__wall_reaches(a->wall, op, wall))
            add(a, op, r);
    }
}
