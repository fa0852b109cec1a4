/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What rules that look at a graph share: its operations as the view's, its rows
 * as people call them. */
#ifndef AXP_ANALYZE_GRAPH_H
#define AXP_ANALYZE_GRAPH_H
#include "analyze/analyze.h"
#include "graph/graph.h"

/* The view's graph where it can be relied on; NULL: no rule about it speaks. */
const axp_graph *axp__analysis_graph(struct axp__analysis *a);
/* The view's operation or function of that number; NULL: it has none. */
const axp_op *axp__ops_view_op(const struct axp__graph_ops *ops, uint32_t op);
const axp_op *axp__graph_view_op(const axp_graph *g, uint32_t op);
/* What may be said of a row: its thread's name, or "thread 123". */
const char *axp__graph_row_text(const axp_graph *g, uint32_t row, char buf[32]);
/* Whether an operation is what the program itself does, so that it could divide it:
 * not the kernel's, and not ours. */
static inline bool axp__graph_is_program(const axp_graph *g, uint32_t op)
{
    return !g->ops.at[op].is_kernel && !g->ops.at[op].is_own;
}
/* Adds how much of each operation led to these meetings; is_more: how much more of
 * it who did most had than the others on average. ns has one an operation. */
struct axp__meets;
void axp__graph_led(const axp_graph *g, const struct axp__meets *m,
                    const bool *which, double *ns, bool is_more);

#endif
