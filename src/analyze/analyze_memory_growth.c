/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* MemoryGrowth: what a place holds grows from step to step and does not stop.
 * docs/rules/memory_growth.md
 *
 * What fills up, as a cache does, grows less and less; what leaks grows late as
 * it did early. */
#include "analyze/analyze_place.h"
#include "base/base_number.h"

#define STEADY 0.5 /* of the early growth: less is filling up */

static bool grows(const axp_heap_place *p)
{
    return p->growth_late > 0 && p->growth_early > 0 &&
           p->growth_late >= STEADY * p->growth_early;
}

static double by_growth(const struct axp__heap_spot *p)
{
    return p->growth_late;
}

static void add(struct axp__analysis *a, const struct axp__heap_spot *p)
{
    static const double bands[3] = {10, 25, 50};
    char step[32], now[32], part[32], more[32];
    double percent = 100 * p->current_bytes / (double)a->v->heap.peak_bytes;
    struct axp__draft *d = axp__place_draft(a, AXP__RULE_memory_growth, p);
    if (!d) return;
    d->band = axp__band(percent, bands);
    d->confidence = 0.8;
    axp_format_bytes(step, sizeof step, axp__whole(p->growth_late));
    axp_format_bytes(now, sizeof now, axp__whole(p->current_bytes));
    axp_format_bytes(more, sizeof more, axp__whole(1000 * p->growth_late));
    axp__draft_say(a, d,
                   "grows by %s a step, late in the run as early; after %llu "
                   "steps it holds %s, %s %% of the peak",
                   step, (unsigned long long)a->v->steps.count, now,
                   axp__fixed(part, sizeof part, percent, 1));
    axp__draft_advise(a, d,
                      "free what a step allocates in %s, or keep only what "
                      "later steps need of it: 1000 more steps take another %s",
                      axp__spoken(p->name, "it"), more);
    axp__draft_metric(d, "bytes_per_step", p->growth_late);
    axp__draft_metric(d, "memory_bytes", p->current_bytes);
    axp__draft_metric(d, "memory_percentage", percent);
}

void axp__rule_memory_growth(struct axp__analysis *a)
{
    struct axp__heap_spot places[AXP__MOST_PLACES];
    double n_steps = (double)a->v->steps.count;
    double least = (double)a->v->heap.peak_bytes *
                   a->threshold[AXP__T_memory_growth_peak_percent] / 100;
    if (n_steps < a->threshold[AXP__T_memory_growth_steps] || least <= 0)
        return;
    size_t n = axp__places(a->v, grows, by_growth, places);
    for (size_t i = 0; i < n; i++)
        if (places[i].growth_late * n_steps >= least) add(a, &places[i]);
}
