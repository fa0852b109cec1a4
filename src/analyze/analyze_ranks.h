/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Ranks: processes that do the same on parts of the data and wait for each other.
 * A rank stands for its busiest thread, and its work is that thread's own time in
 * operations, without communication and waits. */
#ifndef AXP_ANALYZE_RANKS_H
#define AXP_ANALYZE_RANKS_H
#include "analyze/analyze.h"

/* LoadImbalance of ranks. */
void axp__ranks_look(struct axp__analysis *a);
/* Of an operation's own time, on the rank that has most of it, the part that is no
 * wait for a slower one: who comes last waits for nobody. 1 where there are not
 * several ranks. */
double axp__ranks_part(struct axp__analysis *a, const axp_op *op);

#endif
