/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Samples in order, and what was open then; see model_samples.h. */
#include "model/model_samples.h"

#include <stdlib.h>

#include "record/record_thread.h"

#define MOST_SCOPES 1024u /* of a sample */
#define MOST_LOOKS (4 * MOST_SCOPES)
#define MOST_KEPT ((uint64_t)1 << 19)

/* ---- all of them ------------------------------------------------------------------- */

static int by_thread_and_time(const void *a, const void *b)
{
    const struct axp__cap_sample *x = a, *y = b;
    if (x->process != y->process) return x->process > y->process ? 1 : -1;
    if (x->tid != y->tid) return x->tid > y->tid ? 1 : -1;
    if (x->ticks != y->ticks) return x->ticks > y->ticks ? 1 : -1;
    if (x->stack != y->stack) return x->stack > y->stack ? 1 : -1;
    if (x->kind != y->kind) return x->kind > y->kind ? 1 : -1;
    return (x->weight > y->weight) - (x->weight < y->weight);
}

static uint64_t n_stored(const axp_view *v)
{
    uint64_t n = 0;
    for (size_t i = 0; i < v->capture->n_samples; i++)
        n += v->capture->samples[i].n;
    return n;
}

struct span { /* in ticks */
    uint64_t first, last;
};

/* What of a sample is in the part of the run: of a time off a processor, which
 * ends with it, that much. False: nothing. */
static bool cut(const axp_view *v, const struct span *part,
                struct axp__cap_sample *s)
{
    axp_ns at = axp__view_time(v, s->ticks), from = 0;
    if (s->kind == AXP_SAMPLE_CPU)
        return s->ticks >= part->first && s->ticks <= part->last;
    if (at > s->weight) from = at - s->weight;
    if (from < v->begin_ns) from = v->begin_ns;
    if (s->ticks > part->last) {
        s->ticks = part->last;
        at = v->begin_ns + v->duration_ns;
    }
    if (at <= from) return false;
    s->weight = at - from;
    return true;
}

static void cut_all(const axp_view *v, struct axp__samples *s)
{
    struct axp__rate rate = {v->capture->rate_mult};
    uint64_t start = v->capture->start_ticks;
    struct span part = {
        start + axp__rate_to_ticks(rate, v->begin_ns),
        start + axp__rate_to_ticks(rate, v->begin_ns + v->duration_ns)};
    size_t kept = 0;
    for (size_t i = 0; i < s->n; i++)
        if (cut(v, &part, &s->at[i])) s->at[kept++] = s->at[i];
    s->n = kept;
}

uint64_t axp_view_sample_count(const axp_view *v)
{
    struct axp__samples s;
    if (!v) return 0;
    if (!v->is_part) return n_stored(v);
    if (!axp__samples_load(v, &s)) return 0;
    uint64_t n = s.n;
    axp__samples_fini(&s);
    return n;
}

bool axp__samples_load_whole(const axp_view *v, struct axp__samples *out)
{
    const struct axp__capture *c = v->capture;
    size_t n = (size_t)n_stored(v);
    *out = (struct axp__samples){.at = calloc(n + 1, sizeof *out->at)};
    if (!out->at) return false;
    for (size_t i = 0; i < c->n_samples; i++)
        if (c->samples[i].load(&c->samples[i], out->at + out->n))
            out->n += c->samples[i].n;
    return true;
}

bool axp__samples_load(const axp_view *v, struct axp__samples *out)
{
    *out = (struct axp__samples){v->samples, v->n_samples, v->samples != NULL};
    if (out->is_kept) return true;
    if (!axp__samples_load_whole(v, out)) return false;
    if (v->is_part) cut_all(v, out);
    qsort(out->at, out->n, sizeof *out->at, by_thread_and_time);
    return true;
}

bool axp__samples_keep(axp_view *v)
{
    struct axp__samples s;
    if (n_stored(v) > MOST_KEPT) return true;
    if (!axp__samples_load(v, &s)) return false;
    v->samples = s.at;
    v->n_samples = s.n;
    return true;
}

void axp__samples_fini(struct axp__samples *s)
{
    if (!s->is_kept) free(s->at);
    *s = (struct axp__samples){0};
}

/* The first that is not before such a one. */
static size_t find(const struct axp__samples *s, uint64_t process, uint64_t tid,
                   uint64_t ticks)
{
    struct axp__cap_sample wanted = {
        .process = process, .tid = tid, .ticks = ticks};
    size_t low = 0, high = s->n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (by_thread_and_time(&s->at[mid], &wanted) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Rows of one thread id, one after the other. */
static int by_thread(const void *a, const void *b)
{
    const struct axp__sampled_row *x = a, *y = b;
    const struct axp__cap_row *p = x->reader->cap, *q = y->reader->cap;
    if (x->process != y->process) return x->process > y->process ? 1 : -1;
    if (p->tid != q->tid) return p->tid > q->tid ? 1 : -1;
    if (p->first != q->first) return p->first > q->first ? 1 : -1;
    return (p->id > q->id) - (p->id < q->id);
}

static bool is_same_thread(const struct axp__sampled_row *x,
                           const struct axp__sampled_row *y)
{
    return x->process == y->process &&
           x->reader->cap->tid == y->reader->cap->tid;
}

/* A row has those from its beginning to that of the next, and the first one of
 * its thread those before it too. Where nobody knows which thread it is (0) it has
 * none: they may be any thread's. */
void axp__samples_place(struct axp__samples *s, struct axp__sampled_row *rows,
                        size_t n)
{
    qsort(rows, n, sizeof *rows, by_thread);
    for (size_t i = 0; i < n; i++) {
        struct axp__row_reader *r = rows[i].reader;
        uint64_t tid = r->cap->tid, first = r->cap->first;
        bool is_next = i && is_same_thread(&rows[i - 1], &rows[i]);
        if (!tid) continue;
        size_t from = find(s, rows[i].process, tid, is_next ? first : 0), end;
        if (i + 1 < n && is_same_thread(&rows[i], &rows[i + 1]))
            end = find(s, rows[i].process, tid, rows[i + 1].reader->cap->first);
        else
            for (end = from; end < s->n && s->at[end].tid == tid &&
                             s->at[end].process == rows[i].process;)
                end++;
        r->samples = s->at + from;
        r->n_samples = end - from;
        for (size_t k = from; k < end; k++)
            s->at[k].is_placed = true;
    }
}

/* ---- in a row ------------------------------------------------------------------------ */

bool axp__reader_give_sample(struct axp__row_reader *r,
                             const struct axp__wire_event *w)
{
    const struct axp__cap_sample *s = &r->samples[r->at_sample];
    struct axp__record *out = &r->next;
    axp_ns at = axp__view_time(r->v, s->ticks);
    if (w && s->ticks >= w->ticks) return false;
    if (w) {
        r->held = *w;
        r->is_held = true;
    }
    r->at_sample++;
    if (at > r->last_ns) r->last_ns = at;
    *out = (struct axp__record){.kind = AXP__R_SAMPLE,
                                .row = out->row,
                                .thread_id = out->thread_id,
                                .time_ns = r->last_ns,
                                .begin_ns = at,
                                .id = s->weight,
                                .argument = s->kind,
                                .stack = s->stack};
    return true;
}

/* ---- for callers --------------------------------------------------------------------- */

struct giver {
    const axp_view *v;
    axp_sample_fn fn;
    void *ctx;
    const char *scopes[MOST_SCOPES]; /* from the end on */
};

/* The names of what was open at that moment: how many, at the end of the
 * array. What began before the window is known by its own beginning. */
static size_t name_scopes(struct giver *g, const struct axp__stream *s,
                          axp_ns at)
{
    size_t n, n_names = 0;
    const struct axp__scope *open = axp__stream_scopes(s, &n);
    for (size_t looks = 0; n-- && n_names < MOST_SCOPES && looks < MOST_LOOKS;
         looks++) {
        if (open[n].name == AXP__SCOPE_GONE || open[n].begin_ns > at) continue;
        g->scopes[MOST_SCOPES - ++n_names] = axp__view_name(g->v, open[n].name);
    }
    return n_names;
}

static int give_in_row(struct giver *g, const struct axp__stream *s,
                       const struct axp__record *r)
{
    size_t n = name_scopes(g, s, r->begin_ns);
    const struct axp__stream_row *row = axp__stream_row(s, r->row);
    axp_sample out = {.time_ns = r->begin_ns,
                      .thread_id = r->thread_id,
                      .process_id = row->process_id,
                      .stack = r->stack,
                      .kind = r->argument,
                      .weight = r->id,
                      .scopes = g->scopes + MOST_SCOPES - n,
                      .n_scopes = n};
    return g->fn(&out, g->ctx);
}

static int give_loose(struct giver *g, const struct axp__cap_sample *s)
{
    axp_sample out = {.time_ns = axp__view_time(g->v, s->ticks),
                      .thread_id = s->tid,
                      .process_id = s->process & UINT32_MAX,
                      .stack = s->stack,
                      .kind = s->kind,
                      .weight = s->weight,
                      .scopes = g->scopes};
    return g->fn(&out, g->ctx);
}

static axp_status give_all(struct giver *g)
{
    struct axp__stream *s;
    const struct axp__record *r;
    axp_status status = axp__stream_open(
        g->v, AXP__STREAM_BY_ROW | AXP__STREAM_SAMPLES | AXP__STREAM_ONCE, &s);
    if (status) return status;
    bool is_done = false;
    while (!is_done && (r = axp__stream_next(s)))
        if (r->kind == AXP__R_SAMPLE) is_done = give_in_row(g, s, r);
    status = axp__stream_status(s);
    const struct axp__samples *all = axp__stream_samples(s);
    for (size_t i = 0; !status && !is_done && i < all->n; i++)
        if (!all->at[i].is_placed) is_done = give_loose(g, &all->at[i]);
    axp__stream_close(s);
    return status;
}

axp_status axp_view_samples(const axp_view *v, axp_sample_fn fn, void *ctx)
{
    if (!v || !fn)
        return axp__fail(AXP_E_INVALID, "axp_view_samples needs a view and a "
                                        "function");
    if (!v->capture->n_samples) return AXP_OK;
    struct giver g = {.v = v, .fn = fn, .ctx = ctx};
    return give_all(&g);
}

axp_status axp__samples_give(const axp_view *v, axp_sample_fn fn, void *ctx)
{
    struct giver g = {.v = v, .fn = fn, .ctx = ctx};
    struct axp__samples all;
    if (!v->capture->n_samples) return AXP_OK;
    if (!axp__samples_load(v, &all))
        return axp__fail(AXP_E_NO_MEMORY, "no memory for samples");
    for (size_t i = 0; i < all.n && !give_loose(&g, &all.at[i]);)
        i++;
    axp__samples_fini(&all);
    return AXP_OK;
}
