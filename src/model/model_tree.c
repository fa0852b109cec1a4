/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The call tree, threads merged: nodes with the same path are one. Parents
 * come before their children; node 0 is the root. */
#include <stdlib.h>

#include "base/base_number.h"
#include "base/base_text.h"
#include "model/model_view.h"

struct merged { /* beside the public node */
    uint32_t name;
    int32_t parent;
    uint64_t total_ticks, self_ticks, total_ns, self_ns;
    uint64_t own_ticks; /* in self_ticks, that recording took */
    double doubt_ticks; /* that may be ours beyond that */
    axp_ns beside_ns;   /* and these, too */
    bool is_used;       /* called, or above one that was */
};

struct table {
    struct merged *at;
    axp_tree_node *node;
    size_t n;
    uint32_t *slots; /* index + 1 */
    size_t n_slots;
};

static int32_t get(struct table *t, int32_t parent, uint32_t name)
{
    uint64_t key = (uint64_t)(uint32_t)parent << 32 | name;
    size_t i = axp__mix64(key) & (t->n_slots - 1);
    for (; t->slots[i]; i = (i + 1) & (t->n_slots - 1)) {
        struct merged *m = &t->at[t->slots[i] - 1];
        if (m->name == name && m->parent == parent)
            return (int32_t)t->slots[i] - 1;
    }
    t->at[t->n] = (struct merged){.name = name, .parent = parent};
    t->slots[i] = (uint32_t)++t->n;
    return (int32_t)t->n - 1;
}

static void mark_used(struct table *t, int32_t i)
{
    for (; i >= 0 && !t->at[i].is_used; i = t->at[i].parent)
        t->at[i].is_used = true;
}

static void add_node(struct table *t, const struct axp__cap_lane *lane,
                     const struct axp__cap_node *from, int32_t i,
                     uint64_t own_ticks)
{
    struct merged *m = &t->at[i];
    axp_tree_node *n = &t->node[i];
    n->calls += from->calls;
    n->flops += from->flops;
    n->bytes += from->bytes;
    n->allocated_bytes += from->allocated_bytes;
    *(lane->is_track ? &m->total_ns : &m->total_ticks) += from->total_ticks;
    *(lane->is_track ? &m->self_ns : &m->self_ticks) += from->self_ticks;
    m->own_ticks += own_ticks;
    if (from->calls || from->allocated_bytes) mark_used(t, i);
}

static bool add_lane(const axp_view *v, struct table *t,
                     const struct axp__cap_lane *lane)
{
    int32_t *image = calloc(lane->n_nodes + 1, sizeof *image);
    uint64_t *costs = axp__lane_costs(v->capture, lane);
    axp_ns beside = axp__lane_beside_ns(v, lane);
    double doubt = axp__lane_doubt(v, lane);
    bool ok = image && costs;
    for (uint32_t i = 0; ok && i < lane->n_nodes; i++) {
        const struct axp__cap_node *n = &lane->nodes[i];
        if (i > 0)
            image[i] = get(t, n->parent > 0 ? image[n->parent] : 0, n->name);
        add_node(t, lane, n, image[i], i ? costs[i] : 0);
        if (i == 0) continue;
        t->at[image[i]].beside_ns += beside;
        t->at[image[i]].doubt_ticks += (double)costs[i] * doubt;
    }
    for (uint32_t i = 0; ok && i < lane->n_frames; i++) {
        int32_t node = lane->frames[i].node;
        if (node <= 0) continue;
        struct merged *m = &t->at[image[node]];
        t->node[image[node]].calls++;
        m->total_ticks += axp__frame_total(v, lane, i);
        m->self_ticks += axp__frame_self(v, lane, i);
        mark_used(t, image[node]);
    }
    free(image);
    free(costs);
    return ok;
}

/* Times in ns, own cost taken off, and unused nodes left out. */
static void finish(axp_view *v, struct table *t)
{
    int32_t *moved = calloc(t->n, sizeof *moved);
    if (!moved) return;
    for (size_t i = 0; i < t->n; i++) {
        struct merged *m = &t->at[i];
        if (i && !m->is_used) continue;
        uint64_t own = m->own_ticks;
        uint64_t self = m->self_ticks > own ? m->self_ticks - own : 0;
        axp_tree_node n = t->node[i];
        n.name = axp__view_name(v, m->name);
        n.is_wait = axp__view_kind(v, m->name) == AXP__KIND_WAIT;
        n.device = axp__view_device(v, m->name);
        n.parent = i ? moved[m->parent] : -1;
        n.total_ns = axp__view_ns(v, m->total_ticks) + m->total_ns;
        n.self_ns = axp__view_ns(v, self) + m->self_ns;
        n.doubt_ns = axp__view_ns(v, axp__whole(m->doubt_ticks)) +
                     (m->beside_ns < n.total_ns ? m->beside_ns : n.total_ns);
        moved[i] = (int32_t)v->n_tree;
        v->tree_names[v->n_tree] = m->name;
        v->tree[v->n_tree++] = n;
    }
    for (size_t i = 1; i < v->n_tree; i++)
        if (v->tree[i].parent == 0) v->tree[0].total_ns += v->tree[i].total_ns;
    free(moved);
}

bool axp__view_make_tree(axp_view *v)
{
    const struct axp__capture *c = v->capture;
    struct table t = {0};
    size_t cap = 1;
    for (size_t i = 0; i < c->n_lanes; i++)
        cap += c->lanes[i].n_nodes;
    t.n_slots = 16;
    while (t.n_slots < cap * 2)
        t.n_slots *= 2;
    t.at = calloc(cap, sizeof *t.at);
    t.node = calloc(cap, sizeof *t.node);
    t.slots = calloc(t.n_slots, sizeof *t.slots);
    v->tree = calloc(cap, sizeof *v->tree);
    v->tree_names = calloc(cap, sizeof *v->tree_names);
    bool ok = t.at && t.node && t.slots && v->tree && v->tree_names;
    if (ok) {
        t.at[0] = (struct merged){.parent = -1, .is_used = true};
        t.n = 1;
    }
    for (size_t i = 0; ok && i < c->n_lanes; i++)
        ok = add_lane(v, &t, &c->lanes[i]);
    if (ok) finish(v, &t);
    free(t.at);
    free(t.node);
    free(t.slots);
    return ok && v->n_tree;
}
