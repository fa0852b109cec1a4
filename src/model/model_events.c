/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The timeline: every row's words, merged by time as they are asked for, so
 * that a view of millions of events needs no copy of them.
 *
 * Within a row words are in order; a heap of rows gives the next event of
 * all. Spans of tracks carry their own times, in any order: those few are
 * collected and sorted. With a timeline_capacity the oldest beyond it are
 * passed over, so that exactly the newest N are shown.
 */
#include <stdlib.h>
#include <string.h>

#include "model/model_view.h"
#include "record/record_thread.h"
#include "wire/wire_decode.h"

struct event {
    axp_ns time_ns;
    uint64_t order; /* of rows, where times are equal */
    axp_event_info info;
};

/* The events of one row. */
struct source {
    const struct axp__cap_chunk *chunk, *end; /* by seq */
    struct axp__cap_words words;              /* of the chunk */
    struct axp__decoder decoder;
    uint64_t thread_id;
    struct event next;
    struct event *spans; /* of a track: sorted, and nothing else */
    size_t n_spans, at_span;
};

struct merge {
    const axp_view *v;
    struct axp__cap_chunk *chunks; /* sorted by row and seq */
    struct source *sources;
    size_t n_sources;
    struct source **heap;
    size_t n_heap;
};

/* ---- one record to at most two events --------------------------------------------- */

static bool plain_event(const struct axp__wire_event *w, axp_event_info *out)
{
    switch (w->kind) {
    case AXP__W_BEGIN:
    case AXP__W_START: out->type = AXP_EVENT_START; return true;
    case AXP__W_END:
    case AXP__W_STOP:
    case AXP__W_ABANDON: out->type = AXP_EVENT_END; return true;
    case AXP__W_INSTANT: out->type = AXP_EVENT_INSTANT; return true;
    case AXP__W_ALLOC:
    case AXP__W_FREE:
        out->type = w->kind == AXP__W_ALLOC ? AXP_EVENT_ALLOC : AXP_EVENT_FREE;
        out->value = (double)(w->payload[0] & (((uint64_t)1 << 56) - 1));
        return true;
    case AXP__W_COUNTER:
        out->type = AXP_EVENT_COUNTER;
        memcpy(&out->value, w->payload, 8);
        return true;
    case AXP__W_STEP:
        out->type = AXP_EVENT_STEP;
        out->name = "step";
        out->value = (double)w->payload[0];
        return true;
    default: return false;
    }
}

static bool ext_event(const struct axp__wire_event *w, axp_event_info *out)
{
    switch (w->ext) {
    case AXP__X_EVENT:
        out->type = (axp_event_type)w->argument;
        if (w->n_payload) out->metadata = (const char *)w->payload;
        return true;
    case AXP__X_ASYNC_BEGIN: out->type = AXP_EVENT_START; return true;
    case AXP__X_ASYNC_END:
    case AXP__X_CROSS_STOP: out->type = AXP_EVENT_END; return true;
    default: return false; /* said of a scope, not an event; or of a track */
    }
}

static bool to_event(const axp_view *v, const struct axp__wire_event *w,
                     struct event *out)
{
    out->info = (axp_event_info){.name = axp__view_name(v, w->name)};
    out->time_ns = axp__view_time(v, w->ticks);
    return w->kind == AXP__W_EXT ? ext_event(w, &out->info)
                                 : plain_event(w, &out->info);
}

/* A record of a track: its own times. Returns how many events. */
static int track_events(const axp_view *v, const struct axp__wire_event *w,
                        struct event out[2])
{
    if (w->kind != AXP__W_EXT) return 0;
    out[0] = (struct event){.info = {.name = axp__view_name(v, w->name)}};
    if (w->ext == AXP__X_SPAN && w->n_payload >= 2) {
        out[1] = out[0];
        out[0].time_ns = w->payload[0];
        out[0].info.type = AXP_EVENT_START;
        out[1].time_ns = w->payload[1];
        out[1].info.type = AXP_EVENT_END;
        return 2;
    }
    if ((w->ext == AXP__X_TRACK_ALLOC || w->ext == AXP__X_TRACK_FREE) &&
        w->n_payload >= 2) {
        out[0].time_ns = w->payload[0];
        out[0].info.type =
            w->ext == AXP__X_TRACK_ALLOC ? AXP_EVENT_ALLOC : AXP_EVENT_FREE;
        out[0].info.value = (double)(w->payload[1] & (((uint64_t)1 << 56) - 1));
        return 1;
    }
    return 0;
}

/* ---- sources ------------------------------------------------------------------------ */

/* What cannot be loaded counts as empty. */
static void begin_chunk(const axp_view *v, struct source *s)
{
    axp__words_unload(v->capture, &s->words);
    if (s->chunk == s->end || !axp__words_load(v->capture, s->chunk, &s->words))
        s->words = (struct axp__cap_words){0};
    axp__decoder_init(&s->decoder, s->words.words, s->words.n_words,
                      s->words.base_ticks);
}

/* The next record of the row. */
static bool next_record(const axp_view *v, struct source *s,
                        struct axp__wire_event *w)
{
    while (s->chunk < s->end) {
        if (axp__decoder_next(&s->decoder, w)) return true;
        s->chunk++;
        begin_chunk(v, s);
    }
    return false;
}

/* Moves to the next event; false: there is none. */
static bool advance(const axp_view *v, struct source *s)
{
    struct axp__wire_event w;
    if (s->spans) {
        if (s->at_span == s->n_spans) return false;
        struct event *e = &s->spans[s->at_span++];
        s->next.time_ns = e->time_ns;
        s->next.info = e->info;
        return true;
    }
    while (next_record(v, s, &w)) {
        uint64_t order = s->next.order;
        if (!to_event(v, &w, &s->next)) continue;
        s->next.order = order;
        s->next.info.time_ns = s->next.time_ns;
        s->next.info.thread_id = s->thread_id;
        return true;
    }
    return false;
}

static int by_time(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    if (x->time_ns != y->time_ns) return x->time_ns > y->time_ns ? 1 : -1;
    /* a start before the end at the same time; then as recorded */
    if (x->info.type != y->info.type)
        return x->info.type > y->info.type ? 1 : -1;
    return (x->order > y->order) - (x->order < y->order);
}

static bool collect_spans(const axp_view *v, struct source *s)
{
    size_t cap = 0;
    struct axp__wire_event w;
    begin_chunk(v, s);
    while (next_record(v, s, &w)) {
        struct event e[2];
        int n = track_events(v, &w, e);
        if (s->n_spans + 2 > cap) {
            cap = cap ? cap * 2 : 64;
            struct event *wider = realloc(s->spans, cap * sizeof *wider);
            if (!wider) return false;
            s->spans = wider;
        }
        for (int i = 0; i < n; i++) {
            e[i].order = s->n_spans;
            e[i].info.time_ns = e[i].time_ns;
            e[i].info.thread_id = s->thread_id;
            s->spans[s->n_spans++] = e[i];
        }
    }
    if (s->spans)
        qsort(s->spans, s->n_spans, sizeof *s->spans, by_time);
    else
        s->end = s->chunk;
    return true;
}

/* ---- the heap ------------------------------------------------------------------------- */

static bool is_before(const struct source *a, const struct source *b)
{
    if (a->next.time_ns != b->next.time_ns)
        return a->next.time_ns < b->next.time_ns;
    return a->next.order < b->next.order;
}

static void sift_down(struct merge *m, size_t i)
{
    for (;;) {
        size_t least = i, l = 2 * i + 1, r = l + 1;
        if (l < m->n_heap && is_before(m->heap[l], m->heap[least])) least = l;
        if (r < m->n_heap && is_before(m->heap[r], m->heap[least])) least = r;
        if (least == i) return;
        struct source *t = m->heap[i];
        m->heap[i] = m->heap[least];
        m->heap[least] = t;
        i = least;
    }
}

static int by_row_and_seq(const void *a, const void *b)
{
    const struct axp__cap_chunk *x = a, *y = b;
    if (x->row != y->row) return x->row > y->row ? 1 : -1;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

static void end_merge(struct merge *m)
{
    for (size_t i = 0; m->sources && i < m->n_sources; i++) {
        axp__words_unload(m->v->capture, &m->sources[i].words);
        free(m->sources[i].spans);
    }
    free(m->sources);
    free(m->chunks);
    free(m->heap);
}

static bool add_source(struct merge *m, const struct axp__cap_chunk *from,
                       const struct axp__cap_chunk *end)
{
    struct source *s = &m->sources[m->n_sources++];
    const struct axp__cap_row *row = axp__view_row(m->v, from->row);
    s->chunk = from;
    s->end = end;
    s->thread_id = row ? row->tid : 0;
    s->next.order = m->n_sources;
    begin_chunk(m->v, s);
    return !row || !row->track || collect_spans(m->v, s);
}

static bool begin_merge(struct merge *m, const axp_view *v)
{
    const struct axp__capture *c = v->capture;
    *m = (struct merge){.v = v};
    m->chunks = malloc((c->n_chunks + 1) * sizeof *m->chunks);
    m->sources = calloc(c->n_chunks + 1, sizeof *m->sources);
    m->heap = malloc((c->n_chunks + 1) * sizeof(struct source *));
    if (!m->chunks || !m->sources || !m->heap) return false;
    memcpy(m->chunks, c->chunks, c->n_chunks * sizeof *m->chunks);
    qsort(m->chunks, c->n_chunks, sizeof *m->chunks, by_row_and_seq);
    for (size_t i = 0, k; i < c->n_chunks; i = k) {
        for (k = i; k < c->n_chunks && m->chunks[k].row == m->chunks[i].row;)
            k++;
        if (!add_source(m, m->chunks + i, m->chunks + k)) return false;
    }
    for (size_t i = 0; i < m->n_sources; i++)
        if (advance(v, &m->sources[i])) m->heap[m->n_heap++] = &m->sources[i];
    for (size_t i = m->n_heap; i--;)
        sift_down(m, i);
    return true;
}

/* The next event of all; it stays until the call after. */
static const axp_event_info *next_event(struct merge *m,
                                        struct source **pending)
{
    if (*pending) {
        if (!advance(m->v, *pending)) m->heap[0] = m->heap[--m->n_heap];
        sift_down(m, 0);
    }
    *pending = m->n_heap ? m->heap[0] : NULL;
    return *pending ? &(*pending)->next.info : NULL;
}

/* ---- counting, and the public calls ------------------------------------------------------ */

static uint64_t count_chunk(const struct axp__capture *c,
                            const struct axp__cap_chunk *chunk)
{
    struct axp__cap_words words;
    struct axp__decoder d;
    struct axp__wire_event w;
    uint64_t n = 0;
    if (!axp__words_load(c, chunk, &words)) return 0;
    axp__decoder_init(&d, words.words, words.n_words, words.base_ticks);
    while (axp__decoder_next(&d, &w))
        n += axp__word_events(w.kind, w.kind == AXP__W_EXT ? w.ext : 0);
    axp__words_unload(c, &words);
    return n;
}

static uint64_t count_words(const struct axp__capture *c)
{
    uint64_t n = 0;
    for (size_t i = 0; i < c->n_chunks; i++) {
        struct axp__cap_chunk *chunk = &c->chunks[i];
        if (chunk->n_events == UINT64_MAX)
            chunk->n_events = count_chunk(c, chunk);
        n += chunk->n_events;
    }
    return n;
}

bool axp__view_make_events(axp_view *v)
{
    uint64_t n = count_words(v->capture), most = v->capture->timeline_capacity;
    v->n_events = most && n > most ? most : n;
    v->n_skipped = n - v->n_events;
    return true;
}

uint64_t axp_view_event_count(const axp_view *v)
{
    return v ? v->n_events : 0;
}

uint64_t axp_view_cut_count(const axp_view *v)
{
    if (!v) return 0;
    uint64_t all = v->capture->n_events;
    return all > v->n_events ? all - v->n_events : 0;
}

static bool matches(const axp_event_filter *f, const axp_event_info *e)
{
    if (!f) return true;
    if (f->name && strcmp(f->name, e->name)) return false;
    if (f->type && *f->type != e->type) return false;
    return e->time_ns >= f->from && (!f->to || e->time_ns <= f->to);
}

axp_status axp_view_events(const axp_view *v, const axp_event_filter *filter,
                           axp_event_fn fn, void *ctx)
{
    struct merge m;
    struct source *pending = NULL;
    const axp_event_info *e;
    if (!v || !fn)
        return axp__fail(AXP_E_INVALID, "axp_view_events needs a view and a "
                                        "function");
    if (!begin_merge(&m, v)) {
        end_merge(&m);
        return axp__fail(AXP_E_NO_MEMORY, "no memory to read the timeline");
    }
    uint64_t skip = v->n_skipped;
    while ((e = next_event(&m, &pending))) {
        if (skip) {
            skip--;
            continue;
        }
        if (matches(filter, e) && fn(e, ctx)) break;
    }
    end_merge(&m);
    return AXP_OK;
}

struct extent {
    axp_ns first, last;
    bool has_start, has_end;
};

static int widen(const axp_event_info *e, void *ctx)
{
    struct extent *x = ctx;
    if (e->type == AXP_EVENT_START && !x->has_start) {
        x->first = e->time_ns;
        x->has_start = true;
    }
    if (e->type == AXP_EVENT_END) {
        x->last = e->time_ns;
        x->has_end = true;
    }
    return 0;
}

axp_ns axp_view_span(const axp_view *v, const char *name)
{
    struct extent x = {0};
    if (!v || !name) return 0;
    axp_event_filter filter = {.name = name};
    if (axp_view_events(v, &filter, widen, &x)) return 0;
    return x.has_start && x.has_end && x.last > x.first ? x.last - x.first : 0;
}
