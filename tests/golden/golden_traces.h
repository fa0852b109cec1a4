/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Six tiny runs, the same to the nanosecond every time: what every report and
 * every export is compared with its golden file on.
 *
 *   empty       nothing was recorded
 *   one_scope   a matrix product of 1 ms with its work
 *   nested      three training steps, recursion, a counter, marks
 *   threads     two workers, a device track, overlaps, async spans, arrows
 *   memory      weights, activations, a leak, blocks by address and on a track
 *   hostile     names that try to break whatever they are printed into
 *
 * They go through the real calls, on a clock that is moved by hand; only what
 * the kernel chooses (thread and process ids) is replaced in the capture.
 */
#ifndef GOLDEN_TRACES_H
#define GOLDEN_TRACES_H
#include "axprof/axprof_read.h"

#define GOLDEN_N 6
extern const char *const golden_names[GOLDEN_N];

/* First thing in main: sets the clock that is moved by hand. */
void golden_init(void);
/* The caller's, to destroy. Aborts where there is no memory. */
axp_view *golden_view(size_t i);

#endif
