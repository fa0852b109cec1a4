/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* When a run stands still: none of its threads has anything to run.
 *
 *   main    ████▁▁▁▁▁▁▁▁████     read
 *   worker  ██████▁▁▁▁▁▁████     waits for main
 *                 ^^^^^^ still
 *
 * A thread is known from its first sample to its last, and then off its processor
 * as far as the scheduler told so. Who runs first again is whom such a time was for:
 * others may be off for longer, as is a thread that looks out for signals.
 *
 * A timer of processor time tells of nobody's time off: then it is what is left of the
 * run when all threads' time at work and in want of a processor is taken off, if they
 * had followed one another. In parts nothing is known of it.
 *
 * Input   samples of a view, which may claim anything.
 * Cost    sorts the times off a processor; 48 bytes each while it does.
 */
#ifndef AXP_ANALYZE_STILL_H
#define AXP_ANALYZE_STILL_H
#include "model/model_view.h"

/* False: no memory. */
bool axp__still_find(const axp_view *v, axp_ns *out);
/* The same in parts, each with the stack in which whoever ran then had left its
 * processor; 0: not known. The function's false, and that of this: no memory. */
typedef bool (*axp__still_fn)(void *ctx, uint32_t stack, axp_ns ns);
bool axp__still_give(const axp_view *v, axp__still_fn fn, void *ctx);

#endif
