/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* InputBound: steps wait for their data. docs/rules/input_bound.md
 *
 * An operation of category data that a run with steps would be shorter without:
 * by replay where threads are known to wait for each other, so that what a loader
 * does behind the steps is nothing, and of one that is too slow only what the
 * steps wait for. Read ahead, it can hide behind what is left of the run without
 * it, and no more of it than that is long. */
#include <math.h>

#include "analyze/analyze.h"
#include "analyze/analyze_wall.h"
#include "base/base_number.h"
#include "graph/graph_gain.h"

#define HIDDEN 0.8 /* of its time: who waits for less has a loader already */

static void advise(struct axp__analysis *a, struct axp__draft *d,
                   const char *each, const char *step, bool is_beside)
{
    if (is_beside)
        axp__draft_advise(a, d,
                          "it is loaded beside the steps and not in time: load "
                          "with one more thread, decode once and keep the "
                          "result, or read less than takes %s a step",
                          each);
    else
        axp__draft_advise(a, d,
                          "load the next batch on another thread while this "
                          "one is computed: %s of %s a step then has to be "
                          "hidden behind the rest of it",
                          each, step);
}

static void add(struct axp__analysis *a, const axp_op *op, double fraction,
                axp_ns gain)
{
    char part[32], step[32], each[32];
    bool is_beside =
        fraction >= 1 && (double)gain < HIDDEN * (double)op->self_ns;
    double n = (double)a->v->steps.count;
    double percent = 100 * (double)gain / (double)a->v->duration_ns;
    struct axp__draft *d = axp__draft_add(a, AXP__RULE_input_bound, op->name);
    if (!d) return;
    d->op = op;
    d->specificity = 7;
    d->fraction = fraction;
    d->confidence = 0.7;
    axp_format_ns(step, sizeof step, a->v->steps.avg_ns);
    axp_format_ns(each, sizeof each, axp__whole((double)op->self_ns / n));
    axp__draft_say(a, d,
                   "loads data for %s a step of %s, and %s %% of the run waits "
                   "for it",
                   each, step, axp__fixed(part, sizeof part, percent, 1));
    advise(a, d, each, step, is_beside);
    axp__draft_metric(d, "input_percentage", percent);
    axp__draft_metric(d, "step_input_ms", (double)op->self_ns / n / 1e6);
}

static void look_at(struct axp__analysis *a, const axp_op *op)
{
    double wall = (double)a->v->duration_ns;
    axp_ns all = axp__wall_ns(a->wall, op); /* regained if it took no time */
    double least = wall * a->threshold[AXP__T_input_bound_wall_percent] / 100;
    if (!all || (double)op->self_ns < least) return; /* no replay for it */
    if (!axp__graph_gain(a->v, op, 0, &all)) a->has_failed = true;
    double rest = fmax(0, wall - (double)all);
    double fraction = (double)all > rest ? rest / (double)all : 1;
    axp_ns gain = axp__whole((double)all * fraction);
    if ((double)gain >= least) add(a, op, fraction, gain);
}

void axp__rule_input_bound(struct axp__analysis *a)
{
    for (size_t i = 0; i < a->v->n_ops; i++) {
        const axp_op *op = &a->v->ops[i];
        if (op->category == AXP_CAT_DATA && !op->is_wait && !op->device)
            look_at(a, op);
    }
}
