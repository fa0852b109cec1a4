/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A capture that came from a file may claim anything: after this it is such
 * that a view can be made of it. What cannot be is left out or set to
 * nothing; whether the rest is true, nobody can say. */
#include "tally/tally_capture.h"

#include <string.h>

static void repair_nodes(struct axp__cap_lane *lane)
{
    for (uint32_t i = 0; i < lane->n_nodes; i++) {
        struct axp__cap_node *n = &lane->nodes[i];
        if (i == 0)
            n->parent = AXP__CAP_ROOT;
        else if (n->parent < 0 || (uint32_t)n->parent >= i)
            n->parent = 0;
        if (n->category > AXP_CAT_IO) n->category = AXP_CAT_NONE;
        if (n->dtype > AXP_C128) n->dtype = AXP_DTYPE_UNKNOWN;
    }
}

/* Grouped by op, the steps' own last. */
static void repair_hists(struct axp__cap_lane *lane)
{
    uint32_t n = 0, last = 0;
    for (uint32_t i = 0; i < lane->n_hists; i++) {
        const struct axp__cap_hist *h = &lane->hists[i];
        bool is_step = h->op == UINT32_MAX && lane->steps;
        if ((h->op >= lane->n_ops && !is_step) || h->op < last ||
            h->page >= AXP__HIST_PAGES)
            continue;
        last = h->op;
        if (n != i) memmove(&lane->hists[n], h, sizeof *h);
        n++;
    }
    lane->n_hists = n;
}

static void repair_steps(struct axp__steps *s)
{
    if (s->n_slowest > AXP__STEPS_SLOWEST) s->n_slowest = AXP__STEPS_SLOWEST;
    if (s->n_sampled > AXP__STEPS_SAMPLED) s->n_sampled = AXP__STEPS_SAMPLED;
    if (!s->stride) s->stride = 1;
}

static void repair_lane(const struct axp__capture *c,
                        struct axp__cap_lane *lane)
{
    if (lane->row < -1 || (lane->row >= 0 && (size_t)lane->row >= c->n_rows))
        lane->row = -1;
    for (uint32_t i = 0; i < lane->n_frames; i++) {
        int32_t node = lane->frames[i].node;
        if (node < 0 || (uint32_t)node >= lane->n_nodes)
            lane->frames[i].node = AXP__CAP_ROOT;
    }
    repair_nodes(lane);
    repair_hists(lane);
    if (lane->steps) repair_steps(lane->steps);
}

void axp__cap_repair(struct axp__capture *c)
{
    for (size_t i = 0; i < c->n_lanes; i++)
        repair_lane(c, &c->lanes[i]);
    for (size_t i = 0; i < c->n_live; i++)
        if (c->live[i].kind > AXP_MEM_CACHE) c->live[i].kind = AXP_MEM_NONE;
    if (!c->rate_mult) c->rate_mult = (uint64_t)1 << 32;
}
