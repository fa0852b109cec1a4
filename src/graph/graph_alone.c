/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Who was alone before a team began; see graph_alone.h. */
#include "graph/graph_alone.h"

#include <stdlib.h>

struct given {        /* by a node */
    axp_ns begin, at; /* all wait from then on; until then */
    uint32_t n;       /* who waits for it */
    uint32_t episode; /* that its row comes to next; AXP__NONE */
};

struct finder {
    const axp_graph *g;
    const struct axp__meets *m;
    struct given *by; /* of each node */
    uint32_t *next;   /* of each row */
};

/* From the end on: who comes to which episode next. */
static void look_ahead(struct finder *f)
{
    const axp_graph *g = f->g;
    for (size_t i = 0; i < g->n_rows; i++)
        f->next[i] = AXP__NONE;
    for (uint32_t i = (uint32_t)g->n_nodes; i--;) {
        const struct axp__graph_node *n = &g->nodes[i];
        if (n->source_kind == AXP__SOURCE_ARRIVES) f->next[n->row] = n->source;
        f->by[i].episode = f->next[n->row];
    }
    for (size_t i = 0; i < g->n_lock_waits; i++) /* who has it does its part */
        f->by[g->lock_waits[i].node].episode = AXP__NONE;
}

/* Who waited for one that he meets next. */
static void add_wait(struct finder *f, uint32_t i)
{
    const struct axp__graph_node *n = &f->g->nodes[i];
    if (n->stretch != AXP__STRETCH_WAIT || n->prev == AXP__NONE ||
        n->source_kind != AXP__SOURCE_NODE || n->is_estimate)
        return;
    struct given *by = &f->by[n->source];
    axp_ns begin = f->g->nodes[n->prev].time_ns;
    axp_ns at = f->g->nodes[n->source].time_ns + n->after_ns;
    if (f->by[i].episode == AXP__NONE || f->by[i].episode != by->episode ||
        begin >= at)
        return;
    by->n++;
    if (begin > by->begin) by->begin = begin;
    if (at > by->at) by->at = at;
}

static bool add_given(struct finder *f, uint32_t node, struct axp__serial *out)
{
    const struct given *by = &f->by[node];
    uint32_t team = f->m->at[by->episode].n;
    if (by->n + 1 < team || team < 2) return true; /* others had work to do */
    return axp__serial_add(out, (struct axp__serial_part){by->begin, by->at,
                                                          f->g->nodes[node].row,
                                                          team, AXP__NONE});
}

bool axp__alone_find(const struct axp__meets *m, struct axp__serial *out)
{
    const axp_graph *g = out->g;
    struct finder f = {.g = g,
                       .m = m,
                       .by = calloc(g->n_nodes + 1, sizeof *f.by),
                       .next = malloc((g->n_rows + 1) * sizeof *f.next)};
    bool ok = f.by && f.next;
    if (ok) look_ahead(&f);
    for (uint32_t i = 0; ok && i < g->n_nodes; i++)
        add_wait(&f, i);
    for (uint32_t i = 0; ok && i < g->n_nodes; i++)
        if (f.by[i].n) ok = add_given(&f, i, out);
    free(f.by);
    free(f.next);
    return ok;
}
