/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How much of the wall time an operation's own time stands for.
 *
 * Own times of parallel threads add up to more than wall time. Wall time is
 * cut into equal slices, and a thread's share of an operation is taken as
 * spread evenly over the thread's life. The thread with the highest share
 * takes what it covers of the slices, then the next what is left: threads that
 * do the same side by side count once, threads that follow one another count
 * each.
 *
 *   thread 1  |####....####....|                 share 1/2
 *   thread 2  |####....####....|####...|         share 1/2
 *   wall      |1/2             |1/2    |         12 of 24 columns
 *
 * Too low where an operation wanders from thread to thread.
 *
 * Cost   256 additions a thread that ran the operation.
 */
#ifndef AXP_ANALYZE_WALL_H
#define AXP_ANALYZE_WALL_H
#include "model/model_view.h"

/* Rules judge what is certain: an operation's own time, and its share, less what
 * of it may be recording's. The wall time below is of that too. */
axp_ns axp__sure_ns(const axp_op *op);
double axp__sure_share(const axp_op *op);

#define AXP__WALL_SLICES 256

struct axp__wall;
struct axp__wall *axp__wall_create(const axp_view *v); /* NULL: no memory */
void axp__wall_destroy(struct axp__wall *w);
/* Of each slice the part (0…1) that is the operation's. */
void axp__wall_spread(const struct axp__wall *w, const axp_op *op,
                      double part[AXP__WALL_SLICES]);
axp_ns axp__wall_ns(const struct axp__wall *w, const axp_op *op);
/* Whether that is at least so much: most operations have not that much time of
 * their own, and cost no addition. */
bool axp__wall_reaches(const struct axp__wall *w, const axp_op *op,
                       double least_ns);

/* How much longer a run has than samples stand for, of an op that was sampled: 1,
 * or more. Threads that wanted to run had no processor, and what a thread does after
 * its last sample is in none: of both each op has as much as it has of the samples,
 * and what is not done takes neither. */
double axp__wall_beside(const axp_view *v, const axp_op *op);

#endif
