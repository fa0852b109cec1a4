/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The critical path as bars; see graph_bars.h.
 *
 * Rows are read one after the other. Time goes to the innermost open scope, or to
 * the function that was sampled, as when the graph was built; what lies in a piece
 * of the path is a bar.
 *
 * Input   untrusted: times are those of the pieces, whatever records say.
 */
#include "graph/graph_bars.h"

#include <stdlib.h>

#include "graph/graph_build.h"
#include "graph/graph_mix.h"
#include "record/record_thread.h"

_Static_assert(AXP__MOST_BARS >= 2 * AXP__MOST_SEGMENTS,
               "all pieces, and as many bars again");

#define RUN 256u    /* scopes that are read at a time */
#define DEEPEST 64u /* open around them; below that they are read singly */

struct pass {
    const axp_graph *g;
    struct axp__graph_ops *ops;
    struct axp__stream *stream;
    struct axp__mixer mixer;
    const struct axp__segment **own; /* pieces to be told, by row and time */
    size_t n_own;
    size_t at, end; /* of them the row's, from the current one on */
    uint32_t row;
    axp_ns since; /* all before has been told */
    uint32_t op;  /* what time goes to now */
    uint32_t held;
    uint64_t *plain; /* a bit a name: a scope of it has begun, and is no wait */
};

/* ---- time of a row ------------------------------------------------------------ */

static void tell(struct pass *p, uint32_t op, axp_ns until_ns)
{
    while (p->at < p->end && p->since < until_ns) {
        const struct axp__segment *piece = p->own[p->at];
        struct axp__segment s = {piece->begin_ns, piece->end_ns, p->row, op,
                                 true};
        if (s.begin_ns < p->since) s.begin_ns = p->since;
        if (s.end_ns > until_ns) s.end_ns = until_ns;
        if (s.begin_ns < s.end_ns) axp__mixer_put(&p->mixer, &s);
        if (piece->end_ns > until_ns) break;
        p->at++;
    }
    if (until_ns > p->since) p->since = until_ns;
}

static void begin_row(struct pass *p, uint32_t row)
{
    const struct axp__graph_row *r = &p->g->rows[row];
    p->row = row;
    p->at = p->end;
    while (p->end < p->n_own && p->own[p->end]->row == row)
        p->end++;
    p->since = r->n_nodes ? p->g->nodes[r->nodes[0]].time_ns : 0;
    p->op = p->held = AXP__OP_OUTSIDE;
}

static void end_row(struct pass *p)
{
    if (p->at < p->end) tell(p, p->op, p->own[p->end - 1]->end_ns);
}

/* Rows come in their order; of one without records all is in no scope. */
static void end_rows_before(struct pass *p, uint32_t row)
{
    end_row(p);
    while (p->end < p->n_own && p->own[p->end]->row < row) {
        begin_row(p, p->own[p->end]->row);
        end_row(p);
    }
}

static void turn_to(struct pass *p, uint32_t row)
{
    end_rows_before(p, row);
    begin_row(p, row);
}

/* ---- records --------------------------------------------------------------------- */

/* A wait is no part of the path where the thread is at work: a short piece of
 * another thread's was joined to it. */
static void set_op(struct pass *p)
{
    size_t n;
    const struct axp__scope *open = axp__stream_scopes(p->stream, &n);
    uint32_t op =
        n ? axp__graph_op(p->ops, open[n - 1].name, open[n - 1].category)
          : p->held;
    if (!p->ops->at[op].is_wait) p->op = op;
}

static void on_sample(struct pass *p, const struct axp__record *r)
{
    axp_ns passed = r->time_ns > p->since ? r->time_ns - p->since : 0;
    axp_ns off = r->id < passed ? r->id : passed;
    uint32_t op = AXP__OP_NO_CPU;
    if (!passed) return;
    if (r->argument != AXP_SAMPLE_READY) {
        if (axp__stream_depth(p->stream)) return;
        op = AXP__OP_BLOCKED;
        if (r->argument == AXP_SAMPLE_CPU) {
            op = axp__graph_op_of_stack(p->ops, r->stack);
            off = passed;
        }
    }
    tell(p, p->op, r->time_ns - off);
    tell(p, op, r->time_ns);
    if (r->argument == AXP_SAMPLE_CPU) p->held = p->op = op;
}

/* Scopes that follow in the row, as far as there is nothing else. */
static void run(struct pass *p)
{
    struct axp__brief briefs[RUN];
    uint32_t open[DEEPEST + RUN];
    for (size_t n = RUN, depth; n == RUN;) {
        const struct axp__scope *s = axp__stream_scopes(p->stream, &depth);
        if (depth > DEEPEST || depth != axp__stream_depth(p->stream)) return;
        for (size_t i = 0; i < depth; i++)
            open[i] = axp__graph_op(p->ops, s[i].name, s[i].category);
        n = axp__stream_run(p->stream, p->plain, briefs, RUN);
        for (size_t i = 0; i < n; i++) {
            const struct axp__brief *b = &briefs[i];
            tell(p, p->op, b->time_ns);
            if (!b->is_end)
                open[depth++] = axp__graph_op(p->ops, b->name, b->category);
            else if (depth)
                depth--;
            uint32_t op = depth ? open[depth - 1] : p->held;
            if (!p->ops->at[op].is_wait) p->op = op;
        }
    }
}

static void on_record(struct pass *p, const struct axp__record *r)
{
    uint32_t name = r->name & AXP__OP_NAME_MASK;
    if (r->row != p->row) turn_to(p, r->row);
    if (r->kind == AXP__R_SAMPLE) {
        on_sample(p, r);
    } else if (r->kind <= AXP__R_END) {
        tell(p, p->op, r->time_ns);
        set_op(p);
        uint32_t op = axp__graph_op(p->ops, r->name, r->category);
        if (r->kind == AXP__R_BEGIN && !p->ops->at[op].is_wait)
            p->plain[name >> 6] |= (uint64_t)1 << (name & 63);
        run(p);
    }
}

/* Threads that recorded nothing. */
static void read_loose(struct pass *p)
{
    const struct axp__samples *all = axp__stream_samples(p->stream);
    uint32_t row = (uint32_t)axp__stream_n_rows(p->stream);
    for (; row < p->g->n_rows; row++) {
        struct axp__loose t = p->g->rows[row].loose;
        turn_to(p, row);
        for (size_t i = t.first; i < t.end && p->at < p->end; i++) {
            struct axp__record r = axp__loose_record(p->g->v, &all->at[i]);
            on_sample(p, &r);
        }
    }
    end_rows_before(p, AXP__NONE);
}

static axp_status read_rows(struct pass *p)
{
    unsigned options =
        AXP__STREAM_BY_ROW | AXP__STREAM_ONCE | AXP__STREAM_AHEAD;
    const struct axp__record *r;
    if (p->g->v->capture->n_samples) options |= AXP__STREAM_SAMPLES;
    axp_status status = axp__stream_open(p->g->v, options, &p->stream);
    if (status) return status;
    turn_to(p, 0);
    while (p->end < p->n_own || p->at < p->end) {
        if (!(r = axp__stream_next(p->stream))) break;
        on_record(p, r);
    }
    read_loose(p);
    axp__mixer_end(&p->mixer);
    status = axp__stream_status(p->stream);
    if (!status && p->ops->has_failed)
        status = axp__fail(AXP_E_NO_MEMORY, "no memory for the critical path");
    return status;
}

/* ---- bars ------------------------------------------------------------------------ */

static int by_row(const void *a, const void *b)
{
    const struct axp__segment *x = *(const struct axp__segment *const *)a,
                              *y = *(const struct axp__segment *const *)b;
    if (x->row != y->row) return x->row > y->row ? 1 : -1;
    return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

static int by_time(const void *a, const void *b)
{
    const struct axp__segment *x = a, *y = b;
    return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* Pieces that are no thread's own go as they are, after the others' bars. */
static axp_status draw(struct pass *p, const struct axp__segment *pieces,
                       size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (pieces[i].is_own) p->own[p->n_own++] = &pieces[i];
    qsort(p->own, p->n_own, sizeof(struct axp__segment *), by_row);
    p->mixer.cap = AXP__MOST_BARS - (n - p->n_own);
    p->mixer.longest = p->g->end_ns - p->g->begin_ns;
    axp_status status = p->n_own ? read_rows(p) : AXP_OK;
    for (size_t i = 0; i < n; i++)
        if (!pieces[i].is_own) p->mixer.bars[p->mixer.n++] = pieces[i];
    qsort(p->mixer.bars, p->mixer.n, sizeof *p->mixer.bars, by_time);
    return status;
}

static axp_status recorded(struct axp__bars *b, const axp_view *v,
                           const struct axp__recorded **of)
{
    axp_status status = axp__graph_recorded(v, of);
    if (status || *of || !v->n_events || v->n_events > AXP__MOST_ALONE ||
        !v->duration_ns)
        return status;
    status = axp__recorded_create(v, &b->alone);
    *of = b->alone;
    return status;
}

axp_status axp__bars_init(struct axp__bars *b, const axp_view *v)
{
    const struct axp__recorded *of = NULL;
    struct pass p = {.ops = &b->ops};
    size_t n;
    *b = (struct axp__bars){0};
    axp_status status = recorded(b, v, &of);
    if (status || !of) return status;
    const struct axp__segment *pieces = axp__replay_pieces(of->replay, &n);
    p.g = of->graph;
    p.own = malloc((n + 1) * sizeof(struct axp__segment *));
    p.mixer.bars = malloc(AXP__MOST_BARS * sizeof *p.mixer.bars);
    p.plain = calloc((AXP__OP_NAME_MASK + 1) / 64, sizeof *p.plain);
    if (axp__graph_ops_init(&b->ops, v) && p.own && p.plain && p.mixer.bars) {
        status = draw(&p, pieces, n);
        b->at = calloc(p.mixer.n + 1, sizeof *b->at);
    }
    if (!status && !b->at)
        status = axp__fail(AXP_E_NO_MEMORY, "no memory for the critical path");
    for (size_t i = 0; !status && i < p.mixer.n; i++) {
        const struct axp__segment *s = &p.mixer.bars[i];
        b->at[b->n++] =
            axp__path_segment(p.g, s->is_own ? &b->ops : &p.g->ops, s);
    }
    axp__stream_close(p.stream);
    free(p.own);
    free(p.plain);
    free(p.mixer.bars);
    return status;
}

void axp__bars_fini(struct axp__bars *b)
{
    axp__graph_ops_fini(&b->ops);
    axp__recorded_destroy(b->alone);
    free(b->at);
    *b = (struct axp__bars){0};
}
