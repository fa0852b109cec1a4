/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* AllocationChurn: a place allocates anew in each step what it freed in the step
 * before. docs/rules/allocation_churn.md
 *
 * Fresh memory is zeroed by the kernel page by page where it is first touched,
 * which takes longer than most uses of it. Small and few blocks cost nothing: so
 * it is about much memory, or very many blocks. */
#include "analyze/analyze_place.h"
#include "base/base_number.h"

static bool is_steady(const axp_heap_place *p)
{
    return p->step_allocs > 0;
}

static double by_bytes(const struct axp__heap_spot *p)
{
    return p->step_bytes;
}

static void add(struct axp__analysis *a, const struct axp__heap_spot *p)
{
    static const double bands[3] = {50, 0, 0};
    char step[32], blocks[32], all[32];
    double percent = 100 * p->step_bytes / (double)a->v->heap.peak_bytes;
    double n_steps = (double)a->v->steps.count;
    struct axp__draft *d = axp__place_draft(a, AXP__RULE_allocation_churn, p);
    if (!d) return;
    d->band = axp__band(percent, bands);
    d->confidence = 0.6;
    axp_format_bytes(step, sizeof step, axp__whole(p->step_bytes));
    axp_format_bytes(all, sizeof all, axp__whole(p->step_bytes * n_steps));
    axp__fixed(blocks, sizeof blocks, p->step_allocs, 1);
    axp__draft_say(a, d,
                   "allocates %s in %s blocks in every step and frees them "
                   "again, %s in all",
                   step, blocks, all);
    axp__draft_advise(a, d,
                      "allocate the %s of %s once before the steps and use "
                      "them again",
                      step, axp__spoken(p->name, "it"));
    axp__draft_metric(d, "bytes_per_step", p->step_bytes);
    axp__draft_metric(d, "allocs_per_step", p->step_allocs);
}

void axp__rule_allocation_churn(struct axp__analysis *a)
{
    struct axp__heap_spot places[AXP__MOST_PLACES];
    size_t n = axp__places(a->v, is_steady, by_bytes, places);
    for (size_t i = 0; i < n; i++)
        if (axp__spot_churns(a, &places[i])) add(a, &places[i]);
}
