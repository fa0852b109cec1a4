/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Steps and counters: merged over the threads that marked them. */
#include <stdlib.h>
#include <string.h>

#include "model/model_view.h"

#define LEAST_READINGS 3u /* of which it may be said that they only rise */

struct axp__weighted *axp__view_step_times(const axp_view *v, size_t *count)
{
    const struct axp__capture *c = v->capture;
    size_t n_pages = 0, n = 0;
    for (size_t i = 0; i < c->n_lanes; i++)
        for (uint32_t k = 0; k < c->lanes[i].n_hists; k++)
            n_pages += c->lanes[i].hists[k].op == UINT32_MAX;
    struct axp__weighted *w =
        malloc((n_pages + 1) * AXP__HIST_BUCKETS * sizeof *w);
    for (size_t i = 0; w && i < c->n_lanes; i++) {
        const struct axp__cap_lane *lane = &c->lanes[i];
        for (uint32_t k = 0; lane->steps && k < lane->n_hists; k++)
            if (lane->hists[k].op == UINT32_MAX)
                n += axp__view_add_page(v, lane, k, w + n);
    }
    if (n) qsort(w, n, sizeof *w, axp__view_by_weight_value);
    *count = n;
    return w;
}

static bool add_steps(axp_view *v)
{
    const struct axp__capture *c = v->capture;
    uint64_t total = 0, low = UINT64_MAX, high = 0;
    size_t n = 0;
    axp_step_stats *s = &v->steps;
    struct axp__weighted *w = axp__view_step_times(v, &n);
    if (!w) return false;
    for (size_t i = 0; i < c->n_lanes; i++) {
        const struct axp__cap_lane *lane = &c->lanes[i];
        if (!lane->steps || !lane->steps->stats.loose_calls) continue;
        const struct axp__op *stats = &lane->steps->stats;
        s->count += stats->loose_calls;
        total += stats->loose_ticks;
        if (stats->min_ticks < low) low = stats->min_ticks;
        if (stats->max_ticks > high) high = stats->max_ticks;
    }
    if (s->count) {
        s->min_ns = axp__view_ns(v, low);
        s->max_ns = axp__view_ns(v, high);
        s->avg_ns = axp__view_ns(v, total) / s->count;
        axp_ns *out[3] = {&s->p50_ns, &s->p95_ns, &s->p99_ns};
        const double q[3] = {0.5, 0.95, 0.99};
        for (int i = 0; i < 3; i++) {
            axp_ns p = axp__view_percentile(w, n, q[i]);
            *out[i] = p < s->min_ns ? s->min_ns : p > s->max_ns ? s->max_ns : p;
        }
    }
    free(w);
    return true;
}

/* The last value of a thread's counter stands as long as the thread. */
static uint64_t tail_of(const axp_view *v, const struct axp__cap_lane *lane,
                        axp_ns last)
{
    if (lane->row < 0) return 0;
    axp_ns end = v->lives[lane->row].end;
    return end > last ? end - last : 0;
}

static void add_counter(axp_view *v, const struct axp__cap_lane *lane,
                        const struct axp__cap_counter *from)
{
    const char *name = axp__view_name(v, from->name);
    axp_ns at = axp__view_time(v, from->last_ticks);
    struct axp__view_counter *k = v->counters;
    while (k < v->counters + v->n_counters && k->name != name)
        k++;
    if (k == v->counters + v->n_counters) {
        v->n_counters++;
        *k = (struct axp__view_counter){
            .name = name,
            .last = from->last,
            .min = from->min,
            .max = from->max,
            .last_at = at,
            .first_at = at,
            .is_outside = axp__view_kind(v, from->name) == AXP__KIND_OUTSIDE};
    }
    if (from->min < k->min) k->min = from->min;
    if (from->max > k->max) k->max = from->max;
    if (at >= k->last_at) {
        k->last = from->last;
        k->last_at = at;
    }
    double tail = (double)tail_of(v, lane, at);
    double ns = (double)axp__view_ns(v, from->held_ticks);
    double mean = from->held_ticks ? from->area / (double)from->held_ticks : 0;
    axp_ns first = at > (axp_ns)ns ? at - (axp_ns)ns : 0;
    if (first < k->first_at) k->first_at = first;
    k->n_counting += from->n_counting;
    k->n += from->n;
    k->sum += from->sum;
    k->weighted += mean * ns + from->last * tail;
    k->weight += ns + tail;
}

/* What only counts up (tokens seen, samples done) says how fast it does: from the
 * first reading to the last, for what it was before the first is not known. By
 * its values and not by its name. */
static void set_rate(const axp_view *v, struct axp__view_counter *k)
{
    axp_ns first = k->first_at > v->begin_ns ? k->first_at : v->begin_ns;
    if (k->is_outside || k->n < LEAST_READINGS || k->n_counting != k->n ||
        k->last != k->max || !(k->last > k->min) || k->last_at <= first)
        return;
    k->rate = (k->last - k->min) / ((double)(k->last_at - first) / 1e9);
}

static double outside_value(const axp_view *v, const char *name)
{
    for (size_t i = 0; i < v->n_counters; i++)
        if (v->counters[i].is_outside && !strcmp(v->counters[i].name, name))
            return v->counters[i].last;
    return 0;
}

/* As who ran it saw it. */
static void set_oom_kills(axp_view *v)
{
    double n = outside_value(v, "cgroup.oom_kills");
    double limit = outside_value(v, "cgroup.limit_bytes");
    if (!(n >= 1 && n < 1e9)) return;
    v->heap.n_oom_kills = (uint64_t)n;
    v->heap.oom_limit_bytes = limit > 0 && limit < 9e18
                                  ? (uint64_t)limit
                                  : v->capture->heap.group_bytes;
}

bool axp__view_make_rest(axp_view *v)
{
    const struct axp__capture *c = v->capture;
    size_t n = 0;
    for (size_t i = 0; i < c->n_lanes; i++)
        n += c->lanes[i].n_counters;
    v->counters = calloc(n + 1, sizeof *v->counters);
    if (!v->counters || !add_steps(v)) return false;
    for (size_t i = 0; i < c->n_lanes; i++)
        for (uint32_t k = 0; k < c->lanes[i].n_counters; k++)
            if (c->lanes[i].counters[k].n &&
                axp__view_kind(v, c->lanes[i].counters[k].name) !=
                    AXP__KIND_COST)
                add_counter(v, &c->lanes[i], &c->lanes[i].counters[k]);
    for (size_t i = 0; i < v->n_counters; i++) {
        struct axp__view_counter *k = &v->counters[i];
        k->mean =
            k->weight > 0 ? k->weighted / k->weight : k->sum / (double)k->n;
        if (k->mean < k->min) k->mean = k->min; /* rounding */
        if (k->mean > k->max) k->mean = k->max;
        set_rate(v, k);
    }
    set_oom_kills(v);
    return true;
}
