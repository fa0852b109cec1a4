/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Work divided evenly: who meets at a barrier, or is joined with others, has
 * done as much since he met others before as the mean of those who meet there.
 *
 *   worked since the last meeting    9 ms ──┐
 *                                    1 ms ──┴─► 5 ms each: × 0.56, × 5
 *
 * Each stretch is scaled by what the meeting that it leads to says.
 */
#include <stdlib.h>

#include "graph/graph_replay.h"

struct evener {
    struct axp__replayed *r;
    double *worked; /* of each row, since its last meeting */
    double *sum;    /* of each episode */
    double *own;    /* of each node that arrives */
};

static void add_up(struct evener *e)
{
    const axp_graph *g = e->r->g;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct axp__graph_node *n = &g->nodes[i];
        if (n->stretch == AXP__STRETCH_WORK)
            e->worked[n->row] += (double)axp__replay_length(e->r, i);
        if (n->source_kind != AXP__SOURCE_ARRIVES) continue;
        e->own[i] = e->worked[n->row];
        e->sum[n->source] += e->worked[n->row];
        e->worked[n->row] = 0;
    }
}

/* From the end on: what each row comes to next. */
static void scale(struct evener *e, float *even)
{
    const axp_graph *g = e->r->g;
    for (size_t i = 0; i < g->n_rows; i++)
        e->worked[i] = 1;
    for (uint32_t i = (uint32_t)g->n_nodes; i--;) {
        const struct axp__graph_node *n = &g->nodes[i];
        if (n->source_kind == AXP__SOURCE_ARRIVES) {
            double n_arrived = (double)g->episodes[n->source].n_arrived;
            double mean = n_arrived > 0 ? e->sum[n->source] / n_arrived : 0;
            e->worked[n->row] = e->own[i] > 0 ? mean / e->own[i] : 1;
        }
        even[i] = (float)e->worked[n->row];
    }
}

bool axp__replay_even(struct axp__replayed *r)
{
    const axp_graph *g = r->g;
    struct evener e = {.r = r,
                       .worked = calloc(g->n_rows + 1, sizeof(double)),
                       .sum = calloc(g->n_episodes + 1, sizeof(double)),
                       .own = calloc(g->n_nodes + 1, sizeof(double))};
    float *even = malloc((g->n_nodes + 1) * sizeof *even);
    bool ok = e.worked && e.sum && e.own && even;
    if (ok) {
        add_up(&e);
        scale(&e, even);
        r->even = even;
        r->is_changed = true;
    } else {
        free(even);
    }
    free(e.worked);
    free(e.sum);
    free(e.own);
    return ok;
}
