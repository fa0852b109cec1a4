/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Whether something took longer because its processor was slower for a while.
 *
 *   meetings   = = = = = 1 1 1 1 1 1 = = = = = 2 2 2 = = = = = = = = =
 *                        └ thread 1 is late ┘  └ thread 2: a few that follow
 *                                                each other, of many
 *   operations a 1.4, b 1.4, c 1.4 times as long: all of them
 *
 * On a virtual machine, or beside a busy sibling of its core, a thread does the same
 * work more slowly for some milliseconds, and nobody tells. Work that is divided
 * unevenly is uneven more often than not, or here and there; or there is more of one
 * operation. Only what is none of these is taken for the processor's: a division
 * that is uneven in one stretch of the run alone, in all operations alike, cannot
 * be told from it, and is not spoken of either. */
#ifndef AXP_ANALYZE_PACE_H
#define AXP_ANALYZE_PACE_H
#include "analyze/analyze_graph.h"
#include "graph/graph_meet.h"

/* Of meetings that were chosen because they are uneven. False: no memory. */
bool axp__pace_was_slow(const axp_graph *g, const struct axp__meets *m,
                        const bool *which, bool *is_slow);
/* Whether there are several large operations, and there is more of each of the first
 * n by the same part of all that there is of it. */
bool axp__pace_is_alike(const struct axp__graph_ops *ops, size_t n,
                        const double *all, const double *more);

#endif
