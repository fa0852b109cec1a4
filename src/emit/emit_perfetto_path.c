/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The critical path as slices of a track: at each moment what the run was
 * waiting for, and which thread did it. Where there are very many, short ones are
 * part of their neighbours. */
#include <inttypes.h>
#include <stdlib.h>

#include "emit/emit_perfetto.h"
#include "graph/graph.h"
#include "record/record_thread.h"

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
    const struct axp__recorded *of = NULL;
    axp_status status = axp__graph_recorded(p->v, &of);
    if (status || !of) return status;
    size_t n = axp_replay_segments(of->replay, NULL, 0);
    axp_path_segment *at = calloc(n + 1, sizeof *at);
    if (!at) return axp__fail(AXP_E_NO_MEMORY, "no memory to export");
    axp_replay_segments(of->replay, at, n);
    uint64_t track = n ? axp__pf_track(p, "critical path", 0) : 0;
    for (size_t i = 0; i < n; i++)
        put_segment(p, track, &at[i]);
    free(at);
    return AXP_OK;
}
