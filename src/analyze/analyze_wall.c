/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Own time to wall time; see analyze_wall.h. */
#include "analyze/analyze_wall.h"

#include <math.h>
#include <stdlib.h>

struct pair { /* an operation on a lane */
    const char *name;
    uint32_t lane;
    double self;   /* in the lane's unit */
    double merged; /* ticks that merged threads lived that ran it */
};

struct life {
    double begin, end; /* ns */
};

struct axp__wall {
    const axp_view *v;
    struct life all;
    struct life *lanes;
    double merged[AXP__WALL_SLICES]; /* covered by threads without a lane */
    struct pair *pairs;              /* by name, then lane */
    size_t n_pairs;
};

static struct life life_of(const axp_view *v, const struct axp__cap_lane *lane)
{
    const struct axp__capture *c = v->capture;
    const struct axp__cap_row *row = &c->rows[lane->row];
    if (lane->is_track)
        return (struct life){(double)row->first, (double)row->last};
    uint64_t last = lane->n_frames ? c->end_ticks : row->last;
    return (struct life){(double)axp__view_time(v, row->first),
                         (double)axp__view_time(v, last)};
}

/* part[i] becomes at least `share` of what the life covers of slice i. */
static void cover(const struct axp__wall *w, struct life l, double share,
                  double part[AXP__WALL_SLICES])
{
    double slice = (w->all.end - w->all.begin) / AXP__WALL_SLICES;
    if (slice <= 0 || l.end <= l.begin) return;
    int from = (int)((l.begin - w->all.begin) / slice);
    int to = (int)ceil((l.end - w->all.begin) / slice);
    if (from < 0) from = 0;
    if (to > AXP__WALL_SLICES) to = AXP__WALL_SLICES;
    for (int i = from; i < to; i++) {
        double begin = w->all.begin + slice * i;
        double low = l.begin > begin ? l.begin : begin;
        double high = l.end < begin + slice ? l.end : begin + slice;
        double p = share * (high - low) / slice;
        if (p > part[i]) part[i] = p;
    }
}

static void set_lives(struct axp__wall *w, bool *has_lane)
{
    const axp_view *v = w->v;
    const struct axp__capture *c = v->capture;
    w->all = (struct life){INFINITY, 0};
    for (size_t i = 0; i < c->n_lanes; i++) {
        if (c->lanes[i].row < 0) continue;
        has_lane[c->lanes[i].row] = true;
        w->lanes[i] = life_of(v, &c->lanes[i]);
    }
    for (size_t i = 0; i < v->n_threads; i++) {
        w->all.begin = fmin(w->all.begin, (double)v->threads[i].begin);
        w->all.end = fmax(w->all.end, (double)v->threads[i].end);
    }
    for (size_t i = 0; i < v->n_tracks; i++) {
        w->all.begin = fmin(w->all.begin, (double)v->tracks[i].begin);
        w->all.end = fmax(w->all.end, (double)v->tracks[i].end);
    }
    for (size_t i = 0; i < c->n_rows; i++) {
        const struct axp__cap_row *row = &c->rows[i];
        if (has_lane[i]) continue;
        cover(w,
              (struct life){(double)axp__view_time(v, row->first),
                            (double)axp__view_time(v, row->last)},
              1, w->merged);
    }
}

/* ---- which operation ran where ------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    if (x->name != y->name)
        return (uintptr_t)x->name > (uintptr_t)y->name ? 1 : -1;
    return (x->lane > y->lane) - (x->lane < y->lane);
}

/* An op whose name is the very same string; equal texts have one id. */
static const struct pair *first_of(const struct axp__wall *w, const char *name)
{
    size_t low = 0, high = w->n_pairs;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if ((uintptr_t)w->pairs[mid].name < (uintptr_t)name)
            low = mid + 1;
        else
            high = mid;
    }
    return w->pairs + low;
}

static bool add_pairs(struct axp__wall *w)
{
    const struct axp__capture *c = w->v->capture;
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < c->n_lanes; i++)
        n += (size_t)c->lanes[i].n_nodes + c->lanes[i].n_frames +
             c->lanes[i].n_ops;
    w->pairs = malloc((n + 1) * sizeof *w->pairs);
    if (!w->pairs) return false;
    n = 0;
    for (size_t i = 0; i < c->n_lanes; i++) {
        const struct axp__cap_lane *lane = &c->lanes[i];
        for (uint32_t k = 1; k < lane->n_nodes; k++)
            w->pairs[n++] = (struct pair){
                axp__view_name(w->v, lane->nodes[k].name), (uint32_t)i,
                (double)lane->nodes[k].self_ticks, 0};
        for (uint32_t k = 0; k < lane->n_frames; k++) {
            int32_t node = lane->frames[k].node;
            if (node <= 0) continue;
            w->pairs[n++] = (struct pair){
                axp__view_name(w->v, lane->nodes[node].name), (uint32_t)i,
                (double)axp__frame_self(w->v, lane, k), 0};
        }
        for (uint32_t k = 0; lane->row < 0 && k < lane->n_ops; k++)
            w->pairs[n++] = (struct pair){
                axp__view_name(w->v, lane->ops[k].name), (uint32_t)i, 0,
                (double)lane->ops[k].lifetime_ticks};
    }
    qsort(w->pairs, n, sizeof *w->pairs, by_name);
    for (size_t i = 0; i < n; i++) {
        struct pair *last = kept ? &w->pairs[kept - 1] : NULL;
        if (last && !by_name(last, &w->pairs[i])) {
            last->self += w->pairs[i].self;
            last->merged += w->pairs[i].merged;
        } else {
            w->pairs[kept++] = w->pairs[i];
        }
    }
    w->n_pairs = kept;
    return true;
}

struct axp__wall *axp__wall_create(const axp_view *v)
{
    const struct axp__capture *c = v->capture;
    struct axp__wall *w = calloc(1, sizeof *w);
    bool *has_lane = calloc(c->n_rows + 1, sizeof *has_lane);
    bool ok = w && has_lane;
    if (ok) {
        w->v = v;
        w->lanes = calloc(c->n_lanes + 1, sizeof *w->lanes);
        ok = w->lanes && add_pairs(w);
    }
    if (ok) set_lives(w, has_lane);
    free(has_lane);
    if (ok) return w;
    axp__wall_destroy(w);
    return NULL;
}

void axp__wall_destroy(struct axp__wall *w)
{
    if (!w) return;
    free(w->lanes);
    free(w->pairs);
    free(w);
}

/* ---- the questions --------------------------------------------------------------- */

static double self_ns(const struct axp__wall *w, const struct pair *p)
{
    if (w->v->capture->lanes[p->lane].is_track) return p->self;
    return (double)axp__view_ns(w->v, (uint64_t)p->self);
}

/* The lanes count what the profiler itself cost too; the op no longer. */
static double scale_of(const struct axp__wall *w, const axp_op *op)
{
    double sum = 0;
    const struct pair *end = w->pairs + w->n_pairs;
    for (const struct pair *p = first_of(w, op->name);
         p < end && p->name == op->name; p++)
        sum += self_ns(w, p);
    return sum > (double)op->self_ns ? (double)op->self_ns / sum : 1;
}

void axp__wall_spread(const struct axp__wall *w, const axp_op *op,
                      double part[AXP__WALL_SLICES])
{
    const struct pair *end = w->pairs + w->n_pairs;
    double scale = scale_of(w, op);
    for (int i = 0; i < AXP__WALL_SLICES; i++)
        part[i] = 0;
    for (const struct pair *p = first_of(w, op->name);
         p < end && p->name == op->name; p++) {
        struct life l = w->lanes[p->lane];
        if (p->merged > 0) {
            double share = fmin(1, p->self * scale / p->merged);
            for (int i = 0; i < AXP__WALL_SLICES; i++)
                part[i] = fmax(part[i], share * w->merged[i]);
        } else if (l.end > l.begin) {
            double share = self_ns(w, p) * scale / (l.end - l.begin);
            cover(w, l, fmin(1, share), part);
        }
    }
}

axp_ns axp__wall_ns(const struct axp__wall *w, const axp_op *op)
{
    double part[AXP__WALL_SLICES], sum = 0;
    if (w->all.end <= w->all.begin) return 0;
    axp__wall_spread(w, op, part);
    for (int i = 0; i < AXP__WALL_SLICES; i++)
        sum += part[i];
    double ns = sum / AXP__WALL_SLICES * (w->all.end - w->all.begin);
    return ns < (double)op->self_ns ? (axp_ns)(ns + 0.5) : op->self_ns;
}
