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

#include "graph/graph_meet.h"
#include "graph/graph_replay.h"

/* Of each row the factor of the meeting that it comes to next. */
static void scale(struct axp__replayed *r, const struct axp__meets *m,
                  const bool *which, double *factor)
{
    const axp_graph *g = r->g;
    for (uint32_t i = (uint32_t)g->n_nodes; i--;) {
        const struct axp__graph_node *n = &g->nodes[i];
        if (n->source_kind == AXP__SOURCE_ARRIVES) {
            const struct axp__meet *meet = &m->at[n->source];
            double mean = meet->sum_ns / (double)meet->n;
            bool is_meant = !which || which[n->source];
            factor[n->row] = is_meant && m->own[i] > 0 ? mean / m->own[i] : 1;
        }
        bool is_work = m->leads_to[i] != AXP__NONE && !n->is_estimate;
        r->even[i] = is_work ? (float)factor[n->row] : 1;
    }
}

bool axp__replay_even(struct axp__replayed *r, const bool *which)
{
    const axp_graph *g = r->g;
    struct axp__meets m;
    double *factor = malloc((g->n_rows + 1) * sizeof *factor);
    r->even = malloc((g->n_nodes + 1) * sizeof *r->even);
    bool ok = axp__meets_init(&m, g) && factor && r->even;
    if (ok) {
        scale(r, &m, which, factor);
        r->is_changed = true;
    }
    axp__meets_fini(&m);
    free(factor);
    return ok;
}
