/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a run would gain if an operation took less: for findings. */
#ifndef AXP_GRAPH_GAIN_H
#define AXP_GRAPH_GAIN_H
#include "axprof/axprof_whatif.h"
#include "graph/graph_ops.h"

/* The wall time regained if the operation's own time were `scale` times as long,
 * by replay into *gain, which is left alone where that is not known: one thread,
 * a timeline that is not whole, or of which too little is known. False: no
 * memory. */
bool axp__graph_gain(const axp_view *v, const axp_op *op, double scale,
                     axp_ns *gain);
/* The same of several operations at once. */
struct axp__gain_part {
    const axp_op *op;
    double scale;
};
bool axp__graph_gain_of(const axp_view *v, const struct axp__gain_part *parts,
                        size_t n, axp_ns *gain);
/* The same if it took no time, whatever is known of who waited for whom: where
 * nothing is, each thread goes its own way, and only what the run ends with counts.
 * Left alone: no timeline, one that is not whole, or one thread. */
bool axp__graph_gain_guess(const axp_view *v, const axp_op *op, axp_ns *gain);
/* The gain of several, if besides nobody were off its processor for a reason that
 * is not known. */
bool axp__graph_gain_most(const axp_view *v, const struct axp__gain_part *parts,
                          size_t n, axp_ns *gain);

/* The same if what is no operation took no time, such as having no processor. */
bool axp__graph_gain_without(const axp_view *v, enum axp__no_op what,
                             axp_ns *gain);

/* The view's graph, where it knows enough to say what a change would gain; NULL:
 * it does not. False: no memory. */
bool axp__graph_trusted(const axp_view *v, const axp_graph **out);
/* The wall time regained if nobody had to wait for these nodes' sake; if those
 * who meet in these episodes had done equally much. False: no memory. */
bool axp__graph_gain_free(const axp_graph *g, const uint32_t *waits, size_t n,
                          axp_ns *gain);
bool axp__graph_gain_even(const axp_graph *g, const bool *episodes,
                          axp_ns *gain);
/* The same at most: whoever shares the work need not meet the others before it,
 * and who comes when they do is not woken after it. */
bool axp__graph_gain_even_most(const axp_graph *g, const bool *episodes,
                               axp_ns *gain);

#endif
