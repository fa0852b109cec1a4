/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A pass over steps; see analyze_step_pass.h. */
#include "analyze/analyze_step_pass.h"

#include <stdlib.h>

/* ---- own times --------------------------------------------------------------------- */

struct pass_row {
    axp_ns since; /* all before has been told */
    uint32_t op;
    bool is_there;
};

static bool tell(const struct axp__step_pass *p, struct pass_row *rows,
                 uint32_t row, axp_ns until)
{
    struct pass_row *r = &rows[row];
    axp_ns since = r->since;
    if (!r->is_there || until <= since) return true;
    r->since = until;
    return !p->on_time || p->on_time(p->ctx, row, r->op, since, until);
}

static uint32_t innermost(struct axp__step_pass *p, struct axp__stream *stream)
{
    size_t n;
    const struct axp__scope *open = axp__stream_scopes(stream, &n);
    while (n && open[n - 1].name == AXP__SCOPE_GONE)
        n--;
    if (!n) return AXP__OP_OUTSIDE;
    return axp__graph_op(p->ops, open[n - 1].name, open[n - 1].category);
}

static bool on_record(struct axp__step_pass *p, struct axp__stream *stream,
                      struct pass_row *rows, const struct axp__record *r)
{
    const struct axp__stream_row *is = axp__stream_row(stream, r->row);
    struct pass_row *row = &rows[r->row];
    bool is_meant = p->process == UINT32_MAX || p->process == is->process;
    if (!is_meant || is->track || is->is_outside) return true;
    if (!row->is_there)
        *row = (struct pass_row){r->time_ns, AXP__OP_OUTSIDE, true};
    if (r->kind == AXP__R_STEP) {
        size_t n = axp__stream_n_rows(stream);
        for (uint32_t i = 0; i < n; i++)
            if (!tell(p, rows, i, r->time_ns)) return false;
        return p->on_step(p->ctx, is->process, r);
    }
    if (r->kind > AXP__R_END) return true;
    if (!tell(p, rows, r->row, r->time_ns)) return false;
    row->op = innermost(p, stream);
    if (r->kind != AXP__R_BEGIN || !p->on_begin) return true;
    uint32_t op = axp__graph_op(p->ops, r->name, r->category);
    return p->on_begin(p->ctx, is->process, r->time_ns, op);
}

bool axp__step_pass_run(struct axp__step_pass *p)
{
    struct axp__stream *stream = NULL;
    const struct axp__record *next;
    if (axp__stream_open(p->v, AXP__STREAM_ONCE, &stream)) return false;
    size_t n = axp__stream_n_rows(stream);
    struct pass_row *rows = calloc(n + 1, sizeof *rows);
    bool ok = rows != NULL;
    while (ok && (next = axp__stream_next(stream)))
        ok = on_record(p, stream, rows, next) && !p->ops->has_failed;
    if (axp__stream_status(stream)) ok = false;
    free(rows);
    axp__stream_close(stream);
    return ok;
}

/* ---- the first pass ------------------------------------------------------------------ */

struct found { /* steps of a process */
    struct axp__marked_step *at;
    size_t n, cap;
    uint64_t next_id;
    bool has_first, has_gaps; /* gaps: of some the timeline was not kept */
};

struct finder {
    struct axp__step_look *look;
    struct found *of; /* by process */
    size_t n_of;
    axp_ns *first_at; /* of each op: when the first step began it; 0: never */
    bool *is_again;   /* … and a later one did */
    size_t cap_ops;
};

/* NULL: no memory. */
static struct found *found_of(struct finder *f, uint32_t process)
{
    if (process < f->n_of) return &f->of[process];
    size_t n = (size_t)process + 1;
    struct found *wider = realloc(f->of, n * sizeof *wider);
    if (!wider) return NULL;
    memset(wider + f->n_of, 0, (n - f->n_of) * sizeof *wider);
    f->of = wider;
    f->n_of = n;
    return &wider[process];
}

static bool on_step(void *ctx, uint32_t process, const struct axp__record *r)
{
    struct finder *f = ctx;
    struct found *of = found_of(f, process);
    void *at = of ? of->at : NULL;
    if (!of) return false;
    if (!axp__array_grow(&at, &of->cap, of->n + 1, sizeof *of->at))
        return false;
    of->at = at;
    if (!of->n) of->has_first = r->id == 0;
    if (of->n && r->id != of->next_id) of->has_gaps = true;
    of->next_id = r->id + 1;
    axp_ns begin = r->begin_ns < r->time_ns ? r->begin_ns : r->time_ns;
    if (of->n && begin < of->at[of->n - 1].end_ns)
        begin = of->at[of->n - 1].end_ns;
    of->at[of->n++] = (struct axp__marked_step){begin, r->time_ns, r->row};
    return true;
}

static bool widen(struct finder *f, uint32_t op)
{
    size_t cap = 2 * (size_t)op + 64;
    axp_ns *first = realloc(f->first_at, cap * sizeof *first);
    if (first) f->first_at = first;
    bool *again = realloc(f->is_again, cap * sizeof *again);
    if (again) f->is_again = again;
    if (!first || !again) return false;
    memset(first + f->cap_ops, 0, (cap - f->cap_ops) * sizeof *first);
    memset(again + f->cap_ops, 0, (cap - f->cap_ops) * sizeof *again);
    f->cap_ops = cap;
    return true;
}

static bool on_begin(void *ctx, uint32_t process, axp_ns at, uint32_t op)
{
    struct finder *f = ctx;
    if (op >= f->cap_ops && !widen(f, op)) return false;
    if (process < f->n_of && f->of[process].n)
        f->is_again[op] = true;
    else if (!f->first_at[op])
        f->first_at[op] = at + 1;
    return true;
}

/* What is before the first of what comes again is setup. */
static void cut_setup(const struct finder *f)
{
    struct axp__step_look *look = f->look;
    axp_ns begin = UINT64_MAX;
    for (size_t i = 0; i < f->cap_ops; i++)
        if (f->first_at[i] && f->is_again[i] && f->first_at[i] - 1 < begin)
            begin = f->first_at[i] - 1;
    look->has_first = look->has_first && begin < look->at[0].end_ns;
    if (look->has_first && begin > look->at[0].begin_ns)
        look->at[0].begin_ns = begin;
}

static void choose(struct finder *f)
{
    struct axp__step_look *look = f->look;
    size_t most = 0;
    for (size_t i = 1; i < f->n_of; i++)
        if (f->of[i].n > f->of[most].n) most = i;
    struct found *of = &f->of[most];
    if (!of->n || of->has_gaps) return;
    look->at = of->at;
    look->n = of->n;
    look->process = (uint32_t)most;
    look->has_first = of->has_first;
    look->row = of->at[of->n - 1].row;
    of->at = NULL;
    cut_setup(f);
}

bool axp__steps_find(struct axp__step_look *look)
{
    struct finder f = {.look = look};
    struct axp__step_pass pass = {.v = look->v,
                                  .ops = &look->ops,
                                  .process = UINT32_MAX,
                                  .ctx = &f,
                                  .on_begin = on_begin,
                                  .on_step = on_step};
    bool ok = axp__step_pass_run(&pass);
    if (ok && f.n_of) choose(&f);
    for (size_t i = 0; i < f.n_of; i++)
        free(f.of[i].at);
    free(f.of);
    free(f.first_at);
    free(f.is_again);
    return ok;
}
