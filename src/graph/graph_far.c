/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Times off a processor that are others' work; see graph_far.h. */
#include "graph/graph_far.h"

#define SLICES 1024

struct slices {
    struct axp__far *f;
    const struct axp__samples *all;
    double begin, slice;   /* ns */
    double off[SLICES];    /* of the row … */
    double worked[SLICES]; /* … and of the others */
    bool is_given;         /* it is told what they worked on */
};

struct piece {
    uint32_t op;
    double begin, end, part; /* so much of it (0…1) is the op's */
};

bool axp__far_ends(const struct axp__far *f, axp_ns at)
{
    const axp_graph *g = f->b->g;
    axp_ns late = axp__graph_late(g);
    for (uint32_t i = 0; i < f->b->n_processes; i++) {
        axp_ns end = f->lives[i].end;
        ++*f->n_looks;
        if (!end || i == g->rows[f->row].is.process ||
            g->rows[f->b->mains[i]].is_parent)
            continue;
        if (end <= at + late && at <= end + late) return true;
    }
    return false;
}

/* ---- slices ------------------------------------------------------------------------ */

/* From..to are those that it touches. */
static bool touched(const struct slices *s, const struct piece *p, int *from,
                    int *to)
{
    double begin = (p->begin - s->begin) / s->slice;
    double end = (p->end - s->begin) / s->slice;
    if (!(end > begin) || end <= 0 || begin >= SLICES) return false;
    *from = begin > 0 ? (int)begin : 0;
    *to = end < SLICES ? (int)end + 1 : SLICES;
    if (*to > SLICES) *to = SLICES;
    return true;
}

/* What of the slice it covers, in ns. */
static double in_slice(const struct slices *s, const struct piece *p, int i)
{
    double low = s->begin + i * s->slice, high = low + s->slice;
    if (p->begin > low) low = p->begin;
    if (p->end < high) high = p->end;
    return high > low ? high - low : 0;
}

/* At one moment several may work: no more is theirs than the row was off. */
static void put(struct slices *s, const struct piece *p)
{
    int from, to;
    if (!axp__op_is_work(p->op) && p->op != AXP__OP_NO_CPU) return;
    if (p->op >= s->f->n_ops || !touched(s, p, &from, &to)) return;
    *s->f->n_looks += (uint64_t)(to - from);
    for (int i = from; i < to; i++) {
        double ns = p->part * in_slice(s, p, i), all = s->worked[i];
        if (!s->is_given) {
            s->worked[i] += ns;
        } else if (all > 0) {
            if (s->off[i] < all) ns *= s->off[i] / all;
            s->f->ns[p->op] += ns;
            s->f->sum += ns;
        }
    }
}

/* ---- the row ----------------------------------------------------------------------- */

static void add_off(struct slices *s)
{
    const axp_graph *g = s->f->b->g;
    const struct axp__graph_row *row = &g->rows[s->f->row];
    bool is_all = axp__far_ends(s->f, s->f->end_ns);
    int from, to;
    for (size_t i = row->loose.first; i < row->loose.end; i++) {
        const struct axp__cap_sample *at = &s->all->at[i];
        axp_ns end = axp__view_time(g->v, at->ticks);
        struct piece p = {.begin = (double)end - (double)at->weight,
                          .end = (double)end};
        ++*s->f->n_looks;
        if (at->kind != AXP_SAMPLE_WAITED || !touched(s, &p, &from, &to) ||
            !(is_all || axp__far_ends(s->f, end)))
            continue;
        for (; from < to; from++)
            s->off[from] += in_slice(s, &p, from);
    }
}

/* ---- the others ---------------------------------------------------------------------- */

/* All before a sample of work is that work's, since the one before. */
static void put_loose(struct slices *s, const struct axp__graph_row *row)
{
    axp_graph *g = s->f->b->g;
    axp_ns since = 0;
    for (size_t i = row->loose.first; i < row->loose.end; i++) {
        const struct axp__cap_sample *at = &s->all->at[i];
        axp_ns end = axp__view_time(g->v, at->ticks);
        axp_ns begin = end > at->weight ? end - at->weight : 0;
        if (begin < since || (at->kind == AXP_SAMPLE_CPU && since))
            begin = since;
        since = end;
        ++*s->f->n_looks;
        if (at->kind == AXP_SAMPLE_WAITED || end <= s->f->begin_ns) continue;
        if (begin >= s->f->end_ns) break;
        uint32_t op = at->kind == AXP_SAMPLE_CPU
                          ? axp__graph_op_of_stack(&g->ops, at->stack)
                          : AXP__OP_NO_CPU;
        put(s, &(struct piece){op, (double)begin, (double)end, 1});
    }
}

static void put_stretch(struct slices *s, const struct axp__graph_node *n)
{
    const axp_graph *g = s->f->b->g;
    double begin = (double)g->nodes[n->prev].time_ns;
    double end = (double)n->time_ns;
    for (uint32_t k = 0; k < n->n_parts && end > begin; k++) {
        uint64_t part = g->parts[n->parts + k];
        double ns = (double)axp__part_ns(part);
        put(s, &(struct piece){axp__part_op(part), begin, end,
                               ns / (end - begin)});
    }
}

static void put_current(struct slices *s, const struct axp__spent *own,
                        axp_ns last)
{
    double begin = (double)last, end = (double)own->since;
    for (size_t i = 0; i < own->n && end > begin && !own->is_waiting; i++) {
        double ns = (double)own->ns[own->touched[i]];
        put(s,
            &(struct piece){own->touched[i], begin, end, ns / (end - begin)});
    }
}

static void put_recorded(struct slices *s, const struct axp__graph_row *row)
{
    const axp_graph *g = s->f->b->g;
    for (size_t i = 1; i < row->n_nodes; i++) {
        const struct axp__graph_node *n = &g->nodes[row->nodes[i]];
        ++*s->f->n_looks;
        if (n->stretch == AXP__STRETCH_WORK) put_stretch(s, n);
    }
    if (row->own && row->n_nodes)
        put_current(s, row->own,
                    g->nodes[row->nodes[row->n_nodes - 1]].time_ns);
}

static void put_others(struct slices *s)
{
    const axp_graph *g = s->f->b->g;
    uint32_t process = g->rows[s->f->row].is.process;
    for (uint32_t i = 0; i < g->n_rows; i++) {
        const struct axp__graph_row *row = &g->rows[i];
        if (++*s->f->n_looks >= s->f->most_looks) return;
        if (row->is.process == process || row->is.track) continue;
        if (row->loose.end > row->loose.first)
            put_loose(s, row);
        else
            put_recorded(s, row);
    }
}

void axp__far_find(struct axp__far *f)
{
    struct slices s = {.f = f,
                       .all = axp__stream_samples(f->b->stream),
                       .begin = (double)f->begin_ns};
    s.slice = ((double)f->end_ns - s.begin) / SLICES;
    f->sum = 0;
    for (size_t op = 0; op < f->n_ops; op++)
        f->ns[op] = 0;
    if (!(s.slice > 0)) return;
    add_off(&s);
    put_others(&s);
    s.is_given = true;
    put_others(&s);
}
