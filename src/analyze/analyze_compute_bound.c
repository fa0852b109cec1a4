/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* ComputeBound: an operation that computes nearly as fast as the machine can.
 * docs/rules/compute_bound.md
 *
 * Tuning gains nothing here: another type or less arithmetic does. */
#include <math.h>

#include "analyze/analyze_near.h"
#include "analyze/analyze_roof_advice.h"
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

static void say(struct axp__analysis *a, struct axp__draft *d, const axp_op *op,
                const struct axp__roof *r)
{
    char reached[32], allowed[32], part[32], threads[48];
    const char *dtype = axp__machine_dtype_word(r->dtype);
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
}

void axp__rule_compute_bound(struct axp__analysis *a)
{
    axp__near_look(a, &(struct axp__near_rule){
                          .rule = AXP__RULE_compute_bound,
                          .is_memory = false,
                          .roof_percent = AXP__T_compute_bound_roof_percent,
                          .wall_percent = AXP__T_compute_bound_wall_percent,
                          .say = say});
}
