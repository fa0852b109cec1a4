/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* ImplausibleWork: an operation declares more work than the machine can do in the
 * time. docs/rules/implausible_work.md
 *
 * Nothing else that is said of the operation's work can be right, so it speaks
 * before all others. It has no time to regain. */
#include "analyze/analyze_roof_advice.h"
#include "analyze/analyze_wall.h"
#include "base/base_number.h"

#define CERTAIN 2.0 /* times a peak: no measurement is so wrong */

static bool is_doubtful(const struct axp__analysis *a,
                        const struct axp__roof *r)
{
    const struct axp__machine *m = a->v->machine;
    return r->threads && m && r->share < CERTAIN &&
           (m->is_partial || m->is_short || axp__machine_doubtful(m));
}

/* What may have been done wrong, by how much too much it is. */
static void advise(struct axp__analysis *a, struct axp__draft *d,
                   const axp_op *op, const struct axp__roof *r)
{
    char each[32], call[32], most[32];
    bool is_flops = r->flops > 0;
    double work = is_flops ? op->flops / (double)op->n_flops_calls
                           : op->bytes / (double)op->n_bytes_calls;
    double time = (double)op->avg_ns;
    const char *unit = is_flops ? "million" : "MB";
    axp__draft_advise(
        a, d,
        "correct the work that %s declares: a call of %s can do %s %s%s at "
        "most, and declares %s %s; count what one call does, not the whole "
        "batch or all threads, and a multiply-add as 2",
        axp__spoken(op->name, "it"),
        axp_format_ns(call, sizeof call, op->avg_ns),
        axp__digits3(most, sizeof most,
                     time * (is_flops ? r->roof_flops : r->roof_bytes) /
                         (1e15 * (r->at_once ? r->at_once : 1))),
        unit, is_flops ? " FLOPs" : "",
        axp__digits3(each, sizeof each, work / 1e6), unit);
}

static void add(struct axp__analysis *a, const axp_op *op,
                const struct axp__roof *r)
{
    char reached[32], allowed[32], times[32], threads[48];
    bool is_flops = r->flops > 0;
    const double *t = a->threshold;
    double wall = (double)a->v->duration_ns *
                  t[AXP__T_implausible_work_wall_percent] / 100;
    double roof = is_flops ? r->roof_flops : r->roof_bytes;
    struct axp__draft *d =
        axp__draft_add(a, AXP__RULE_implausible_work, op->name);
    if (!d) return;
    d->op = op;
    d->specificity = 9;
    d->is_bound = true; /* the band decides: there is nothing to regain */
    d->band = (double)axp__wall_ns(a->wall, op) >= wall ? AXP_MEDIUM : AXP_LOW;
    d->confidence = is_doubtful(a, r) ? 0.6 : 0.9;
    axp__draft_say(
        a, d, "declares %s %s, %s times the %s that %s%s%s can do: wrong%s",
        axp__digits3(reached, sizeof reached,
                     (is_flops ? r->flops : r->bytes) / 1e9),
        is_flops ? "GFLOP/s" : "GB/s",
        axp__digits3(times, sizeof times, r->share),
        axp__digits3(allowed, sizeof allowed, roof / 1e9),
        r->level ? "the bandwidth of " : "", axp__roof_bound(r),
        axp__roof_on_threads(r, threads),
        is_doubtful(a, r) ? ", unless the peaks were measured too low" : "");
    advise(a, d, op, r);
    axp__draft_metric(d, "roof_share", r->share);
    axp__draft_metric(d, is_flops ? "gflops_per_sec" : "gb_per_sec",
                      (is_flops ? r->flops : r->bytes) / 1e9);
}

void axp__rule_implausible_work(struct axp__analysis *a)
{
    double most = a->threshold[AXP__T_implausible_work_roof_percent] / 100;
    for (size_t i = 0; i < a->v->n_ops; i++) {
        const axp_op *op = &a->v->ops[i];
        const struct axp__roof *r = axp__roof_of(a, op);
        if (r && r->is_impossible && r->share > most) add(a, op, r);
    }
}
