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

struct loose {
    struct axp__loose at;
    uint64_t process, tid;
    uint32_t of; /* the number of its process */
    size_t state;
    axp_ns begin_ns;
};

struct axp__record axp__loose_record(const axp_view *v,
                                     const struct axp__cap_sample *s)
{
    return (struct axp__record){.kind = AXP__R_SAMPLE,
                                .time_ns = axp__view_time(v, s->ticks),
                                .id = s->weight,
                                .argument = s->kind,
                                .stack = s->stack};
}

static bool is_main(const struct loose *t)
{
    return t->tid == (t->process & UINT32_MAX);
}

/* The one whose samples begin at `first`. */
static struct loose thread_at(const axp_view *v, const struct axp__samples *all,
                              size_t first)
{
    const struct axp__cap_sample *s = &all->at[first];
    axp_ns at = axp__view_time(v, s->ticks);
    struct loose t = {.at = {first, first},
                      .process = s->process,
                      .tid = s->tid,
                      .state =
                          axp__view_state_at(v, s->process, s->tid, s->ticks),
                      .begin_ns = at > s->weight ? at - s->weight : 0};
    while (t.at.end < all->n && !all->at[t.at.end].is_placed &&
           all->at[t.at.end].process == s->process &&
           all->at[t.at.end].tid == s->tid)
        t.at.end++;
    if (!t.state) return t;
    axp_ns began = axp__view_life_of(v, t.state).begin;
    if (began < t.begin_ns) t.begin_ns = began;
    return t;
}

/* By process and thread. */
static size_t find(const axp_view *v, const struct axp__samples *all,
                   struct loose *out)
{
    size_t n = 0;
    for (size_t i = 0; i < all->n && n < MOST_LOOSE;) {
        if (all->at[i].is_placed) {
            i++;
            continue;
        }
        out[n] = thread_at(v, all, i);
        i = out[n++].at.end;
    }
    return n;
}

/* The number of its process: that of the thread before it or of a row, or a new
 * one. */
static uint32_t process_of(struct axp__builder *b, const struct loose *t,
                           const struct loose *before)
{
    const struct axp__capture *c = b->g->v->capture;
    const struct axp__graph_row *rows = b->g->rows;
    if (before && before->process == t->process) return before->of;
    for (size_t i = 0; i < b->n_stream_rows; i++)
        if (axp__cap_whose(c, rows[i].is.process) == t->process)
            return rows[i].is.process;
    b->mains[b->n_processes] = AXP__NONE;
    return b->n_processes++;
}

static int by_begin(const void *a, const void *b)
{
    const struct loose *x = a, *y = b;
    if (x->begin_ns != y->begin_ns) return x->begin_ns < y->begin_ns ? -1 : 1;
    if (is_main(x) != is_main(y)) return is_main(x) ? -1 : 1;
    return x->at.first < y->at.first ? -1 : x->at.first > y->at.first;
}

/* A process's first thread began no later than its others. */
static void lead(struct loose *main, const struct loose *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (all[i].of == main->of && all[i].begin_ns < main->begin_ns)
            main->begin_ns = all[i].begin_ns;
}

/* Since one can follow only what is there: whatever their ids are, which begin anew
 * some day. */
static void sort_by_begin(struct loose *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_main(&all[i])) lead(&all[i], all, n);
    qsort(all, n, sizeof *all, by_begin);
}

static void add_thread(struct axp__builder *b, const struct axp__samples *all,
                       const struct loose *t)
{
    axp_graph *g = b->g;
    uint32_t row = (uint32_t)g->n_rows;
    g->rows[row].is = (struct axp__stream_row){
        .name = "",
        .title = "",
        .process = t->of,
        .process_id = (uint32_t)(t->process & UINT32_MAX),
        .thread_id = t->tid,
        .rank = -1};
    g->rows[row].loose = t->at;
    g->rows[row].state = t->state;
    g->n_rows++;
    if (is_main(t) && b->mains[t->of] == AXP__NONE) b->mains[t->of] = row;
    for (size_t i = t->at.first; i < t->at.end && !g->has_failed; i++) {
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

/* A timer of processor time tells nothing of when a thread was off its processor: what
 * lies between two samples beyond what it ran is no function's, and when it was nobody
 * knows. Where the scheduler tells of it, there are samples of that. Of an id that
 * another thread had later nothing is known. */
#define MOST_LATE 10 /* a tenth: so much more than it ran is a late sample */
static void take_off(axp_graph *g, uint32_t row)
{
    const struct axp__graph_row *r = &g->rows[row];
    struct axp__spent *own = r->own;
    axp_ns worked = 0, off = 0, ran, ready;
    if (!own || !r->state) return;
    if (axp__view_life_of(g->v, r->state).end + axp__graph_late(g) < own->since)
        return;
    axp__view_ran_of(g->v, r->state, &ran, &ready);
    for (size_t i = 0; i < own->n; i++)
        if (axp__op_is_work(own->touched[i]))
            worked += own->ns[own->touched[i]];
    if (!ran || worked <= ran + worked / MOST_LATE) return;
    double part = (double)(worked - ran) / (double)worked;
    for (size_t i = 0; i < own->n; i++) {
        axp_ns *ns = &own->ns[own->touched[i]];
        if (!axp__op_is_work(own->touched[i])) continue;
        axp_ns less = (axp_ns)(part * (double)*ns);
        *ns -= less;
        off += less;
    }
    axp_ns has = AXP__OP_NO_CPU < own->n_ns ? own->ns[AXP__OP_NO_CPU] : 0;
    ready = ready > has ? ready - has : 0;
    if (ready > off) ready = off;
    axp__spent_add(g, own, AXP__OP_NO_CPU, ready);
    axp__spent_add(g, own, AXP__OP_BLOCKED, off - ready);
}

/* Room for them among rows and processes. */
static bool make_room(struct axp__builder *b, size_t n)
{
    axp_graph *g = b->g;
    struct axp__graph_row *rows =
        realloc(g->rows, (g->n_rows + n + 1) * sizeof *rows);
    if (rows) g->rows = rows;
    uint32_t *mains = realloc(b->mains, (b->n_processes + n) * sizeof *mains);
    if (mains) b->mains = mains;
    if (!rows || !mains) return false;
    for (size_t i = 0; i <= n; i++)
        g->rows[g->n_rows + i] = (struct axp__graph_row){0};
    return true;
}

bool axp__build_loose(struct axp__builder *b)
{
    const struct axp__samples *all = axp__stream_samples(b->stream);
    axp_graph *g = b->g;
    struct loose *threads = malloc(MOST_LOOSE * sizeof *threads);
    size_t n = threads ? find(g->v, all, threads) : 0, first = g->n_rows;
    bool is_alone = n == 1 && !g->n_nodes, ok = threads && make_room(b, n);
    if (ok && n) {
        for (size_t i = 0; i < n; i++)
            threads[i].of =
                process_of(b, &threads[i], i ? &threads[i - 1] : NULL);
        sort_by_begin(threads, n);
        for (size_t i = 0; i < n; i++)
            add_thread(b, all, &threads[i]);
        if (is_alone) stretch(g);
        for (size_t i = first; i < g->n_rows && !g->has_failed; i++)
            take_off(g, (uint32_t)i);
        axp__build_lend(b, first);
    }
    free(threads);
    return ok && !g->has_failed;
}
