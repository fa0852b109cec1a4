/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Who called code of a file that has no tables: kernels written in assembly, as a
 * rule.
 *
 * x86-64: the return address lies somewhere above the stack pointer. It is the
 * first word that is in code, behind an instruction that calls (and, where that
 * says whom, whom it calls has no tables either, or is a link), and from which
 * tables lead to the thread's first function, or far enough where the copy of the
 * stack ends before it; near the stack pointer, or near what it was.
 *
 * aarch64: it is in the register that it came in, as they call nobody; and the
 * frame pointer is their caller's. One that does call has that register point
 * into itself, where there are no tables.
 *
 * Memory  what was found for a place is tried first when it is met again. */
#ifndef AXP_SAMPLING_SEARCH_H
#define AXP_SAMPLING_SEARCH_H
#include "sampling/sampling_walk.h"

/* Steps to it. False: nothing was found, and nothing is changed but is_short. */
bool axp__search_caller(struct axp__walk *w);
/* Whether the call before that place calls a function of its own object, where that
 * of this moment is in another. Who calls through a register, or whom a table of
 * links says, may call anybody. */
bool axp__search_calls_another(const struct axp__walk *w, uint64_t next);

#endif
