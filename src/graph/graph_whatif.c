/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axprof_whatif.h: a graph for callers, what they want changed, and what comes
 * of it. */
#include "axprof/axprof_whatif.h"
#include "base/base_category.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base_number.h"
#include "base/base_sized.h"
#include "graph/graph_path.h"
#include "model/model_category.h"
#include "record/record_thread.h"

#define MOST_NAME 4096u

struct axp_replay {
    const axp_graph *g;
    axp_replay_info total;
    axp_path_part *parts;
    size_t n_parts;
    struct axp__segment *pieces;
    size_t n_pieces;
};

axp_graph *axp_graph_create(const axp_view *v)
{
    axp_graph *g = NULL;
    if (!v)
        axp__fail(AXP_E_INVALID, "axp_graph_create needs a view");
    else
        (void)axp__graph_create(v, &g);
    return g;
}

void axp_graph_destroy(axp_graph *g)
{
    axp__graph_destroy(g);
}

/* ---- what is to change ---------------------------------------------------------- */

/* "NAME=FACTOR", cut at the last =; the name into `name`. */
static axp_status split(const char *text, char name[MOST_NAME], double *factor)
{
    const char *at = text ? strrchr(text, '=') : NULL;
    *factor = at ? axp__parse_number(at + 1) : NAN;
    if (isnan(*factor) || *factor > 1e6 || at == text)
        return axp__fail(AXP_E_INVALID,
                         "'%.200s' is no NAME=FACTOR, such as matmul=0.5",
                         text ? text : "");
    size_t len = (size_t)(at - text);
    if (len >= MOST_NAME) len = MOST_NAME - 1;
    memcpy(name, text, len);
    name[len] = 0;
    return AXP_OK;
}

/* Operations, functions and waits have names; what is none has not. */
static axp_status scale_op(struct axp__replayed *r, const char *text)
{
    const struct axp__graph_ops *ops = &r->g->ops;
    char name[MOST_NAME];
    double factor;
    bool is_found = false;
    axp_status status = split(text, name, &factor);
    for (size_t i = AXP__N_NO_OPS; !status && i < ops->n; i++) {
        if (ops->at[i].is_wait || strcmp(ops->at[i].text, name) != 0) continue;
        r->scale[i] *= factor;
        is_found = r->is_changed = true;
    }
    if (!status && !is_found)
        return axp__fail(AXP_E_NOT_FOUND,
                         "no operation '%.200s' is in the timeline", name);
    return status;
}

static axp_status scale_category(struct axp__replayed *r, const char *text)
{
    char name[MOST_NAME];
    double factor;
    int category = AXP_CAT_FORWARD;
    axp_status status = split(text, name, &factor);
    if (status) return status;
    while (category < AXP__N_CATEGORIES &&
           strcmp(axp__word_cat((axp_cat)category), name) != 0)
        category++;
    if (category >= AXP__N_CATEGORIES || category == AXP_CAT_SYNC)
        return axp__fail(AXP_E_INVALID,
                         "no category '%.200s' of work; there are forward, "
                         "backward, optimizer, data, comm, copy and io",
                         name);
    for (size_t i = AXP__N_NO_OPS; i < r->g->ops.n; i++)
        if (r->g->ops.at[i].category == category) r->scale[i] *= factor;
    r->is_changed = true;
    return AXP_OK;
}

static axp_status change(struct axp__replayed *r, const axp_whatif_options *o)
{
    axp_status status = AXP_OK;
    for (size_t i = 0; !status && i < o->n_scale; i++)
        status = scale_op(r, o->scale[i]);
    for (size_t i = 0; !status && i < o->n_scale_category; i++)
        status = scale_category(r, o->scale_category[i]);
    if (!status && o->even_threads && !axp__replay_even(r, NULL))
        status = axp__fail(AXP_E_NO_MEMORY, "no memory for a replay");
    return status;
}

/* ---- what comes of it ----------------------------------------------------------- */

static axp_path_kind kind_of(const struct axp__graph_ops *ops, uint32_t op)
{
    if (op == AXP__OP_NO_CPU) return AXP_PATH_NO_CPU;
    if (op == AXP__OP_IDLE) return AXP_PATH_IDLE;
    if (op == AXP__OP_BLOCKED || op == AXP__OP_WOKEN) return AXP_PATH_WAIT;
    return ops->at[op].is_wait ? AXP_PATH_WAIT : AXP_PATH_WORK;
}

static int by_name(const void *a, const void *b)
{
    const axp_path_part *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    if (!order) order = (int)x->kind - (int)y->kind;
    if (!order) order = x->is_sampled - y->is_sampled;
    return order ? order : axp__view_by_device(x->device, y->device);
}

static int by_ns(const void *a, const void *b)
{
    const axp_path_part *x = a, *y = b;
    if (x->ns != y->ns) return x->ns < y->ns ? 1 : -1;
    return by_name(a, b);
}

/* One for each name: an operation may have several categories. */
static bool set_parts(axp_replay *out, const struct axp__critical_path *p)
{
    const struct axp__graph_ops *ops = &out->g->ops;
    size_t n = 0, kept = 0;
    axp_path_part *parts = calloc(ops->n + 1, sizeof *parts);
    if (!parts) return false;
    for (uint32_t i = 0; i < ops->n; i++) {
        const struct axp__graph_op *op = &ops->at[i];
        if (p->ns[i] < 0.5) continue;
        bool is_named = i >= AXP__N_NO_OPS && !op->is_function;
        parts[n++] = (axp_path_part){
            .name = op->text,
            .kind = kind_of(ops, i),
            .ns = axp__whole(p->ns[i]),
            .category = (axp_cat)op->category,
            .is_sampled = op->is_function,
            .is_own = op->is_own,
            .device =
                is_named ? axp__view_device(ops->v, op->key & AXP__OP_NAME_MASK)
                         : NULL};
    }
    qsort(parts, n, sizeof *parts, by_name);
    for (size_t i = 0; i < n; i++) {
        if (kept && !by_name(&parts[kept - 1], &parts[i]))
            parts[kept - 1].ns += parts[i].ns;
        else
            parts[kept++] = parts[i];
    }
    qsort(parts, kept, sizeof *parts, by_ns);
    double wall = (double)out->total.wall_ns;
    for (size_t i = 0; i < kept; i++)
        parts[i].share = wall > 0 ? fmin(1, (double)parts[i].ns / wall) : 0;
    out->parts = parts;
    out->n_parts = kept;
    return true;
}

static void take_pieces(axp_replay *out, struct axp__critical_path *p)
{
    out->pieces = p->segments;
    out->n_pieces = p->n_segments;
    p->segments = NULL;
}

const struct axp__segment *axp__replay_pieces(const axp_replay *r, size_t *n)
{
    *n = r->n_pieces;
    return r->pieces;
}

axp_path_segment axp__path_segment(const axp_graph *g,
                                   const struct axp__graph_ops *ops,
                                   const struct axp__segment *s)
{
    const struct axp__stream_row none = {.name = ""};
    const struct axp__stream_row *row =
        s->row == AXP__NONE ? &none : &g->rows[s->row].is;
    return (axp_path_segment){.begin = s->begin_ns,
                              .end = s->end_ns,
                              .process_id = row->process_id,
                              .thread_id = row->thread_id,
                              .thread = row->name,
                              .name = ops->at[s->op].text,
                              .kind = kind_of(ops, s->op)};
}

/* Several threads, and nobody told of who waited for whom. */
static bool is_blind(const axp_graph *g)
{
    size_t n = 0;
    for (size_t i = 0; i < g->n_rows; i++)
        n += g->rows[i].n_nodes && !g->rows[i].is.track;
    return n > 1 && !g->n_syncs;
}

static void set_total(axp_replay *out, const struct axp__replayed *r,
                      const struct axp__critical_path *p)
{
    const axp_graph *g = out->g;
    axp_replay_info *t = &out->total;
    t->wall_ns = r->end_ns - g->begin_ns;
    t->recorded_ns = g->end_ns - g->begin_ns;
    t->step_ns = axp__replay_step(r, &t->n_steps);
    t->n_waits = g->n_waits;
    t->n_unknown_waits = g->n_unknown;
    t->waited_ns = g->waited_ns;
    t->unknown_ns = g->unknown_ns;
    t->is_estimate = is_blind(g) || p->estimated_ns > 0.1 * (double)t->wall_ns;
}

/* Of the run as it was, for comparison. */
static bool set_recorded_step(axp_replay *out)
{
    struct axp__replayed r;
    uint64_t n;
    bool ok = axp__replay_init(&r, out->g);
    if (ok) {
        axp__replay_run(&r);
        out->total.recorded_step_ns = axp__replay_step(&r, &n);
    }
    axp__replay_fini(&r);
    return ok;
}

static axp_status replay(axp_replay *out, const axp_whatif_options *o)
{
    struct axp__replayed r;
    struct axp__critical_path p = {0};
    axp_status status = AXP_OK;
    bool ok = axp__replay_init(&r, out->g);
    if (ok) status = change(&r, o);
    if (ok && !status) {
        axp__replay_run(&r);
        ok = axp__path_walk(&p, &r);
    }
    if (ok && !status) {
        set_total(out, &r, &p);
        ok = set_parts(out, &p) && set_recorded_step(out);
        take_pieces(out, &p);
    }
    axp__path_fini(&p);
    axp__replay_fini(&r);
    return ok ? status : axp__fail(AXP_E_NO_MEMORY, "no memory for a replay");
}

axp_status axp_whatif(const axp_graph *g, const axp_whatif_options *options,
                      axp_replay **out)
{
    axp_whatif_options o = {0};
    size_t first = AXP__SIZE_TO(axp_whatif_options, even_threads);
    if (!g || !out ||
        (options && !axp__sized_take(&o, sizeof o, options, first)))
        return axp__fail(AXP_E_INVALID, "axp_whatif needs a graph, options of "
                                        "their size, and where to put it");
    axp_replay *r = calloc(1, sizeof *r);
    if (!r) return axp__fail(AXP_E_NO_MEMORY, "no memory for a replay");
    r->g = g;
    axp_status status = replay(r, &o);
    if (status)
        axp_replay_destroy(r);
    else
        *out = r;
    return status;
}

void axp_replay_destroy(axp_replay *r)
{
    if (!r) return;
    free(r->parts);
    free(r->pieces);
    free(r);
}

/* ---- the view's own ------------------------------------------------------------------- */

void axp__recorded_destroy(struct axp__recorded *of)
{
    if (!of) return;
    axp_replay_destroy(of->replay);
    axp_graph_destroy(of->graph);
    free(of);
}

axp_status axp__recorded_create(const axp_view *v, struct axp__recorded **out)
{
    struct axp__recorded *made = calloc(1, sizeof *made);
    if (!made) return axp__fail(AXP_E_NO_MEMORY, "no memory for a graph");
    axp_status status = axp__graph_create(v, &made->graph);
    if (!status) status = axp_whatif(made->graph, NULL, &made->replay);
    if (status)
        axp__recorded_destroy(made);
    else
        *out = made;
    return status;
}

static void free_recorded(void *of)
{
    axp__recorded_destroy(of);
}

/* Two threads may both make one; one of them keeps it. */
static void keep(axp_view *v, struct axp__recorded *made)
{
    void *none = NULL;
    __atomic_store_n(&v->free_graph, free_recorded, __ATOMIC_RELAXED);
    if (!__atomic_compare_exchange_n(&v->graph, &none, made, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        axp__recorded_destroy(made);
}

static bool is_worth(const axp_view *v)
{
    size_t n = v->n_threads;
    for (size_t i = 0; i < v->n_tracks; i++)
        n += v->tracks[i].busy_ns > 0;
    return n > 1 && v->n_events && v->duration_ns;
}

/* What is left of a timeline may have nothing in it that took time, as that of a
 * run in which what was waited for never came: that nobody did anything is not
 * what it says. */
static bool is_emptied(const axp_view *v, const axp_graph *g)
{
    return axp_view_cut_count(v) && g->ops.n <= AXP__N_NO_OPS;
}

axp_status axp__graph_recorded(const axp_view *v,
                               const struct axp__recorded **out)
{
    *out = __atomic_load_n(&v->graph, __ATOMIC_ACQUIRE);
    if (*out || !is_worth(v)) return AXP_OK;
    struct axp__recorded *made = NULL;
    axp_status status = axp__recorded_create(v, &made);
    if (status) return status;
    if (is_emptied(v, made->graph)) {
        axp__recorded_destroy(made);
        return AXP_OK;
    }
    keep((axp_view *)(uintptr_t)v, made);
    *out = __atomic_load_n(&v->graph, __ATOMIC_ACQUIRE);
    return AXP_OK;
}

/* ---- copied into structs of the caller's size ---------------------------------------- */

void axp_replay_total_sized(const axp_replay *r, axp_replay_info *out,
                            size_t size)
{
    const axp_replay_info none = {0};
    axp__sized_copy(out, size, r ? &r->total : &none, sizeof none);
}

size_t axp_replay_parts_sized(const axp_replay *r, axp_path_part *out,
                              size_t cap, size_t size)
{
    for (size_t i = 0; r && out && i < cap && i < r->n_parts; i++)
        axp__sized_copy((char *)out + i * size, size, &r->parts[i],
                        sizeof *r->parts);
    return r ? r->n_parts : 0;
}

size_t axp_replay_segments_sized(const axp_replay *r, axp_path_segment *out,
                                 size_t cap, size_t size)
{
    for (size_t i = 0; r && out && i < cap && i < r->n_pieces; i++) {
        axp_path_segment s = axp__path_segment(r->g, &r->g->ops, &r->pieces[i]);
        axp__sized_copy((char *)out + i * size, size, &s, sizeof s);
    }
    return r ? r->n_pieces : 0;
}
