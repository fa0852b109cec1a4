/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* StepDrift: steps grow slower as the run goes on. docs/rules/step_drift.md
 *
 * The medians of the last and of the first third are compared, so that single
 * slow steps are none of it; and the ranks of all in them, so that chance is none,
 * which has it that one median of a few is greater than another. It names what
 * grew. What it costs is what the steps take above what they took at the beginning.
 */
#include <math.h>
#include <stdlib.h>

#include "analyze/analyze_steps.h"
#include "base/base_number.h"
#include "base/base_order.h"

#define CERTAIN                                                                \
    2.6 /* deviations: once in 200 by chance; 2 x 6 steps have 2.9 */

/* In ascending order. */
static void take_lengths(const struct axp__step_look *s, size_t from, size_t n,
                         axp_ns *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = s->at[from + i].end_ns - s->at[from + i].begin_ns;
    qsort(out, n, sizeof *out, axp__by_u64);
}

/* Of all pairs of an early and a late step those in which the late one is longer,
 * and half of those that are alike. */
static double longer_pairs(const axp_ns *early, const axp_ns *late, size_t n)
{
    double pairs = 0;
    size_t below = 0, not_above = 0;
    for (size_t i = 0; i < n; i++) {
        while (below < n && early[below] < late[i])
            below++;
        while (not_above < n && early[not_above] <= late[i])
            not_above++;
        pairs += (double)(below + not_above) / 2;
    }
    return pairs;
}

/* Mann and Whitney's test: the deviation of these pairs from half of all. */
static bool is_certain(struct axp__analysis *a)
{
    const struct axp__step_look *s = a->steps;
    size_t n = (s->n - s->settled) / 3;
    axp_ns *room = malloc(2 * n * sizeof *room);
    if (!room) a->has_failed = true;
    if (!room) return false;
    take_lengths(s, s->settled, n, room);
    take_lengths(s, s->n - n, n, room + n);
    double third = (double)n, more = longer_pairs(room, room + n, n);
    free(room);
    double spread = third * sqrt((2 * third + 1) / 12);
    return more - third * third / 2 >= CERTAIN * spread;
}

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
    if (cause.is_all)
        axp__draft_advise(a, d, AXP__STEP_ALL_ADVICE);
    else if (cause.op)
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
    if (!axp__step_may_be_starved(a, cost(s)) && is_certain(a)) add(a);
}
