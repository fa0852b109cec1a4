/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* PeakPressure: memory came near to what the program may have.
 * docs/rules/peak_pressure.md
 *
 * What it may have is the least of its control group, the limit of its address
 * space and the machine's memory. What it had is what was resident at most; of
 * the address space what its allocator and it itself had mapped. Pages of files
 * that the kernel holds for it do not count: they go when memory is wanted. */
#include <math.h>
#include <string.h>

#include "analyze/analyze_place.h"
#include "base/base_number.h"

struct pressure {
    const char *what; /* what sets the limit */
    double peak_bytes, limit_bytes;
    bool is_failed; /* it was reached */
};

static double share_of(const struct pressure *p)
{
    return p->limit_bytes > 0 ? p->peak_bytes / p->limit_bytes : 0;
}

static void consider(struct pressure *worst, struct pressure p)
{
    if (!(p.limit_bytes > 0) || !(p.peak_bytes > 0)) return;
    if (p.is_failed && p.peak_bytes < p.limit_bytes)
        p.peak_bytes = p.limit_bytes;
    if (share_of(&p) > share_of(worst)) *worst = p;
}

static struct pressure find(const axp_view *v)
{
    const axp_heap *h = &v->heap;
    const struct axp__cap_about *about = &v->capture->about;
    struct pressure worst = {0};
    double resident = axp__outside_at_most(v, "process.pss_bytes");
    double group = axp__outside_at_most(v, "cgroup.limit_bytes");
    if (resident <= 0) resident = axp__outside_at_most(v, "process.rss_bytes");
    if (group <= 0) group = (double)v->capture->heap.group_bytes;
    if (h->n_oom_kills && h->oom_limit_bytes)
        group = (double)h->oom_limit_bytes;
    if (h->n_oom_kills && resident <= 0) resident = group;
    consider(&worst, (struct pressure){"its control group allows", resident,
                                       group, h->n_oom_kills > 0});
    consider(&worst, (struct pressure){"the machine has", resident,
                                       (double)about->memory_bytes, false});
    if (axp__view_n_processes(v) <= 1)
        consider(&worst,
                 (struct pressure){
                     "its limits (ulimit -v) allow",
                     fmax((double)h->peak_bytes, (double)h->mapped_peak_bytes),
                     h->failed_limit_bytes ? (double)h->failed_limit_bytes
                                           : (double)about->address_limit_bytes,
                     h->n_failed && h->failed_limit_bytes &&
                         !axp__heap_was_asked_too_much(v)});
    return worst;
}

static double by_peak(const struct axp__heap_spot *p)
{
    return p->at_peak_bytes;
}

/* Named after who holds most of it. */
static struct axp__draft *name_it(struct axp__analysis *a, double *held)
{
    struct axp__heap_spot places[AXP__MOST_PLACES];
    const axp_view *v = a->v;
    if (axp__places(v, axp__place_is_at_peak, by_peak, places)) {
        *held = places[0].at_peak_bytes;
        return axp__place_draft(a, AXP__RULE_peak_pressure, &places[0]);
    }
    for (size_t i = 0; i < v->n_memory_names; i++) {
        if (v->memory_names[i].device) continue;
        *held = (double)v->memory_names[i].at_peak_bytes;
        return axp__draft_add(a, AXP__RULE_peak_pressure,
                              v->memory_names[i].name);
    }
    *held = 0;
    return axp__draft_add(a, AXP__RULE_peak_pressure, "memory");
}

void axp__rule_peak_pressure(struct axp__analysis *a)
{
    static const double bands[3] = {90, 94, 97};
    char peak[32], limit[32], part[32], most[32], left[32];
    struct pressure p = find(a->v);
    double percent = 100 * share_of(&p), held;
    if (!(percent >= a->threshold[AXP__T_peak_pressure_percent])) return;
    struct axp__draft *d = name_it(a, &held);
    if (!d) return;
    d->band = axp__band(percent, bands);
    d->confidence = 0.8;
    axp_format_bytes(most, sizeof most, axp__whole(held));
    axp_format_bytes(limit, sizeof limit, axp__whole(p.limit_bytes));
    axp__draft_say(
        a, d, "memory %s %s at its peak, %s %% of the %s that %s",
        p.is_failed ? "ran out at" : "is",
        axp_format_bytes(peak, sizeof peak, axp__whole(p.peak_bytes)),
        axp__fixed(part, sizeof part, percent, 1), limit, p.what);
    if (held > 0) axp__draft_say(a, d, "this holds %s of it then", most);
    axp_format_bytes(left, sizeof left,
                     axp__whole(p.peak_bytes - 0.85 * p.limit_bytes));
    axp__draft_advise(a, d,
                      "have %s less at once%s%s%s (smaller batches, a smaller "
                      "type, buffers used again), or raise the limit of %s: a "
                      "little more ends the program",
                      left, held > 0 ? ", first of what " : "",
                      held > 0 ? axp__spoken(d->name, "this place") : "",
                      held > 0 ? " holds" : "", limit);
    axp__draft_metric(d, "memory_percentage", percent);
    axp__draft_metric(d, "memory_bytes", p.peak_bytes);
    axp__draft_metric(d, "limit_bytes", p.limit_bytes);
}
