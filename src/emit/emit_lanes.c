/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Lanes for what overlaps; see emit_lanes.h. */
#include "emit/emit_lanes.h"

#include <stdlib.h>
#include <string.h>

#define MOST_LANES 4096u /* the last takes whatever comes */

/* ---- spans ------------------------------------------------------------------------- */

void axp__span_lanes_fini(struct axp__span_lanes *l)
{
    for (uint32_t i = 0; i < l->n; i++)
        free(l->lane[i].ends);
    free(l->lane);
    *l = (struct axp__span_lanes){0};
}

static bool push(struct axp__span_lane *lane, axp_ns end_ns)
{
    if (lane->n == lane->cap) {
        uint32_t cap = lane->cap ? lane->cap * 2 : 8;
        axp_ns *wider = realloc(lane->ends, cap * sizeof *wider);
        if (!wider) return false;
        lane->ends = wider;
        lane->cap = cap;
    }
    lane->ends[lane->n++] = end_ns;
    return true;
}

static struct axp__span_lane *new_lane(struct axp__span_lanes *l)
{
    if (l->n == l->cap) {
        uint32_t cap = l->cap ? l->cap * 2 : 4;
        struct axp__span_lane *wider = realloc(l->lane, cap * sizeof *wider);
        if (!wider) return NULL;
        l->lane = wider;
        l->cap = cap;
    }
    l->lane[l->n] = (struct axp__span_lane){0};
    return &l->lane[l->n++];
}

uint32_t axp__span_lanes_add(struct axp__span_lanes *l, axp_ns begin_ns,
                             axp_ns end_ns)
{
    for (uint32_t i = 0; i < l->n; i++) {
        struct axp__span_lane *lane = &l->lane[i];
        while (lane->n && lane->ends[lane->n - 1] <= begin_ns)
            lane->n--;
        bool nests = !lane->n || lane->ends[lane->n - 1] >= end_ns;
        if (!nests && i < MOST_LANES - 1) continue;
        if (push(lane, end_ns)) return i;
        l->has_failed = true;
        return 0;
    }
    struct axp__span_lane *lane = new_lane(l);
    if (lane && push(lane, end_ns)) return l->n - 1;
    l->has_failed = true;
    return 0;
}

/* ---- pairs --------------------------------------------------------------------------- */

void axp__pair_lanes_fini(struct axp__pair_lanes *l)
{
    free(l->at);
    *l = (struct axp__pair_lanes){0};
}

static bool grow(struct axp__pair_lanes *l)
{
    uint32_t cap = l->cap ? l->cap * 2 : 8;
    if (l->n < l->cap) return true;
    struct axp__pair_lane *wider = realloc(l->at, cap * sizeof *wider);
    if (!wider) return false;
    l->at = wider;
    l->cap = cap;
    return true;
}

/* Of the lanes that are free at begin_ns, the one free for the shortest time;
 * it becomes the last. */
uint32_t axp__pair_lanes_add(struct axp__pair_lanes *l, axp_ns begin_ns,
                             axp_ns end_ns)
{
    uint32_t low = 0, high = l->n;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (l->at[mid].end_ns <= begin_ns)
            low = mid + 1;
        else
            high = mid;
    }
    uint32_t lane = l->n;
    if (low) {
        lane = l->at[low - 1].lane;
        memmove(l->at + low - 1, l->at + low, (l->n - low) * sizeof *l->at);
    } else if (l->n == MOST_LANES) {
        lane = l->at[0].lane;
        memmove(l->at, l->at + 1, (l->n - 1) * sizeof *l->at);
    } else if (grow(l)) {
        l->n++;
    } else {
        l->has_failed = true;
        return 0;
    }
    l->at[l->n - 1] = (struct axp__pair_lane){end_ns, lane};
    return lane;
}
