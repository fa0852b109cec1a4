/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads that are not worth starting; see analyze_short_threads.h. */
#include "analyze/analyze_short_threads.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/analyze_graph.h"
#include "analyze/analyze_wall.h"
#include "base/base_number.h"
#include "model/model_view.h"

struct started {               /* by an operation */
    uint64_t n_all, n;         /* n: and waited for, until they ended */
    double lived_ns, fixed_ns; /* of those */
    axp_ns waited_ns;          /* of the fixed part: somebody waited then */
    axp_ns own_ns;             /* of the operation, without waits */
};

/* What the thread that started a row did right then; AXP__NONE: not known. A
 * function that a sample met stands for a ms, and another may have started it. */
static uint32_t started_by(const axp_graph *g, const struct axp__graph_row *r)
{
    const struct axp__graph_node *first = &g->nodes[r->nodes[0]];
    if (r->is.track || first->source_kind != AXP__SOURCE_NODE) return AXP__NONE;
    uint32_t next = g->nodes[first->source].next;
    if (next == AXP__NONE || g->nodes[next].stretch != AXP__STRETCH_WORK ||
        !g->nodes[next].n_parts)
        return AXP__NONE;
    uint32_t op = axp__part_op(g->parts[g->nodes[next].parts]);
    return g->ops.at[op].is_function ? AXP__OP_OUTSIDE : op;
}

static void count_started(const axp_graph *g, struct started *all)
{
    for (uint32_t i = 0; i < g->n_rows; i++) {
        uint32_t op =
            g->rows[i].n_nodes ? started_by(g, &g->rows[i]) : AXP__NONE;
        if (op != AXP__NONE) all[op].n_all++;
    }
}

static void count_own(const axp_graph *g, struct started *all)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct axp__graph_node *n = &g->nodes[i];
        for (uint32_t k = 0; n->stretch == AXP__STRETCH_WORK && k < n->n_parts;
             k++) {
            uint64_t part = g->parts[n->parts + k];
            uint32_t op = axp__part_op(part);
            if (g->ops.at[op].is_function) op = AXP__OP_OUTSIDE;
            all[op].own_ns += axp__part_ns(part);
        }
    }
}

/* Of a wait for the end of a thread: until the thread had begun, and from its end
 * on. In between it did what it was started for. */
static axp_ns waited_of(const axp_graph *g, const struct axp__graph_node *wait,
                        const struct axp__graph_node *first)
{
    axp_ns since =
        wait->prev == AXP__NONE ? wait->time_ns : g->nodes[wait->prev].time_ns;
    axp_ns before = first->time_ns > since ? first->time_ns - since : 0;
    axp_ns most = wait->time_ns > since ? wait->time_ns - since : 0;
    if (before > first->lag_ns) before = first->lag_ns;
    return before + wait->lag_ns < most ? before + wait->lag_ns : most;
}

/* A wait for the end of a thread. */
static void add_join(const axp_graph *g, uint32_t node, struct started *all)
{
    const struct axp__graph_node *n = &g->nodes[node];
    if (n->stretch != AXP__STRETCH_WAIT || n->source_kind != AXP__SOURCE_NODE ||
        g->nodes[n->source].source_kind != AXP__SOURCE_ARRIVES)
        return;
    const struct axp__graph_row *r = &g->rows[g->nodes[n->source].row];
    uint32_t op = started_by(g, r);
    if (op == AXP__NONE) return;
    const struct axp__graph_node *first = &g->nodes[r->nodes[0]];
    all[op].n++;
    all[op].lived_ns += (double)(g->nodes[n->source].time_ns - first->time_ns);
    all[op].fixed_ns += (double)first->lag_ns + (double)n->lag_ns;
    all[op].waited_ns += waited_of(g, n, first);
}

/* That a thread is followed makes starting it longer: that is ours. */
static void take_off(const axp_view *v, struct started *all, uint32_t n_ops)
{
    double each =
        (double)axp__view_cost_ns(v, "axprof.follow_ns") / (double)v->n_threads;
    for (uint32_t i = 0; i < n_ops; i++)
        all[i].fixed_ns = fmax(all[i].fixed_ns - each * (double)all[i].n, 0);
}

/* What could be gained: of the fixed part no more than somebody had of it. Many
 * that are started at once, or on a busy machine, stand ready together, and who
 * started them goes on. */
static axp_ns gain_of(const axp_graph *g, uint32_t op, const struct started *s)
{
    const axp_op *known =
        op >= AXP__N_NO_OPS ? axp__graph_view_op(g, op) : NULL;
    axp_ns most = s->waited_ns + (known ? axp__sure_ns(known) : s->own_ns);
    axp_ns fixed = axp__whole(s->fixed_ns);
    return fixed < most ? fixed : most;
}

static void add(struct axp__analysis *a, const axp_graph *g, uint32_t op,
                const struct started *s)
{
    bool is_named = op >= AXP__N_NO_OPS;
    struct axp__draft *d =
        axp__draft_add(a, AXP__RULE_call_overhead,
                       is_named ? g->ops.at[op].text : "(no scope)");
    double n = (double)s->n, wall = (double)a->v->duration_ns;
    char life[32], took[32], part[32];
    if (!d) return;
    if (is_named) d->op = axp__graph_view_op(g, op);
    d->specificity = 3;
    d->has_saving = d->is_bound = d->is_capped = true;
    d->band = AXP_MEDIUM;
    d->saving_ns = gain_of(g, op, s);
    d->confidence = 0.4;
    axp_format_ns(life, sizeof life, axp__whole(s->lived_ns / n));
    axp_format_ns(took, sizeof took, axp__whole(s->fixed_ns / n));
    axp__draft_say(
        a, d,
        "starts %s%llu threads and waits until %s%llu of them end%s, which live for "
        "%s on average; until one has begun, and whoever waits for it is awake "
        "again, is %s; of that at most %s %% of the run is to be gained",
        s->n_all + 1 < a->v->n_threads ? "at least " : "",
        (unsigned long long)s->n_all, s->n < s->n_all ? "" : "all ",
        (unsigned long long)s->n, s->n == 1 ? "s" : "", life, took,
        axp__fixed(part, sizeof part,
                   fmin(100 * (double)d->saving_ns / wall, 100), 1));
    axp__draft_advise(
        a, d,
        "keep a few threads and hand them what %s starts a thread "
        "for, several at once, or do it in place: %s of work does "
        "not pay for a thread",
        axp__spoken(d->name, "it"), life);
    axp__draft_metric(d, "threads", n);
    axp__draft_metric(d, "thread_ns", s->lived_ns / n);
    axp__draft_metric(d, "blocked_ms", (double)s->waited_ns / 1e6);
}

static void look_at(struct axp__analysis *a, const axp_graph *g,
                    const struct started *all)
{
    const double *t = a->threshold;
    double wall =
        (double)a->v->duration_ns * t[AXP__T_call_overhead_wall_percent] / 100;
    double is_short = t[AXP__T_call_overhead_short_thread_us] * 1e3;
    for (uint32_t i = 0; i < g->ops.n; i++) {
        double n = (double)all[i].n;
        bool is_it = i == AXP__OP_OUTSIDE || i >= AXP__N_NO_OPS;
        if (is_it && all[i].n && n >= t[AXP__T_call_overhead_threads] &&
            all[i].lived_ns < is_short * n &&
            (double)gain_of(g, i, &all[i]) >= wall)
            add(a, g, i, &all[i]);
    }
}

void axp__short_threads_look(struct axp__analysis *a)
{
    if ((double)a->v->n_threads <= a->threshold[AXP__T_call_overhead_threads])
        return;
    const axp_graph *g = axp__analysis_graph(a);
    struct started *all = g ? calloc(g->ops.n + 1, sizeof *all) : NULL;
    if (g && !all) a->has_failed = true;
    if (all) count_started(g, all);
    if (all) count_own(g, all);
    for (uint32_t i = 0; all && i < g->n_nodes; i++)
        add_join(g, i, all);
    if (all) take_off(a->v, all, g->ops.n);
    if (all) look_at(a, g, all);
    free(all);
}
