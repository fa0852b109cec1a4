/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The critical path; see graph_path.h. */
#include "graph/graph_path.h"

#include <stdlib.h>

#define MOST_STARTS 1024u
#define LONG_NS 1000000u /* no processor takes that long to wake up */

struct walker {
    struct axp__critical_path *p;
    const struct axp__replayed *r;
    const axp_graph *g;
    axp_ns shortest;   /* shorter segments are their neighbours' */
    unsigned n_starts; /* of rows that nobody started */
    axp_ns *starved;   /* by row: without a processor, and not told of yet; the
                          largest: not known */
};

/* ---- segments, from the last to the first --------------------------------------- */

static bool is_one(const struct axp__segment *a, const struct axp__segment *b)
{
    return a->row == b->row && a->op == b->op && a->is_own == b->is_own;
}

/* A short one, or one like the one after it, is part of that. */
static bool is_part(const struct walker *w, const struct axp__segment *after,
                    const struct axp__segment *s)
{
    return s->end_ns - s->begin_ns < w->shortest || is_one(after, s);
}

/* So that half of the room is free again. */
static void coarsen(struct walker *w)
{
    struct axp__segment *at = w->p->segments;
    axp_ns all = w->r->end_ns - w->g->begin_ns;
    if (!w->shortest) w->shortest = all / AXP__MOST_SEGMENTS / 4 + 1;
    while (w->p->n_segments > AXP__MOST_SEGMENTS / 2) {
        size_t kept = 1;
        for (size_t i = 1; i < w->p->n_segments; i++) {
            if (is_part(w, &at[kept - 1], &at[i]))
                at[kept - 1].begin_ns = at[i].begin_ns;
            else
                at[kept++] = at[i];
        }
        w->p->n_segments = kept;
        w->shortest *= 2;
    }
}

static void put_segment(struct walker *w, struct axp__segment s)
{
    struct axp__critical_path *p = w->p;
    if (s.begin_ns >= s.end_ns) return;
    if (p->n_segments && is_part(w, &p->segments[p->n_segments - 1], &s)) {
        p->segments[p->n_segments - 1].begin_ns = s.begin_ns;
        return;
    }
    if (p->n_segments == AXP__MOST_SEGMENTS) coarsen(w);
    p->segments[p->n_segments++] = s;
}

static void put(struct walker *w, uint32_t row, uint32_t op, axp_ns begin_ns,
                axp_ns end_ns)
{
    if (begin_ns >= end_ns) return;
    w->p->ns[op] += (double)(end_ns - begin_ns);
    put_segment(w, (struct axp__segment){begin_ns, end_ns, row, op, false});
}

/* The beginning of a node's stretch, as far as it was when another row went on;
 * its parts are spread over it evenly. */
static void put_work(struct walker *w, uint32_t node, axp_ns begin_ns,
                     axp_ns end_ns)
{
    const struct axp__graph_node *n = &w->g->nodes[node];
    double all = 0, most = 0, length = (double)(end_ns - begin_ns);
    uint32_t op = AXP__OP_OUTSIDE;
    if (begin_ns >= end_ns) return;
    for (uint32_t i = 0; i < n->n_parts; i++) {
        double ns = axp__replay_part(w->r, node, i);
        all += ns;
        if (ns <= most) continue;
        most = ns;
        op = axp__part_op(w->g->parts[n->parts + i]);
    }
    if (!(all > 0)) {
        put(w, n->row, op, begin_ns, end_ns);
        return;
    }
    for (uint32_t i = 0; i < n->n_parts; i++) {
        uint32_t of = axp__part_op(w->g->parts[n->parts + i]);
        double ns = axp__replay_part(w->r, node, i) * length / all;
        bool is_seen = of == AXP__OP_NO_CPU || of == AXP__OP_WOKEN;
        w->p->ns[of] += ns;
        if (n->is_estimate && !is_seen) w->p->estimated_ns += ns;
    }
    bool is_own = !n->is_estimate && !w->g->rows[n->row].is.track;
    put_segment(w, (struct axp__segment){begin_ns, end_ns, n->row, op, is_own});
}

/* ---- the way back --------------------------------------------------------------- */

/* What a row waited for between the nodes, or for the beginning of it; parts of a
 * wait are in the order of time. */
static void put_wait(struct walker *w, uint32_t node, axp_ns begin_ns,
                     axp_ns end_ns)
{
    const struct axp__graph_node *n = &w->g->nodes[node];
    const uint64_t *parts = w->g->parts + n->parts;
    axp_ns earlier = 0;
    if (!n->n_parts) put(w, n->row, AXP__OP_IDLE, begin_ns, end_ns);
    for (uint32_t i = 0; i < n->n_parts; i++)
        earlier += axp__part_ns(parts[i]);
    for (uint32_t i = n->n_parts; i-- > 0 && end_ns > begin_ns;) {
        earlier -= axp__part_ns(parts[i]);
        if (earlier >= end_ns - begin_ns) continue;
        put(w, n->row, axp__part_op(parts[i]), begin_ns + earlier, end_ns);
        end_ns = begin_ns + earlier;
    }
}

/* What was done between the end of a process and the beginning of the next: by who
 * waited for both, if there is one; of several by the innermost. */
static void put_between(struct walker *w, uint32_t row, axp_ns begin_ns,
                        axp_ns end_ns)
{
    const struct axp__graph_row *best = NULL;
    for (size_t i = 0; i < w->g->n_rows && begin_ns < end_ns; i++) {
        const struct axp__graph_row *r = &w->g->rows[i];
        if (!r->is_parent || r->n_nodes < 2 ||
            w->r->at[r->nodes[0]] > begin_ns ||
            w->r->at[r->nodes[r->n_nodes - 1]] < end_ns)
            continue;
        if (!best || w->r->at[r->nodes[0]] > w->r->at[best->nodes[0]]) best = r;
    }
    if (best)
        put_work(w, best->nodes[best->n_nodes - 1], begin_ns, end_ns);
    else
        put(w, row, AXP__OP_IDLE, begin_ns, end_ns);
}

/* What a row did between a node and a moment after it. */
static void put_rest(struct walker *w, uint32_t node, axp_ns end_ns)
{
    uint32_t next = w->g->nodes[node].next;
    axp_ns begin_ns = w->r->at[node];
    if (next == AXP__NONE)
        put_between(w, w->g->nodes[node].row, begin_ns, end_ns);
    else if (w->g->nodes[next].stretch == AXP__STRETCH_WORK)
        put_work(w, next, begin_ns, end_ns);
    else
        put_wait(w, next, begin_ns, end_ns);
}

/* A row that nobody started: what was going on when it began, of those rows that
 * began before it. AXP__NONE: nothing. */
static uint32_t before(const struct walker *w, uint32_t start)
{
    axp_ns at = w->r->at[start];
    const struct axp__graph_row *best = NULL;
    for (size_t i = 0; i < w->g->n_rows; i++) {
        const struct axp__graph_row *row = &w->g->rows[i];
        if (!row->n_nodes || w->r->at[row->nodes[0]] >= at) continue;
        bool goes_on = w->r->at[row->nodes[row->n_nodes - 1]] >= at;
        if (goes_on &&
            (!best || w->r->at[row->nodes[0]] < w->r->at[best->nodes[0]]))
            best = row;
    }
    if (!best) return AXP__NONE;
    size_t low = 0, high = best->n_nodes;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (w->r->at[best->nodes[mid]] <= at)
            low = mid + 1;
        else
            high = mid;
    }
    return low ? best->nodes[low - 1] : AXP__NONE;
}

/* Why a row went on only so long after it could: a processor takes time to be
 * woken, and others may have had it, as long as the scheduler says. */
static uint32_t late_op(struct walker *w, uint32_t row, axp_ns ns)
{
    axp_ns *starved = &w->starved[row];
    if (*starved == UINT64_MAX)
        return ns < LONG_NS ? AXP__OP_WOKEN : AXP__OP_NO_CPU;
    if (*starved < ns / 2) return AXP__OP_WOKEN;
    *starved -= *starved < ns ? *starved : ns;
    return AXP__OP_NO_CPU;
}

/* Puts what is between a node and what it followed; returns the latter. */
static uint32_t step_back(struct walker *w, uint32_t node)
{
    const struct axp__graph_node *n = &w->g->nodes[node];
    axp_ns at = w->r->at[node], given = 0;
    uint32_t source = axp__replay_source(w->r, node, &given);
    axp_ns begin = n->prev == AXP__NONE ? 0 : w->r->at[n->prev];
    bool is_start = n->stretch == AXP__STRETCH_START;
    bool is_work = n->stretch == AXP__STRETCH_WORK;
    if (source == AXP__NONE && is_start) {
        if (w->n_starts++ < MOST_STARTS) source = before(w, node);
        given = at;
    } else if (is_work && source != AXP__NONE &&
               given <= begin + axp__replay_length(w->r, node)) {
        source = AXP__NONE;
    }
    if (is_start && source == AXP__NONE) return AXP__NONE;
    if (source == AXP__NONE || (!is_start && given <= begin)) {
        if (is_work)
            put_work(w, node, begin, at);
        else
            put_wait(w, node, begin, at);
        return n->prev;
    }
    bool is_queue = n->stretch == AXP__STRETCH_QUEUE;
    if (given < at)
        put(w, n->row, is_queue ? AXP__OP_IDLE : late_op(w, n->row, at - given),
            given, at);
    put_rest(w, source, given);
    return source;
}

static void walk(struct walker *w)
{
    const struct axp__replayed *r = w->r;
    uint32_t node = r->last;
    axp_ns at = r->end_ns;
    size_t left = 2 * w->g->n_nodes + w->g->n_rows; /* no more than there are */
    if (node != AXP__NONE) {
        put(w, AXP__NONE, AXP__OP_IDLE, r->at[node], at);
        at = r->at[node];
    }
    while (node != AXP__NONE && left--) {
        node = step_back(w, node);
        if (node != AXP__NONE) at = r->at[node];
    }
    put(w, AXP__NONE, AXP__OP_IDLE, w->g->begin_ns, at);
}

static void reverse(struct axp__critical_path *p)
{
    for (size_t i = 0, k = p->n_segments; i + 1 < k; i++) {
        struct axp__segment s = p->segments[--k];
        p->segments[k] = p->segments[i];
        p->segments[i] = s;
    }
}

static axp_ns *starved_rows(const axp_graph *g)
{
    axp_ns *of = malloc((g->n_rows + 1) * sizeof *of);
    for (size_t i = 0; of && i < g->n_rows; i++) {
        const struct axp__cap_row *row = g->rows[i].is.cap;
        of[i] = row ? axp__view_starved(g->v, row) : UINT64_MAX;
    }
    return of;
}

bool axp__path_walk(struct axp__critical_path *p, const struct axp__replayed *r)
{
    struct walker w = {.p = p, .r = r, .g = r->g};
    double *ns = calloc(r->g->ops.n + 1, sizeof *ns);
    struct axp__segment *segments =
        malloc(AXP__MOST_SEGMENTS * sizeof *segments);
    *p = (struct axp__critical_path){.ns = ns, .segments = segments};
    w.starved = starved_rows(r->g);
    if (!ns || !segments || !w.starved) {
        free(w.starved);
        return false;
    }
    walk(&w);
    free(w.starved);
    reverse(p);
    return true;
}

void axp__path_fini(struct axp__critical_path *p)
{
    free(p->ns);
    free(p->segments);
    *p = (struct axp__critical_path){0};
}
