/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The worth of waiting; see analyze_asleep.h. */
#include "analyze/analyze_asleep.h"

#include "graph/graph_gain.h"

/* Of an operation and the threads that ran it, and of the others. */
struct use {
    axp_ns cpu_ns;   /* of the operation's own time, at most */
    axp_ns other_ns; /* of the one of the others that was at work longest */
    bool is_known;   /* of all that ran it */
};

/* The operation's own time on a lane; 0: it did not run there. */
static axp_ns self_on(const axp_view *v, const struct axp__cap_lane *lane,
                      const axp_op *op)
{
    uint64_t ticks = 0;
    for (uint32_t i = 1; i < lane->n_nodes; i++)
        if (axp__view_name(v, lane->nodes[i].name) == op->name)
            ticks += lane->nodes[i].self_ticks;
    for (uint32_t i = 0; i < lane->n_frames; i++) {
        int32_t node = lane->frames[i].node;
        if (node > 0 && axp__view_name(v, lane->nodes[node].name) == op->name)
            ticks += axp__frame_self(v, lane, i);
    }
    return axp__view_ns(v, ticks);
}

/* How long the thread of a lane that did something else was at work: it was in
 * scopes, and had a processor for so much of that that it may have wanted one in
 * the rest. */
#define AT_WORK 0.25

static axp_ns at_work(const axp_view *v, const struct axp__cap_lane *lane,
                      axp_ns cpu)
{
    uint64_t ticks = 0;
    for (uint32_t i = 1; i < lane->n_nodes; i++)
        if (lane->nodes[i].category != AXP_CAT_SYNC)
            ticks += lane->nodes[i].self_ticks;
    for (uint32_t i = 0; i < lane->n_frames; i++)
        ticks += axp__frame_self(v, lane, i);
    axp_ns in_scopes = axp__view_ns(v, ticks);
    bool is_it = cpu < in_scopes && (double)cpu >= AT_WORK * (double)in_scopes;
    return is_it ? in_scopes : cpu;
}

static struct use use_of(const axp_view *v, const axp_op *op)
{
    const struct axp__capture *c = v->capture;
    struct use u = {0, 0, true};
    for (size_t i = 0; i < c->n_lanes; i++) {
        const struct axp__cap_lane *lane = &c->lanes[i];
        axp_ns self = self_on(v, lane, op);
        axp_ns cpu = lane->row < 0 ? 0 : c->rows[lane->row].cpu_ns;
        if (!self) {
            axp_ns other = lane->is_track ? 0 : at_work(v, lane, cpu);
            if (other > u.other_ns) u.other_ns = other;
        } else if (lane->is_track || !cpu) {
            u.is_known = false; /* several threads, or nobody asked */
        } else {
            u.cpu_ns += cpu < self ? cpu : self;
        }
    }
    return u;
}

bool axp__asleep_most(const axp_view *v, const axp_op *op, axp_ns *most)
{
    const axp_graph *trusted = NULL;
    axp_ns rest = UINT64_MAX, wall = v->duration_ns;
    *most = UINT64_MAX;
    if (op->is_sampled || op->device || v->n_threads < 2) return true;
    if (!axp__graph_trusted(v, &trusted)) return false;
    if (trusted) return true;
    struct use u = use_of(v, op);
    if (!u.is_known) return true;
    if (!axp__graph_gain_guess(v, op, &rest)) return false;
    if (rest == UINT64_MAX) rest = wall > u.other_ns ? wall - u.other_ns : 0;
    *most = rest < wall && u.cpu_ns < wall ? rest + u.cpu_ns : wall;
    return true;
}
