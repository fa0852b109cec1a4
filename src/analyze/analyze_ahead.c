/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What could be done beside the rest of a run; see analyze_ahead.h. */
#include "analyze/analyze_ahead.h"

#include <math.h>

#include "analyze/analyze_ranks.h"
#include "analyze/analyze_wall.h"
#include "base/base_number.h"
#include "graph/graph_gain.h"

bool axp__ahead_find(struct axp__analysis *a, const axp_op *op, double part,
                     double least_ns, struct axp__ahead *out)
{
    if ((double)op->self_ns * part < least_ns) return false; /* no replay */
    double own = (double)axp__wall_ns(a->wall, op) * part;
    axp_ns all = axp__whole(own); /* regained if it took no time */
    if (!all) return false;
    if (!axp__graph_gain(a->v, op, 1 - part, &all)) a->has_failed = true;
    double rest = fmax(0, (double)a->v->duration_ns - (double)all);
    double hides = (double)all > rest ? rest / (double)all : 1;
    out->own_ns = axp__whole(own);
    out->fraction = part * hides;
    out->gain_ns = axp__whole((double)all * hides);
    return (double)out->gain_ns >= least_ns;
}

/* ---- operations of a category -------------------------------------------------------- */

static void add(struct axp__analysis *a, const struct axp__ahead_rule *rule,
                const axp_op *op, const struct axp__ahead *ahead)
{
    struct axp__draft *d = axp__draft_add(a, rule->rule, op->name);
    double percent = 100 * (double)ahead->gain_ns / (double)a->v->duration_ns;
    double hidden = 100 - 100 * (double)ahead->gain_ns / (double)ahead->own_ns;
    char time[32], each[32], part[32], behind[32];
    if (!d) return;
    d->op = op;
    d->specificity = 7;
    d->fraction = ahead->fraction;
    d->confidence = 0.7;
    axp_format_ns(time, sizeof time, op->self_ns);
    axp_format_ns(each, sizeof each, op->avg_ns);
    axp__draft_say(a, d,
                   "%s for %s in %llu call%s of %s; %s %% of the run waits for "
                   "it, and %s %% of it is hidden behind other work",
                   rule->verb, time, (unsigned long long)op->calls,
                   op->calls == 1 ? "" : "s", each,
                   axp__fixed(part, sizeof part, percent, 1),
                   axp__fixed(behind, sizeof behind, fmax(0, hidden), 0));
    axp__draft_advise(a, d, "do %s beside the computing, %s a call: %s",
                      axp__spoken(d->name, "it"), each, rule->advice);
    axp__draft_metric(d, rule->metric, percent);
    axp__draft_metric(d, "hidden_percentage", fmax(0, hidden));
}

void axp__ahead_look(struct axp__analysis *a,
                     const struct axp__ahead_rule *rule)
{
    double least =
        (double)a->v->duration_ns * a->threshold[rule->wall_percent] / 100;
    double shown = 1 - a->threshold[rule->hidden_percent] / 100;
    for (size_t i = 0; i < a->v->n_ops; i++) {
        const axp_op *op = &a->v->ops[i];
        struct axp__ahead ahead;
        if (op->category != rule->category || op->is_wait ||
            (double)op->self_ns < least)
            continue;
        double part =
            rule->category == AXP_CAT_COMM ? axp__ranks_part(a, op) : 1;
        if (!axp__ahead_find(a, op, part, least, &ahead)) continue;
        double most = fmin((double)ahead.own_ns,
                           (double)a->v->duration_ns - (double)ahead.own_ns);
        if ((double)ahead.gain_ns > shown * most) add(a, rule, op, &ahead);
    }
}
