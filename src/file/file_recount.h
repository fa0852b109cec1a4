/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The statistics of a recovered recording, counted again from its timeline.
 *
 * A process that is killed in the middle of an event leaves accumulators that
 * have a part of it, none of it, or all of it without its word. What a word
 * says is whole: its head is written last. So what the timeline says counts,
 * where it is all there.
 *
 * Place    between outside_recover.c, which reads a spool, and a view. Not for
 *          a process that still runs, whose numbers change anyway.
 * Kept     what words do not know: names, peaks of memory that several threads
 *          raced for, threads that had ended and were merged.
 * Cut      timelines, and call trees that are too large to be folded, leave
 *          the accumulators as they were found: off by at most the event that
 *          each thread was in.
 * Cost     that of a fold (file_fold.h), until the recording is packed.
 */
#ifndef AXP_FILE_RECOUNT_H
#define AXP_FILE_RECOUNT_H
#include "outside/outside_recover.h"

/* Of r's capture, which has all of its chunks. */
axp_status axp__recount(const struct axp__recovered *r);

#endif
