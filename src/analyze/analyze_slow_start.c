/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* SlowStart: the first step takes much longer than the others.
 * docs/rules/slow_start.md
 *
 * What is before the first operation that comes again is setup, and no part of
 * it. What it costs is at most what the step takes above the median: something
 * has to be done for the first time. */
#include "analyze/analyze_steps.h"
#include "base/base_number.h"

#define VERY_SLOW 10.0 /* times the median */
#define ALIKE 1.5      /* times the mean of slow steps */

static void advise(struct axp__analysis *a, struct axp__draft *d,
                   const struct axp__step_cause *cause)
{
    char more[32];
    axp_format_ns(more, sizeof more, axp__whole(cause->is_ns - cause->was_ns));
    if (!cause->op)
        axp__draft_advise(a, d,
                          "mark what the first step does with AXP_SCOPE: %s "
                          "more than in others is in no scope",
                          more);
    else if (cause->was_ns < 1)
        axp__draft_advise(
            a, d,
            "%s is done in the first step alone, for %s: keep its "
            "result in a file between runs, or do it beside the "
            "loading of data; in the figures of short runs leave "
            "the first step out",
            axp__spoken(d->name, "this"), more);
    else
        axp__draft_advise(a, d,
                          "%s takes %s more the first time: allocate and touch "
                          "its memory, open its files and start its threads "
                          "before the loop, once; in the figures of short runs "
                          "leave the first step out",
                          axp__spoken(d->name, "this"), more);
}

static void add(struct axp__analysis *a, axp_ns first)
{
    const struct axp__step_look *s = a->steps;
    struct axp__step_cause cause =
        axp__step_cause_of(s, AXP__STEP_FIRST, AXP__STEP_USUAL);
    double ratio = (double)first / (double)s->median_ns;
    struct axp__draft *d = axp__draft_add(a, AXP__RULE_slow_start, cause.name);
    char took[32], median[32], times[32];
    if (!d) return;
    d->has_saving = d->is_bound = d->is_capped = true;
    d->band = ratio > VERY_SLOW ? AXP_HIGH : AXP_MEDIUM;
    d->saving_ns = first - s->median_ns;
    d->confidence = 0.6;
    axp__draft_say(a, d, "the first step takes %s, %s times the median of %s",
                   axp_format_ns(took, sizeof took, first),
                   axp__fixed(times, sizeof times, ratio, 1),
                   axp_format_ns(median, sizeof median, s->median_ns));
    axp__step_cause_say(a, d, &cause, cause.is_ns - cause.was_ns);
    advise(a, d, &cause);
    axp__draft_metric(d, "first_step_ms", (double)first / 1e6);
    axp__draft_metric(d, "first_p50", ratio);
}

/* What the first step does comes again, in steps that are as slow: these are
 * StepOutliers', and it is one of them. */
static bool comes_again(const struct axp__step_look *s, axp_ns first)
{
    double n = (double)s->n_in[AXP__STEP_SLOW];
    return n > 1 &&
           (double)first < ALIKE * (double)s->ns_in[AXP__STEP_SLOW] / n;
}

void axp__rule_slow_start(struct axp__analysis *a)
{
    const struct axp__step_look *s = a->steps;
    const double *t = a->threshold;
    if (!s || !s->has_first || !s->median_ns ||
        (double)s->n < t[AXP__T_slow_start_steps])
        return;
    axp_ns first = s->at[0].end_ns - s->at[0].begin_ns;
    double least =
        (double)a->v->duration_ns * t[AXP__T_slow_start_wall_percent] / 100;
    if ((double)first <= t[AXP__T_slow_start_ratio] * (double)s->median_ns ||
        (double)(first - s->median_ns) < least || comes_again(s, first))
        return;
    add(a, first);
}
