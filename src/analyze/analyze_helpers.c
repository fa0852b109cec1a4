/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Who helps whom; see analyze_helpers.h.
 *
 *   samples ─► by their innermost function: of threads with scopes, and of the
 *              others ─► a ratio ─► onto the functions below each scope
 */
#include "analyze/analyze_helpers.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/analyze_threaded.h"
#include "model/model_samples.h"
#include "model/model_stack_functions.h"

#define LEAST_NS 20e6 /* in a scope, of what is shared */
#define MOST_UP 256   /* levels of the tree */

struct thread {
    uint64_t process, tid;
};

struct shared { /* a function, by threads with scopes and by others */
    const char *name;
    double callers, others;
};

struct look {
    const axp_view *v;
    struct thread *callers; /* sorted */
    size_t n_callers;
    struct axp__stack_functions of;
    struct shared *at;
    size_t n, cap;
};

/* ---- who calls ------------------------------------------------------------------- */

static int by_thread(const void *a, const void *b)
{
    const struct thread *x = a, *y = b;
    if (x->process != y->process) return x->process > y->process ? 1 : -1;
    return (x->tid > y->tid) - (x->tid < y->tid);
}

/* Waits are scopes, and pools have them. */
static bool has_scopes(const struct axp__cap_lane *lane)
{
    for (uint32_t i = 1; i < lane->n_nodes; i++)
        if (lane->nodes[i].calls && lane->nodes[i].category != AXP_CAT_SYNC)
            return true;
    return lane->n_frames;
}

static bool list_callers(struct look *l)
{
    const struct axp__capture *c = l->v->capture;
    l->callers = calloc(c->n_lanes + 1, sizeof *l->callers);
    for (size_t i = 0; l->callers && i < c->n_lanes; i++) {
        const struct axp__cap_lane *lane = &c->lanes[i];
        if (lane->is_track || lane->row < 0 || !has_scopes(lane)) continue;
        const struct axp__cap_row *row = &c->rows[lane->row];
        l->callers[l->n_callers++] = (struct thread){
            axp__cap_whose(c, axp__cap_process_of(c, row->id)), row->tid};
    }
    if (l->n_callers)
        qsort(l->callers, l->n_callers, sizeof *l->callers, by_thread);
    return l->callers;
}

static bool is_caller(const struct look *l, const struct axp__cap_sample *s)
{
    struct thread wanted = {s->process, s->tid};
    return bsearch(&wanted, l->callers, l->n_callers, sizeof wanted, by_thread);
}

/* ---- what they share --------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    const struct shared *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static bool widen(struct look *l, uint32_t f)
{
    size_t wider = l->cap ? l->cap : 256;
    if (f < l->cap) return true;
    while (wider <= f)
        wider *= 2;
    struct shared *at = realloc(l->at, wider * sizeof *at);
    if (!at) return false;
    memset(at + l->cap, 0, (wider - l->cap) * sizeof *at);
    l->at = at;
    l->cap = wider;
    return true;
}

/* By the functions' numbers. */
static bool add_samples(struct look *l, const struct axp__samples *all)
{
    for (size_t i = 0; i < all->n; i++) {
        const struct axp__cap_sample *s = &all->at[i];
        if (s->kind != AXP_SAMPLE_CPU || !s->stack) continue;
        const struct axp__stack_of *of =
            axp__stack_functions_get(&l->of, s->stack);
        if (!of) return false;
        if (!of->n) continue;
        uint32_t f = l->of.frames[of->first].function;
        if (!widen(l, f)) return false;
        *(is_caller(l, s) ? &l->at[f].callers : &l->at[f].others) +=
            (double)s->weight;
    }
    return true;
}

/* Those of libraries with threads of their own, by name. */
static void keep_shared(struct look *l)
{
    for (size_t f = 0; f < l->cap && f < l->of.n_functions; f++) {
        const struct axp__function *is = &l->of.functions[f];
        if (!(l->at[f].callers > 0 && l->at[f].others > 0)) continue;
        if (!axp__threaded_of(is->module)) continue;
        l->at[l->n] = l->at[f];
        l->at[l->n++].name = is->name;
    }
    if (l->n) qsort(l->at, l->n, sizeof *l->at, by_name);
}

static bool read_samples(struct look *l)
{
    struct axp__samples all;
    if (!axp__samples_load(l->v, &all)) return false;
    bool ok = add_samples(l, &all);
    axp__samples_fini(&all);
    if (ok) keep_shared(l);
    return ok;
}

/* ---- by scope ------------------------------------------------------------------------- */

static void add_node(const struct look *l, const axp_tree_node *node,
                     struct axp__helpers *out)
{
    const axp_view *v = l->v;
    struct shared wanted = {.name = node->name};
    const struct shared *s =
        bsearch(&wanted, l->at, l->n, sizeof wanted, by_name);
    if (!s) return;
    double inside = (double)node->self_ns;
    uint32_t up = node->parent;
    for (int k = 0; up && k < MOST_UP; up = v->tree[up].parent, k++) {
        if (v->tree[up].is_sampled || v->tree_names[up] >= out->n_names)
            continue;
        out->inside[v->tree_names[up]] += inside;
        out->beside[v->tree_names[up]] += inside * s->others / s->callers;
    }
}

static bool find(struct look *l, struct axp__helpers *out)
{
    const axp_view *v = l->v;
    if (!list_callers(l) || !read_samples(l)) return false;
    if (!l->n) return true;
    out->n_names = v->capture->n_names;
    out->inside = calloc((size_t)out->n_names + 1, sizeof *out->inside);
    out->beside = calloc((size_t)out->n_names + 1, sizeof *out->beside);
    if (!out->inside || !out->beside) return false;
    for (size_t i = 1; i < v->n_tree; i++)
        if (v->tree[i].is_sampled && v->tree[i].self_ns)
            add_node(l, &v->tree[i], out);
    return true;
}

bool axp__helpers_find(const axp_view *v, struct axp__helpers *out)
{
    struct look l = {.v = v, .of = {.v = v}};
    if (!v->capture->n_samples) return true;
    bool ok = find(&l, out);
    if (!ok) axp__helpers_fini(out);
    axp__stack_functions_fini(&l.of);
    free(l.callers);
    free(l.at);
    return ok;
}

void axp__helpers_fini(struct axp__helpers *h)
{
    free(h->inside);
    free(h->beside);
    *h = (struct axp__helpers){0};
}

uint32_t axp__helpers_team(const struct axp__helpers *h, uint32_t name)
{
    if (name >= h->n_names || h->inside[name] < LEAST_NS) return 1;
    return 1 + (uint32_t)(h->beside[name] / h->inside[name] + 0.5);
}
