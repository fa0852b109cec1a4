/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Fragmentation: memory that was freed and that the allocator keeps from the
 * system. docs/rules/fragmentation.md
 *
 *   resident ──╱‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾   anonymous memory, as axprof run reads it
 *   live     ──╱‾‾‾╲___________   what the allocator has handed out
 *                   ↑ kept: no more than was live before and is no longer
 *
 * What else is anonymous (stacks, variables) is what was there at the reading
 * that had least of it, and never kept. It is kept for as long as one reading
 * after the other says so: what was resident before it was freed says nothing. */
#include <math.h>
#include <string.h>

#include "analyze/analyze_place.h"
#include "base/base_number.h"
#include "model/model_stream.h"

#define APART_NS UINT64_C(2000000000) /* twice what is between readings */

struct kept {
    double ratio, least_bytes, mapped_bytes; /* what to look for */
    size_t level;         /* of the view's, that is reached */
    double peak_bytes;    /* live so far, at most */
    double other_bytes;   /* anonymous, neither live nor kept */
    axp_ns last, long_ns; /* the last reading, and how long there was much */
    bool is_much;
    size_t n;
    double live_bytes, bytes; /* at the worst reading */
};

/* What was live in the stretch of time of a reading, at least and at most: of the
 * peak so far, too. Readings rise. */
static axp_heap_level live_at(const axp_view *v, struct kept *k, axp_ns at)
{
    axp_heap_level last = {.min_bytes = v->heap.current_bytes,
                           .max_bytes = v->heap.current_bytes};
    for (; k->level < v->n_heap_levels; k->level++) {
        const axp_heap_level *l = &v->heap_levels[k->level];
        k->peak_bytes = fmax(k->peak_bytes, (double)l->max_bytes);
        if (l->to > at) return *l;
    }
    return last;
}

static void on_reading(const axp_view *v, struct kept *k, axp_ns at,
                       double value)
{
    axp_heap_level l = live_at(v, k, at);
    double live = (double)l.max_bytes;
    double rest = fmax(0, value - live - k->mapped_bytes);
    double other = fmax(0, value - (double)l.min_bytes);
    k->other_bytes = k->n++ ? fmin(k->other_bytes, other) : other;
    double kept = fmin(rest - k->other_bytes, k->peak_bytes - live);
    bool was_much = k->is_much;
    k->is_much =
        kept >= k->least_bytes && live + kept >= k->ratio * fmax(live, 1);
    if (was_much && k->is_much) k->long_ns += at - k->last;
    k->last = at;
    if (!k->is_much || kept <= k->bytes) return;
    k->bytes = kept;
    k->live_bytes = live;
}

static bool look(const axp_view *v, struct kept *k)
{
    struct axp__stream *stream = NULL;
    const struct axp__record *r;
    if (axp__stream_open(v, AXP__STREAM_ONCE, &stream)) return false;
    while ((r = axp__stream_next(stream)))
        if (r->kind == AXP__R_COUNTER &&
            axp__view_kind(v, r->name) == AXP__KIND_OUTSIDE &&
            !strcmp(axp__view_name(v, r->name), "process.anon_bytes"))
            on_reading(v, k, r->time_ns, r->value);
    bool ok = !axp__stream_status(stream);
    axp__stream_close(stream);
    return ok;
}

/* Whether so much can have been kept for so long, by what was live alone: readings
 * need not be looked for then. */
static bool may_be(const axp_view *v, const struct kept *k, double least_ns)
{
    const axp_heap_level *levels = v->heap_levels;
    size_t n = v->n_heap_levels;
    axp_ns end = levels[0].from + v->duration_ns, until = 0;
    double peak = 0, ns = 0;
    if (end < levels[n - 1].to) end = levels[n - 1].to;
    for (size_t i = 0; i <= n; i++) { /* the last one: after all levels */
        double live =
            (double)(i < n ? levels[i].max_bytes : v->heap.current_bytes);
        axp_ns from = i < n ? levels[i].from : levels[n - 1].to;
        axp_ns to = i < n ? levels[i].to : end;
        peak = fmax(peak, live);
        if (peak - live < k->least_bytes) continue;
        if (from < until) from = until;
        until = end - to > APART_NS ? to + APART_NS : end;
        if (until > from) ns += (double)(until - from);
    }
    return ns >= least_ns;
}

static double by_freed(const struct axp__heap_spot *p)
{
    return fmax(0, p->at_peak_bytes - p->current_bytes);
}

static void add(struct axp__analysis *a, const struct kept *k)
{
    static const double bands[3] = {1.6, 2, 4};
    struct axp__heap_spot places[AXP__MOST_PLACES];
    double ratio = (k->live_bytes + k->bytes) / fmax(k->live_bytes, 1);
    char kept[32], live[32], part[32], lasted[32];
    if (!axp__places(a->v, axp__place_is_at_peak, by_freed, places)) return;
    struct axp__draft *d =
        axp__place_draft(a, AXP__RULE_fragmentation, &places[0]);
    if (!d) return;
    d->band = axp__band(ratio, bands);
    d->confidence = 0.6;
    axp_format_bytes(kept, sizeof kept, axp__whole(k->bytes));
    axp_format_bytes(live, sizeof live, axp__whole(k->live_bytes));
    axp_format_ns(lasted, sizeof lasted, k->long_ns);
    axp__draft_say(
        a, d,
        "%s that were freed are still resident beside %s that are in "
        "use, for %s at least; most of what was freed since the peak "
        "was allocated here",
        kept, live, lasted);
    axp__draft_advise(
        a, d,
        "free what %s allocates together, or take it from a pool of its own: "
        "what lives on between its blocks keeps %s from the system, %s times "
        "what is in use; malloc_trim gives back whole pages, and fewer arenas "
        "(MALLOC_ARENA_MAX) share what is free",
        axp__spoken(d->name, "this"), kept,
        axp__fixed(part, sizeof part, ratio - 1, 1));
    axp__draft_metric(d, "kept_bytes", k->bytes);
    axp__draft_metric(d, "live_bytes", k->live_bytes);
    axp__draft_metric(d, "reserved_ratio", ratio);
}

void axp__rule_fragmentation(struct axp__analysis *a)
{
    const double *t = a->threshold;
    const axp_view *v = a->v;
    struct kept k = {.ratio = t[AXP__T_fragmentation_ratio],
                     .least_bytes = t[AXP__T_fragmentation_bytes],
                     .mapped_bytes = (double)v->heap.mapped_peak_bytes};
    bool is_read = false;
    for (size_t i = 0; i < v->n_counters; i++)
        is_read |= v->counters[i].is_outside &&
                   !strcmp(v->counters[i].name, "process.anon_bytes");
    if (!is_read || !v->n_heap_levels ||
        (double)v->heap.peak_bytes < k.least_bytes) /* nor is more kept */
        return;
    double least_ns =
        t[AXP__T_fragmentation_run_percent] / 100 * (double)v->duration_ns;
    if (!may_be(v, &k, least_ns)) return;
    if (!look(v, &k)) a->has_failed = true;
    if (k.bytes > 0 && (double)k.long_ns >= least_ns) add(a, &k);
}
