/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* StepOutliers: some steps take twice as long as most. docs/rules/step_outliers.md
 *
 * It names what those steps do more of than the others. What they cost is what
 * they take above the median. Where steps grow slower all the time, StepDrift
 * speaks of those at the end. */
#include "analyze/analyze_steps.h"
#include "base/base_number.h"

#define NEARLY_ALL 0.8

static bool is_drift(const struct axp__analysis *a)
{
    const struct axp__step_look *s = a->steps;
    size_t late = 0, third = (s->n - s->settled) / 3;
    if ((double)s->late_ns <
        a->threshold[AXP__T_step_drift_ratio] * (double)s->early_ns)
        return false;
    for (size_t i = s->n - third; i < s->n; i++)
        late += s->at[i].end_ns - s->at[i].begin_ns >= 2 * s->median_ns;
    return (double)late >= NEARLY_ALL * (double)s->n_in[AXP__STEP_SLOW];
}

static axp_ns extra_ns(const struct axp__step_look *s)
{
    return s->ns_in[AXP__STEP_SLOW] - s->n_in[AXP__STEP_SLOW] * s->median_ns;
}

/* " (one in 50)": how they come again, if they do so evenly. */
static size_t period_of(const struct axp__step_look *s)
{
    size_t before = 0, period = 0;
    for (size_t i = s->settled; i < s->n; i++) {
        if (s->at[i].end_ns - s->at[i].begin_ns < 2 * s->median_ns) continue;
        size_t gap = before ? i + 1 - before : 0;
        if (before && period && gap != period) return 0;
        if (before) period = gap;
        before = i + 1;
    }
    return s->n_in[AXP__STEP_SLOW] > 2 ? period : 0;
}

/* 2nd, 3rd, 4th, 12th, 21st */
static const char *ending_of(size_t n)
{
    static const char *const endings[] = {"th", "st", "nd", "rd"};
    bool is_teen = n % 100 >= 11 && n % 100 <= 13;
    return endings[is_teen || n % 10 > 3 ? 0 : n % 10];
}

static void advise(struct axp__analysis *a, struct axp__draft *d,
                   const struct axp__step_cause *cause)
{
    const struct axp__step_look *s = a->steps;
    char more[32], often[64] = "";
    size_t period = period_of(s);
    if (period)
        snprintf(often, sizeof often, ", in every %zu%s step", period,
                 ending_of(period));
    axp_format_ns(more, sizeof more, axp__whole(cause->is_ns - cause->was_ns));
    if (cause->is_all)
        axp__draft_advise(a, d, AXP__STEP_ALL_ADVICE);
    else if (!cause->op)
        axp__draft_advise(a, d,
                          "mark what these steps do with AXP_SCOPE: %s more%s "
                          "is in no scope",
                          more, often);
    else
        axp__draft_advise(a, d,
                          "find out why %s takes %s more%s: do that part more "
                          "seldom, on another thread, or spread over the steps",
                          axp__spoken(d->name, "this"), more, often);
}

static void add(struct axp__analysis *a)
{
    const struct axp__step_look *s = a->steps;
    struct axp__step_cause cause =
        axp__step_cause_of(s, AXP__STEP_SLOW, AXP__STEP_USUAL);
    struct axp__draft *d =
        axp__draft_add(a, AXP__RULE_step_outliers, cause.name);
    char p99[32], median[32], each[32];
    size_t n = s->n_in[AXP__STEP_SLOW];
    axp_ns slow = s->ns_in[AXP__STEP_SLOW];
    if (!d) return;
    d->has_saving = true;
    d->saving_ns = extra_ns(s);
    d->confidence = 0.6;
    axp__draft_say(a, d,
                   "%zu of %zu steps take %s on average, where the median is "
                   "%s and p99 %s",
                   n, s->n - s->settled,
                   axp_format_ns(each, sizeof each, slow / n),
                   axp_format_ns(median, sizeof median, s->median_ns),
                   axp_format_ns(p99, sizeof p99, s->p99_ns));
    axp__step_cause_say(a, d, &cause, (cause.is_ns - cause.was_ns) * (double)n);
    advise(a, d, &cause);
    axp__draft_metric(d, "slow_steps", (double)n);
    axp__draft_metric(d, "p99_p50", (double)s->p99_ns / (double)s->median_ns);
}

void axp__rule_step_outliers(struct axp__analysis *a)
{
    const struct axp__step_look *s = a->steps;
    const double *t = a->threshold;
    if (!s || !s->median_ns || !s->n_in[AXP__STEP_SLOW] ||
        (double)(s->n - s->settled) < t[AXP__T_step_outliers_steps] ||
        (double)s->p99_ns <
            t[AXP__T_step_outliers_ratio] * (double)s->median_ns ||
        100 * (double)s->n_in[AXP__STEP_SLOW] >
            t[AXP__T_step_outliers_percent] * (double)(s->n - s->settled) ||
        is_drift(a) || axp__step_may_be_starved(a, extra_ns(s)))
        return;
    add(a);
}
