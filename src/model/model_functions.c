/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Samples added up; see model_functions.h. */
#include "model/model_functions.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/base_text.h"
#include "model/model_blocked.h"
#include "model/model_idle.h"
#include "model/model_samples.h"
#include "model/model_stack_functions.h"
#include "model/model_stream.h"
#include "model/model_waits.h"

#define MOST_SCOPES 1024u              /* above a sample */
#define IS_FUNCTION 0x80000000u        /* in a place's key */
#define MOST_PLACES ((size_t)1 << 20)  /* that samples may add */
#define MOST_LOOKS ((uint64_t)1 << 27) /* at frames of all stacks together */

#define POOLED (-1) /* a place: in a wait that is not over, and is in no tree */

struct seen { /* samples of one stack in one place */
    int32_t place;
    uint32_t stack; /* its id */
    uint64_t n, ns;
};

struct adder {
    axp_view *v;
    struct axp__stack_functions of;
    struct seen *seen;
    size_t n_seen, cap_seen;
    struct axp__slots seen_slots;
    size_t cap_tree;
    struct axp__slots place_slots;
    uint64_t n_looks; /* so far */
    struct axp__wait_sums waits;
    struct axp__blocked_all blocked;
    struct axp__idle idle;
    size_t most_places;
};

/* ---- places ------------------------------------------------------------- */

static uint64_t hash_place(int32_t parent, uint32_t key)
{
    return axp__mix64((uint64_t)(uint32_t)parent << 32 | key);
}

static uint32_t key_of(const axp_view *v, uint32_t i)
{
    return v->tree[i].is_sampled ? v->tree_names[i] | IS_FUNCTION
                                 : v->tree_names[i];
}

static uint64_t place_hash(const void *ctx, uint32_t i)
{
    const struct adder *a = ctx;
    return hash_place(a->v->tree[i].parent, key_of(a->v, i));
}

/* The slot of a place, or where it would be. */
static uint32_t *place_slot(const struct adder *a, int32_t parent, uint32_t key)
{
    uint64_t k = hash_place(parent, key);
    uint32_t *at;
    while (*(at = axp__slots_at(&a->place_slots, k))) {
        uint32_t i = *at - 1;
        if (a->v->tree[i].parent == parent && key_of(a->v, i) == key) break;
        k++;
    }
    return at;
}

static bool add_places(struct adder *a)
{
    for (uint32_t i = 1; i < a->v->n_tree; i++) {
        if (!axp__slots_widen(&a->place_slots, a, place_hash)) return false;
        *place_slot(a, a->v->tree[i].parent, key_of(a->v, i)) = i + 1;
        a->place_slots.n_used++;
    }
    return axp__slots_widen(&a->place_slots, a, place_hash);
}

/* -1: no memory. */
static int32_t get_place(struct adder *a, int32_t parent, uint32_t function)
{
    axp_view *v = a->v;
    size_t cap = a->cap_tree;
    if (!axp__slots_widen(&a->place_slots, a, place_hash) ||
        !axp__array_grow((void **)&v->tree, &cap, v->n_tree + 1,
                         sizeof *v->tree) ||
        !axp__array_grow((void **)&v->tree_names, &a->cap_tree, v->n_tree + 1,
                         sizeof *v->tree_names))
        return -1;
    uint32_t *at = place_slot(a, parent, function | IS_FUNCTION);
    if (!*at && v->n_tree >= a->most_places) return parent; /* no room */
    if (!*at) {
        v->tree[v->n_tree] =
            (axp_tree_node){.parent = parent, .is_sampled = true};
        v->tree_names[v->n_tree] = function;
        *at = (uint32_t)++v->n_tree;
        a->place_slots.n_used++;
    }
    return (int32_t)*at - 1;
}

/* The place of the scopes that were open, as far as the tree has it: paths that
 * found no room are elsewhere. */
static int32_t place_of_scopes(const struct adder *a,
                               const struct axp__stream *s, axp_ns at)
{
    size_t n;
    int32_t place = 0;
    const struct axp__scope *open = axp__stream_scopes(s, &n);
    if (n > MOST_SCOPES) n = MOST_SCOPES;
    for (size_t i = 0; i < n; i++) {
        if (open[i].name == AXP__SCOPE_GONE || open[i].begin_ns > at) continue;
        uint32_t found = *place_slot(a, place, open[i].name);
        if (!found) break;
        place = (int32_t)found - 1;
    }
    return place;
}

/* ---- adding ------------------------------------------------------------- */

static void add_self(struct axp__function *f, const struct axp__stack_frame *at,
                     const struct seen *seen)
{
    f->self_ns += seen->ns;
    f->samples += seen->n;
    if (seen->ns < f->best_ns && f->file) return;
    f->best_ns = seen->ns;
    f->file = at->file;
    f->line = at->line;
}

static uint64_t hash_seen(int32_t place, uint32_t stack)
{
    return axp__mix64((uint32_t)place * (UINT64_C(1) << 32) + stack);
}

static uint64_t seen_hash(const void *ctx, uint32_t i)
{
    const struct adder *a = ctx;
    return hash_seen(a->seen[i].place, a->seen[i].stack);
}

static bool add_sample(struct adder *a, int32_t place, uint32_t stack,
                       uint64_t ns)
{
    if (!axp__slots_widen(&a->seen_slots, a, seen_hash) ||
        !axp__array_grow((void **)&a->seen, &a->cap_seen, a->n_seen + 1,
                         sizeof *a->seen))
        return false;
    uint64_t k = hash_seen(place, stack);
    uint32_t *at;
    while (*(at = axp__slots_at(&a->seen_slots, k))) {
        struct seen *s = &a->seen[*at - 1];
        if (s->place == place && s->stack == stack) break;
        k++;
    }
    if (!*at) {
        a->seen[a->n_seen] = (struct seen){.place = place, .stack = stack};
        a->seen_slots.n_used++;
        *at = (uint32_t)++a->n_seen;
    }
    a->seen[*at - 1].n++;
    a->seen[*at - 1].ns += ns;
    return true;
}

/* A file whose stacks would take minutes has their innermost functions
 * counted. A thread that spins while it waits is not at work: its functions are
 * below the wait in the tree, and nowhere else. Below a scope are the functions
 * that are known to be called in it. */
static bool add_seen(struct adder *a, size_t index)
{
    const struct seen *seen = &a->seen[index];
    if (seen->place == POOLED) {
        a->v->spun_ns += seen->ns;
        return true;
    }
    const struct axp__stack_of *s =
        axp__stack_functions_get(&a->of, seen->stack);
    int32_t place = seen->place;
    if (!s) return false;
    bool is_wait = a->v->tree[place].is_wait;
    if (is_wait) {
        a->v->spun_ns += seen->ns;
    } else {
        a->v->n_sampled += seen->n;
        a->v->sampled_ns += seen->ns;
    }
    a->n_looks += s->n;
    uint32_t i = a->n_looks < MOST_LOOKS ? s->n : s->n > 0;
    uint32_t n_below = place ? s->n_inside : s->n;
    while (i--) {
        const struct axp__stack_frame *frame = &a->of.frames[s->first + i];
        struct axp__function *f = &a->of.functions[frame->function];
        if (!is_wait && f->last != index + 1) {
            f->last = index + 1;
            f->total_ns += seen->ns;
        }
        if (!i && !is_wait) add_self(f, frame, seen);
        if (i >= n_below) continue;
        int32_t below = get_place(a, place, frame->function);
        if (below < 0) return false;
        bool is_new = below != place;
        place = below;
        axp_tree_node *n = &a->v->tree[place];
        if (is_new && n->is_sampled) n->total_ns += seen->ns;
        if (is_new && n->is_sampled) n->samples += seen->n;
        if (!i && n->is_sampled) n->self_ns += seen->ns;
    }
    return true;
}

static bool take(struct adder *a, const struct axp__stream *s,
                 const struct axp__record *r)
{
    if (!axp__idle_take(&a->idle, s, r)) return false;
    if (r->kind != AXP__R_SAMPLE) return axp__waits_take(&a->waits, s, r);
    if (r->argument == AXP_SAMPLE_WAITED)
        return axp__blocked_take(&a->blocked, s, r);
    if (r->argument != AXP_SAMPLE_CPU) return true;
    int32_t place = place_of_scopes(a, s, r->begin_ns);
    if (!place && axp__idle_is_pooled(&a->idle)) place = POOLED;
    if (place == POOLED || a->v->tree[place].is_wait)
        axp__idle_spun(&a->idle, r->id);
    return add_sample(a, place, r->stack, r->id);
}

/* Of a thread that has no row. */
static bool add_unplaced(struct adder *a, const struct axp__cap_sample *s)
{
    if (s->kind == AXP_SAMPLE_WAITED)
        return axp__blocked_take_stack(&a->blocked, s->stack, s->weight);
    return s->kind != AXP_SAMPLE_CPU || add_sample(a, 0, s->stack, s->weight);
}

static bool keep_outside(struct adder *a)
{
    axp_view *v = a->v;
    v->outside_stacks = calloc(a->n_seen + 1, sizeof *v->outside_stacks);
    for (size_t i = 0; v->outside_stacks && i < a->n_seen; i++)
        if (!a->seen[i].place)
            v->outside_stacks[v->n_outside_stacks++] =
                (struct axp__stack_ns){a->seen[i].stack, a->seen[i].ns};
    return v->outside_stacks;
}

static bool add_all(struct adder *a)
{
    struct axp__stream *s;
    const struct axp__record *r;
    bool ok = true;
    if (axp__stream_open(
            a->v, AXP__STREAM_BY_ROW | AXP__STREAM_SAMPLES | AXP__STREAM_ONCE,
            &s))
        return false;
    while (ok && (r = axp__stream_next(s)))
        ok = take(a, s, r);
    if (axp__stream_status(s) == AXP_E_NO_MEMORY) ok = false;
    const struct axp__samples *all = axp__stream_samples(s);
    for (size_t i = 0; ok && i < all->n; i++)
        ok = all->at[i].is_placed || add_unplaced(a, &all->at[i]);
    ok = ok && axp__waits_keep(&a->waits, s, a->v);
    axp__blocked_keep(&a->blocked, a->v);
    if (ok) axp__idle_keep(&a->idle, s);
    axp__stream_close(s);
    ok = ok && keep_outside(a);
    for (size_t i = 0; ok && i < a->n_seen; i++)
        ok = add_seen(a, i);
    /* Functions that nobody met at work have a name as well. */
    for (size_t i = 0; ok && i < a->v->n_blocked_stacks; i++)
        ok = axp__stack_functions_get(&a->of, a->v->blocked_stacks[i].of);
    return ok;
}

/* ---- the lists ---------------------------------------------------------- */

static int by_self(const void *a, const void *b)
{
    const axp_op *x = a, *y = b;
    if (x->self_ns != y->self_ns) return x->self_ns < y->self_ns ? 1 : -1;
    if (x->total_ns != y->total_ns) return x->total_ns < y->total_ns ? 1 : -1;
    return strcmp(x->name, y->name);
}

/* Wilson's, so that none of 20 is not none for sure. */
double axp__share_error(double share, double n)
{
    const double z = 1.96;
    if (n <= 0) return 1;
    return z / (1 + z * z / n) *
           sqrt(share * (1 - share) / n + z * z / (4 * n * n));
}

static void make_function(axp_view *v, axp_op *op,
                          const struct axp__function *f)
{
    *op = (axp_op){.name = f->name,
                   .total_ns = f->total_ns,
                   .self_ns = f->self_ns,
                   .file = f->file,
                   .line = f->line,
                   .is_sampled = true,
                   .is_kernel = f->module && !strcmp(f->module, "[kernel]"),
                   .is_own = axp__is_own_code(f->module),
                   .samples = f->samples};
    if (v->sampled_ns)
        op->time_share = (double)f->self_ns / (double)v->sampled_ns;
    op->share_error = axp__share_error(op->time_share, (double)v->n_sampled);
}

/* In which a function is. */
static size_t scope_of(const axp_view *v, size_t i)
{
    while (v->tree[i].is_sampled)
        i = (size_t)v->tree[i].parent;
    return i;
}

static bool make_lists(struct adder *a)
{
    axp_view *v = a->v;
    size_t n_made = 0;
    v->functions = calloc(a->of.n_functions + 1, sizeof *v->functions);
    v->function_names =
        calloc(a->of.n_functions + 1, sizeof *v->function_names);
    v->tree_is_own = calloc(v->n_tree + 1, sizeof *v->tree_is_own);
    axp_ns *ours = calloc(v->n_tree + 1, sizeof *ours); /* within scopes */
    if (!v->functions || !v->function_names || !v->tree_is_own || !ours) {
        free(ours);
        return false;
    }
    for (size_t i = 0; i < a->of.n_functions; i++) {
        struct axp__function *f = &a->of.functions[i];
        if (f->is_made)
            v->function_names[n_made++] = (char *)(uintptr_t)f->name;
        f->is_made = false;
        if (f->total_ns) make_function(v, &v->functions[v->n_functions++], f);
    }
    for (size_t i = 1; i < v->n_tree; i++) {
        axp_tree_node *n = &v->tree[i];
        if (!n->is_sampled) continue;
        assert(a->of.functions && v->tree_names[i] < a->of.n_functions);
        const struct axp__function *f = &a->of.functions[v->tree_names[i]];
        n->name = f->name;
        v->tree_is_own[i] = axp__function_is_programs(f);
        if (!n->parent) v->tree[0].total_ns += n->total_ns;
        if (axp__is_own_code(f->module)) ours[scope_of(v, i)] += n->self_ns;
    }
    axp__view_doubt_met(v, ours);
    free(ours);
    qsort(v->functions, v->n_functions, sizeof *v->functions, by_self);
    return true;
}

bool axp__view_add_functions(axp_view *v)
{
    if (!v->capture->n_samples) {
        axp__view_settle_states(v);
        return axp__view_warn_of_samples(v);
    }
    struct adder *a = calloc(1, sizeof *a);
    if (!a) return false;
    a->v = v;
    a->of.v = v;
    a->idle.v = v;
    a->cap_tree = v->n_tree;
    a->most_places = v->n_tree + MOST_PLACES;
    bool ok =
        axp__samples_keep(v) && add_places(a) && add_all(a) && make_lists(a);
    axp__stack_functions_fini(&a->of);
    axp__waits_fini(&a->waits);
    axp__blocked_fini(&a->blocked);
    axp__idle_fini(&a->idle);
    free(a->seen);
    free(a->seen_slots.at);
    free(a->place_slots.at);
    free(a);
    axp__view_settle_states(v);
    return ok && axp__view_warn_of_samples(v);
}

void axp__view_free_functions(axp_view *v)
{
    for (size_t i = 0; v->function_names && v->function_names[i]; i++)
        free(v->function_names[i]);
    free(v->samples);
    free(v->function_names);
    free(v->functions);
    free(v->waits);
    free(v->blocked);
    free(v->blocked_stacks);
    free(v->outside_stacks);
}

axp_ns *axp__view_rest(const axp_view *v)
{
    axp_ns *rest = calloc(v->n_tree + 1, sizeof *rest);
    for (size_t i = 0; rest && i < v->n_tree; i++) {
        const axp_tree_node *n = &v->tree[i];
        rest[i] = n->self_ns;
        if (!n->is_sampled || v->tree[n->parent].is_sampled) continue;
        axp_ns *above = &rest[n->parent];
        *above -= n->total_ns < *above ? n->total_ns : *above;
    }
    return rest;
}
