/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What was done by one while others waited for it, each moment once.
 *
 *   before a meeting     ████████████
 *   while a pool waits   ████████████           the same work, seen twice
 *   before a region             ██████████
 *   counted              ████████████▓▓▓▓▓
 *
 * Stretches are put in as they are found; of those that overlap, whoever works, the
 * one that begins first has what they share, and one that leads to a meeting comes
 * before others. So all together is never more than the run.
 *
 * Ownership  init with {.g = …}; fini frees.
 * Cost       sorts the stretches: 32 bytes each, 16 a row.
 */
#ifndef AXP_GRAPH_SERIAL_H
#define AXP_GRAPH_SERIAL_H
#include "graph/graph_meet.h"

struct axp__serial_part {
    axp_ns begin, end;
    uint32_t row, team; /* who works; how many could, with it */
    uint32_t episode;   /* that it leads to; AXP__NONE: another kind */
};

struct axp__serial {
    const axp_graph *g;
    uint64_t most; /* processors: so many can share work; 0: not known */
    struct axp__serial_part *parts;
    size_t n_parts, cap_parts;
    /* The sum: */
    double ns;
    double most_ns; /* that is left out if all that could shared it */
    double gain_ns; /* … what leads to no meeting */
    size_t n;       /* times */
    double all_ns;  /* of all rows, though several worked at once … */
    double row_ns;  /* … of who did most */
    uint32_t row;
    uint32_t n_threads; /* of the largest team */
};

void axp__serial_fini(struct axp__serial *s);
/* False: no memory. */
bool axp__serial_add(struct axp__serial *s, struct axp__serial_part part);
/* What the one who worked did before each of these meetings. */
bool axp__serial_add_meets(struct axp__serial *s, const struct axp__meets *m,
                           const bool *which);
/* Sums all up; op_ns: what it was, added to. Parts are what counts then, in the order
 * of time. */
bool axp__serial_sum(struct axp__serial *s, double *op_ns);

#endif
