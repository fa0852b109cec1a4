/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Many short calls: how long one is, and who makes them. */
#ifndef AXP_ANALYZE_CALLER_H
#define AXP_ANALYZE_CALLER_H
#include "analyze/analyze.h"

/* What a call takes without the recorder's part of it; 0: nothing that can be
 * told from that part, which is known to a quarter. */
double axp__call_ns(const axp_view *v, const axp_op *op);

/* To do more in a call: below whom, and how many there are to join. */
void axp__caller_advise(struct axp__analysis *a, struct axp__draft *d,
                        const axp_op *op);

#endif
