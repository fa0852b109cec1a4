/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads of operations, by the lanes' call trees; see analyze_team.h.
 *
 * A region of OpenMP is a scope of kind FUNCTION on each thread of its team:
 * below what began it on one, outermost on the others. */
#include "analyze/analyze_team.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/analyze_helpers.h"

#define MOST_UP 256 /* levels of a tree that are looked at from below */

struct sums {                 /* by name */
    double ticks, most_ticks; /* over lanes; of one */
    uint32_t n_outermost;     /* lanes where it is */
    uint32_t team;            /* of a region below it */
    uint32_t last_lane;       /* 1 + the one that was added last */
    double lane_ticks;
};

struct walk {
    const axp_view *v;
    struct sums *of;    /* by name */
    uint32_t *heaviest; /* by name: 1 + its first shape; 0: it has none */
    struct axp__helpers helpers;
    uint32_t n_names;
    double flops[AXP_C128 + 1]; /* by type */
};

static bool is_known(const struct walk *w, uint32_t name)
{
    return name < w->n_names;
}

/* ---- first: where it is outermost, how long on each lane ------------------------- */

static void add_node(struct walk *w, uint32_t lane,
                     const struct axp__cap_node *n)
{
    struct sums *s = &w->of[n->name];
    if (s->last_lane != lane + 1) {
        s->last_lane = lane + 1;
        s->lane_ticks = 0;
    }
    if (n->is_recursive) return;
    s->ticks += (double)n->total_ticks;
    s->lane_ticks += (double)n->total_ticks;
    s->most_ticks = fmax(s->most_ticks, s->lane_ticks);
}

static void add_lane(struct walk *w, uint32_t at)
{
    const struct axp__cap_lane *lane = &w->v->capture->lanes[at];
    for (uint32_t i = 1; i < lane->n_nodes; i++) {
        const struct axp__cap_node *n = &lane->nodes[i];
        if (!is_known(w, n->name)) continue;
        add_node(w, at, n);
        if (!n->parent) w->of[n->name].n_outermost++;
    }
}

/* ---- then: who is above ------------------------------------------------------------- */

/* The region's team works for all that it is below. */
static void tell_above(struct walk *w, const struct axp__cap_lane *lane,
                       uint32_t i)
{
    const struct axp__cap_node *n = &lane->nodes[i];
    uint32_t team = 1 + w->of[n->name].n_outermost;
    int k = 0;
    for (int32_t up = n->parent; up > 0 && k < MOST_UP;
         up = lane->nodes[up].parent, k++) {
        uint32_t name = lane->nodes[up].name;
        if (is_known(w, name) && w->of[name].team < team)
            w->of[name].team = team;
    }
}

static bool is_declared_above(const struct axp__cap_lane *lane, uint32_t i)
{
    int k = 0;
    for (int32_t up = lane->nodes[i].parent; up > 0 && k < MOST_UP;
         up = lane->nodes[up].parent, k++)
        if (lane->nodes[up].n_flops_calls) return true;
    return false;
}

static void look_up(struct walk *w, const struct axp__cap_lane *lane)
{
    for (uint32_t i = 1; i < lane->n_nodes; i++) {
        const struct axp__cap_node *n = &lane->nodes[i];
        if (!is_known(w, n->name)) continue;
        if (n->parent > 0 && w->of[n->name].n_outermost &&
            axp__view_kind(w->v, n->name) == AXP__KIND_FUNCTION)
            tell_above(w, lane, i);
        if (n->n_flops_calls && isfinite(n->flops) && n->flops > 0 &&
            !is_declared_above(lane, i))
            w->flops[n->dtype <= AXP_C128 ? n->dtype : 0] += n->flops;
    }
}

/* ---- by operation ----------------------------------------------------------------------- */

struct found {
    const char *name;
    uint32_t id;
};

static int by_pointer(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    return ((uintptr_t)x->name > (uintptr_t)y->name) -
           ((uintptr_t)x->name < (uintptr_t)y->name);
}

static void set_team(struct axp__team *to, const struct sums *s)
{
    double at_once = s->most_ticks > 0 ? s->ticks / s->most_ticks : 1;
    *to = (struct axp__team){.at_once = (uint32_t)fmax(1, at_once + 0.5),
                             .size = s->team ? s->team : 1};
}

/* Of the shape that took longest. */
static void set_dims(struct axp__team *to, const struct walk *w, uint32_t name)
{
    if (!w->heaviest[name]) return;
    const axp_shape *s = &w->v->shapes[w->heaviest[name] - 1].shape;
    to->n_dims = s->n_dims;
    memcpy(to->dims, s->dims, sizeof to->dims);
    if (s->n_flops_calls) to->call_flops = s->flops / (double)s->n_flops_calls;
    if (s->n_bytes_calls) to->call_bytes = s->bytes / (double)s->n_bytes_calls;
    if (s->calls) to->call_ns = (double)s->total_ns / (double)s->calls;
}

/* All that are on a lane, by pointer. */
static struct found *find_names(const struct walk *w, size_t *n)
{
    struct found *names = malloc((w->n_names + (size_t)1) * sizeof *names);
    *n = 0;
    for (uint32_t i = 0; names && i < w->n_names; i++)
        if (w->of[i].last_lane)
            names[(*n)++] = (struct found){axp__view_name(w->v, i), i};
    if (*n) qsort(names, *n, sizeof *names, by_pointer);
    return names;
}

/* 1 + the name's id; 0: it is on no lane. Halves without asking, which no
 * processor can foretell. */
static uint32_t id_of(const struct found *names, size_t n, const char *name)
{
    for (size_t half; n > 1; n -= half) {
        half = n / 2;
        names += (uintptr_t)names[half].name <= (uintptr_t)name ? half : 0;
    }
    return n && names->name == name ? names->id + 1 : 0;
}

/* Of those that declared work: others have no roof. One thing after the other,
 * as names are anywhere: so no reading waits for the one before. */
static bool set_teams(const struct walk *w, struct axp__team *teams)
{
    const axp_view *v = w->v;
    size_t n;
    struct found *names = find_names(w, &n);
    uint32_t *ids = calloc(v->n_ops + 1, sizeof *ids);
    const struct sums none = {0};
    bool ok = names && ids;
    for (size_t i = 0; ok && i < v->n_ops; i++)
        if (v->ops[i].n_flops_calls || v->ops[i].n_bytes_calls)
            ids[i] = id_of(names, n, v->ops[i].name);
    for (size_t i = 0; ok && i < v->n_ops; i++)
        set_team(&teams[i], ids[i] ? &w->of[ids[i] - 1] : &none);
    for (size_t i = 0; ok && i < v->n_ops; i++)
        if (ids[i]) set_dims(&teams[i], w, ids[i] - 1);
    for (size_t i = 0; ok && i < v->n_ops; i++)
        if (ids[i] && teams[i].size == 1)
            teams[i].size = axp__helpers_team(&w->helpers, ids[i] - 1);
    free(names);
    free(ids);
    return ok;
}

static void set_run(const struct walk *w, struct axp__roof_run *run)
{
    double most = 0;
    for (int i = 0; i <= AXP_C128; i++) {
        run->flops += w->flops[i];
        if (w->flops[i] <= most) continue;
        most = w->flops[i];
        run->dtype = (axp_dtype)i;
    }
}

struct axp__team *axp__teams_create(const axp_view *v,
                                    struct axp__roof_run *run)
{
    const struct axp__capture *c = v->capture;
    struct walk w = {.v = v, .n_names = c->n_names};
    struct axp__team *teams = calloc(v->n_ops + 1, sizeof *teams);
    w.of = calloc(w.n_names + (size_t)1, sizeof *w.of);
    w.heaviest = calloc(w.n_names + (size_t)1, sizeof *w.heaviest);
    bool ok = teams && w.of && w.heaviest;
    for (size_t i = ok ? v->n_shapes : 0; i--;)
        if (is_known(&w, v->shapes[i].op))
            w.heaviest[v->shapes[i].op] = (uint32_t)i + 1;
    for (uint32_t i = 0; ok && i < c->n_lanes; i++)
        if (!c->lanes[i].is_track) add_lane(&w, i);
    for (uint32_t i = 0; ok && i < c->n_lanes; i++)
        if (!c->lanes[i].is_track) look_up(&w, &c->lanes[i]);
    ok = ok && axp__helpers_find(v, &w.helpers) && set_teams(&w, teams);
    if (ok && run) set_run(&w, run);
    axp__helpers_fini(&w.helpers);
    free(w.of);
    free(w.heaviest);
    if (ok) return teams;
    free(teams);
    return NULL;
}
