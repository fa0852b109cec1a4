/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The pass that makes a graph of a timeline; see graph.h.
 *
 * What rows give and wait for comes by time, all rows merged, so that whoever
 * ended a wait has been read when the wait ends; scopes may come earlier, many at
 * once. Of most of them only the time that passed is added to the innermost open
 * scope of their row, or, where none is open, to the function that was sampled
 * there last.
 *
 * Cost   of a scope two looks at a table, about 10 ns beside reading it.
 * Input  untrusted: times are kept within the view's, and rise in each row.
 */
#include "graph/graph_build.h"

#include <stdlib.h>

#include "record/record_thread.h"

#define RUN 256u /* scopes that are read at a time; 4 KiB */

/* ---- rows ----------------------------------------------------------------------- */

static axp_ns clamp(const axp_graph *g, axp_ns t)
{
    if (t < g->begin_ns) return g->begin_ns;
    return t < g->end_ns ? t : g->end_ns;
}

/* When a process's first thread began that records something only now. It was
 * there before any other: a library's thread that waits for work meanwhile does
 * not wait for nobody. Where none waits, those who recorded did the work. */
static axp_ns start_of_first(const axp_graph *g, uint32_t row, axp_ns time_ns)
{
    axp_ns first = time_ns;
    bool is_waited = false;
    for (uint32_t i = 0; i < g->n_rows; i++) {
        const struct axp__graph_row *r = &g->rows[i];
        if (!r->own || r->is.process != g->rows[row].is.process || i == row)
            continue;
        is_waited |= r->own->is_waiting;
        if (r->n_nodes && g->nodes[r->nodes[0]].time_ns < first)
            first = g->nodes[r->nodes[0]].time_ns;
    }
    return is_waited ? first : time_ns;
}

/* A row that nobody is known to have started began with its process's first
 * one at that moment; the first of all with the run. */
static uint32_t start_row(struct axp__builder *b, uint32_t row, axp_ns time_ns)
{
    axp_graph *g = b->g;
    uint32_t *main = &b->mains[g->rows[row].is.process];
    bool is_first = !g->n_nodes && !g->rows[row].is.track;
    if (*main == row) time_ns = start_of_first(g, row, time_ns);
    uint32_t node = axp__graph_add_node(
        g, row, is_first ? g->begin_ns : time_ns, AXP__STRETCH_START);
    if (node == AXP__NONE) return node;
    if (*main == AXP__NONE && !g->rows[row].is.track) *main = row;
    if (*main != AXP__NONE && *main != row)
        axp__graph_depend_at(g, node, *main, time_ns);
    return node;
}

/* NULL: it is not the program's, or no memory. */
static struct axp__spent *start_thread(struct axp__builder *b, uint32_t row,
                                       axp_ns time_ns)
{
    axp_graph *g = b->g;
    struct axp__graph_row *r = &g->rows[row];
    if (r->is.is_outside || r->is.track) return NULL;
    r->own = axp__spent_create();
    uint32_t node = r->own ? start_row(b, row, time_ns) : AXP__NONE;
    if (node == AXP__NONE) {
        g->has_failed = true;
        return NULL;
    }
    r->own->since = g->nodes[node].time_ns;
    return r->own;
}

/* ---- scopes and samples --------------------------------------------------------------- */

void axp__build_set_op(struct axp__builder *b, struct axp__spent *own)
{
    size_t n;
    const struct axp__scope *open = axp__stream_scopes(b->stream, &n);
    own->op =
        n ? axp__graph_op(&b->g->ops, open[n - 1].name, open[n - 1].category)
          : own->held;
}

static void widen(struct axp__builder *b, struct axp__spent *own)
{
    void *open = own->open;
    if (!axp__array_grow(&open, &own->cap_open, own->n_open + 1,
                         sizeof *own->open))
        b->g->has_failed = own->is_loose = true;
    own->open = open;
}

static inline void on_begin(struct axp__builder *b, struct axp__spent *own,
                            const struct axp__record *r)
{
    uint32_t op = axp__graph_op(&b->g->ops, r->name, r->category);
    if (axp__unlikely(r->flags & AXP__R_OVERLAPS)) own->is_loose = true;
    if (axp__unlikely(own->n_open == own->cap_open)) widen(b, own);
    if (axp__likely(!own->is_loose)) own->open[own->n_open++] = op;
    if (axp__unlikely(own->is_waiting)) return;
    own->op = op;
    if (axp__unlikely(b->g->ops.at[op].is_wait))
        axp__build_wait_begin(b, r->row, own->since, op);
    else
        b->plain[(r->name & AXP__OP_NAME_MASK) >> 6] |= (uint64_t)1
                                                        << (r->name & 63);
}

static inline void on_end(struct axp__builder *b, struct axp__spent *own,
                          const struct axp__record *r)
{
    bool is_none = r->flags & AXP__R_NO_BEGIN;
    if (axp__likely(!own->is_loose && own->n_open && !is_none)) own->n_open--;
    if (axp__unlikely(own->is_waiting)) return;
    if (axp__likely(own->n_open && !own->is_loose))
        own->op = own->open[own->n_open - 1];
    else
        axp__build_set_op(b, own);
}

static void on_end_waiting(struct axp__builder *b, const struct axp__spent *own,
                           uint32_t row, axp_ns at)
{
    if (axp__stream_depth(b->stream) < own->wait_depth)
        axp__build_wait_unknown(b, row, at > own->since ? at : own->since);
}

/* What passed until a sample at work, in no scope: between two samples half is the
 * former's and half is the later's, so that who is first or last between two nodes
 * has no more of it than others. */
static void share_sample(axp_graph *g, struct axp__spent *own, uint32_t op,
                         axp_ns passed)
{
    bool follows = own->seen && own->seen == own->since; /* nothing else came */
    axp_ns before = follows ? passed / 2 : 0;
    axp__spent_add(g, own, own->op, before);
    axp__spent_add(g, own, op, passed - before);
}

/* The time around a sample is its function's, where no scope is open. Time off
 * the processor is what it was off for. */
static void on_sample(struct axp__builder *b, struct axp__spent *own,
                      const struct axp__record *r)
{
    axp_graph *g = b->g;
    axp_ns passed = r->time_ns - own->since;
    axp_ns off = r->id < passed ? r->id : passed;
    bool is_outside = axp__stream_depth(b->stream) == 0;
    if (own->is_back && is_outside) return; /* it spins */
    own->looked = r->time_ns;
    own->was_at_work = r->argument != AXP_SAMPLE_WAITED;
    if (own->is_waiting && r->argument == AXP_SAMPLE_READY) {
        axp_ns waited = r->time_ns - own->wait_begin;
        own->ready = r->time_ns <= own->wait_begin ? 0
                     : r->id < waited              ? r->id
                                                   : waited;
        own->ready_until = r->time_ns;
    }
    if (own->is_waiting || r->time_ns <= own->since) return;
    if (r->argument == AXP_SAMPLE_READY) {
        axp__spent_add(g, own, AXP__OP_NO_CPU, off);
        axp__spent_add(g, own, own->op, passed - off);
    } else if (!is_outside) {
        axp__spent_add(g, own, own->op, passed);
    } else {
        bool is_cpu = r->argument == AXP_SAMPLE_CPU;
        uint32_t op = is_cpu ? axp__graph_op_of_stack(&g->ops, r->stack)
                             : AXP__OP_BLOCKED;
        if (r->stack)
            *(is_cpu ? &own->at_work : &own->off) =
                (struct axp__seen){r->stack, r->time_ns};
        if (is_cpu) {
            share_sample(g, own, op, passed);
            own->held = own->op = op;
            own->seen = r->time_ns;
        } else {
            axp__spent_add(g, own, op, off);
            axp__spent_add(g, own, own->op, passed - off);
        }
    }
    own->since = r->time_ns;
}

void axp__build_sample(struct axp__builder *b, struct axp__record *r,
                       axp_ns began_ns)
{
    struct axp__spent *own = b->g->rows[r->row].own;
    if (!own) own = start_thread(b, r->row, clamp(b->g, began_ns));
    r->time_ns = clamp(b->g, r->time_ns);
    if (own) on_sample(b, own, r);
}

static void on_step(axp_graph *g, const struct axp__record *r)
{
    struct axp__step_marks *s = &g->rows[r->row].steps;
    s->last = axp__graph_last(g, r->row);
    s->last_after = r->time_ns - g->nodes[s->last].time_ns;
    if (s->n++) return;
    s->begin_ns = r->begin_ns;
    s->first = s->last;
    s->first_after = s->last_after;
}

/* ---- devices ---------------------------------------------------------------------------- */

/* A span begins when the one before it has ended, and it has been asked for. */
static void on_span(struct axp__builder *b, const struct axp__record *r,
                    axp_ns begin)
{
    axp_graph *g = b->g;
    axp_ns end = clamp(g, r->end_ns);
    uint32_t last = axp__graph_last(g, r->row), node;
    struct axp__object *flow = NULL;
    if (last != AXP__NONE && begin < g->nodes[last].time_ns)
        begin = g->nodes[last].time_ns;
    if (end <= begin) return;
    node = last == AXP__NONE
               ? start_row(b, r->row, begin)
               : axp__graph_add_node(g, r->row, begin, AXP__STRETCH_QUEUE);
    if (node == AXP__NONE) return;
    if (r->id) flow = axp__build_object(b, r->row, AXP__OBJECT_FLOW, r->id);
    uint32_t main = b->mains[g->rows[r->row].is.process];
    if (flow && flow->newest != AXP__NONE)
        axp__graph_depend(g, node, flow->newest, 0);
    else if (last != AXP__NONE && main != AXP__NONE)
        axp__graph_depend_at(g, node, main, begin);
    if (axp__graph_add_node(g, r->row, end, AXP__STRETCH_WORK) == AXP__NONE)
        return;
    axp__graph_add_part(g, axp__graph_op(&g->ops, r->name, r->category),
                        end - begin);
}

/* ---- the pass ---------------------------------------------------------------------------- */

/* What is rare. The record's time is put right for all who look at it. */
static void on_rare(struct axp__builder *b, struct axp__spent *own,
                    const struct axp__record *next, axp_ns at)
{
    struct axp__record r = *next;
    r.time_ns = at;
    if (r.kind == AXP__R_SAMPLE) {
        on_sample(b, own, &r);
        return;
    }
    if (at < own->since) r.time_ns = at = own->since;
    if (!own->is_waiting) axp__spent_until(b->g, own, at);
    switch (r.kind) {
    case AXP__R_SYNC: axp__build_sync(b, &r); break;
    case AXP__R_FLOW_OUT:
    case AXP__R_FLOW_IN:
    case AXP__R_ASYNC_BEGIN:
    case AXP__R_ASYNC_END: axp__build_flow(b, &r); break;
    case AXP__R_STEP: on_step(b->g, &r); break;
    default: break;
    }
}

/* HOT */
static inline void on_brief(struct axp__builder *b, struct axp__spent *own,
                            const struct axp__brief *s)
{
    axp__spent_until(b->g, own, clamp(b->g, s->time_ns));
    if (s->is_end) {
        if (axp__likely(own->n_open)) own->n_open--;
        own->op = own->n_open ? own->open[own->n_open - 1] : own->held;
        return;
    }
    own->op = axp__graph_op(&b->g->ops, s->name, s->category);
    if (axp__unlikely(own->n_open == own->cap_open)) widen(b, own);
    if (axp__likely(!own->is_loose)) own->open[own->n_open++] = own->op;
}

/* Scopes that follow in the row, as far as there is nothing else. */
static void run(struct axp__builder *b, uint32_t row)
{
    struct axp__spent *own = b->g->rows[row].own;
    struct axp__brief briefs[RUN];
    size_t n = RUN;
    while (n == RUN && own && !own->is_waiting && !own->is_loose) {
        n = axp__stream_run(b->stream, b->plain, briefs, RUN);
        for (size_t i = 0; i < n; i++)
            on_brief(b, own, &briefs[i]);
    }
}

static inline void on_record(struct axp__builder *b,
                             const struct axp__record *r)
{
    axp_graph *g = b->g;
    struct axp__spent *own = g->rows[r->row].own;
    axp_ns at = clamp(g, r->time_ns);
    if (axp__unlikely(!own)) {
        if (r->kind == AXP__R_SPAN && g->rows[r->row].is.track)
            on_span(b, r, at);
        own = start_thread(b, r->row, at);
        if (!own) return;
    }
    if (axp__unlikely(r->kind > AXP__R_END)) {
        on_rare(b, own, r, at);
        return;
    }
    if (axp__likely(!own->is_waiting))
        axp__spent_until(g, own, at);
    else if (r->kind == AXP__R_END)
        on_end_waiting(b, own, r->row, at);
    if (r->kind == AXP__R_BEGIN)
        on_begin(b, own, r);
    else
        on_end(b, own, r);
}

/* It was seen at work until it ended: its process is over because it is. */
#define SOON 4 /* times as late: no sample follows the last */
static bool has_worked_on(const axp_graph *g, uint32_t row)
{
    const struct axp__spent *own = g->rows[row].own;
    uint32_t last = axp__graph_last(g, row);
    return own && own->looked && own->was_at_work && !own->is_waiting &&
           !own->is_lent &&
           own->looked + SOON * axp__graph_late(g) >= g->nodes[last].time_ns;
}

/* Whoever is seen to end a little after the first thread, which nobody waited for:
 * off its processor, for a reason that nobody saw, as who looks out for signals or
 * connections; or doing anything, while the first worked on to its own end. */
static bool is_cut_off(const axp_graph *g, uint32_t last, uint32_t main)
{
    axp_ns end_ns = g->nodes[axp__graph_last(g, main)].time_ns;
    return g->nodes[last].time_ns - end_ns <= axp__graph_late(g) &&
           (axp__graph_is_off(g, last) || has_worked_on(g, main));
}

/* The first thread goes on to its end, whatever it records; others are known as
 * far as they did. */
static void end_rows(struct axp__builder *b)
{
    axp_graph *g = b->g;
    for (uint32_t i = 0; i < g->n_rows; i++) {
        struct axp__graph_row *r = &g->rows[i];
        const struct axp__cap_row *cap = r->is.cap;
        if (!r->own) continue;
        if (b->mains[r->is.process] == i && cap)
            axp__spent_until(
                g, r->own,
                clamp(g, g->v->lives[cap - g->v->capture->rows].end));
        uint32_t node = axp__spent_close(g, i, r->own->since);
        if (node != AXP__NONE && r->own->is_lent)
            g->nodes[node].is_estimate = true;
    }
    for (uint32_t i = 0; i < g->n_rows; i++) {
        uint32_t main = b->mains[g->rows[i].is.process];
        uint32_t last = axp__graph_last(g, i);
        if (last == AXP__NONE || main == AXP__NONE) continue;
        uint32_t end = axp__graph_last(g, main); /* it may have done nothing */
        bool is_parent = g->rows[i].is_parent;
        g->rows[i].is_end = (i == main && !is_parent) || end == AXP__NONE ||
                            (g->nodes[last].time_ns > g->nodes[end].time_ns &&
                             !is_cut_off(g, last, main));
    }
}

/* The timeline as far as it goes back. */
static void set_times(axp_graph *g)
{
    g->begin_ns = g->v->begin_ns;
    g->end_ns = g->begin_ns + g->v->duration_ns;
    if (!axp_view_cut_count(g->v)) return;
    axp_ns first = UINT64_MAX;
    const struct axp__capture *c = g->v->capture;
    for (size_t i = 0; i < c->n_chunks; i++) {
        axp_ns at = axp__view_time(g->v, c->chunks[i].base_ticks);
        if (at < first) first = at;
    }
    if (first > g->begin_ns && first < g->end_ns) g->begin_ns = first;
}

static bool set_rows(struct axp__builder *b)
{
    axp_graph *g = b->g;
    uint32_t n_processes = 1;
    g->n_rows = b->n_stream_rows = axp__stream_n_rows(b->stream);
    g->rows = calloc(g->n_rows + 1, sizeof *g->rows);
    for (uint32_t i = 0; g->rows && i < g->n_rows; i++) {
        g->rows[i].is = *axp__stream_row(b->stream, i);
        if (g->rows[i].is.process >= n_processes)
            n_processes = g->rows[i].is.process + 1;
    }
    b->mains = malloc(n_processes * sizeof *b->mains);
    b->plain = calloc((AXP__OP_NAME_MASK + 1) / 64, sizeof *b->plain);
    b->n_processes = n_processes;
    if (!g->rows || !b->mains || !b->plain) return false;
    for (uint32_t i = 0; i < n_processes; i++)
        b->mains[i] = AXP__NONE;
    for (uint32_t i = 0; i < g->n_rows; i++) {
        const struct axp__stream_row *row = &g->rows[i].is;
        if (!row->track && !row->is_outside &&
            row->thread_id == row->process_id &&
            b->mains[row->process] == AXP__NONE)
            b->mains[row->process] = i;
    }
    return true;
}

static axp_status build(struct axp__builder *b)
{
    axp_graph *g = b->g;
    const struct axp__record *next;
    unsigned options = AXP__STREAM_ONCE | AXP__STREAM_AHEAD;
    if (g->v->capture->n_samples) options |= AXP__STREAM_SAMPLES;
    axp_status status = axp__stream_open(g->v, options, &b->stream);
    if (status) return status;
    g->cap_parts = 64; /* some, so that a node without any has a place there */
    g->parts = malloc(g->cap_parts * sizeof *g->parts);
    if (!g->parts || !axp__graph_ops_init(&g->ops, g->v) || !set_rows(b))
        g->has_failed = true;
    set_times(g);
    while (!g->has_failed && (next = axp__stream_next(b->stream))) {
        uint32_t row = next->row;
        on_record(b, next);
        run(b, row);
    }
    g->has_failed |= g->ops.has_failed;
    if (!g->has_failed && !axp__build_loose(b)) g->has_failed = true;
    if (!g->has_failed) end_rows(b);
    if (!g->has_failed) axp__build_starts(b);
    if (g->has_failed)
        return axp__fail(AXP_E_NO_MEMORY, "no memory for the graph of a run");
    return axp__stream_status(b->stream);
}

axp_status axp__graph_create(const axp_view *v, axp_graph **out)
{
    struct axp__builder b = {.g = calloc(1, sizeof *b.g)};
    if (!b.g)
        return axp__fail(AXP_E_NO_MEMORY, "no memory for the graph of a run");
    b.g->v = v;
    axp_status status = build(&b);
    axp__stream_close(b.stream);
    axp__objects_fini(&b.objects);
    free(b.mains);
    free(b.plain);
    for (size_t i = 0; i < b.g->n_rows && b.g->rows; i++) {
        axp__spent_destroy(b.g->rows[i].own);
        b.g->rows[i].own = NULL;
    }
    if (status)
        axp__graph_destroy(b.g);
    else
        *out = b.g;
    return status;
}

void axp__graph_destroy(axp_graph *g)
{
    if (!g) return;
    for (size_t i = 0; i < g->n_rows && g->rows; i++)
        free(g->rows[i].nodes);
    axp__graph_ops_fini(&g->ops);
    free(g->rows);
    free(g->nodes);
    free(g->parts);
    free(g->episodes);
    free(g->lock_waits);
    free(g);
}
