/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* SerialPhase: one thread works while those that it meets have nothing to do,
 * between two meetings or before it begins a region, or while its pool waits for
 * it. docs/rules/serial_phase.md
 *
 * It names what that thread does most of then. What it costs is at most what a
 * replay gains in which all who meet share it: then they need not have met before
 * it, and nobody is woken after it. Never more than what is left out if the work is
 * divided among those who wait, or the processors if these are fewer. */
#include <math.h>
#include <stdlib.h>

#include "analyze/analyze_graph.h"
#include "analyze/analyze_serial_own.h"
#include "base/base_number.h"
#include "graph/graph_alone.h"
#include "graph/graph_gain.h"
#include "graph/graph_meet.h"
#include "graph/graph_pool.h"

struct alone {
    bool *which; /* episodes */
    struct axp__serial is;
    const char *name; /* of the largest part of it; NULL: it has none … */
    const axp_op *op; /* … if the view has it … */
    double part;      /* … from 0 to 1 */
    axp_ns gain_ns;
};

static void choose(struct alone *x, const axp_graph *g,
                   const struct axp__meets *m)
{
    for (size_t i = 0; i < g->n_episodes; i++)
        x->which[i] = axp__meet_is_alone(&m->at[i]);
}

/* Before meetings, before regions, and beside a pool: much of that is the same. */
static bool find(struct alone *x, const axp_graph *g,
                 const struct axp__meets *m, double *ns)
{
    choose(x, g, m);
    return axp__serial_add_meets(&x->is, m, x->which) &&
           axp__alone_find(m, &x->is) && axp__pool_find(&x->is) &&
           axp__serial_sum(&x->is, ns);
}

static bool is_work(uint32_t op)
{
    return op >= AXP__N_NO_OPS || op == AXP__OP_OUTSIDE;
}

/* The largest of those that are no function: of nothing that has a name, too. */
static double find_scope(struct alone *x, const axp_graph *g, const double *ns)
{
    double most = 0;
    for (uint32_t i = 0; i < g->ops.n; i++) {
        if (g->ops.at[i].is_function || ns[i] <= most) continue;
        most = ns[i];
        x->name = i < AXP__N_NO_OPS ? NULL : g->ops.at[i].text;
        x->op = axp__graph_view_op(g, i);
        x->part = is_work(i) ? most : 0;
    }
    return most;
}

/* ns: of each operation. Functions are known of stretches in which one was seen, and
 * stand for the others, too. What is done below one of the program's is its own,
 * the kernel's part as well; what we do nobody divides. False: no memory. */
static bool find_op(struct alone *x, const axp_graph *g, const double *ns)
{
    struct axp__serial_own own = {0};
    double marked = 0, seen = 0;
    for (uint32_t i = 0; i < g->ops.n; i++)
        if (is_work(i)) *(g->ops.at[i].is_function ? &seen : &marked) += ns[i];
    double times = seen > 0 ? fmax(1, (x->is.ns - marked) / seen) : 1;
    double all = fmax(x->is.ns, marked + times * seen);
    if (seen > 0 && !axp__serial_own_find(&x->is, &own)) return false;
    if (own.share * times * seen > find_scope(x, g, ns)) {
        x->op = own.op;
        x->name = own.name;
        x->part = own.share * times * seen;
    }
    x->part = all > 0 ? x->part / all : 0;
    return true;
}

/* One thread is who works alone if it did nearly all of it. */
#define NEARLY_ALL 0.95

/* What it is named after is a third of it at least. */
#define LEAST_PART (1.0 / 3)

static void say(struct axp__analysis *a, struct axp__draft *d,
                const axp_graph *g, const struct alone *x)
{
    char time[32], part[32], share[32], who[32];
    const struct axp__serial *is = &x->is;
    double percent = 100 * is->ns / (double)a->v->duration_ns;
    bool is_one = is->row_ns >= NEARLY_ALL * is->all_ns;
    axp__draft_say(
        a, d,
        "thread %s%s alone %zu time%s, %s in all, %s %% of the "
        "run, while %u other%s wait%s for it",
        axp__graph_row_text(g, is->row, who),
        is_one ? " works" : " and others work", is->n, is->n == 1 ? "" : "s",
        axp_format_ns(time, sizeof time, axp__whole(is->ns)),
        axp__fixed(part, sizeof part, percent, 1), is->n_threads - 1,
        is->n_threads == 2 ? "" : "s", is->n_threads == 2 ? "s" : "");
    axp__fixed(share, sizeof share, 100 * x->part, 0);
    if (x->part >= LEAST_PART)
        axp__draft_say(a, d, "%s %% of that is this", share);
    else if (x->part > 0)
        axp__draft_say(a, d, "the largest part of that, %s %%, is %s", share,
                       x->name ? x->name : "outside scopes");
    axp__draft_metric(d, "serial_percentage", percent);
    axp__draft_metric(d, "part_percentage", 100 * x->part);
}

static void add(struct axp__analysis *a, const axp_graph *g,
                const struct alone *x)
{
    char saved[32];
    bool is_it = x->name && x->part >= LEAST_PART;
    const char *name = is_it ? x->name : x->name ? "(several)" : "(no scope)";
    struct axp__draft *d = axp__draft_add(a, AXP__RULE_serial_phase, name);
    if (!d) return;
    if (is_it) d->op = x->op;
    d->specificity = 4;
    d->has_saving = d->is_bound = d->is_capped = true;
    d->band = AXP_HIGH;
    d->saving_ns = x->gain_ns;
    d->confidence = 0.6;
    say(a, d, g, x);
    axp__draft_advise(
        a, d,
        "divide %s among the %u threads, or do it beside their next work: "
        "divided evenly the run would be %s shorter",
        x->part < 0.5 ? "what it does then" : axp__spoken(d->name, "it"),
        x->is.n_threads, axp_format_ns(saved, sizeof saved, x->gain_ns));
}

/* No more than is left out if as many as there are share it. */
static bool find_gain(struct alone *x, const axp_graph *g)
{
    if (!axp__graph_gain_even_most(g, x->which, &x->gain_ns)) return false;
    double gain = (double)x->gain_ns + x->is.gain_ns;
    x->gain_ns = axp__whole(fmin(gain, x->is.most_ns));
    return true;
}

static bool look_at(struct axp__analysis *a, const axp_graph *g,
                    struct alone *x, const struct axp__meets *m, double *ns)
{
    const double *t = a->threshold;
    double wall = (double)a->v->duration_ns;
    if (!find(x, g, m, ns)) return false;
    x->is.ns = fmin(x->is.ns, wall);
    if (100 * x->is.ns < wall * t[AXP__T_serial_phase_wall_percent])
        return true;
    if (!find_gain(x, g)) return false;
    if (100 * (double)x->gain_ns < wall * t[AXP__T_serial_phase_saving_percent])
        return true;
    if (!find_op(x, g, ns)) return false;
    add(a, g, x);
    return true;
}

void axp__rule_serial_phase(struct axp__analysis *a)
{
    const axp_graph *g = axp__analysis_graph(a);
    struct axp__meets m;
    if (!g) return;
    bool *which = calloc(g->n_episodes + 1, sizeof *which);
    double *ns = calloc(g->ops.n + 1, sizeof *ns);
    struct alone x = {.which = which,
                      .is = {.g = g, .most = a->v->capture->about.n_cpus}};
    bool ok = axp__meets_init(&m, g) && which && ns;
    if (!ok || !look_at(a, g, &x, &m, ns)) a->has_failed = true;
    axp__serial_fini(&x.is);
    axp__meets_fini(&m);
    free(which);
    free(ns);
}
