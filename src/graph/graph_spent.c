/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Own times of a stretch; see graph_spent.h. */
#include "graph/graph_spent.h"

#include <stdlib.h>

struct axp__spent *axp__spent_create(void)
{
    struct axp__spent *own = calloc(1, sizeof *own);
    if (own) own->joined = own->arrived = AXP__NONE;
    return own;
}

void axp__spent_destroy(struct axp__spent *own)
{
    if (!own) return;
    free(own->ns);
    free(own->touched);
    free(own->open);
    free(own);
}

/* Only what is touched is copied: the rest is memory that nobody has asked the
 * kernel for. */
static bool widen(struct axp__spent *own, uint32_t op)
{
    size_t n = own->n_ns ? own->n_ns : 64;
    while (n <= op)
        n *= 2;
    axp_ns *ns = calloc(n, sizeof *ns);
    if (!ns) return false;
    for (size_t i = 0; i < own->n; i++)
        ns[own->touched[i]] = own->ns[own->touched[i]];
    free(own->ns);
    own->ns = ns;
    own->n_ns = n;
    return true;
}

bool axp__spent_touch(axp_graph *g, struct axp__spent *own, uint32_t op)
{
    void *touched = own->touched;
    bool ok =
        (op < own->n_ns || widen(own, op)) &&
        axp__array_grow(&touched, &own->cap, own->n + 1, sizeof *own->touched);
    own->touched = touched;
    if (ok)
        own->touched[own->n++] = op;
    else
        g->has_failed = true;
    return ok;
}

static axp_ns take(struct axp__spent *own, uint32_t op, axp_ns ns)
{
    axp_ns off = op < own->n_ns && own->ns[op] < ns ? own->ns[op] : ns;
    if (op >= own->n_ns) return 0;
    own->ns[op] -= off;
    return off;
}

/* One that has nothing left stays in the list, and may come twice. */
void axp__spent_take_off(struct axp__spent *own, uint32_t op, axp_ns ns)
{
    ns -= take(own, op, ns);
    for (size_t i = own->n; i-- && ns;)
        ns -= take(own, own->touched[i], ns);
}

uint32_t axp__spent_close(axp_graph *g, uint32_t row, axp_ns time_ns)
{
    struct axp__spent *own = g->rows[row].own;
    uint32_t node = axp__graph_add_node(g, row, time_ns, AXP__STRETCH_WORK);
    uint32_t prev = node == AXP__NONE ? node : g->nodes[node].prev;
    if (prev != AXP__NONE)
        g->nodes[node].is_unseen = own->seen <= g->nodes[prev].time_ns;
    for (size_t i = 0; i < own->n; i++) {
        axp_ns *ns = &own->ns[own->touched[i]];
        if (node != AXP__NONE) axp__graph_add_part(g, own->touched[i], *ns);
        *ns = 0;
    }
    own->n = 0;
    return node;
}
