/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What recording itself took, where a view knows it: each call of a scope has
 * spent so much inside its own time, and so much around it, in its parent's
 * (record_cost.c measured both), and each allocation and free something in
 * whoever made it: two thirds of a scope in recordings that do not say. A value
 * of a counter is counted as half a scope. What starts and stops by name take
 * more than scopes and values of counters more than half of one, and what calls
 * of muted functions took, and starts of threads that are sampled, was measured
 * and is told beside them (AXP__KIND_COST). Of all but scopes nobody knows in
 * whose time it lies: it is taken off nobody's, and what is told puts in
 * doubt whom it may change.
 *
 * Not here  tracks: their spans are made up of given times. */
#include <stdlib.h>
#include <string.h>

#include "base/base_number.h"
#include "model/model_view.h"

static struct axp__own_cost cost_of(const struct axp__capture *c,
                                    const struct axp__cap_lane *lane)
{
    struct axp__own_cost own = lane->own_cost;
    bool has_own = own.around_ticks || own.inside_ticks;
    return lane->is_track ? (struct axp__own_cost){0, 0, 0}
           : has_own      ? own
                          : c->own_cost;
}

double axp__lane_doubt(const axp_view *v, const struct axp__cap_lane *lane)
{
    double longer = lane->row < 0
                        ? 1
                        : axp__view_longest(v, (size_t)lane->row,
                                            axp__lane_own_ns(v, lane));
    return 2 * longer - 1;
}

uint64_t *axp__lane_costs(const struct axp__capture *c,
                          const struct axp__cap_lane *lane)
{
    struct axp__own_cost own = cost_of(c, lane);
    uint64_t *costs = calloc(lane->n_nodes + 1, sizeof *costs);
    for (uint32_t i = 1; costs && i < lane->n_nodes; i++) {
        const struct axp__cap_node *n = &lane->nodes[i];
        costs[i] += n->calls * own.inside_ticks;
        if (n->parent >= 0) costs[n->parent] += n->calls * own.around_ticks;
    }
    return costs;
}

/* of: NULL, whatever it is called. */
static double told_ns(const axp_view *v, const struct axp__cap_lane *lane,
                      const char *of)
{
    double sum = 0;
    for (uint32_t i = 0; i < lane->n_counters; i++) {
        const struct axp__cap_counter *k = &lane->counters[i];
        if (axp__view_kind(v, k->name) == AXP__KIND_COST &&
            (!of || !strcmp(axp__view_name(v, k->name), of)))
            sum += k->sum;
    }
    return sum;
}

axp_ns axp__view_cost_ns(const axp_view *v, const char *of)
{
    double sum = 0;
    for (size_t i = 0; i < v->capture->n_lanes; i++)
        sum += told_ns(v, &v->capture->lanes[i], of);
    return sum < 1e18 ? axp__whole(sum) : 0;
}

static uint64_t alloc_ticks(const struct axp__cap_lane *lane,
                            const struct axp__own_cost *own)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < lane->n_traffic; i++)
        n += lane->traffic[i].n_allocs + lane->traffic[i].n_frees;
    if (own->alloc_ticks) return n * own->alloc_ticks;
    return 4 * n * (own->around_ticks + own->inside_ticks) / 6;
}

axp_ns axp__view_memory_ns(const axp_view *v)
{
    const struct axp__capture *c = v->capture;
    axp_ns sum = axp__view_cost_ns(v, "axprof.memory_ns");
    for (size_t i = 0; i < c->n_lanes; i++) {
        struct axp__own_cost own = cost_of(c, &c->lanes[i]);
        sum += axp__view_ns(v, alloc_ticks(&c->lanes[i], &own));
    }
    return sum;
}

static uint64_t counter_ticks(const axp_view *v,
                              const struct axp__cap_lane *lane,
                              const struct axp__own_cost *own)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < lane->n_counters; i++)
        if (axp__view_kind(v, lane->counters[i].name) != AXP__KIND_COST)
            n += lane->counters[i].n;
    return n * (own->around_ticks + own->inside_ticks) / 2;
}

axp_ns axp__view_counters_ns(const axp_view *v)
{
    const struct axp__capture *c = v->capture;
    axp_ns sum = axp__view_cost_ns(v, "axprof.counters_ns");
    for (size_t i = 0; i < c->n_lanes; i++) {
        struct axp__own_cost own = cost_of(c, &c->lanes[i]);
        sum += axp__view_ns(v, counter_ticks(v, &c->lanes[i], &own));
    }
    return sum;
}

axp_ns axp__lane_beside_ns(const axp_view *v, const struct axp__cap_lane *lane)
{
    double told = told_ns(v, lane, NULL);
    return told < 1e18 ? axp__whole(told) : 0;
}

axp_ns axp__lane_own_ns(const axp_view *v, const struct axp__cap_lane *lane)
{
    struct axp__own_cost own = cost_of(v->capture, lane);
    uint64_t calls = 0;
    for (uint32_t i = 1; i < lane->n_nodes; i++)
        calls += lane->nodes[i].calls;
    for (uint32_t i = 0; i < lane->n_ops; i++)
        calls += lane->ops[i].loose_calls;
    return axp__view_ns(v, calls * (own.around_ticks + own.inside_ticks) +
                               counter_ticks(v, lane, &own) +
                               alloc_ticks(lane, &own)) +
           axp__lane_beside_ns(v, lane);
}

/* ---- as samples met it ------------------------------------------------------- */

/* More than is taken off already, of each call within it and of those around. */
static axp_ns unstated(const axp_view *v, const axp_tree_node *n, axp_ns met)
{
    struct axp__own_cost own = v->capture->own_cost;
    double each = (double)axp__view_ns(v, own.around_ticks + own.inside_ticks);
    double more = (double)met - each * (double)n->calls;
    double most = (double)n->self_ns;
    return more > 0 ? axp__whole(more < most ? more : most) : 0;
}

static void doubt_op(axp_view *v, const char *name, axp_ns more)
{
    const axp_op *found = axp__view_find_op(v, &(axp_op){.name = name});
    if (!found || strcmp(found->name, name) != 0) return;
    axp_op *op = &v->ops[found - v->ops];
    op->doubt_ns += more;
    if (op->doubt_ns > op->self_ns) op->doubt_ns = op->self_ns;
    double life = op->time_share > 0 ? (double)op->self_ns / op->time_share : 0;
    op->is_doubtful |= (double)op->doubt_ns > 0.05 * life;
}

/* Hooks are called where nothing is recorded, too, and what that takes is in the
 * time of whoever is recorded. */
void axp__view_doubt_met(axp_view *v, const axp_ns *met)
{
    for (size_t i = 1; i < v->n_tree; i++) {
        axp_tree_node *n = &v->tree[i];
        if (n->is_sampled || !met[i] ||
            axp__view_kind(v, v->tree_names[i]) != AXP__KIND_FUNCTION)
            continue;
        axp_ns all = unstated(v, n, met[i]);
        if (all <= n->doubt_ns) continue;
        doubt_op(v, n->name, all - n->doubt_ns);
        n->doubt_ns = all;
    }
}
