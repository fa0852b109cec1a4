/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* MemoryBound: an operation that moves its data nearly as fast as the machine
 * can. docs/rules/memory_bound.md
 *
 * Tuning gains nothing here: fewer bytes do. Where LowThroughput speaks it is
 * evidence: of equal ones the first in rules.def speaks. */
#include <math.h>

#include "analyze/analyze_roof_advice.h"
#include "analyze/analyze_wall.h"
#include "base/base_number.h"

/* What all threads would bring, if that is more; 0: nothing. */
static double of_all_threads(const struct axp__analysis *a,
                             const struct axp__roof *r)
{
    const struct axp__machine *m = a->v->machine;
    for (size_t i = 0; m && r->threads && i < m->n_memory; i++) {
        const struct axp__machine_memory *is = &m->memory[i];
        double all = fmax(is->read_all.best, is->triad_all.best);
        if (is->level == r->level && r->threads < m->n_threads &&
            all > 1.2 * r->roof_bytes)
            return all;
    }
    return 0;
}

static void advise(struct axp__analysis *a, struct axp__draft *d,
                   const axp_op *op, const struct axp__roof *r)
{
    char moved[32], all[32], more[96] = "";
    double each = op->bytes / (double)op->n_bytes_calls;
    double others = of_all_threads(a, r);
    const char *smaller = op->dtype == AXP_F64 ? "; as f32 it has half of them"
                          : op->dtype == AXP_F32
                              ? "; as bf16 it has half of them"
                              : "";
    if (others > 0)
        snprintf(more, sizeof more,
                 "; the machine's other threads bring it to "
                 "%s GB/s",
                 axp__digits3(all, sizeof all, others / 1e9));
    axp__draft_advise(
        a, d,
        "only fewer bytes make it faster: a call moves %s, so fuse %s with what "
        "comes before or after%s%s%s",
        axp_format_bytes(moved, sizeof moved, axp__whole(each)),
        axp__spoken(op->name, "it"),
        r->flops > 0 ? ", or work in blocks that stay in a cache" : "", smaller,
        more);
}

static void add(struct axp__analysis *a, const axp_op *op,
                const struct axp__roof *r)
{
    char reached[32], allowed[32], part[32], ratio[32], ridge[32], threads[48];
    struct axp__draft *d = axp__draft_add(a, AXP__RULE_memory_bound, op->name);
    if (!d) return;
    d->op = op;
    d->specificity = 2;
    d->fraction = 1 - r->ran_share;
    d->is_bound = d->is_capped = true; /* near the roof: always Low */
    d->band = AXP_LOW;
    d->confidence = 0.7;
    axp__draft_say(
        a, d, "moves %s GB/s, %s %% of the %s that %s gives%s",
        axp__digits3(reached, sizeof reached, r->bytes / 1e9),
        axp__fixed(part, sizeof part, 100 * r->bytes / r->roof_bytes, 0),
        axp__digits3(allowed, sizeof allowed, r->roof_bytes / 1e9),
        axp__roof_bound(r), axp__roof_on_threads(r, threads));
    if (r->flops > 0 && r->peak_flops > 0)
        axp__draft_say(
            a, d,
            "computes %s FLOP a byte, where %s are needed to keep "
            "arithmetic busy",
            axp__digits3(ratio, sizeof ratio, r->flops / r->bytes),
            axp__digits3(ridge, sizeof ridge, r->peak_flops / r->roof_bytes));
    axp__roof_say_starved(a, d, r);
    advise(a, d, op, r);
    axp__draft_metric(d, "gb_per_sec", r->bytes / 1e9);
    axp__draft_metric(d, "roof_share", r->share);
}

void axp__rule_memory_bound(struct axp__analysis *a)
{
    const double *t = a->threshold;
    double least = t[AXP__T_memory_bound_roof_percent] / 100;
    double wall =
        (double)a->v->duration_ns * t[AXP__T_memory_bound_wall_percent] / 100;
    for (size_t i = 0; i < a->v->n_ops; i++) {
        const axp_op *op = &a->v->ops[i];
        const struct axp__roof *r = axp__roof_of(a, op);
        if (r && r->level != AXP_LEVEL_NONE && r->bytes > 0 &&
            r->ran_share >= least && !r->is_impossible &&
            (double)axp__wall_ns(a->wall, op) >= wall)
            add(a, op, r);
    }
}
