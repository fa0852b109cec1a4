/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* HighCallCount: an operation that is called very often.
 * docs/rules/high_call_count.md
 *
 * Short calls are the cause of whatever else is said about the operation, and
 * speak for it; where a call is long, its count is evidence for the others. */
#include "analyze/analyze_caller.h"
#include "base/base_number.h"

#define SMALL_WALL 0.01

static void add(struct axp__analysis *a, const axp_op *op)
{
    static const double steps[3] = {50000, 100000, 0};
    char time[32];
    double wall = (double)a->v->duration_ns, each = axp__call_ns(a->v, op);
    bool is_small = each * (double)op->calls < SMALL_WALL * wall;
    /* The calls themselves take next to nothing: the recorder does. */
    if (is_small && each < (double)op->avg_ns / 2) return;
    double is_short = a->threshold[AXP__T_high_call_count_short_call_us] * 1e3;
    struct axp__draft *d =
        axp__draft_add(a, AXP__RULE_high_call_count, op->name);
    if (!d) return;
    d->op = op;
    /* Before LowThroughput, which comes later in rules.def. */
    d->specificity = each < is_short ? 2 : 0;
    d->band = axp__band((double)op->calls, steps);
    d->is_capped = true; /* many calls may be worth next to nothing */
    d->fraction = 1;
    d->is_bound = true;
    d->confidence = 0.5;
    axp__caller_advise(a, d, op);
    axp__draft_say(a, d, "called %llu times, %s a call",
                   (unsigned long long)op->calls,
                   axp_format_ns(time, sizeof time, axp__whole(each)));
    axp__draft_metric(d, "call_count", (double)op->calls);
    axp__draft_metric(d, "avg_time_ns", each);
}

void axp__rule_high_call_count(struct axp__analysis *a)
{
    double least = a->threshold[AXP__T_high_call_count_calls];
    for (size_t i = 0; i < a->v->n_ops; i++)
        if ((double)a->v->ops[i].calls >= least && !a->v->ops[i].is_wait)
            add(a, &a->v->ops[i]);
}
