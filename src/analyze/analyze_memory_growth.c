/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* MemoryGrowth: what a place holds grows from step to step and does not stop.
 * docs/rules/memory_growth.md
 *
 * What fills up, as a cache does, grows less and less; what leaks grows late as
 * it did early. */
#include <string.h>

#include "analyze/analyze_place.h"
#include "base/base_number.h"

#define STEADY 0.5 /* of the early growth: less is filling up */

static bool is_steady(double early, double late)
{
    return late > 0 && early > 0 && late >= STEADY * early;
}

static bool grows(const axp_heap_place *p)
{
    return is_steady(p->growth_early, p->growth_late);
}

static double by_growth(const struct axp__heap_spot *p)
{
    return p->growth_late;
}

static void add(struct axp__analysis *a, const struct axp__heap_spot *p,
                double peak, const char *device)
{
    static const double bands[3] = {10, 25, 50};
    char step[32], now[32], part[32], more[32];
    double percent = 100 * p->current_bytes / peak;
    struct axp__draft *d = axp__place_draft(a, AXP__RULE_memory_growth, p);
    if (!d) return;
    d->device = device;
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

/* What this much is of a peak is said. */
static double least_of(const struct axp__analysis *a, double peak)
{
    return peak * a->threshold[AXP__T_memory_growth_peak_percent] / 100;
}

/* Of a block that malloc gave and the program named, the place speaks. */
static bool has_place(const axp_view *v, const axp_memory_name *m)
{
    if (m->device) return false;
    for (size_t i = 0; i < v->n_heap_places; i++)
        if (v->heap_places[i].name && !strcmp(v->heap_places[i].name, m->name))
            return true;
    return false;
}

/* What the program tracks and no allocator told of: an arena, a device. */
static void look_at_names(struct axp__analysis *a, const axp_memory_domain *of)
{
    double peak = (double)of->memory.peak_bytes;
    double n_steps = (double)a->v->steps.count;
    for (size_t i = 0; peak > 0 && i < a->v->n_memory_names; i++) {
        const axp_memory_name *m = &a->v->memory_names[i];
        struct axp__heap_spot p = {.name = m->name,
                                   .growth_late = m->growth_late,
                                   .current_bytes = (double)m->current_bytes};
        if (axp__view_by_device(m->device, of->device) ||
            !is_steady(m->growth_early, m->growth_late) ||
            m->growth_late * n_steps < least_of(a, peak) || has_place(a->v, m))
            continue;
        add(a, &p, peak, of->device);
    }
}

void axp__rule_memory_growth(struct axp__analysis *a)
{
    struct axp__heap_spot places[AXP__MOST_PLACES];
    double n_steps = (double)a->v->steps.count;
    double peak = (double)a->v->heap.peak_bytes;
    if (n_steps < a->threshold[AXP__T_memory_growth_steps]) return;
    size_t n = peak > 0 ? axp__places(a->v, grows, by_growth, places) : 0;
    for (size_t i = 0; i < n; i++)
        if (places[i].growth_late * n_steps >= least_of(a, peak))
            add(a, &places[i], peak, NULL);
    for (size_t i = 0; i < a->v->n_domains; i++)
        look_at_names(a, &a->v->domains[i]);
}
