/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a run would gain; see graph_gain.h. */
#include "graph/graph_gain.h"

#include <string.h>

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

bool axp__graph_gain(const axp_view *v, const axp_op *op, double scale,
                     axp_ns *gain)
{
    const axp_graph *g;
    struct axp__replayed r;
    if (!axp__graph_trusted(v, &g)) return false;
    if (!g) return true;
    bool ok = axp__replay_init(&r, g);
    for (size_t i = AXP__N_NO_OPS; ok && i < g->ops.n; i++) {
        if (!is_it(&g->ops, i, op)) continue;
        r.scale[i] = scale;
        r.is_changed = true;
    }
    return run(&r, ok, gain);
}

bool axp__graph_gain_no_cpu(const axp_view *v, axp_ns *gain)
{
    const axp_graph *g;
    struct axp__replayed r;
    if (!axp__graph_trusted(v, &g)) return false;
    if (!g) return true;
    bool ok = axp__replay_init(&r, g);
    if (ok) {
        r.scale[AXP__OP_NO_CPU] = 0;
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
