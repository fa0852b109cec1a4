/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a run would gain; see graph_gain.h. */
#include "graph/graph_gain.h"

#include <stdlib.h>
#include <string.h>

#include "base/base_number.h"

#include "graph/graph_meet.h"
#include "graph/graph_replay.h"

static bool is_it(const struct axp__graph_ops *ops, size_t i, const axp_op *op)
{
    const struct axp__graph_op *is = &ops->at[i];
    if (is->is_function != op->is_sampled || strcmp(is->text, op->name) != 0)
        return false;
    const char *device =
        is->is_function ? NULL
                        : axp__view_device(ops->v, is->key & AXP__OP_NAME_MASK);
    return !axp__view_by_device(device, op->device);
}

bool axp__graph_trusted(const axp_view *v, const axp_graph **out)
{
    const struct axp__recorded *of = NULL;
    *out = NULL;
    if (axp_view_cut_count(v)) return true;
    if (axp__graph_recorded(v, &of)) return false;
    if (of && !axp_replay_total(of->replay).is_estimate) *out = of->graph;
    return true;
}

/* Runs what was changed, and frees it. */
static bool run(struct axp__replayed *r, bool ok, axp_ns *gain)
{
    if (ok && r->is_changed) {
        axp_ns end = r->g->end_ns;
        axp__replay_run(r);
        *gain = end > r->end_ns ? end - r->end_ns : 0;
    }
    axp__replay_fini(r);
    return ok;
}

static bool gain_in(const axp_graph *g, const struct axp__gain_part *parts,
                    size_t n, double blocked, axp_ns *gain)
{
    struct axp__replayed r;
    if (!g) return true;
    bool ok = axp__replay_init(&r, g);
    for (size_t i = AXP__N_NO_OPS; ok && i < g->ops.n; i++)
        for (size_t k = 0; k < n; k++) {
            if (!is_it(&g->ops, i, parts[k].op)) continue;
            r.scale[i] = parts[k].scale;
            r.is_changed = true;
        }
    if (ok) r.scale[AXP__OP_BLOCKED] = blocked;
    return run(&r, ok, gain);
}

static bool gain_of(const axp_view *v, const struct axp__gain_part *parts,
                    size_t n, double blocked, axp_ns *gain)
{
    const axp_graph *g;
    return axp__graph_trusted(v, &g) && gain_in(g, parts, n, blocked, gain);
}

bool axp__graph_gain_of(const axp_view *v, const struct axp__gain_part *parts,
                        size_t n, axp_ns *gain)
{
    return gain_of(v, parts, n, 1, gain);
}

bool axp__graph_gain_most(const axp_view *v, const struct axp__gain_part *parts,
                          size_t n, axp_ns *gain)
{
    return gain_of(v, parts, n, 0, gain);
}

bool axp__graph_gain(const axp_view *v, const axp_op *op, double scale,
                     axp_ns *gain)
{
    return axp__graph_gain_of(v, &(struct axp__gain_part){op, scale}, 1, gain);
}

bool axp__graph_gain_guess(const axp_view *v, const axp_op *op, axp_ns *gain)
{
    const struct axp__recorded *of = NULL;
    const struct axp__gain_part part = {op, 0};
    axp_ns found = 0;
    if (axp_view_cut_count(v)) return true;
    if (axp__graph_recorded(v, &of)) return false;
    if (!of) return true;
    bool ok = gain_in(of->graph, &part, 1, 1, &found);
    if (ok) *gain = found;
    return ok;
}

bool axp__graph_gain_without(const axp_view *v, enum axp__no_op what,
                             axp_ns *gain)
{
    const axp_graph *g;
    struct axp__replayed r;
    if (!axp__graph_trusted(v, &g)) return false;
    if (!g) return true;
    bool ok = axp__replay_init(&r, g);
    if (ok) {
        r.scale[what] = 0;
        r.is_changed = true;
    }
    return run(&r, ok, gain);
}

bool axp__graph_gain_free(const axp_graph *g, const uint32_t *waits, size_t n,
                          axp_ns *gain)
{
    struct axp__replayed r;
    bool ok = axp__replay_init(&r, g) && axp__replay_skip(&r, waits, n);
    return run(&r, ok, gain);
}

bool axp__graph_gain_even(const axp_graph *g, const bool *episodes,
                          axp_ns *gain)
{
    struct axp__replayed r;
    bool ok = axp__replay_init(&r, g) && axp__replay_even(&r, episodes);
    return run(&r, ok, gain);
}

/* Nobody waits at the meeting before one of these; who did nothing after it does
 * his share then. */
static bool go_on(struct axp__replayed *r, const struct axp__meets *m,
                  const bool *episodes)
{
    const axp_graph *g = r->g;
    bool *has_worked = calloc(g->n_rows + 1, sizeof *has_worked),
         ok = has_worked;
    for (uint32_t i = (uint32_t)g->n_nodes; ok && i--;) {
        const struct axp__graph_node *n = &g->nodes[i];
        uint32_t to = m->leads_to[i];
        if (n->source_kind == AXP__SOURCE_ARRIVES)
            has_worked[n->row] = m->own[i] > 0;
        if (n->stretch != AXP__STRETCH_WAIT ||
            n->source_kind != AXP__SOURCE_EPISODE || to == AXP__NONE ||
            episodes[n->source] || !episodes[to])
            continue;
        const struct axp__meet *meet = &m->at[to];
        double share = meet->sum_ns / (double)meet->n;
        ok = axp__replay_take(r, i, has_worked[n->row] ? 0 : axp__whole(share));
        has_worked[n->row] = true; /* one wait has it, of several */
    }
    free(has_worked);
    return ok;
}

bool axp__graph_gain_even_most(const axp_graph *g, const bool *episodes,
                               axp_ns *gain)
{
    struct axp__replayed r;
    struct axp__meets m;
    bool ok = axp__replay_init(&r, g) && axp__replay_even(&r, episodes);
    ok = axp__meets_init(&m, g) && ok && go_on(&r, &m, episodes);
    r.is_prompt = episodes;
    axp__meets_fini(&m);
    return run(&r, ok, gain);
}
