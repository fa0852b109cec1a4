/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What an operation that only waits can be worth, where nobody knows who waited
 * for whom.
 *
 *   helper   ......sleeps......sleeps......     0 of it on a processor
 *   main     ####step########step##########     the run, with or without it
 *
 * A timer, a pipe or a device that one thread waits for is hidden behind what the
 * others do, but for what a replay in which all go their own way says. Beside
 * that no more than what the operation computes can be regained, for others may
 * have waited for it unseen. Without a timeline there is no replay: then as long
 * as the busiest of the others is at work the run lasts at least.
 *
 * Input   a view, whose times may claim anything. */
#ifndef AXP_ANALYZE_ASLEEP_H
#define AXP_ANALYZE_ASLEEP_H
#include "model/model_view.h"

/* At most so much less would the run take, if the operation took no time;
 * UINT64_MAX: nothing says so. False: no memory. */
bool axp__asleep_most(const axp_view *v, const axp_op *op, axp_ns *most);

#endif
