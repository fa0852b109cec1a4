/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Who met; see graph_meet.h. */
#include "graph/graph_meet.h"

#include <stdlib.h>

struct meeter {
    struct axp__meets *m;
    const axp_graph *g;
    double *worked;    /* of each row, since its last meeting */
    double *base;      /* of that, what does not count … */
    uint32_t *since;   /* … and the node that it goes to; AXP__NONE: none */
    uint32_t *arrived; /* its last meeting's node; AXP__NONE */
    double *sum;       /* `worked` at each node */
    uint32_t *from;    /* of each node that arrives: `since` */
    bool *is_lock;     /* of each node: a wait for a lock */
};

void axp__meets_fini(struct axp__meets *m)
{
    free(m->at);
    free(m->leads_to);
    free(m->own);
    *m = (struct axp__meets){0};
}

static double work_of(const axp_graph *g, uint32_t node)
{
    const struct axp__graph_node *n = &g->nodes[node];
    double ns = 0;
    if (n->stretch != AXP__STRETCH_WORK || n->is_estimate) return 0;
    for (uint32_t i = 0; i < n->n_parts; i++) {
        uint32_t op = axp__part_op(g->parts[n->parts + i]);
        if (axp__op_is_work(op))
            ns += (double)axp__part_ns(g->parts[n->parts + i]);
    }
    return ns;
}

/* What a row did until that node is before what it did beside others. */
static void begin_after(struct meeter *x, uint32_t node)
{
    uint32_t row = x->g->nodes[node].row, arrived = x->arrived[row];
    if (arrived != AXP__NONE && node <= arrived) return;
    if (x->sum[node] < x->base[row]) return;
    x->base[row] = x->sum[node];
    x->since[row] = node;
}

static void arrive(struct meeter *x, uint32_t node)
{
    const struct axp__graph_node *n = &x->g->nodes[node];
    struct axp__meet *meet = &x->m->at[n->source];
    double own = x->worked[n->row] - x->base[n->row];
    x->m->own[node] = own;
    x->from[node] = x->since[n->row];
    if (!meet->n || own > meet->most_ns) {
        meet->most_ns = own;
        meet->row = n->row;
    }
    meet->n++;
    meet->sum_ns += own;
    x->worked[n->row] = x->base[n->row] = 0;
    x->since[n->row] = AXP__NONE;
    x->arrived[n->row] = node;
}

static void add_up(struct meeter *x)
{
    const axp_graph *g = x->g;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct axp__graph_node *n = &g->nodes[i];
        x->worked[n->row] += work_of(g, i);
        x->sum[i] = x->worked[n->row];
        if (n->source_kind == AXP__SOURCE_ARRIVES) {
            arrive(x, i);
        } else if (n->source_kind == AXP__SOURCE_NODE && !x->is_lock[i] &&
                   n->stretch != AXP__STRETCH_WORK) {
            begin_after(x, i);
            begin_after(x, n->source);
        }
    }
}

/* From the end on: what each row comes to next, as far back as it counts. */
static void look_ahead(struct meeter *x)
{
    const axp_graph *g = x->g;
    uint32_t *next = x->arrived; /* of each row the node that it arrives with */
    for (size_t i = 0; i < g->n_rows; i++)
        next[i] = AXP__NONE;
    for (uint32_t i = (uint32_t)g->n_nodes; i--;) {
        const struct axp__graph_node *n = &g->nodes[i];
        uint32_t *to = &next[n->row];
        if (n->source_kind == AXP__SOURCE_ARRIVES)
            *to = i;
        else if (*to != AXP__NONE && x->from[*to] != AXP__NONE &&
                 i <= x->from[*to])
            *to = AXP__NONE;
        x->m->leads_to[i] = *to == AXP__NONE ? AXP__NONE : g->nodes[*to].source;
    }
}

static bool make(struct meeter *x)
{
    const axp_graph *g = x->g;
    struct axp__meets *m = x->m;
    m->at = calloc(g->n_episodes + 1, sizeof *m->at);
    m->leads_to = malloc((g->n_nodes + 1) * sizeof *m->leads_to);
    m->own = calloc(g->n_nodes + 1, sizeof *m->own);
    x->worked = calloc(g->n_rows + 1, sizeof *x->worked);
    x->base = calloc(g->n_rows + 1, sizeof *x->base);
    x->since = malloc((g->n_rows + 1) * sizeof *x->since);
    x->arrived = malloc((g->n_rows + 1) * sizeof *x->arrived);
    x->sum = malloc((g->n_nodes + 1) * sizeof *x->sum);
    x->from = malloc((g->n_nodes + 1) * sizeof *x->from);
    x->is_lock = calloc(g->n_nodes + 1, sizeof *x->is_lock);
    if (!m->at || !m->leads_to || !m->own || !x->worked || !x->base ||
        !x->since || !x->arrived || !x->sum || !x->from || !x->is_lock)
        return false;
    for (size_t i = 0; i < g->n_rows; i++)
        x->since[i] = x->arrived[i] = AXP__NONE;
    for (size_t i = 0; i < g->n_lock_waits; i++)
        x->is_lock[g->lock_waits[i].node] = true;
    add_up(x);
    look_ahead(x);
    return true;
}

bool axp__meets_init(struct axp__meets *m, const axp_graph *g)
{
    struct meeter x = {.m = m, .g = g};
    *m = (struct axp__meets){0};
    bool ok = make(&x);
    free(x.worked);
    free(x.base);
    free(x.since);
    free(x.arrived);
    free(x.sum);
    free(x.from);
    free(x.is_lock);
    return ok;
}
