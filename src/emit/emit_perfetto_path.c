/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The critical path as slices of a track: at each moment what the run was
 * waiting for, and which thread did it. */
#include <inttypes.h>
#include <stdio.h>

#include "emit/emit_perfetto.h"
#include "graph/graph_bars.h"

static void put_segment(struct axp__pf *p, uint64_t track,
                        const axp_path_segment *s)
{
    char who[160] = "";
    if (s->thread_id || *s->thread)
        snprintf(who, sizeof who, "%.120s/%" PRIu64, s->thread, s->thread_id);
    size_t event = axp__pf_begin_event(p, AXP__PF_SLICE_BEGIN, track, s->begin);
    axp__pf_string(p, 23, s->name);
    if (*who) axp__pf_annotate_text(p, AXP__PF_A_METADATA, who);
    axp__pf_end_event(p, event);
    axp__pf_end_event(p,
                      axp__pf_begin_event(p, AXP__PF_SLICE_END, track, s->end));
}

axp_status axp__pf_path(struct axp__pf *p)
{
    struct axp__bars bars;
    axp_status status = axp__bars_init(&bars, p->v);
    uint64_t track =
        !status && bars.n ? axp__pf_track(p, "critical path", 0) : 0;
    for (size_t i = 0; !status && i < bars.n; i++)
        put_segment(p, track, &bars.at[i]);
    axp__bars_fini(&bars);
    return status;
}
