/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Own time to wall time; see analyze_wall.h. */
#include "analyze/analyze_wall.h"

#include <math.h>
#include <stdlib.h>

#include "base/base_number.h"

axp_ns axp__sure_ns(const axp_op *op)
{
    return op->self_ns > op->doubt_ns ? op->self_ns - op->doubt_ns : 0;
}

double axp__sure_share(const axp_op *op)
{
    if (!op->self_ns) return 0;
    return op->time_share * (double)axp__sure_ns(op) / (double)op->self_ns;
}

struct pair { /* an operation on a lane */
    const char *name;
    uint32_t lane;
    double self_ns;
    double life_ns; /* of the lane; of merged ones, those that ran it */
};

struct life {
    double begin, end; /* ns */
};

struct axp__wall {
    const axp_view *v;
    struct life all;
    struct life *lanes;
    double merged[AXP__WALL_SLICES]; /* covered by threads without a lane */
    struct pair *pairs;              /* by name, then share, highest first */
    size_t n_pairs;
};

/* ---- lives ------------------------------------------------------------------------ */

static struct life life_of(const axp_view *v, size_t row)
{
    return (struct life){(double)v->lives[row].begin,
                         (double)v->lives[row].end};
}

/* The slices from..to that a life touches; of slice i the part it covers. */
static void touched(const struct axp__wall *w, struct life l, int *from,
                    int *to)
{
    double slice = (w->all.end - w->all.begin) / AXP__WALL_SLICES;
    *from = *to = 0;
    if (slice <= 0 || l.end <= l.begin) return;
    *from = (int)fmax(0, (l.begin - w->all.begin) / slice);
    *to = (int)fmin(AXP__WALL_SLICES, ceil((l.end - w->all.begin) / slice));
}

static double covered(const struct axp__wall *w, struct life l, int i)
{
    double slice = (w->all.end - w->all.begin) / AXP__WALL_SLICES;
    double begin = w->all.begin + slice * i;
    double low = fmax(l.begin, begin), high = fmin(l.end, begin + slice);
    return high > low ? (high - low) / slice : 0;
}

static void set_lives(struct axp__wall *w, bool *has_lane)
{
    const axp_view *v = w->v;
    const struct axp__capture *c = v->capture;
    int from, to;
    w->all = (struct life){(double)v->begin_ns,
                           (double)(v->begin_ns + v->duration_ns)};
    for (size_t i = 0; i < c->n_lanes; i++) {
        if (c->lanes[i].row < 0) continue;
        has_lane[c->lanes[i].row] = true;
        w->lanes[i] = life_of(v, (size_t)c->lanes[i].row);
    }
    for (size_t i = 0; i < c->n_rows; i++) {
        if (has_lane[i]) continue;
        struct life l = life_of(v, i);
        touched(w, l, &from, &to);
        for (; from < to; from++)
            w->merged[from] = fmin(1, w->merged[from] + covered(w, l, from));
    }
}

/* ---- which operation ran where ------------------------------------------------- */

static int by_lane(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    if (x->name != y->name)
        return (uintptr_t)x->name > (uintptr_t)y->name ? 1 : -1;
    return (x->lane > y->lane) - (x->lane < y->lane);
}

static double share_of(const struct pair *p)
{
    return p->life_ns > 0 ? p->self_ns / p->life_ns : 0;
}

/* Of one name. */
static int by_share(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    double p = share_of(x), q = share_of(y);
    if (p != q) return p < q ? 1 : -1;
    return (x->lane > y->lane) - (x->lane < y->lane);
}

static double in_ns(const struct axp__wall *w, const struct axp__cap_lane *lane,
                    uint64_t time)
{
    return (double)(lane->is_track ? time : axp__view_ns(w->v, time));
}

/* The lane's pair of that name; `at` has, by name, 1 + the newest one's place. */
static struct pair *pair_of(struct axp__wall *w, uint32_t *at, uint32_t lane,
                            uint32_t name)
{
    uint32_t n_names = w->v->capture->n_names;
    uint32_t *place = &at[name < n_names ? name : n_names];
    const char *text = axp__view_name(w->v, name);
    struct pair *p = *place ? &w->pairs[*place - 1] : NULL;
    if (p && p->lane == lane && p->name == text) return p;
    p = &w->pairs[w->n_pairs++];
    *p = (struct pair){text, lane, 0, 0};
    *place = (uint32_t)w->n_pairs;
    return p;
}

static void add_lane(struct axp__wall *w, uint32_t *at, uint32_t i)
{
    const struct axp__cap_lane *lane = &w->v->capture->lanes[i];
    bool is_merged = lane->row < 0;
    for (uint32_t k = 1; k < lane->n_nodes; k++)
        pair_of(w, at, i, lane->nodes[k].name)->self_ns +=
            in_ns(w, lane, lane->nodes[k].self_ticks);
    for (uint32_t k = 0; k < lane->n_frames; k++) {
        int32_t node = lane->frames[k].node;
        if (node <= 0) continue;
        pair_of(w, at, i, lane->nodes[node].name)->self_ns +=
            in_ns(w, lane, axp__frame_self(w->v, lane, k));
    }
    for (uint32_t k = 0; is_merged && k < lane->n_ops; k++)
        pair_of(w, at, i, lane->ops[k].name)->life_ns +=
            in_ns(w, lane, lane->ops[k].lifetime_ticks);
}

/* Names of one text are one. */
static void merge_pairs(struct axp__wall *w)
{
    size_t kept = 0;
    qsort(w->pairs, w->n_pairs, sizeof *w->pairs, by_lane);
    for (size_t i = 0; i < w->n_pairs; i++) {
        struct pair *last = kept ? &w->pairs[kept - 1] : NULL;
        if (last && !by_lane(last, &w->pairs[i])) {
            last->self_ns += w->pairs[i].self_ns;
            last->life_ns += w->pairs[i].life_ns;
        } else {
            w->pairs[kept++] = w->pairs[i];
        }
    }
    w->n_pairs = kept;
}

static bool add_pairs(struct axp__wall *w)
{
    const struct axp__capture *c = w->v->capture;
    uint32_t *at = calloc(c->n_names + (size_t)1, sizeof *at);
    size_t n = 1;
    for (size_t i = 0; i < c->n_lanes; i++)
        n += (size_t)c->lanes[i].n_nodes + c->lanes[i].n_frames +
             c->lanes[i].n_ops;
    w->pairs = malloc(n * sizeof *w->pairs);
    bool ok = at && w->pairs;
    for (size_t i = 0; ok && i < c->n_lanes; i++)
        add_lane(w, at, (uint32_t)i);
    if (ok) merge_pairs(w);
    free(at);
    return ok;
}

/* By name they are: of each name by share. */
static void sort_shares(struct axp__wall *w)
{
    for (size_t from = 0, to; from < w->n_pairs; from = to) {
        for (to = from + 1;
             to < w->n_pairs && w->pairs[to].name == w->pairs[from].name;)
            to++;
        if (to - from > 1)
            qsort(w->pairs + from, to - from, sizeof *w->pairs, by_share);
    }
}

static void finish_pairs(struct axp__wall *w)
{
    for (size_t i = 0; i < w->n_pairs; i++) {
        const struct life *l = &w->lanes[w->pairs[i].lane];
        if (w->v->capture->lanes[w->pairs[i].lane].row >= 0)
            w->pairs[i].life_ns = l->end - l->begin;
    }
    sort_shares(w);
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
    if (ok) {
        set_lives(w, has_lane);
        finish_pairs(w);
    }
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

/* The pairs of an op. Its name is the very same string: equal texts have one
 * id. */
static const struct pair *pairs_of(const struct axp__wall *w, const axp_op *op,
                                   const struct pair **end)
{
    size_t low = 0, high = w->n_pairs;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if ((uintptr_t)w->pairs[mid].name < (uintptr_t)op->name)
            low = mid + 1;
        else
            high = mid;
    }
    for (high = low; high < w->n_pairs && w->pairs[high].name == op->name;)
        high++;
    *end = w->pairs + high;
    return w->pairs + low;
}

/* The lanes count what the profiler itself cost too; the op no longer. */
static double scale_of(const struct pair *from, const struct pair *end,
                       const axp_op *op)
{
    double sum = 0, sure = (double)axp__sure_ns(op);
    for (; from < end; from++)
        sum += from->self_ns;
    return sum > sure ? sure / sum : 1;
}

/* What a pair covers of the slices, its share of that, and never more than its
 * own time: that it ran on merged threads is known, on which is not. */
static void spread_pair(const struct axp__wall *w, const struct pair *p,
                        double scale, double part[AXP__WALL_SLICES],
                        double room[AXP__WALL_SLICES])
{
    bool is_merged = w->v->capture->lanes[p->lane].row < 0;
    struct life l = is_merged ? w->all : w->lanes[p->lane];
    double share = fmin(1, share_of(p) * scale), sum = 0;
    double slice = (w->all.end - w->all.begin) / AXP__WALL_SLICES;
    double more[AXP__WALL_SLICES];
    int from, to;
    touched(w, l, &from, &to);
    for (int i = from; i < to; i++) {
        more[i] = fmin(is_merged ? w->merged[i] : covered(w, l, i), room[i]);
        sum += share * more[i] * slice;
    }
    double own = p->self_ns * scale;
    if (sum > own) share *= own / sum;
    for (int i = from; i < to; i++) {
        part[i] += share * more[i];
        room[i] -= more[i];
    }
}

void axp__wall_spread(const struct axp__wall *w, const axp_op *op,
                      double part[AXP__WALL_SLICES])
{
    double room[AXP__WALL_SLICES]; /* of a slice, not covered by a thread yet */
    if (op->is_sampled) {          /* nobody knows when: as if all the time */
        double all = w->all.end - w->all.begin;
        for (int i = 0; i < AXP__WALL_SLICES; i++)
            part[i] = all > 0 ? fmin(1, (double)op->self_ns / all) : 0;
        return;
    }
    const struct pair *end, *p = pairs_of(w, op, &end);
    double scale = scale_of(p, end, op);
    for (int i = 0; i < AXP__WALL_SLICES; i++) {
        part[i] = 0;
        room[i] = 1;
    }
    for (; p < end; p++)
        spread_pair(w, p, scale, part, room);
}

axp_ns axp__wall_ns(const struct axp__wall *w, const axp_op *op)
{
    double part[AXP__WALL_SLICES], sum = 0;
    if (w->all.end <= w->all.begin) return 0;
    axp__wall_spread(w, op, part);
    for (int i = 0; i < AXP__WALL_SLICES; i++)
        sum += part[i];
    double ns = sum / AXP__WALL_SLICES * (w->all.end - w->all.begin);
    axp_ns sure = axp__sure_ns(op);
    return ns < (double)sure ? axp__whole(ns) : sure;
}

bool axp__wall_reaches(const struct axp__wall *w, const axp_op *op,
                       double least_ns)
{
    return (double)axp__sure_ns(op) >= least_ns &&
           (double)axp__wall_ns(w, op) >= least_ns;
}

double axp__wall_beside(const axp_view *v, const axp_op *op)
{
    double seen = (double)v->sampled_ns + (double)v->spun_ns;
    double ran = 0, ready = 0;
    if (!op->is_sampled || !v->sampled_ns) return 1;
    for (size_t i = 0; i < v->n_threads; i++) { /* within their lives */
        ran += (double)v->threads[i].cpu_ns;
        ready += (double)v->threads[i].ready_ns;
    }
    return (fmax(ran, seen) + ready) / seen;
}
