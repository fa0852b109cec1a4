/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* TemporaryAllocations: a place allocates very often what it frees at once.
 * docs/rules/temporary_allocations.md
 *
 * At once: within 1 ms, by the thread that allocated. It costs something where
 * there are very many of them, or where they are so large that the allocator
 * gives each back to the kernel, which zeroes it anew. What each step allocates
 * again is AllocationChurn's. */
#include "analyze/analyze_place.h"
#include "base/base_number.h"

/* From here on malloc maps a block by itself, by default. */
#define LARGE (128.0 * 1024)

static bool is_temporary(const axp_heap_place *p)
{
    double n = axp__place_temporary(p);
    return n > 0 && 2 * n >= (double)p->n_allocs;
}

static double by_temporary(const struct axp__heap_spot *p)
{
    return p->n_temporary;
}

static bool is_worth_it(const struct axp__analysis *a,
                        const struct axp__heap_spot *p)
{
    const double *t = a->threshold;
    double seconds = (double)a->v->duration_ns / 1e9;
    double all = (double)a->v->heap.n_allocs;
    double each = p->n_allocs > 0 ? p->allocated_bytes / p->n_allocs : 0;
    bool is_many =
        p->n_temporary >= t[AXP__T_temporary_allocations_per_second] * seconds;
    bool is_large =
        each >= LARGE &&
        p->n_temporary * each >=
            t[AXP__T_temporary_allocations_gb_per_second] * 1e9 * seconds;
    if (100 * p->n_temporary < all * t[AXP__T_temporary_allocations_percent] &&
        !is_large)
        return false;
    return seconds > 0 && (is_many || is_large) && !axp__spot_churns(a, p);
}

static void add(struct axp__analysis *a, const struct axp__heap_spot *p)
{
    char size[32], part[32], rate[32];
    double seconds = (double)a->v->duration_ns / 1e9;
    double percent = 100 * p->n_temporary / (double)a->v->heap.n_allocs;
    double each = p->allocated_bytes / p->n_allocs;
    struct axp__draft *d =
        axp__place_draft(a, AXP__RULE_temporary_allocations, p);
    if (!d) return;
    d->band = AXP_LOW;
    d->confidence = 0.6;
    axp_format_bytes(size, sizeof size, axp__whole(each));
    axp__draft_say(
        a, d,
        "frees %s of %llu blocks of %s within 1 ms, %s %% of all "
        "that the program allocates and %s a second",
        p->n_temporary >= p->n_allocs ? "all" : "most",
        (unsigned long long)p->n_allocs, size,
        axp__fixed(part, sizeof part, percent > 100 ? 100 : percent, 0),
        axp__digits3(rate, sizeof rate, p->n_temporary / seconds));
    if (each >= LARGE)
        axp__draft_advise(a, d,
                          "keep one block of %s for %s and use it again: each "
                          "new one of that size is zeroed by the kernel, page "
                          "by page, when it is first touched",
                          size, axp__spoken(p->name, "it"));
    else
        axp__draft_advise(a, d,
                          "take the %s of %s from the stack, or from a buffer "
                          "that its caller keeps from call to call",
                          size, axp__spoken(p->name, "it"));
    axp__draft_metric(d, "temporary_percentage", percent);
    axp__draft_metric(d, "allocs_per_second", p->n_temporary / seconds);
    axp__draft_metric(d, "avg_bytes", each);
}

void axp__rule_temporary_allocations(struct axp__analysis *a)
{
    struct axp__heap_spot places[AXP__MOST_PLACES];
    if (!a->v->heap.n_allocs || a->v->heap.sampled_bytes) return;
    size_t n = axp__places(a->v, is_temporary, by_temporary, places);
    for (size_t i = 0; i < n; i++)
        if (is_worth_it(a, &places[i])) add(a, &places[i]);
}
