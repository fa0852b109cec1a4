/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Stacks out of a profiler's table: into its trace, into a capture;
 * record_stacks.c. */
#ifndef AXP_RECORD_STACKS_H
#define AXP_RECORD_STACKS_H
#include "record/record_trace.h"

/* Those that are not in the trace yet, with what is loaded if that is not what
 * it was. False: nothing (more) can be written. */
bool axp__trace_stacks(struct axp__trace *t, struct axp__prof *p);
/* All of them, after the words that refer to them were copied. False: no
 * memory. */
bool axp__capture_stacks(struct axp__capture *c, const struct axp__prof *p);
/* What is loaded now, if c has stacks. */
void axp__capture_modules(struct axp__capture *c);

#endif
