/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a run would gain if an operation took less: for findings. */
#ifndef AXP_GRAPH_GAIN_H
#define AXP_GRAPH_GAIN_H
#include "axprof/axprof_read.h"

/* The wall time regained if the operation's own time were `scale` times as long,
 * by replay into *gain, which is left alone where that is not known: one thread,
 * a timeline that is not whole, or of which too little is known. False: no
 * memory. */
bool axp__graph_gain(const axp_view *v, const axp_op *op, double scale,
                     axp_ns *gain);

#endif
