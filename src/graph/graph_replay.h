/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A graph run again with other times: forward in one pass, each node as soon as
 * what it depends on lets it.
 *
 *   work     begins where the row was, takes its operations' times, scaled
 *   wait     ends with its source and the same lag, or at once if the source is
 *            there already
 *   barrier  its source is the last arrival, whoever that is now
 *
 * Who had a lock, a post or a place in a queue before whom stays as it was
 * recorded. With nothing changed each node has its recorded time.
 *
 * Ownership  init with axp__replay_init; fini frees.
 * Cost       linear in nodes and parts; 8 bytes a node, 16 if something changes.
 */
#ifndef AXP_GRAPH_REPLAY_H
#define AXP_GRAPH_REPLAY_H
#include "graph/graph.h"

struct axp__replay_episode {
    axp_ns last_ns;
    uint32_t last; /* the arrival that came then; AXP__NONE */
};

struct axp__replayed {
    const axp_graph *g;
    double *scale; /* of each op */
    float *even;   /* of each node's stretch; NULL: as it was */
    /* Of each node a wait that takes so long, whoever ends it; UINT64_MAX: as it
     * was; NULL: all do. */
    axp_ns *takes;
    /* Episodes after which everybody goes on at once: NULL: none. The caller's. */
    const bool *is_prompt;
    axp_ns *at;    /* of each node … */
    double *ratio; /* … and what its stretch becomes, if something changes */
    struct axp__replay_episode *episodes;
    axp_ns end_ns; /* of the run … */
    uint32_t last; /* … and the node that it ends with; AXP__NONE */
    bool is_changed;
};

/* Scales are 1. False: no memory; fini is due all the same. */
bool axp__replay_init(struct axp__replayed *r, const axp_graph *g);
void axp__replay_fini(struct axp__replayed *r);
/* From then on all who meet at a barrier, or are joined together, have done
 * equally much since they met before; which: in these episodes, NULL: in all.
 * False: no memory. */
bool axp__replay_even(struct axp__replayed *r, const bool *which);
/* These waits take no time, whoever ends them. False: no memory. */
bool axp__replay_skip(struct axp__replayed *r, const uint32_t *waits, size_t n);
/* … or so much. */
bool axp__replay_take(struct axp__replayed *r, uint32_t wait, axp_ns ns);
void axp__replay_run(struct axp__replayed *r);

/* How long a node's stretch of work takes now. */
axp_ns axp__replay_length(const struct axp__replayed *r, uint32_t node);
/* What one of its parts takes of so long. */
double axp__replay_part(const struct axp__replayed *r, uint32_t node,
                        uint32_t part);
/* When a moment so long after a node is now. */
axp_ns axp__replay_time(const struct axp__replayed *r, uint32_t node,
                        axp_ns after_ns);
/* When the source of a node is, and the node that it is, or comes after;
 * AXP__NONE: it has none. */
uint32_t axp__replay_source(const struct axp__replayed *r, uint32_t node,
                            axp_ns *at);
/* The mean time of a step, of the row that marks most; 0: there are none. */
axp_ns axp__replay_step(const struct axp__replayed *r, uint64_t *n_steps);

#endif
