/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Oversubscription: more threads of the program want to run than there are
 * processors. docs/rules/oversubscription.md
 *
 * When that is, analyze_crowd.h says. What it costs is at most what is left above
 * the processor time spread evenly, and no more than threads stood ready meanwhile.
 * A replay knows no better: who is woken at a barrier and has no processor is to it
 * somebody who wakes late. */
#include <math.h>

#include "analyze/analyze.h"
#include "analyze/analyze_threaded.h"
#include "base/base_number.h"

#define MANY 2 /* times as many as at once: one after the other */

static bool is_of(const struct axp__cap_module *m, void *of)
{
    return axp__threaded_of(m->path) == of;
}

/* The variables that say how many threads its libraries start; "": none. */
static void name_variables(const axp_view *v, unsigned n_cpus, char *out,
                           size_t size)
{
    const struct axp__threaded *of;
    size_t n = 0;
    *out = 0;
    for (size_t i = 0; (of = axp__threaded_at(i)); i++) {
        char one[64];
        if (strstr(out, of->variable) ||
            !axp__view_modules(v, is_of, (void *)(uintptr_t)of))
            continue;
        /* the outermost gets the processors, what it calls one each */
        snprintf(one, sizeof one, "%s%s=%u", n ? " and " : "", of->variable,
                 n ? 1 : n_cpus);
        axp__append(out, size, strlen(out), one);
        n++;
    }
}

static void add(struct axp__analysis *a, axp_ns gain)
{
    const struct axp__crowd *c = &a->crowd;
    struct axp__draft *d =
        axp__draft_add(a, AXP__RULE_oversubscription, "(threads)");
    char ready[32], part[32], mean[32], variables[160];
    unsigned n_cpus = (unsigned)c->n_cpus;
    double wall = (double)a->v->duration_ns;
    if (!d) return;
    d->has_saving = d->is_bound = d->is_capped = true;
    d->band = AXP_HIGH;
    d->saving_ns = gain;
    d->confidence = 0.5;
    double at_once = c->wanted_ns / c->lasts_ns;
    axp__draft_say(
        a, d,
        "in %s %% of the run %s threads of the program want to run on %u "
        "processor%s; they stood ready for %s in all",
        axp__fixed(part, sizeof part, 100 * c->lasts_ns / wall, 0),
        axp__fixed(mean, sizeof mean, at_once, 1), n_cpus,
        n_cpus == 1 ? "" : "s",
        axp_format_ns(ready, sizeof ready, axp__whole(c->ready_ns)));
    name_variables(a->v, n_cpus, variables, sizeof variables);
    if (*variables)
        axp__draft_advise(a, d,
                          "run it with %s, so that %u work%s at once "
                          "instead of %s",
                          variables, n_cpus, n_cpus == 1 ? "s" : "", mean);
    else if ((double)c->n_threads > MANY * at_once)
        axp__draft_advise(a, d,
                          "let %u thread%s or process%s compute at a time, as "
                          "many as there are processors, instead of %s",
                          n_cpus, n_cpus == 1 ? "" : "s",
                          n_cpus == 1 ? "" : "es", mean);
    else
        axp__draft_advise(a, d,
                          "start %u thread%s to compute, as many as there are "
                          "processors, instead of %zu",
                          n_cpus, n_cpus == 1 ? "" : "s", c->n_threads);
    axp__draft_metric(d, "threads", (double)c->n_threads);
    axp__draft_metric(d, "processors", c->n_cpus);
    axp__draft_metric(d, "runnable", c->wanted_ns / c->lasts_ns);
    axp__draft_metric(d, "ready_ms", c->ready_ns / 1e6);
}

void axp__rule_oversubscription(struct axp__analysis *a)
{
    const axp_view *v = a->v;
    const double *t = a->threshold;
    const struct axp__crowd *c = &a->crowd;
    double wall = (double)v->duration_ns;
    if (!(c->n_cpus > 0) ||
        (double)c->n_samples < t[AXP__T_oversubscription_samples] ||
        100 * c->ready_ns < t[AXP__T_oversubscription_wall_percent] * wall ||
        100 * c->ready_ns <
            t[AXP__T_oversubscription_ready_percent] * c->wanted_ns)
        return;
    if ((double)c->n_threads <= c->n_cpus) return;
    double work = (double)v->ran_ns - (double)v->spun_ns;
    double most = fmin(fmax(0, wall - work / c->n_cpus), c->ready_ns);
    add(a, axp__whole(most));
}
