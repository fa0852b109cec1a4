/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A wait that nobody is known to have ended: it is taken for work like that of
 * the other rows of its process meanwhile, each as much as it did, times without a
 * processor among it. What would make them faster would make it shorter, and that
 * is an estimate.
 *
 * Cost   bounded: of each wait so many rows, of each row so many stretches, and of
 *        all waits together so many looks; after that a wait is a wait.
 */
#include <stdlib.h>

#include "graph/graph_spent.h"

#define MOST_ROWS 64u
#define MOST_STRETCHES 64u
#define MOST_PARTS 64u
#define MOST_LOOKS ((uint64_t)1 << 24) /* of a graph */

struct loan {
    struct {
        axp_ns ns;
        uint32_t op;
    } at[MOST_PARTS];
    uint32_t n;
    axp_ns begin_ns, end_ns;
    double sum;
};

static void add(struct loan *l, uint32_t op, double ns)
{
    uint32_t i = 0;
    if (ns < 1) return;
    while (i < l->n && l->at[i].op != op)
        i++;
    if (i == MOST_PARTS) return;
    if (i == l->n) {
        l->at[i].op = op;
        l->at[l->n++].ns = 0;
    }
    l->at[i].ns += (axp_ns)ns;
    l->sum += (double)(axp_ns)ns;
}

/* The part (0…1) of a stretch that the wait covers. */
static double covered(const struct loan *l, axp_ns begin, axp_ns end)
{
    axp_ns from = begin > l->begin_ns ? begin : l->begin_ns;
    axp_ns to = end < l->end_ns ? end : l->end_ns;
    return to > from ? (double)(to - from) / (double)(end - begin) : 0;
}

/* What a thread has done since its last node, and goes on with. */
static void add_current(struct loan *l, const struct axp__spent *own,
                        axp_ns begin)
{
    if (own->is_waiting) {
        add(l, AXP__OP_NO_CPU,
            (double)own->ready *
                covered(l, own->ready_until - own->ready, own->ready_until));
        return;
    }
    double part = covered(l, begin, own->since);
    for (size_t i = 0; part > 0 && i < own->n && i < MOST_PARTS; i++)
        add(l, own->touched[i], part * (double)own->ns[own->touched[i]]);
    if (own->since < l->end_ns)
        add(l, own->op,
            covered(l, own->since, l->end_ns) *
                (double)(l->end_ns - own->since));
}

static void add_stretch(const axp_graph *g, struct loan *l,
                        const struct axp__graph_node *n)
{
    double part = covered(l, g->nodes[n->prev].time_ns, n->time_ns);
    if (n->stretch != AXP__STRETCH_WORK || part <= 0) return;
    for (uint32_t k = 0; k < n->n_parts; k++)
        add(l, axp__part_op(g->parts[n->parts + k]),
            part * (double)axp__part_ns(g->parts[n->parts + k]));
}

static void add_row(axp_graph *g, struct loan *l, uint32_t row)
{
    const struct axp__spent *own = g->rows[row].own;
    uint32_t node = axp__graph_last(g, row);
    if (own && node != AXP__NONE) add_current(l, own, g->nodes[node].time_ns);
    for (uint32_t i = 0; i < MOST_STRETCHES && node != AXP__NONE; i++) {
        const struct axp__graph_node *n = &g->nodes[node];
        if (n->prev == AXP__NONE || n->time_ns <= l->begin_ns) break;
        add_stretch(g, l, n);
        g->n_looks += 1 + n->n_parts;
        node = n->prev;
    }
}

static void add_others(axp_graph *g, struct loan *l, uint32_t row)
{
    for (uint32_t i = 0, n = 0;
         i < g->n_rows && n < MOST_ROWS && g->n_looks < MOST_LOOKS; i++) {
        g->n_looks++;
        if (i == row || !g->rows[i].n_nodes ||
            g->rows[i].is.process != g->rows[row].is.process)
            continue;
        add_row(g, l, i);
        n++;
    }
}

bool axp__graph_borrow(axp_graph *g, uint32_t row, axp_ns begin_ns,
                       axp_ns end_ns)
{
    struct loan l = {.begin_ns = begin_ns, .end_ns = end_ns};
    axp_ns left = end_ns - begin_ns;
    add_others(g, &l, row);
    if (l.sum < 1 || !left) return false;
    for (uint32_t i = 0; i < l.n; i++) {
        double share = (double)l.at[i].ns / l.sum;
        axp_ns ns = (axp_ns)(share * (double)(end_ns - begin_ns));
        if (ns > left || i + 1 == l.n) ns = left;
        axp__graph_add_part(g, l.at[i].op, ns);
        left -= ns;
    }
    return true;
}

axp_ns axp__graph_starved(axp_graph *g, uint32_t row, axp_ns begin_ns,
                          axp_ns end_ns)
{
    struct loan l = {.begin_ns = begin_ns, .end_ns = end_ns};
    add_others(g, &l, row);
    for (uint32_t i = 0; i < l.n; i++)
        if (l.at[i].op == AXP__OP_NO_CPU)
            return l.at[i].ns < end_ns - begin_ns ? l.at[i].ns
                                                  : end_ns - begin_ns;
    return 0;
}
