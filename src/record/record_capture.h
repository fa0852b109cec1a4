/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A live profiler's state, copied while its threads go on; record_capture.c.
 * Exported to libaxprof of the same version alone. */
#ifndef AXP_RECORD_CAPTURE_H
#define AXP_RECORD_CAPTURE_H
#include "axprof/axprof.h"
#include "record/record_profiler.h"
#include "tally/tally_capture.h"

/* NULL on failure: axp_last_error says why. */
AXP_API struct axp__capture *axp__capture_take(axp_profiler *p);
/* The same without words, by the profiler's mutex. */
struct axp__capture *axp__capture_of(struct axp__prof *p);
AXP_API void axp__capture_free(struct axp__capture *c); /* NULL allowed */

/* The row of a thread that was merged; there is room for it. */
static inline void axp__capture_merged_row(struct axp__capture *c,
                                           const struct axp__row *r)
{
    c->rows[c->n_rows++] = (struct axp__cap_row){.id = r->id,
                                                 .track = r->track,
                                                 .name = r->name,
                                                 .n_merged = r->n_merged,
                                                 .tid = r->tid,
                                                 .process_id = c->process_id,
                                                 .rank = c->rank,
                                                 .first = r->first_ticks,
                                                 .last = r->last_ticks,
                                                 .busy = r->busy_ticks,
                                                 .n_events = r->n_events,
                                                 .waited = r->wait_ticks,
                                                 .cpu_ns = r->cpu_ns,
                                                 .is_ended = true};
}

#endif
