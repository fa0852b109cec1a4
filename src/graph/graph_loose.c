/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads that recorded nothing and were sampled: rows of their own, of what the
 * samples say. A program that nobody changed, and that starts no threads, is one
 * of these.
 *
 * Input    untrusted: of very many threads the first are taken.
 * Place    after the pass, so that nothing depends on them.
 */
#include <stdlib.h>

#include "graph/graph_build.h"

#define MOST_LOOSE 4096u

bool axp__loose_next(const struct axp__samples *all, size_t *at,
                     struct axp__loose *out)
{
    while (*at < all->n && all->at[*at].is_placed)
        (*at)++;
    if (*at >= all->n) return false;
    const struct axp__cap_sample *s = &all->at[*at];
    *out = (struct axp__loose){*at, *at, s->process, s->tid};
    while (out->end < all->n && !all->at[out->end].is_placed &&
           all->at[out->end].process == s->process &&
           all->at[out->end].tid == s->tid)
        out->end++;
    *at = out->end;
    return true;
}

struct axp__record axp__loose_record(const axp_view *v,
                                     const struct axp__cap_sample *s)
{
    return (struct axp__record){.kind = AXP__R_SAMPLE,
                                .time_ns = axp__view_time(v, s->ticks),
                                .id = s->weight,
                                .argument = s->kind,
                                .stack = s->stack};
}

static size_t count(const struct axp__samples *all)
{
    struct axp__loose t;
    size_t n = 0;
    for (size_t at = 0; n < MOST_LOOSE && axp__loose_next(all, &at, &t);)
        n++;
    return n;
}

/* The number of its process: that of the thread before it or of a row, or a new
 * one. */
static uint32_t process_of(struct axp__builder *b, const struct axp__loose *t,
                           const struct axp__loose *before)
{
    const struct axp__capture *c = b->g->v->capture;
    const struct axp__graph_row *rows = b->g->rows;
    if (before && before->process == t->process)
        return rows[b->g->n_rows - 1].is.process;
    for (size_t i = 0; i < b->n_stream_rows; i++)
        if (axp__cap_whose(c, rows[i].is.process) == t->process)
            return rows[i].is.process;
    b->mains[b->n_processes] = AXP__NONE;
    return b->n_processes++;
}

static void add_thread(struct axp__builder *b, const struct axp__samples *all,
                       const struct axp__loose *t,
                       const struct axp__loose *before)
{
    axp_graph *g = b->g;
    uint32_t row = (uint32_t)g->n_rows;
    uint32_t pid = (uint32_t)(t->process & UINT32_MAX);
    g->rows[row].is =
        (struct axp__stream_row){.name = "",
                                 .title = "",
                                 .process = process_of(b, t, before),
                                 .process_id = pid,
                                 .thread_id = t->tid,
                                 .rank = -1};
    g->rows[row].state =
        axp__view_state_at(g->v, t->process, t->tid, all->at[t->first].ticks);
    g->n_rows++;
    uint32_t process = g->rows[row].is.process;
    if (t->tid == pid && b->mains[process] == AXP__NONE)
        b->mains[process] = row;
    for (size_t i = t->first; i < t->end && !g->has_failed; i++) {
        const struct axp__cap_sample *s = &all->at[i];
        struct axp__record r = axp__loose_record(g->v, s);
        r.row = row;
        axp_ns began = r.time_ns > s->weight ? r.time_ns - s->weight : 0;
        axp__build_sample(b, &r, began);
    }
}

/* A single thread is the whole run. */
static void stretch(axp_graph *g)
{
    struct axp__graph_row *r = &g->rows[g->n_rows - 1];
    if (!r->own || r->n_nodes != 1) return;
    g->nodes[r->nodes[0]].time_ns = g->begin_ns;
    uint32_t op = r->own->op;
    if (g->end_ns > r->own->since)
        axp__spent_add(g, r->own, op, g->end_ns - r->own->since);
    r->own->since = g->end_ns;
}

bool axp__build_loose(struct axp__builder *b)
{
    const struct axp__samples *all = axp__stream_samples(b->stream);
    axp_graph *g = b->g;
    size_t n = count(all), at = 0;
    struct axp__loose t, before;
    if (!n) return true;
    struct axp__graph_row *rows =
        realloc(g->rows, (g->n_rows + n + 1) * sizeof *rows);
    if (rows) g->rows = rows;
    uint32_t *mains = realloc(b->mains, (b->n_processes + n) * sizeof *mains);
    if (mains) b->mains = mains;
    if (!rows || !mains) return false;
    for (size_t i = 0; i <= n; i++)
        g->rows[g->n_rows + i] = (struct axp__graph_row){0};
    bool is_alone = n == 1 && !g->n_nodes;
    size_t first = g->n_rows;
    for (size_t i = 0; i < n && axp__loose_next(all, &at, &t); i++, before = t)
        add_thread(b, all, &t, i ? &before : NULL);
    if (is_alone) stretch(g);
    axp__build_lend(b, first);
    return !g->has_failed;
}
