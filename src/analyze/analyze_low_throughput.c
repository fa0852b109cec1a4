/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* LowThroughput: declared work done slowly. docs/rules/low_throughput.md
 *
 * With the machine's peaks the roofline says what could be reached, and the
 * difference is the saving. Without them an operation is slow below a fixed
 * rate, and its time is the bound. */
#include <math.h>

#include "analyze/analyze.h"
#include "analyze/analyze_wall.h"
#include "base/base_number.h"

/* LATER: the machine's measured peaks (src/machine) as defaults. */
double axp__roof_gflops(const struct axp__analysis *a, const axp_op *op)
{
    double peak = a->threshold[AXP__T_low_throughput_peak_gflops];
    double bandwidth = a->threshold[AXP__T_low_throughput_peak_gbps];
    if (op->device) return 0; /* the peaks are the host's */
    if (!op->n_flops_calls || op->flops <= 0) return 0;
    if (bandwidth <= 0 || !op->n_bytes_calls || op->bytes <= 0) return peak;
    double allowed = op->flops / op->bytes * bandwidth;
    return peak > 0 ? fmin(peak, allowed) : allowed;
}

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

static void add_below_roof(struct axp__analysis *a, const axp_op *op,
                           double roof)
{
    double gflops = axp_op_gflops(op);
    char reached[32], allowed[32];
    struct axp__draft *d = add(a, op);
    if (!d) return;
    d->fraction = fmax(0, 1 - gflops / roof);
    d->confidence = 0.7;
    d->suggestion = "it has room up to the roof: a library tuned for this "
                    "machine, vectorised and blocked code, larger operands";
    axp__draft_say(a, d,
                   "reaches %s GFLOP/s of the %s that the roofline allows",
                   axp__digits3(reached, sizeof reached, gflops),
                   axp__digits3(allowed, sizeof allowed, roof));
}

static void add_below_rate(struct axp__analysis *a, const axp_op *op)
{
    char rate[32], work[32];
    struct axp__draft *d = add(a, op);
    if (!d) return;
    d->fraction = 1;
    d->is_bound = true;
    d->confidence = 0.6;
    d->suggestion = "use an optimised library (BLAS) or another device, "
                    "larger operands, and fewer passes over memory";
    axp__draft_say(a, d, "reaches %s GFLOP/s, with %s GFLOP declared",
                   axp__digits3(rate, sizeof rate, axp_op_gflops(op)),
                   axp__digits3(work, sizeof work, op->flops / 1e9));
}

void axp__rule_low_throughput(struct axp__analysis *a)
{
    double least = a->threshold[AXP__T_low_throughput_gflops];
    double part = a->threshold[AXP__T_low_throughput_roof_percent] / 100;
    double wall = (double)a->v->duration_ns *
                  a->threshold[AXP__T_low_throughput_wall_percent] / 100;
    for (size_t i = 0; i < a->v->n_ops; i++) {
        const axp_op *op = &a->v->ops[i];
        double gflops = axp_op_gflops(op), roof = axp__roof_gflops(a, op);
        if (!(op->flops > 0) || isnan(gflops)) continue;
        if (roof > 0) {
            if (gflops < part * roof &&
                (gflops < least || (double)axp__wall_ns(a->wall, op) >= wall))
                add_below_roof(a, op, roof);
        } else if (gflops < least) {
            add_below_rate(a, op);
        }
    }
}
