/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* LowThroughput: declared work done slowly. docs/rules/low_throughput.md
 *
 * With the machine's peaks the roofline says what could be reached and what
 * binds it, and the difference is the saving. Without them an operation is slow
 * below a fixed rate, and its time is the bound. */
#include <math.h>

#include "analyze/analyze_above.h"
#include "analyze/analyze_roof_advice.h"
#include "analyze/analyze_wall.h"
#include "base/base_number.h"

#define MOVED 1.0 /* FLOPs a byte: below it no library computes it faster */
#define LEAST_SHARE 0.001 /* of the run: nobody changes anything for less */

static struct axp__draft *add(struct axp__analysis *a, const axp_op *op)
{
    double gflops = axp_op_gflops(op);
    struct axp__draft *d =
        axp__draft_add(a, AXP__RULE_low_throughput, op->name);
    if (!d) return NULL;
    d->op = op;
    d->specificity = 2;
    d->band = AXP_MEDIUM;
    d->is_capped = true;
    axp__draft_metric(d, "gflops_per_sec", gflops);
    axp__draft_metric(d, "total_gflops", op->flops / 1e9);
    return d;
}

/* ---- below the roof ------------------------------------------------------------ */

static void say_roof(struct axp__analysis *a, struct axp__draft *d,
                     const struct axp__roof *r)
{
    char reached[32], allowed[32], part[32], threads[48];
    axp__draft_say(
        a, d, "reaches %s GFLOP/s, %s %% of the %s that %s%s%s allows",
        axp__digits3(reached, sizeof reached, r->flops / 1e9),
        axp__fixed(part, sizeof part, 100 * r->share, r->share < 0.1 ? 1 : 0),
        axp__digits3(allowed, sizeof allowed, r->roof_flops / 1e9),
        r->level ? "the bandwidth of " : "", axp__roof_bound(r),
        axp__roof_on_threads(r, threads));
    axp__draft_metric(d, "roof_gflops", r->roof_flops / 1e9);
    axp__draft_metric(d, "roof_share", r->share);
}

static struct axp__draft *add_below_roof(struct axp__analysis *a,
                                         const axp_op *op,
                                         const struct axp__roof *r)
{
    struct axp__draft *d = add(a, op);
    if (!d) return NULL;
    d->fraction = axp__roof_room(a, r);
    d->confidence = 0.7;
    axp__roof_advise(a, d, op, r);
    say_roof(a, d, r);
    axp__roof_say_starved(a, d, r);
    return d;
}

/* ---- without peaks ------------------------------------------------------------- */

static void add_below_rate(struct axp__analysis *a, const axp_op *op)
{
    char rate[32], work[32], call[32], each[32];
    struct axp__draft *d = add(a, op);
    if (!d) return;
    d->fraction = 1;
    d->is_bound = true;
    d->confidence = 0.6;
    axp_format_ns(call, sizeof call, op->avg_ns);
    axp__digits3(each, sizeof each,
                 op->flops / (double)op->n_flops_calls / 1e6);
    if (op->n_bytes_calls && op->flops < MOVED * op->bytes)
        axp__draft_advise(a, d,
                          "it moves more bytes than it computes FLOPs, %s "
                          "million in a call of %s: fuse it with what comes "
                          "before or after, and pass over memory less often; "
                          "axprof machine tells what memory allows here",
                          each, call);
    else
        axp__draft_advise(a, d,
                          "a call of %s does %s million FLOPs: use an "
                          "optimised library (BLAS for products), vectorised "
                          "code or larger operands; axprof machine tells what "
                          "is possible here",
                          call, each);
    axp__draft_say(a, d, "reaches %s GFLOP/s, with %s GFLOP declared",
                   axp__digits3(rate, sizeof rate, axp_op_gflops(op)),
                   axp__digits3(work, sizeof work, op->flops / 1e9));
}

/* ---- all of them --------------------------------------------------------------- */

/* By the first n drafts. */
static bool is_said(const struct axp__analysis *a, size_t n, const axp_op *op)
{
    for (size_t i = 0; i < n; i++)
        if (a->drafts[i].rule == AXP__RULE_low_throughput &&
            a->drafts[i].name == op->name)
            return true;
    return false;
}

/* Work that a scope declared and that is done below it, in a region of OpenMP or
 * in a scope that declares none: that one has the time. Only what is a large part
 * of the run is looked at, which is few. */
static void look_below(struct axp__analysis *a, double part, double wall)
{
    for (size_t i = 0; i < a->v->n_ops; i++) {
        const axp_op *op = &a->v->ops[i];
        struct axp__above above;
        if (op->is_wait || op->n_flops_calls ||
            !axp__wall_reaches(a->wall, op, wall) ||
            !axp__above_find(a, op, &above) || above.n_more ||
            !(above.roof->roof_flops > 0) || above.roof->share >= part ||
            axp__wall_reaches(a->wall, above.op, wall) ||
            is_said(a, a->n_drafts, above.op))
            continue;
        struct axp__draft *d = add_below_roof(a, above.op, above.roof);
        if (d) d->op = op;
    }
}

void axp__rule_low_throughput(struct axp__analysis *a)
{
    double least = a->threshold[AXP__T_low_throughput_gflops];
    double part = a->threshold[AXP__T_low_throughput_roof_percent] / 100;
    double wall = (double)a->v->duration_ns *
                  a->threshold[AXP__T_low_throughput_wall_percent] / 100;
    look_below(a, part, wall);
    size_t n_below = a->n_drafts;
    for (size_t i = 0; i < a->v->n_ops; i++) {
        const axp_op *op = &a->v->ops[i];
        const struct axp__roof *r = axp__roof_of(a, op);
        double gflops = axp_op_gflops(op);
        if (!(op->flops > 0) || isnan(gflops) || is_said(a, n_below, op))
            continue;
        if (!axp__wall_reaches(a->wall, op,
                               LEAST_SHARE * (double)a->v->duration_ns))
            continue;
        if (r && r->roof_flops > 0) {
            if (r->ran_share < part &&
                (gflops < least || axp__wall_reaches(a->wall, op, wall)))
                add_below_roof(a, op, r);
        } else if (gflops < least) {
            add_below_rate(a, op);
        }
    }
}
