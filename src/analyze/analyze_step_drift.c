/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* StepDrift: steps grow slower as the run goes on. docs/rules/step_drift.md
 *
 * The medians of the last and of the first third are compared, so that single
 * slow steps are none of it. It names what grew. What it costs is what the steps
 * take above what they took at the beginning. */
#include <math.h>

#include "analyze/analyze_steps.h"
#include "base/base_number.h"

static axp_ns cost(const struct axp__step_look *s)
{
    axp_ns sum = 0, least = (s->n - s->settled) * s->start_ns;
    for (size_t i = s->settled; i < s->n; i++) {
        axp_ns ns = s->at[i].end_ns - s->at[i].begin_ns;
        axp_ns most = 2 * s->late_ns; /* slower ones are outliers */
        sum += ns < most ? ns : most;
    }
    return sum > least ? sum - least : 0;
}

/* The operation's part of that: as much as of what a step has grown by. */
static double part_of(const struct axp__step_look *s,
                      const struct axp__step_cause *cause, axp_ns ns)
{
    double all = (double)(s->late_ns - s->early_ns);
    return (double)ns * fmin(1, (cause->is_ns - cause->was_ns) / all);
}

static void add(struct axp__analysis *a)
{
    const struct axp__step_look *s = a->steps;
    struct axp__step_cause cause =
        axp__step_cause_of(s, AXP__STEP_LATE, AXP__STEP_EARLY);
    struct axp__draft *d = axp__draft_add(a, AXP__RULE_step_drift, cause.name);
    double ratio = (double)s->late_ns / (double)s->early_ns;
    char early[32], late[32], more[32], part[32];
    if (!d) return;
    d->has_saving = true;
    d->saving_ns = cost(s);
    d->confidence = 0.6;
    axp__draft_say(
        a, d,
        "a step takes %s in the first third of the run and %s in the "
        "last, %s %% more",
        axp_format_ns(early, sizeof early, s->early_ns),
        axp_format_ns(late, sizeof late, s->late_ns),
        axp__fixed(part, sizeof part, 100 * ratio - 100, 0));
    axp__step_cause_say(a, d, &cause, part_of(s, &cause, d->saving_ns));
    axp_format_ns(more, sizeof more, axp__whole(cause.is_ns - cause.was_ns));
    if (cause.op)
        axp__draft_advise(
            a, d,
            "look for what %s walks, keeps or appends to in every "
            "step: it has grown by %s a step over the run, and a "
            "longer run grows further",
            axp__spoken(d->name, "this"), more);
    else
        axp__draft_advise(a, d,
                          "mark what the steps do with AXP_SCOPE: %s a step, "
                          "which has grown over the run, is in no scope",
                          more);
    axp__draft_metric(d, "drift", ratio);
}

void axp__rule_step_drift(struct axp__analysis *a)
{
    const struct axp__step_look *s = a->steps;
    const double *t = a->threshold;
    if (!s || !s->early_ns || s->late_ns <= s->early_ns ||
        (double)(s->n - s->settled) < t[AXP__T_step_drift_steps] ||
        (double)s->late_ns < t[AXP__T_step_drift_ratio] * (double)s->early_ns)
        return;
    add(a);
}
