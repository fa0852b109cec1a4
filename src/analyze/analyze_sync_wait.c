/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* SyncWait: a wait that nothing hides, and of which no cause is known.
 * docs/rules/sync_wait.md
 *
 * Waiting is no cause: whoever ends a wait is, and where that is known the path
 * of the run goes on there. What is left of waits on the path is what nobody
 * recorded explains. Without such a path it is the program's own word for it, a
 * category of sync, and any rule that names a cause speaks instead. */
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze.h"
#include "analyze/analyze_wall.h"
#include "base/base_number.h"
#include "graph/graph.h"

struct waiting {
    const axp_op *op;
    axp_ns ns;     /* of the wall time */
    bool is_known; /* that nobody recorded did anything meanwhile */
};

static bool is_wait(const axp_op *op)
{
    return (op->is_wait || op->category == AXP_CAT_SYNC) && !op->device;
}

/* Who could end it, that was not recorded. */
/* Threads that ended when very many had are one row. */
static bool is_shared(const axp_view *v)
{
    for (size_t i = 0; i < v->n_warnings; i++)
        if (!strcmp(v->warnings[i].code, "shared_row")) return true;
    return false;
}

static void advise(struct axp__analysis *a, struct axp__draft *d,
                   const struct waiting *w)
{
    const char *name = axp__spoken(d->name, "it");
    char time[32];
    axp_format_ns(time, sizeof time, w->ns);
    if (!a->v->is_outside)
        axp__draft_advise(
            a, d,
            "record this with axprof run, which sees which thread "
            "ends %s; then what that thread does in these %s is "
            "named instead",
            name, time);
    else if (a->v->n_tracks)
        axp__draft_advise(a, d,
                          "see on the tracks what goes on during %s and begin "
                          "it earlier, or do other work in these %s: no flow "
                          "says which span ends the wait (axp_track_span_ex)",
                          name, time);
    else if (is_shared(a->v))
        axp__draft_advise(a, d,
                          "start fewer threads, or do other work in these %s: "
                          "so many have ended that not all have a row, and who "
                          "ends %s is not known of all",
                          time, name);
    else
        axp__draft_advise(
            a, d,
            "none of the %zu recorded threads ends %s: record "
            "whoever does, a device as a track (axp_track_span_ex) "
            "or another process, and do other work in these %s",
            a->v->n_threads, name, time);
}

static void add(struct axp__analysis *a, const struct waiting *w)
{
    struct axp__draft *d = axp__draft_add(a, AXP__RULE_sync_wait, w->op->name);
    double percent = 100 * (double)w->ns / (double)a->v->duration_ns;
    char time[32], part[32], each[32];
    if (!d) return;
    d->op = w->op;
    d->specificity = 2;
    d->has_saving = d->is_bound = true;
    d->is_capped = true;
    d->band = AXP_HIGH;
    d->is_last = !w->is_known;
    d->saving_ns = w->ns;
    d->confidence = w->is_known ? 0.5 : 0.3;
    axp__draft_say(
        a, d, "%s %% of the run, %s, is this wait: %llu call%s of %s%s",
        axp__fixed(part, sizeof part, percent, 1),
        axp_format_ns(time, sizeof time, w->ns),
        (unsigned long long)w->op->calls, w->op->calls == 1 ? "" : "s",
        axp_format_ns(each, sizeof each, w->op->avg_ns),
        w->is_known ? ", while no other recorded thread works for it" : "");
    advise(a, d, w);
    axp__draft_metric(d, "wait_percentage", percent);
}

static void look_at(struct axp__analysis *a, const struct waiting *w)
{
    double least = (double)a->v->duration_ns *
                   a->threshold[AXP__T_sync_wait_wall_percent] / 100;
    if (w->ns && (double)w->ns >= least) add(a, w);
}

/* The waits of that name that somebody is known to have ended, from then on: until
 * who waited saw it. A runtime may tell that it gave a lock when another has it
 * already: then all of his wait comes after the one before that. It is not for
 * nobody's sake, and of a lock LockContention has it all. */
static axp_ns late(const axp_graph *g, const axp_op *op)
{
    axp_ns sum = 0;
    for (size_t i = 0; i < g->n_nodes; i++) {
        const struct axp__graph_node *n = &g->nodes[i];
        if (n->stretch != AXP__STRETCH_WAIT || n->is_estimate || !n->n_parts ||
            (n->source_kind != AXP__SOURCE_NODE &&
             n->source_kind != AXP__SOURCE_EPISODE))
            continue;
        const struct axp__graph_op *of =
            &g->ops.at[axp__part_op(g->parts[n->parts])];
        if (of->is_wait && !strcmp(of->text, op->name)) sum += n->lag_ns;
    }
    return sum;
}

/* What the path has of each name. */
static void look_along(struct axp__analysis *a, const struct axp__recorded *of)
{
    size_t n = axp_replay_parts(of->replay, NULL, 0);
    axp_path_part *parts = calloc(n + 1, sizeof *parts);
    bool is_known = !axp_replay_total(of->replay).is_estimate;
    if (!parts) {
        a->has_failed = true;
        return;
    }
    axp_replay_parts(of->replay, parts, n);
    for (size_t i = 0; i < a->v->n_ops; i++) {
        struct waiting w = {&a->v->ops[i], 0, is_known};
        for (size_t k = 0; is_wait(w.op) && k < n; k++)
            if (!parts[k].device && !parts[k].is_sampled &&
                !strcmp(parts[k].name, w.op->name))
                w.ns += parts[k].ns;
        if (w.ns) {
            axp_ns told = late(of->graph, w.op);
            w.ns = w.ns > told ? w.ns - told : 0;
        }
        look_at(a, &w);
    }
    free(parts);
}

void axp__rule_sync_wait(struct axp__analysis *a)
{
    const struct axp__recorded *of = NULL;
    if (axp__graph_recorded(a->v, &of)) a->has_failed = true;
    if (of) {
        look_along(a, of);
        return;
    }
    for (size_t i = 0; i < a->v->n_ops; i++) {
        struct waiting w = {&a->v->ops[i], 0, false};
        if (!is_wait(w.op)) continue;
        w.ns = axp__wall_ns(a->wall, w.op);
        look_at(a, &w);
    }
}
