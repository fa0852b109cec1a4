/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Nodes of a graph: made, found by time, bound to what came before; see
 * graph.h. */
#include <stdlib.h>

#include "graph/graph.h"

#define MOST_NODES (UINT32_MAX - 1)

uint32_t axp__graph_add_node(axp_graph *g, uint32_t row, axp_ns time_ns,
                             enum axp__stretch stretch)
{
    struct axp__graph_row *r = &g->rows[row];
    uint32_t prev = axp__graph_last(g, row), i = (uint32_t)g->n_nodes;
    void *nodes = g->nodes, *of_row = r->nodes;
    bool ok = g->n_nodes < MOST_NODES &&
              axp__array_grow(&nodes, &g->cap_nodes, g->n_nodes + 1,
                              sizeof *g->nodes);
    g->nodes = nodes;
    ok = ok && axp__array_grow(&of_row, &r->cap_nodes, r->n_nodes + 1,
                               sizeof *r->nodes);
    r->nodes = of_row;
    if (!ok) {
        g->has_failed = true;
        return AXP__NONE;
    }
    if (prev != AXP__NONE) {
        g->nodes[prev].next = i;
        if (time_ns < g->nodes[prev].time_ns) time_ns = g->nodes[prev].time_ns;
    }
    g->nodes[i] = (struct axp__graph_node){.time_ns = time_ns,
                                           .row = row,
                                           .prev = prev,
                                           .next = AXP__NONE,
                                           .source = AXP__NONE,
                                           .parts = g->n_parts,
                                           .stretch = (uint8_t)stretch};
    r->nodes[r->n_nodes++] = i;
    g->n_nodes++;
    return i;
}

static void push_part(axp_graph *g, uint64_t part)
{
    void *parts = g->parts;
    bool ok = axp__array_grow(&parts, &g->cap_parts, g->n_parts + 1,
                              sizeof *g->parts);
    g->parts = parts;
    if (!ok) {
        g->has_failed = true;
        return;
    }
    g->parts[g->n_parts++] = part;
    g->nodes[g->n_nodes - 1].n_parts++;
}

/* What is longer than 9 minutes is two: units, and the rest. */
void axp__graph_add_part(axp_graph *g, uint32_t op, axp_ns ns)
{
    if (!g->n_nodes) return;
    if (axp__unlikely(ns >> AXP__PART_NS_BITS)) {
        uint64_t units = ns >> AXP__PART_UNIT_BITS;
        push_part(g, (uint64_t)1 << 63 | units << AXP__PART_OP_BITS | op);
        ns &= ((axp_ns)1 << AXP__PART_UNIT_BITS) - 1;
    }
    if (ns) push_part(g, ns << AXP__PART_OP_BITS | op);
}

uint32_t axp__graph_find(const axp_graph *g, uint32_t row, axp_ns time_ns)
{
    const struct axp__graph_row *r = &g->rows[row];
    size_t low = 0, high = r->n_nodes;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (g->nodes[r->nodes[mid]].time_ns < time_ns)
            low = mid + 1;
        else
            high = mid;
    }
    if (low < r->n_nodes && g->nodes[r->nodes[low]].time_ns == time_ns)
        return r->nodes[low];
    return low ? r->nodes[low - 1] : AXP__NONE;
}

/* What the node took after both its source and its own row were there. */
static void set_lag(axp_graph *g, struct axp__graph_node *n, axp_ns given_ns)
{
    axp_ns begin = n->prev == AXP__NONE ? given_ns : g->nodes[n->prev].time_ns;
    axp_ns from = begin > given_ns ? begin : given_ns;
    if (n->stretch == AXP__STRETCH_WORK) from = n->time_ns;
    n->lag_ns = n->time_ns > from ? n->time_ns - from : 0;
    n->is_late = given_ns <= begin;
}

bool axp__graph_depend(axp_graph *g, uint32_t node, uint32_t source,
                       axp_ns after_ns)
{
    struct axp__graph_node *n = &g->nodes[node];
    if (source >= node) return false; /* AXP__NONE too */
    axp_ns given = g->nodes[source].time_ns + after_ns;
    if (given > n->time_ns) return false;
    n->source = source;
    n->source_kind = AXP__SOURCE_NODE;
    n->after_ns = after_ns;
    set_lag(g, n, given);
    return true;
}

bool axp__graph_depend_at(axp_graph *g, uint32_t node, uint32_t row,
                          axp_ns given_ns)
{
    if (given_ns > g->nodes[node].time_ns) given_ns = g->nodes[node].time_ns;
    uint32_t at = axp__graph_find(g, row, given_ns);
    while (at != AXP__NONE && at >= node) /* its own row */
        at = g->nodes[at].prev;
    if (at == AXP__NONE) return false;
    return axp__graph_depend(g, node, at, given_ns - g->nodes[at].time_ns);
}

void axp__graph_attend(axp_graph *g, uint32_t node, uint32_t episode)
{
    struct axp__graph_node *n = &g->nodes[node];
    struct axp__episode *e = &g->episodes[episode];
    n->source = episode;
    n->source_kind = AXP__SOURCE_EPISODE;
    axp_ns last = e->last_ns < n->time_ns ? e->last_ns : n->time_ns;
    e->is_left = true;
    set_lag(g, n, last);
}

uint32_t axp__graph_add_episode(axp_graph *g)
{
    void *at = g->episodes;
    if (!axp__array_grow(&at, &g->cap_episodes, g->n_episodes + 1,
                         sizeof *g->episodes)) {
        g->has_failed = true;
        return AXP__NONE;
    }
    g->episodes = at;
    g->episodes[g->n_episodes] = (struct axp__episode){0};
    return (uint32_t)g->n_episodes++;
}

void axp__graph_add_lock_wait(axp_graph *g, struct axp__lock_wait wait)
{
    void *at = g->lock_waits;
    bool ok = axp__array_grow(&at, &g->cap_lock_waits, g->n_lock_waits + 1,
                              sizeof *g->lock_waits);
    g->lock_waits = at;
    if (ok)
        g->lock_waits[g->n_lock_waits++] = wait;
    else
        g->has_failed = true;
}

bool axp__graph_is_off(const axp_graph *g, uint32_t node)
{
    const struct axp__graph_node *n = &g->nodes[node];
    axp_ns all = 0, off = 0;
    if (n->stretch != AXP__STRETCH_WORK) return false;
    for (uint32_t i = 0; i < n->n_parts; i++) {
        axp_ns ns = axp__part_ns(g->parts[n->parts + i]);
        all += ns;
        if (axp__part_op(g->parts[n->parts + i]) == AXP__OP_BLOCKED) off += ns;
    }
    return off > all / 2;
}
