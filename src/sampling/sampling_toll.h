/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What it takes whoever starts a thread that the thread is followed: the kernel
 * makes all events of all CPUs for it, on 16 of them 48 (sampling_perf.h).
 *
 * Measured  where it was paid, by starting threads with and without such events,
 *           afterwards; the lower quarter of each, so that a moment in which this
 *           machine does something else counts little.
 * Cost      some ms: for runs that have started very many.
 * Not here  what a thread that ends takes to give them back: nobody waits for it.
 */
#ifndef AXP_SAMPLING_TOLL_H
#define AXP_SAMPLING_TOLL_H
#include <stdint.h>

/* Of one thread, in ns; 0: it cannot be measured. Samples are so many a second of
 * what was followed, which is over. */
uint64_t axp__toll_ns(double hz);

#endif
