/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The critical path of a replay: from the end of the run back to its beginning,
 * each time to what had to be done last.
 *
 * It consists of operations' own times, waits that nothing hides, time without a
 * processor, and idle time; together they are the length of the run, to the
 * nanosecond but for rounding.
 *
 * Memory     a number an operation, and at most AXP__MOST_SEGMENTS pieces: where
 *            there are more, short ones become part of their neighbours.
 * Ownership  init by axp__path_walk; fini frees.
 * Not here   what a thread did in the course of a piece: graph_bars.h.
 */
#ifndef AXP_GRAPH_PATH_H
#define AXP_GRAPH_PATH_H
#include "graph/graph_replay.h"

#define AXP__MOST_SEGMENTS 8192u

struct axp__segment {
    axp_ns begin_ns, end_ns;
    uint32_t row; /* AXP__NONE: nobody's */
    uint32_t op;  /* that most of it is */
    bool is_own;  /* what the thread did is in its own records */
};

struct axp__critical_path {
    double *ns;                    /* of each op */
    struct axp__segment *segments; /* by time */
    size_t n_segments;
    double
        estimated_ns; /* of it, in waits that nobody is known to have ended */
};

/* False: no memory; fini is due all the same. */
bool axp__path_walk(struct axp__critical_path *p,
                    const struct axp__replayed *r);
void axp__path_fini(struct axp__critical_path *p);

/* The pieces of a replay, by time. */
const struct axp__segment *axp__replay_pieces(const axp_replay *r, size_t *n);
/* A piece for callers; ops: whose number it has. */
axp_path_segment axp__path_segment(const axp_graph *g,
                                   const struct axp__graph_ops *ops,
                                   const struct axp__segment *s);

#endif
