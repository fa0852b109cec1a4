/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What was live of the heap over time, over all processes: in each stretch of
 * the run the least and the greatest. Of several processes these are sums of
 * theirs: no less was live than the one, and no more than the other.
 *
 * Input    untrusted: what is past the end of the run is left out.
 */
#include <stdlib.h>

#include "model/model_view.h"

#define MOST_STRETCHES 4096u

struct levels {
    uint64_t start, length; /* ticks; of a stretch */
    size_t n;
    uint64_t *min, *max;         /* of all processes */
    uint64_t *own_min, *own_max; /* of the one that is looked at */
};

static size_t stretch_at(const struct levels *l, uint64_t ticks)
{
    uint64_t i = ticks > l->start ? (ticks - l->start) / l->length : 0;
    return i < l->n ? (size_t)i : l->n - 1;
}

/* The process had so much from one stretch to another. */
static void cover(struct levels *l, size_t first, size_t last, uint64_t min,
                  uint64_t max)
{
    for (size_t i = first; i <= last; i++) {
        if (min < l->own_min[i]) l->own_min[i] = min;
        if (max > l->own_max[i]) l->own_max[i] = max;
    }
}

/* n of one process, which ended then. */
static void add_process(struct levels *l, const struct axp__cap_level *of,
                        size_t n, uint64_t end_ticks)
{
    size_t at = stretch_at(l, of[0].at_ticks), end = stretch_at(l, end_ticks);
    uint64_t level = 0;
    for (size_t i = 0; i < l->n; i++) {
        l->own_min[i] = UINT64_MAX;
        l->own_max[i] = 0;
    }
    for (size_t i = 0; i < n; i++) {
        size_t from = stretch_at(l, of[i].at_ticks);
        size_t to = stretch_at(l, of[i].at_ticks + of[i].length_ticks - 1);
        cover(l, at, from, level, level);
        cover(l, from, to, of[i].min_bytes, of[i].max_bytes);
        level = of[i].last_bytes;
        at = to;
    }
    if (end < at) end = at;
    cover(l, at, end, level, level);
    if (end + 1 < l->n) cover(l, end, end, 0, level);
    for (size_t i = 0; i < l->n; i++) {
        if (l->own_min[i] != UINT64_MAX) l->min[i] += l->own_min[i];
        l->max[i] += l->own_max[i];
    }
}

static void add_all(struct levels *l, const struct axp__capture *c)
{
    for (size_t i = 0, k; i < c->n_levels; i = k) {
        uint32_t process = c->levels[i].process;
        uint64_t end = process < c->n_processes
                           ? c->processes[process].end_ticks
                           : c->end_ticks;
        for (k = i; k < c->n_levels && c->levels[k].process == process; k++)
            ;
        add_process(l, &c->levels[i], k - i, end);
    }
}

/* As long as the longest that was recorded, and not too many. */
static void set_length(struct levels *l, const struct axp__capture *c)
{
    uint64_t all =
        c->end_ticks > c->start_ticks ? c->end_ticks - c->start_ticks : 0;
    l->start = c->start_ticks;
    l->length = all / MOST_STRETCHES + 1;
    for (size_t i = 0; i < c->n_levels; i++)
        if (c->levels[i].length_ticks > l->length &&
            c->levels[i].length_ticks < all)
            l->length = c->levels[i].length_ticks;
    l->n = (size_t)(all / l->length) + 1;
}

/* What stays as it is is one. */
static void keep(axp_view *v, const struct levels *l)
{
    for (size_t i = 0; i < l->n; i++) {
        uint64_t end = l->start + (i + 1) * l->length;
        axp_heap_level now = {axp__view_time(v, l->start + i * l->length),
                              axp__view_time(v, end < v->capture->end_ticks
                                                    ? end
                                                    : v->capture->end_ticks),
                              l->min[i], l->max[i]};
        axp_heap_level *last =
            v->n_heap_levels ? &v->heap_levels[v->n_heap_levels - 1] : NULL;
        if (last && last->min_bytes == now.min_bytes &&
            last->max_bytes == now.max_bytes)
            last->to = now.to;
        else
            v->heap_levels[v->n_heap_levels++] = now;
    }
}

bool axp__view_make_levels(axp_view *v)
{
    const struct axp__capture *c = v->capture;
    struct levels l = {0};
    if (!c->n_levels) return true;
    set_length(&l, c);
    l.min = calloc(4 * l.n, sizeof *l.min);
    v->heap_levels = calloc(l.n, sizeof *v->heap_levels);
    bool ok = l.min && v->heap_levels;
    if (ok) {
        l.max = l.min + l.n;
        l.own_min = l.max + l.n;
        l.own_max = l.own_min + l.n;
        add_all(&l, c);
        keep(v, &l);
    }
    free(l.min);
    return ok;
}
