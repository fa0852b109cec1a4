/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Calls into libraries; see analyze_library.h.
 *
 *   samples ─► time of each stack ─► (called, innermost, caller) ─► by called
 */
#include "analyze/analyze_library.h"

#include <stdlib.h>
#include <string.h>

#include "model/model_functions.h"
#include "model/model_samples.h"
#include "model/model_stack_functions.h"
#include "symbol/symbol_module.h"

#define LEAST_SHARE 0.01 /* of what was sampled */

struct piece { /* of a stack; numbers of functions */
    uint32_t called, innermost, caller;
    const struct axp__stack_frame *from; /* where it is called */
    uint64_t ns;
};

struct look {
    const axp_view *v;
    bool is_outside; /* samples in no scope alone */
    struct axp__stack_functions of;
    uint64_t *inner_ns; /* by the function's number */
    const axp_op **ops; /* the same; NULL: not looked up, or none */
    struct piece *pieces;
    size_t n_pieces;
    bool has_failed;
};

/* ---- stacks ---------------------------------------------------------------------- */

static bool add_stack(struct look *l, uint32_t stack, uint64_t weight)
{
    struct axp__stack_of *of = axp__stack_functions_get(&l->of, stack);
    if (of) of->ns += weight;
    return of;
}

static int on_sample(const axp_sample *s, void *ctx)
{
    struct look *l = ctx;
    if (s->kind != AXP_SAMPLE_CPU || !s->stack) return 0;
    return l->has_failed = !add_stack(l, s->stack, s->weight);
}

/* What is in no scope the view has from when it was made: to find it among all
 * samples the whole timeline would be read again. */
static bool read_samples(struct look *l)
{
    const axp_view *v = l->v;
    if (!l->is_outside)
        return !axp__samples_give(v, on_sample, l) && !l->has_failed;
    for (size_t i = 0; i < v->n_outside_stacks; i++)
        if (v->outside_stacks[i].stack &&
            !add_stack(l, v->outside_stacks[i].stack, v->outside_stacks[i].ns))
            return false;
    return true;
}

/* The kernel's own library, too: it has no path. */
static bool is_system(const char *module)
{
    return module &&
           (axp__module_is_system(module) || !strcmp(module, "[vdso]"));
}

/* A name in brackets is no file: the kernel, the profiler. */
static bool is_program(const char *module)
{
    return module && *module == '/' && !is_system(module);
}

static void add_piece(struct look *l, const struct axp__stack_of *s)
{
    uint32_t at = s->first, end = s->first + s->n;
    uint64_t ns = s->ns;
    if (!s->n || !ns) return;
    uint32_t innermost = l->of.frames[at].function;
    l->inner_ns[innermost] += ns;
    while (at < end && is_system(axp__stack_functions_module(&l->of, at)))
        at++;
    if (at == s->first || at == end ||
        !is_program(axp__stack_functions_module(&l->of, at)))
        return;
    l->pieces[l->n_pieces++] =
        (struct piece){l->of.frames[at - 1].function, innermost,
                       l->of.frames[at].function, &l->of.frames[at], ns};
}

static bool read_all(struct look *l)
{
    if (!read_samples(l)) return false;
    size_t n = l->of.n_functions + 1;
    l->inner_ns = calloc(n, sizeof *l->inner_ns);
    l->ops = calloc(n, sizeof *l->ops);
    l->pieces = calloc(l->of.n_stacks + 1, sizeof *l->pieces);
    if (!l->inner_ns || !l->ops || !l->pieces) return false;
    for (size_t i = 0; i < l->of.n_stacks; i++)
        add_piece(l, &l->of.stacks[i]);
    return true;
}

/* ---- one that is called ------------------------------------------------------------ */

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_innermost(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    int order = compare(x->called, y->called);
    return order ? order : compare(x->innermost, y->innermost);
}

static int by_caller(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    int order = compare(x->called, y->called);
    return order ? order : compare(x->caller, y->caller);
}

/* What the view has of it; by its name, as everything that a reader sees. */
static const axp_op *op_of(struct look *l, uint32_t function)
{
    const char *name = l->of.functions[function].name;
    for (size_t i = 0; i < l->v->n_functions && !l->ops[function]; i++)
        if (!strcmp(l->v->functions[i].name, name))
            l->ops[function] = &l->v->functions[i];
    return l->ops[function];
}

/* From the pieces of one, by their innermost function. */
static bool set_parts(struct look *l, const struct piece *from, size_t n,
                      struct axp__called *e)
{
    double own = 0, samples = 0;
    e->parts = calloc(n, sizeof *e->parts);
    if (!e->parts) return false;
    for (size_t i = 0, next; i < n; i = next) {
        uint64_t ns = 0;
        for (next = i; next < n && from[next].innermost == from[i].innermost;)
            ns += from[next++].ns;
        const axp_op *op = op_of(l, from[i].innermost);
        if (!op) continue;
        double part = (double)ns / (double)l->inner_ns[from[i].innermost];
        e->parts[e->n_parts++] = (struct axp__gain_part){op, 1 - part};
        /* Of all its time, in scopes too: what is here. */
        double all = (double)op->self_ns;
        if (l->is_outside) part = all > (double)ns ? (double)ns / all : 1;
        own += part * all;
        samples += part * (double)op->samples;
    }
    e->op.self_ns = (uint64_t)(own + 0.5);
    e->op.samples = (uint64_t)(samples + 0.5);
    return true;
}

/* From the same pieces, by who calls. */
static void set_caller(struct look *l, const struct piece *from, size_t n,
                       struct axp__called *e)
{
    uint64_t most = 0, most_piece = 0;
    for (size_t i = 0, next; i < n; i = next) {
        uint64_t ns = 0;
        for (next = i; next < n && from[next].caller == from[i].caller;)
            ns += from[next++].ns;
        if (ns <= most) continue;
        most = ns;
        most_piece = 0;
        const axp_op *op = op_of(l, from[i].caller);
        e->caller = op ? op->name : NULL;
        for (size_t k = i; k < next; k++) {
            if (from[k].ns <= most_piece) continue;
            most_piece = from[k].ns;
            e->op.file = from[k].from->file;
            e->op.line = from[k].from->line;
        }
    }
}

static bool add(struct look *l, struct piece *from, size_t n,
                struct axp__library *out)
{
    const axp_view *v = l->v;
    struct axp__called e = {0};
    if (!set_parts(l, from, n, &e)) return false;
    qsort(from, n, sizeof *from, by_caller);
    set_caller(l, from, n, &e);
    const axp_op *called = op_of(l, from->called);
    if (called) e.op.name = called->name;
    e.op.total_ns = e.op.self_ns;
    e.op.is_sampled = true;
    e.op.time_share = (double)e.op.self_ns / (double)v->sampled_ns;
    e.op.share_error = axp__share_error(e.op.time_share, (double)v->n_sampled);
    if (!e.op.name || !e.caller || e.op.time_share < LEAST_SHARE) {
        free(e.parts);
        return true;
    }
    for (size_t i = 0; i < e.n_parts; i++)
        out->part[e.parts[i].op - v->functions] += 1 - e.parts[i].scale;
    out->all[out->n++] = e;
    return true;
}

/* The view has those that take most first. */
static void set_own(struct look *l, bool *is_own)
{
    const axp_view *v = l->v;
    double least = LEAST_SHARE * (double)v->sampled_ns;
    for (size_t i = 0; i < v->n_functions; i++) {
        if ((double)v->functions[i].self_ns < least) break;
        for (size_t k = 0; k < l->of.n_functions && !is_own[i]; k++)
            is_own[i] = is_program(l->of.functions[k].module) &&
                        !strcmp(l->of.functions[k].name, v->functions[i].name);
    }
}

static bool add_all(struct look *l, struct axp__library *out)
{
    bool ok = true;
    out->all = calloc(l->n_pieces + 1, sizeof *out->all);
    out->part = calloc(l->v->n_functions + 1, sizeof *out->part);
    out->is_own = calloc(l->v->n_functions + 1, sizeof *out->is_own);
    if (!out->all || !out->part || !out->is_own) return false;
    set_own(l, out->is_own);
    qsort(l->pieces, l->n_pieces, sizeof *l->pieces, by_innermost);
    for (size_t i = 0, next; ok && i < l->n_pieces; i = next) {
        for (next = i; next < l->n_pieces &&
                       l->pieces[next].called == l->pieces[i].called;)
            next++;
        ok = add(l, &l->pieces[i], next - i, out);
    }
    return ok;
}

bool axp__library_find(const axp_view *v, bool is_outside,
                       struct axp__library *out)
{
    struct look l = {.v = v, .is_outside = is_outside, .of = {.v = v}};
    *out = (struct axp__library){0};
    bool ok =
        !v->n_functions || !v->sampled_ns || (read_all(&l) && add_all(&l, out));
    if (!ok) axp__library_fini(out);
    free(l.inner_ns);
    free(l.ops);
    free(l.pieces);
    axp__stack_functions_fini(&l.of);
    return ok;
}

void axp__library_fini(struct axp__library *e)
{
    for (size_t i = 0; i < e->n; i++)
        free(e->all[i].parts);
    free(e->all);
    free(e->part);
    free(e->is_own);
    *e = (struct axp__library){0};
}
