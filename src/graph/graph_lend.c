/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How long the first thread of a process was off its processor, nobody knows what
 * for: it waited for the other threads, as long as they worked, or wanted to. It takes
 * what they did for its own, each op as much as they did of it, and that is an
 * estimate.
 *
 * Who did nothing else, and ended with a process that began after it, waited for that
 * one and its like, as shells do: what these did is theirs alone, and the run ends
 * with them; its own are the times between, and what nobody was seen to do. So it is
 * of who ended with any other, as the end of a pipe does, where all the time somebody
 * else was at work. Who did something else besides takes what others did meanwhile for
 * its own (graph_far.h).
 *
 * Place    after the pass, once all rows are known. What a row was lent is lent to
 *          nobody else.
 * Cost     bounded: after so many looks in all, a wait is a wait.
 */
#include <stdlib.h>

#include "graph/graph_build.h"
#include "graph/graph_far.h"

#define MOST_LOOKS ((uint64_t)1 << 26)

struct lent {
    uint32_t row, op; /* AXP__OP_BLOCKED: nobody's, since it is on other rows */
    axp_ns ns;
};

struct lender {
    struct axp__builder *b;
    axp_graph *g;
    double *ns; /* by op: what others did while the row lived … */
    double sum; /* … in all */
    axp_ns begin_ns, end_ns;
    struct axp__life *lives; /* of each process's first thread */
    size_t n_ops;
    uint64_t n_looks;
    struct lent *all; /* in the order of rows */
    size_t n, cap;
};

static void add(struct lender *l, uint32_t op, double ns)
{
    if (!axp__op_is_work(op) && op != AXP__OP_NO_CPU) return;
    l->ns[op] += ns;
    l->sum += ns;
}

/* The part (0…1) of a stretch that is in the row's life. */
static double covered(const struct lender *l, axp_ns begin, axp_ns end)
{
    axp_ns from = begin > l->begin_ns ? begin : l->begin_ns;
    axp_ns to = end < l->end_ns ? end : l->end_ns;
    return to > from ? (double)(to - from) / (double)(end - begin) : 0;
}

static void add_current(struct lender *l, const struct axp__spent *own,
                        axp_ns begin)
{
    double part = own->is_waiting ? 0 : covered(l, begin, own->since);
    for (size_t i = 0; part > 0 && i < own->n; i++)
        add(l, own->touched[i], part * (double)own->ns[own->touched[i]]);
}

static void add_stretch(struct lender *l, const struct axp__graph_node *n)
{
    const axp_graph *g = l->g;
    double part = covered(l, g->nodes[n->prev].time_ns, n->time_ns);
    if (n->stretch != AXP__STRETCH_WORK || part <= 0) return;
    for (uint32_t i = 0; i < n->n_parts; i++)
        add(l, axp__part_op(g->parts[n->parts + i]),
            part * (double)axp__part_ns(g->parts[n->parts + i]));
    l->n_looks += n->n_parts;
}

static void add_row(struct lender *l, uint32_t row)
{
    const axp_graph *g = l->g;
    const struct axp__spent *own = g->rows[row].own;
    uint32_t node = axp__graph_last(g, row);
    if (node == AXP__NONE) return;
    if (own) add_current(l, own, g->nodes[node].time_ns);
    for (; l->n_looks < MOST_LOOKS; l->n_looks++) {
        const struct axp__graph_node *n = &g->nodes[node];
        if (n->prev == AXP__NONE || n->time_ns <= l->begin_ns) return;
        add_stretch(l, n);
        node = n->prev;
    }
}

static bool keep(struct lender *l, struct lent one)
{
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 64;
        struct lent *all = realloc(l->all, cap * sizeof *all);
        if (!all) return false;
        l->all = all;
        l->cap = cap;
    }
    l->all[l->n++] = one;
    return true;
}

/* What the rows of its process did meanwhile, or those of all others. */
static void add_rows(struct lender *l, uint32_t row, bool is_far)
{
    axp_graph *g = l->g;
    uint32_t process = g->rows[row].is.process;
    l->sum = 0;
    for (size_t op = 0; op < l->n_ops; op++)
        l->ns[op] = 0;
    for (uint32_t i = 0; i < g->n_rows && l->n_looks < MOST_LOOKS; i++) {
        l->n_looks++;
        if (i != row && (g->rows[i].is.process != process) == is_far)
            add_row(l, i);
    }
}

/* As much of it as fits into the time off; returns how much that is. */
static axp_ns take(struct lender *l, uint32_t row, axp_ns off)
{
    axp_ns lent = 0;
    double part = l->sum > (double)off ? (double)off / l->sum : 1;
    for (uint32_t op = 0; op < l->n_ops; op++) {
        axp_ns ns = (axp_ns)(part * l->ns[op]);
        if (ns > off - lent) ns = off - lent;
        if (ns && !keep(l, (struct lent){row, op, ns})) l->g->has_failed = true;
        lent += ns;
    }
    return lent;
}

static axp_ns lend(struct lender *l, uint32_t row, axp_ns off)
{
    add_rows(l, row, false);
    return take(l, row, off);
}

/* ---- who waits for another process ------------------------------------------------ */

/* As the scheduler saw it: a row is what else was seen of it. */
static struct axp__life life_of(const axp_graph *g, uint32_t row)
{
    const struct axp__graph_row *r = &g->rows[row];
    size_t state = r->is.cap ? axp__view_state_of(g->v, r->is.cap) : r->state;
    if (state) return axp__view_life_of(g->v, state);
    axp_ns last = g->nodes[axp__graph_last(g, row)].time_ns;
    return (struct axp__life){
        .begin = g->nodes[r->nodes[0]].time_ns,
        .end = r->own && r->own->since > last ? r->own->since : last};
}

/* A process is over when it is, or shortly before or after: one that began after it;
 * or one that the run may end with, so that some of them is left for that. */
static bool ends_with(const struct lender *l, uint32_t row, bool is_after)
{
    const axp_graph *g = l->g;
    axp_ns late = axp__graph_late(g);
    struct axp__life own = life_of(g, row);
    for (uint32_t i = 0; i < l->b->n_processes; i++) {
        uint32_t main = l->b->mains[i];
        struct axp__life its = l->lives[i];
        if (main == row || !its.end) continue;
        bool is_it =
            is_after ? its.begin > own.begin : !g->rows[main].is_parent;
        if (is_it && its.end <= own.end + late && own.end <= its.end + late)
            return true;
    }
    return false;
}

/* What other processes did while it was off, as far as it waited for them. */
static void add_far(struct lender *l, uint32_t row)
{
    struct axp__far far = {.b = l->b,
                           .row = row,
                           .begin_ns = l->begin_ns,
                           .end_ns = l->end_ns,
                           .lives = l->lives,
                           .n_looks = &l->n_looks,
                           .most_looks = MOST_LOOKS,
                           .n_ops = l->n_ops,
                           .ns = l->ns};
    l->sum = 0;
    if (l->n_looks >= MOST_LOOKS) return;
    axp__far_find(&far);
    l->sum = far.sum;
}

/* What others did is not the time of who waited for them. */
static void leave(struct lender *l, uint32_t row, axp_ns off)
{
    add_rows(l, row, true);
    axp_ns theirs = l->sum < (double)off ? (axp_ns)l->sum : off;
    struct lent one = {row, AXP__OP_BLOCKED, theirs};
    if (theirs && !keep(l, one)) l->g->has_failed = true;
}

static void look_at(struct lender *l, uint32_t row)
{
    axp_graph *g = l->g;
    struct axp__spent *own = g->rows[row].own;
    uint32_t node = axp__graph_last(g, row);
    if (!own || node == AXP__NONE || AXP__OP_BLOCKED >= own->n_ns) return;
    l->begin_ns = g->nodes[node].time_ns;
    l->end_ns = own->since;
    axp_ns life = l->end_ns - l->begin_ns, off = own->ns[AXP__OP_BLOCKED];
    axp_ns starved = own->ns[AXP__OP_NO_CPU];
    if (!off) return;
    axp_ns lent = lend(l, row, off);
    bool is_idle = 10 * off > 9 * (life - starved);
    bool is_parent = is_idle && ends_with(l, row, true);
    if (!is_parent && lent < off) {
        add_far(l, row);
        is_parent = is_idle && 10 * l->sum > 9 * (double)(off - lent) &&
                    ends_with(l, row, false);
        if (!is_parent && l->sum > 0) lent += take(l, row, off - lent);
    }
    if (is_parent) leave(l, row, off - lent);
    own->is_lent = is_parent || 2 * lent > life;
    l->g->rows[row].is_parent = is_parent;
}

static void give(struct lender *l)
{
    for (size_t i = 0; i < l->n; i++) {
        struct axp__spent *own = l->g->rows[l->all[i].row].own;
        own->ns[AXP__OP_BLOCKED] -= l->all[i].ns;
        if (l->all[i].op != AXP__OP_BLOCKED)
            axp__spent_add(l->g, own, l->all[i].op, l->all[i].ns);
    }
}

void axp__build_lend(struct axp__builder *b, size_t first)
{
    axp_graph *g = b->g;
    struct lender l = {.b = b, .g = g, .n_ops = g->ops.n};
    l.ns = calloc(g->ops.n + 1, sizeof *l.ns);
    l.lives = calloc(b->n_processes + (size_t)1, sizeof *l.lives);
    if (!l.ns || !l.lives) g->has_failed = true;
    for (uint32_t i = 0; !g->has_failed && i < b->n_processes; i++)
        if (b->mains[i] != AXP__NONE && g->rows[b->mains[i]].n_nodes)
            l.lives[i] = life_of(g, b->mains[i]);
    for (size_t i = first; !g->has_failed && i < g->n_rows; i++)
        if (b->mains[g->rows[i].is.process] == i) look_at(&l, (uint32_t)i);
    if (!g->has_failed) give(&l);
    free(l.ns);
    free(l.lives);
    free(l.all);
}
