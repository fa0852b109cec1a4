/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What other processes did while a row was off its processor, as far as it waited for
 * them: a reader of a pipe for who writes into it, a shell for its programs.
 *
 *   the row     ####......######............|   off until another process ends,
 *   others      ..########...#####..#######|    or until it ends with another
 *   theirs          ####        ###  ######
 *
 * Nobody tells who woke whom across processes. What speaks for it is that a time off
 * ends when another process does, or that the row does: who only sleeps beside
 * another does neither, but by chance.
 *
 * Place  graph_lend.c asks, once all rows are known.
 * Cost   by slices of the row's life; bounded by its caller's count of looks.
 */
#ifndef AXP_GRAPH_FAR_H
#define AXP_GRAPH_FAR_H
#include "graph/graph_build.h"

struct axp__far {
    struct axp__builder *b;
    uint32_t row;
    axp_ns begin_ns, end_ns;       /* of the row */
    const struct axp__life *lives; /* of each process's first thread, … */
    uint64_t *n_looks, most_looks;
    size_t n_ops;
    double *ns; /* out: by op; what others did of its time off … */
    double sum; /* … in all */
};

void axp__far_find(struct axp__far *f);
/* Whether a process other than the row's ended then, and not one that did nothing but
 * wait: it ends with whom it waited for. */
bool axp__far_ends(const struct axp__far *f, axp_ns at);

#endif
