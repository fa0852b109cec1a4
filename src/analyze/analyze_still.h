/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* When a run stands still: none of its threads has anything to run.
 *
 *   main    ████▁▁▁▁▁▁▁▁████     read
 *   worker  ██████▁▁▁▁▁▁████     waits for main
 *                 ^^^^^^ still
 *
 * A thread is known from its first sample to its last, and then off its processor
 * as far as the scheduler told so.
 *
 * Input   samples of a view, which may claim anything.
 * Cost    sorts the times off a processor; 24 bytes each while it does.
 */
#ifndef AXP_ANALYZE_STILL_H
#define AXP_ANALYZE_STILL_H
#include "model/model_view.h"

/* False: no memory. */
bool axp__still_find(const axp_view *v, axp_ns *out);

#endif
