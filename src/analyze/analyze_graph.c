/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Graphs for rules; see analyze_graph.h. */
#include "analyze/analyze_graph.h"

#include <stdio.h>
#include <string.h>

#include "graph/graph_gain.h"
#include "graph/graph_meet.h"

#define LONGEST_NAME 18u /* of a thread, that its number still fits behind */

const axp_graph *axp__analysis_graph(struct axp__analysis *a)
{
    const axp_graph *g = NULL;
    if (!axp__graph_trusted(a->v, &g)) a->has_failed = true;
    return g;
}

const axp_op *axp__ops_view_op(const struct axp__graph_ops *ops, uint32_t op)
{
    if (op < AXP__N_NO_OPS || op >= ops->n) return NULL;
    const struct axp__graph_op *is = &ops->at[op];
    const axp_op *all = is->is_function ? ops->v->functions : ops->v->ops;
    size_t n = is->is_function ? ops->v->n_functions : ops->v->n_ops;
    for (size_t i = 0; i < n; i++)
        if (!all[i].device && !strcmp(all[i].name, is->text)) return &all[i];
    return NULL;
}

const axp_op *axp__graph_view_op(const axp_graph *g, uint32_t op)
{
    return axp__ops_view_op(&g->ops, op);
}

const char *axp__graph_row_text(const axp_graph *g, uint32_t row, char buf[32])
{
    const struct axp__stream_row *is = &g->rows[row].is;
    bool is_one_of_many = false;
    for (size_t i = 0; i < g->n_rows && *is->name; i++)
        is_one_of_many |= i != row && !strcmp(g->rows[i].is.name, is->name);
    snprintf(buf, 32, "%llu", (unsigned long long)is->thread_id);
    const char *text = axp__spoken(is->name, buf);
    if (!is_one_of_many || text == buf || strlen(text) > LONGEST_NAME)
        return text;
    snprintf(buf, 32, "%s/%llu", text, (unsigned long long)is->thread_id);
    return buf;
}

void axp__graph_led(const axp_graph *g, const struct axp__meets *m,
                    const bool *which, double *ns, bool is_more)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct axp__graph_node *n = &g->nodes[i];
        uint32_t to = m->leads_to[i];
        if (to == AXP__NONE || !which[to] || n->stretch != AXP__STRETCH_WORK ||
            n->is_estimate)
            continue;
        const struct axp__meet *meet = &m->at[to];
        double times = 1;
        if (is_more && n->row != meet->row)
            times = meet->n > 1 ? -1 / (double)(meet->n - 1) : 0;
        for (uint32_t k = 0; k < n->n_parts; k++) {
            uint64_t part = g->parts[n->parts + k];
            uint32_t op = axp__part_op(part);
            if (is_more || !axp__is_guess(g, n, op))
                ns[op] += times * (double)axp__part_ns(part);
        }
    }
    ns[AXP__OP_NO_CPU] = 0;
}
