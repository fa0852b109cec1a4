/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a row did alone before a team began.
 *
 *   main    ──8 ms──o──10 ms──┐       8 ms alone
 *   worker  ········o──10 ms──┴ meet
 *
 * All who meet it afterwards waited for it to give them what they then did: the
 * region of a team. Who meets nobody, such as a loader or who it loads for, is no
 * team.
 *
 * Cost   linear in nodes and parts; 24 bytes a node while it is made.
 */
#ifndef AXP_GRAPH_ALONE_H
#define AXP_GRAPH_ALONE_H
#include "graph/graph_meet.h"

struct axp__alone {
    double ns;
    double gain_ns; /* if all of the team shared it, or so many: */
    uint64_t most;  /* processors, the caller's; 0: not known */
    size_t n;       /* times */
    uint32_t row;   /* the last who was */
    uint32_t n_threads;
    double *op_ns; /* of each operation: the caller's, added to */
};

/* Adds what the row of a node worked between two times, as it would be shared by
 * so many; the node is the last before or the first at the end. */
struct axp__alone_time {
    axp_ns begin, end;
    uint32_t team;
};
void axp__alone_add(const axp_graph *g, uint32_t node,
                    struct axp__alone_time time, struct axp__alone *out);

/* False: no memory. */
bool axp__alone_find(const axp_graph *g, const struct axp__meets *m,
                     struct axp__alone *out);

#endif
