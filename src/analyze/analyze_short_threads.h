/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads that are not worth starting: very many, that live very shortly.
 *
 *   main    ──o create      join ·········o──
 *   thread     ·······o──work──o··········^
 *              until it began  until who waited for it was awake
 *
 * A way in which CallOverhead knows what is fixed: whatever a thread does, it is
 * started and joined. Of those that somebody waited for, what that takes is the
 * bound, less what it takes to have them sampled (sampling_toll.h): part of it may
 * be hidden. */
#ifndef AXP_ANALYZE_SHORT_THREADS_H
#define AXP_ANALYZE_SHORT_THREADS_H
#include "analyze/analyze.h"

/* Adds drafts of CallOverhead. */
void axp__short_threads_look(struct axp__analysis *a);

#endif
