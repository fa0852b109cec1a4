/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A graph run again; see graph_replay.h. */
#include "graph/graph_replay.h"

#include <stdlib.h>

#include "base/base_number.h"

bool axp__replay_init(struct axp__replayed *r, const axp_graph *g)
{
    *r = (struct axp__replayed){.g = g, .last = AXP__NONE};
    r->scale = malloc((g->ops.n + 1) * sizeof *r->scale);
    r->at = malloc((g->n_nodes + 1) * sizeof *r->at);
    r->ratio = malloc((g->n_nodes + 1) * sizeof *r->ratio);
    r->episodes = malloc((g->n_episodes + 1) * sizeof *r->episodes);
    for (size_t i = 0; r->scale && i < g->ops.n; i++)
        r->scale[i] = 1;
    return r->scale && r->at && r->ratio && r->episodes;
}

void axp__replay_fini(struct axp__replayed *r)
{
    free(r->scale);
    free(r->even);
    free(r->takes);
    free(r->at);
    free(r->ratio);
    free(r->episodes);
    *r = (struct axp__replayed){.last = AXP__NONE};
}

/* A recording may claim times, and a caller factors, that nothing holds. */
static axp_ns plus(axp_ns a, axp_ns b)
{
    const axp_ns most = UINT64_MAX / 4;
    return a < most && b < most - a ? a + b : most;
}

bool axp__replay_take(struct axp__replayed *r, uint32_t wait, axp_ns ns)
{
    size_t n = r->g->n_nodes + 1;
    if (!r->takes) {
        r->takes = malloc(n * sizeof *r->takes);
        for (size_t i = 0; r->takes && i < n; i++)
            r->takes[i] = UINT64_MAX;
    }
    if (r->takes) r->takes[wait] = ns;
    r->is_changed = true;
    return r->takes;
}

bool axp__replay_skip(struct axp__replayed *r, const uint32_t *waits, size_t n)
{
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++)
        ok = axp__replay_take(r, waits[i], 0);
    return ok;
}

/* ---- stretches -------------------------------------------------------------------- */

static axp_ns recorded(const axp_graph *g, uint32_t node)
{
    const struct axp__graph_node *n = &g->nodes[node];
    return n->prev == AXP__NONE ? 0 : n->time_ns - g->nodes[n->prev].time_ns;
}

/* What the work of a stretch becomes: 1, as long as it was; off: what of the
 * stretch is time without a processor. */
static double work_ratio(const struct axp__replayed *r, uint32_t node,
                         double *off)
{
    const struct axp__graph_node *n = &r->g->nodes[node];
    const uint64_t *p = r->g->parts + n->parts;
    double was = 0, is = 0, without = 0;
    for (uint32_t i = 0; i < n->n_parts; i++) {
        uint32_t op = axp__part_op(p[i]);
        double ns = (double)axp__part_ns(p[i]);
        if (op == AXP__OP_NO_CPU) {
            without += ns;
            continue;
        }
        was += ns;
        is += ns * r->scale[op];
    }
    double by = was > 0 ? is / was : 1;
    *off = without > 0 ? without / (was + without) : 0;
    return r->even ? by * (double)r->even[node] : by;
}

/* … and all of it. Time without a processor follows the rest: who does less is
 * interrupted less. */
static double ratio(const struct axp__replayed *r, uint32_t node)
{
    double off, by = work_ratio(r, node, &off);
    return by * (1 - off + off * r->scale[AXP__OP_NO_CPU]);
}

axp_ns axp__replay_length(const struct axp__replayed *r, uint32_t node)
{
    axp_ns was = recorded(r->g, node);
    if (!r->is_changed) return was;
    return axp__whole((double)was * r->ratio[node]);
}

double axp__replay_part(const struct axp__replayed *r, uint32_t node,
                        uint32_t part)
{
    const struct axp__graph_node *n = &r->g->nodes[node];
    uint64_t p = r->g->parts[n->parts + part];
    uint32_t op = axp__part_op(p);
    double off, scale = r->scale[op];
    if (op == AXP__OP_NO_CPU) scale *= work_ratio(r, node, &off);
    if (r->even && op != AXP__OP_NO_CPU) scale *= (double)r->even[node];
    return (double)axp__part_ns(p) * scale;
}

axp_ns axp__replay_time(const struct axp__replayed *r, uint32_t node,
                        axp_ns after_ns)
{
    uint32_t next = r->g->nodes[node].next;
    bool is_scaled = after_ns && r->is_changed && next != AXP__NONE &&
                     r->g->nodes[next].stretch == AXP__STRETCH_WORK;
    if (is_scaled) after_ns = axp__whole((double)after_ns * r->ratio[next]);
    return plus(r->at[node], after_ns);
}

/* ---- nodes ------------------------------------------------------------------------ */

uint32_t axp__replay_source(const struct axp__replayed *r, uint32_t node,
                            axp_ns *at)
{
    const struct axp__graph_node *n = &r->g->nodes[node];
    if (n->source_kind == AXP__SOURCE_NODE) {
        *at = axp__replay_time(r, n->source, n->after_ns);
        return n->source;
    }
    if (n->source_kind != AXP__SOURCE_EPISODE) return AXP__NONE;
    const struct axp__replay_episode *e = &r->episodes[n->source];
    if (e->last == AXP__NONE || e->last >= node) return AXP__NONE;
    *at = e->last_ns;
    return e->last;
}

static axp_ns later(axp_ns a, axp_ns b)
{
    return a > b ? a : b;
}

static axp_ns time_of(const struct axp__replayed *r, uint32_t node)
{
    const struct axp__graph_node *n = &r->g->nodes[node];
    axp_ns source = 0, begin = n->prev == AXP__NONE ? 0 : r->at[n->prev];
    bool has_source = axp__replay_source(r, node, &source) != AXP__NONE;
    switch (n->stretch) {
    case AXP__STRETCH_START:
        return has_source ? plus(source, n->lag_ns) : n->time_ns;
    case AXP__STRETCH_WORK:
        return later(plus(begin, axp__replay_length(r, node)), source);
    case AXP__STRETCH_WAIT:
        if (r->takes && r->takes[node] != UINT64_MAX)
            return plus(begin, r->takes[node]);
        if (!has_source) return plus(begin, recorded(r->g, node));
        if (r->is_prompt && n->source_kind == AXP__SOURCE_EPISODE &&
            r->is_prompt[n->source])
            return later(begin, source);
        if (!n->is_late) return later(begin, plus(source, n->lag_ns));
        break;
    default:
        if (!has_source) return plus(begin, recorded(r->g, node));
    }
    return plus(later(begin, source), n->lag_ns);
}

void axp__replay_run(struct axp__replayed *r)
{
    const axp_graph *g = r->g;
    for (size_t i = 0; i < g->n_episodes; i++)
        r->episodes[i] = (struct axp__replay_episode){0, AXP__NONE};
    for (uint32_t i = 0; r->is_changed && i < g->n_nodes; i++)
        r->ratio[i] = ratio(r, i); /* once: many may depend on one */
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct axp__graph_node *n = &g->nodes[i];
        r->at[i] = time_of(r, i);
        if (n->source_kind != AXP__SOURCE_ARRIVES) continue;
        struct axp__replay_episode *e = &r->episodes[n->source];
        if (e->last == AXP__NONE || r->at[i] > e->last_ns)
            *e = (struct axp__replay_episode){r->at[i], i};
    }
    axp_ns recorded_end = 0, end = 0;
    r->last = AXP__NONE;
    for (uint32_t i = 0; i < g->n_rows; i++) {
        uint32_t last = axp__graph_last(g, i);
        if (!g->rows[i].is_end || last == AXP__NONE) continue;
        recorded_end = later(recorded_end, g->nodes[last].time_ns);
        if (r->last != AXP__NONE && r->at[last] <= end) continue;
        end = r->at[last];
        r->last = last;
    }
    r->end_ns =
        r->last == AXP__NONE ? g->end_ns : end + (g->end_ns - recorded_end);
}

/* ---- steps ------------------------------------------------------------------------- */

axp_ns axp__replay_step(const struct axp__replayed *r, uint64_t *n_steps)
{
    const struct axp__step_marks *most = NULL;
    for (size_t i = 0; i < r->g->n_rows; i++) {
        const struct axp__step_marks *s = &r->g->rows[i].steps;
        if (s->n && (!most || s->n > most->n)) most = s;
    }
    *n_steps = most ? most->n : 0;
    if (!most) return 0;
    axp_ns last = axp__replay_time(r, most->last, most->last_after);
    axp_ns first = axp__replay_time(r, most->first, most->first_after);
    if (most->n == 1) return last > most->begin_ns ? last - most->begin_ns : 0;
    return last > first ? (last - first) / (most->n - 1) : 0;
}
