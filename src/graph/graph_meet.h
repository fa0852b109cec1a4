/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Who met, and what each had done since he met others before.
 *
 *   main    ──9 ms──┐        ──2 ms──┐        a meeting of 9 and 1: uneven
 *   worker  ──1 ms──┴ meet   ────────┴ meet   of 2 and 0: main worked alone
 *
 * Meetings are rounds of barriers, and threads that are joined together. What a
 * row did before it gave another what that one waited for, a region of a team or
 * a post, they did not do side by side: it does not count. Time without a
 * processor is nobody's work, nor is a wait that nobody is known to have ended.
 *
 * Ownership  init by axp__meets_init; fini frees.
 * Cost       linear in nodes and parts; 24 bytes a node while it is made, 4 kept.
 */
#ifndef AXP_GRAPH_MEET_H
#define AXP_GRAPH_MEET_H
#include "graph/graph.h"

struct axp__meet {
    double most_ns, sum_ns; /* of who did most; of all */
    uint32_t row;           /* who did most */
    uint32_t n;             /* who came */
};

struct axp__meets {
    struct axp__meet *at; /* of each episode */
    uint32_t *leads_to;   /* of each node the one that its stretch counts for */
    double *own;          /* of each node that arrives */
};

/* False: no memory; fini is due all the same. */
bool axp__meets_init(struct axp__meets *m, const axp_graph *g);
void axp__meets_fini(struct axp__meets *m);

/* One worked, and the others did next to nothing. */
static inline bool axp__meet_is_alone(const struct axp__meet *m)
{
    return m->n > 1 && m->sum_ns - m->most_ns < 0.05 * m->most_ns;
}

#endif
