/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What was done alone, each moment once; see graph_serial.h. */
#include "graph/graph_serial.h"

#include <stdlib.h>

void axp__serial_fini(struct axp__serial *s)
{
    free(s->parts);
    s->parts = NULL;
    s->n_parts = s->cap_parts = 0;
}

bool axp__serial_add(struct axp__serial *s, struct axp__serial_part part)
{
    void *at = s->parts;
    struct axp__serial_part *last = s->parts + s->n_parts;
    if (part.end <= part.begin) return true;
    bool goes_on = s->n_parts && part.episode != AXP__NONE &&
                   last[-1].episode == part.episode &&
                   last[-1].end == part.begin;
    if (goes_on) {
        last[-1].end = part.end;
        return true;
    }
    if (!axp__array_grow(&at, &s->cap_parts, s->n_parts + 1, sizeof *s->parts))
        return false;
    s->parts = at;
    s->parts[s->n_parts++] = part;
    return true;
}

bool axp__serial_add_meets(struct axp__serial *s, const struct axp__meets *m,
                           const bool *which)
{
    const axp_graph *g = s->g;
    for (uint32_t row = 0; row < g->n_rows; row++)
        for (size_t k = 1; k < g->rows[row].n_nodes; k++) {
            uint32_t i = g->rows[row].nodes[k], to = m->leads_to[i];
            const struct axp__graph_node *n = &g->nodes[i];
            if (to == AXP__NONE || !which[to] || m->at[to].row != row ||
                n->stretch != AXP__STRETCH_WORK || n->is_estimate)
                continue;
            axp_ns begin = g->nodes[n->prev].time_ns;
            if (!axp__serial_add(s, (struct axp__serial_part){begin, n->time_ns,
                                                              row, m->at[to].n,
                                                              to}))
                return false;
        }
    return true;
}

/* ---- the sum -------------------------------------------------------------------- */

/* What of a node's stretch lies in the part. */
static double share_in(const axp_graph *g, uint32_t i,
                       const struct axp__serial_part *is)
{
    const struct axp__graph_node *n = &g->nodes[i];
    axp_ns from = n->prev == AXP__NONE ? n->time_ns : g->nodes[n->prev].time_ns;
    axp_ns begin = from > is->begin ? from : is->begin;
    axp_ns end = n->time_ns < is->end ? n->time_ns : is->end;
    if (n->stretch != AXP__STRETCH_WORK || end <= begin) return 0;
    return (double)(end - begin) / (double)(n->time_ns - from);
}

static double add_node(const axp_graph *g, uint32_t i, double share,
                       double *op_ns)
{
    const struct axp__graph_node *n = &g->nodes[i];
    double sum = 0;
    for (uint32_t k = 0; share > 0 && k < n->n_parts; k++) {
        uint64_t p = g->parts[n->parts + k];
        uint32_t op = axp__part_op(p);
        if (!axp__op_is_work(op)) continue;
        sum += share * (double)axp__part_ns(p);
        if (op_ns && !axp__is_guess(g, n, op))
            op_ns[op] += share * (double)axp__part_ns(p);
    }
    return sum;
}

/* What its row worked in it; no more than it lasts, whatever a file claims. */
static double work_in(const axp_graph *g, const struct axp__serial_part *is,
                      double *op_ns)
{
    uint32_t i = axp__graph_find(g, is->row, is->end);
    double ns = 0, lasts = (double)(is->end - is->begin);
    if (i == AXP__NONE) return 0;
    if (g->nodes[i].time_ns < is->end && g->nodes[i].next != AXP__NONE)
        i = g->nodes[i].next;
    for (; i != AXP__NONE && g->nodes[i].time_ns > is->begin;
         i = g->nodes[i].prev)
        ns += add_node(g, i, share_in(g, i, is), op_ns);
    return ns < lasts ? ns : lasts;
}

static double left_out(const struct axp__serial *s, uint32_t team, double ns)
{
    uint64_t by = s->most && team > s->most ? s->most : team;
    return by ? ns * (1 - 1 / (double)by) : 0;
}

static int by_begin(const void *a, const void *b)
{
    const struct axp__serial_part *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    if (x->episode != y->episode) return x->episode < y->episode ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

struct sum {
    struct axp__serial *s;
    double *op_ns;
    double *row_ns;
    axp_ns *row_until; /* all before is known, of each row … */
    axp_ns until;      /* … of any */
    uint32_t episode;  /* of the part before */
};

/* What of the part nobody had; it is the part then. False: nothing. */
static bool add_part(struct sum *sum, struct axp__serial_part *p)
{
    struct axp__serial *s = sum->s;
    bool is_other = p->begin >= sum->until;
    if (p->end <= sum->until) return false;
    if (!is_other) p->begin = sum->until;
    double ns = work_in(s->g, p, sum->op_ns);
    double gain = left_out(s, p->team, ns);
    s->ns += ns;
    s->most_ns += gain;
    if (p->episode == AXP__NONE) s->gain_ns += gain;
    s->n += ns > 0 && is_other &&
            (p->episode == AXP__NONE || p->episode != sum->episode);
    sum->until = p->end;
    sum->episode = p->episode;
    if (p->team > s->n_threads) s->n_threads = p->team;
    return true;
}

/* What of it its own row had not. */
static void add_own(struct sum *sum, struct axp__serial_part p)
{
    axp_ns *until = &sum->row_until[p.row];
    if (p.begin < *until) p.begin = *until;
    if (p.end <= p.begin) return;
    double ns = work_in(sum->s->g, &p, NULL);
    double *row_ns = &sum->row_ns[p.row];
    sum->s->all_ns += ns;
    *row_ns += ns;
    *until = p.end;
    if (*row_ns <= sum->s->row_ns) return;
    sum->s->row_ns = *row_ns;
    sum->s->row = p.row;
}

bool axp__serial_sum(struct axp__serial *s, double *op_ns)
{
    size_t n = s->g->n_rows + 1;
    struct sum sum = {.s = s,
                      .op_ns = op_ns,
                      .row_ns = calloc(n, sizeof(double)),
                      .row_until = calloc(n, sizeof(axp_ns)),
                      .episode = AXP__NONE};
    bool ok = sum.row_ns && sum.row_until;
    if (s->n_parts) qsort(s->parts, s->n_parts, sizeof *s->parts, by_begin);
    size_t kept = 0;
    for (size_t i = 0; ok && i < s->n_parts; i++) {
        struct axp__serial_part p = s->parts[i];
        add_own(&sum, p);
        if (add_part(&sum, &p)) s->parts[kept++] = p;
    }
    if (ok) s->n_parts = kept;
    /* The others' work at the same time has these processors as well. */
    double least = s->most ? s->all_ns / (double)s->most : 0;
    if (s->most_ns > s->ns - least) s->most_ns = s->ns - least;
    if (s->most_ns < 0) s->most_ns = 0;
    free(sum.row_ns);
    free(sum.row_until);
    return ok;
}
