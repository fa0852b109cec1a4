/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The public timeline: how many events there are, and each in turn, as
 * model_stream.c gives them. */
#include <string.h>

#include "base/base_sized.h"
#include "model/model_stream.h"
#include "record/record_thread.h"
#include "wire/wire_decode.h"

/* ---- counting, and the public calls ------------------------------------------------------ */

static uint64_t count_part(const struct axp__cap_chunk *chunk, uint32_t part)
{
    struct axp__cap_words words;
    struct axp__decoder d;
    struct axp__wire_event w;
    uint64_t n = 0;
    if (!axp__words_load(chunk, part, &words)) return 0;
    axp__decoder_init(&d, words.words, words.n_words, words.base_ticks);
    while (axp__decoder_next(&d, &w))
        n += axp__word_events(w.kind, w.kind == AXP__W_EXT ? w.ext : 0);
    axp__words_unload(&words);
    return n;
}

static uint64_t count_chunk(const struct axp__cap_chunk *chunk)
{
    uint64_t n = 0;
    for (uint32_t part = 0; part <= chunk->n_more; part++)
        n += count_part(chunk, part);
    return n;
}

static uint64_t count_words(const struct axp__capture *c)
{
    uint64_t n = 0;
    for (size_t i = 0; i < c->n_chunks; i++) {
        struct axp__cap_chunk *chunk = &c->chunks[i];
        if (chunk->n_events == UINT64_MAX) chunk->n_events = count_chunk(chunk);
        n += chunk->n_events;
    }
    return n;
}

/* The words are counted. */
static uint64_t count_outside(const axp_view *v)
{
    const struct axp__capture *c = v->capture;
    uint64_t n = 0;
    for (size_t i = 0; v->is_outside && i < c->n_chunks; i++) {
        const struct axp__cap_row *row = axp__view_row(v, c->chunks[i].row);
        if (row && axp__row_is_outside(v, row)) n += c->chunks[i].n_events;
    }
    return n < v->n_events ? n : v->n_events;
}

bool axp__view_make_events(axp_view *v)
{
    uint64_t n = count_words(v->capture), most = v->capture->timeline_capacity;
    v->n_events = most && n > most ? most : n;
    v->n_skipped = n - v->n_events;
    v->n_outside = count_outside(v);
    return true;
}

uint64_t axp_view_event_count(const axp_view *v)
{
    return v ? v->n_events - v->n_outside : 0;
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
    if (f->name && strcmp(f->name, e->name) != 0) return false;
    if (f->type && *f->type != e->type) return false;
    return e->time_ns >= f->from && (!f->to || e->time_ns <= f->to);
}

static const axp_event_type event_types[] = {
    [AXP__R_BEGIN] = AXP_EVENT_START,
    [AXP__R_END] = AXP_EVENT_END,
    [AXP__R_ASYNC_BEGIN] = AXP_EVENT_START,
    [AXP__R_ASYNC_END] = AXP_EVENT_END,
    [AXP__R_CROSS] = AXP_EVENT_END,
    [AXP__R_INSTANT] = AXP_EVENT_INSTANT,
    [AXP__R_COUNTER] = AXP_EVENT_COUNTER,
    [AXP__R_ALLOC] = AXP_EVENT_ALLOC,
    [AXP__R_FREE] = AXP_EVENT_FREE,
    [AXP__R_STEP] = AXP_EVENT_STEP,
    [AXP__R_SPAN] = AXP_EVENT_START,
    [AXP__R_SPAN_END] = AXP_EVENT_END,
};

axp_event_type axp__record_type(const struct axp__record *r)
{
    return r->kind == AXP__R_EVENT ? (axp_event_type)r->argument
                                   : event_types[r->kind];
}

/* A name's text is looked up once in a while. */
struct name_cache {
    uint32_t id[64];
    const char *text[64]; /* NULL: nothing here */
};

static const char *name_of(struct name_cache *c, const axp_view *v, uint32_t id)
{
    uint32_t i = id & 63;
    if (axp__unlikely(c->id[i] != id || !c->text[i])) {
        c->id[i] = id;
        c->text[i] = axp__view_name(v, id);
    }
    return c->text[i];
}

/* Into place: a struct that is returned is copied by wider loads than the
 * stores that made it, and waits for them (4 ns). */
static void to_event(const struct axp__record *r, const char *name,
                     axp_event_info *out)
{
    out->name = r->kind == AXP__R_STEP ? "step" : name;
    out->type = axp__record_type(r);
    out->time_ns = r->time_ns;
    out->thread_id = r->thread_id;
    out->metadata = r->kind == AXP__R_EVENT ? r->metadata : NULL;
    out->value = 0;
    out->stack = r->kind == AXP__R_ALLOC ? r->stack : 0;
    if (r->kind == AXP__R_COUNTER) out->value = r->value;
    if (r->kind == AXP__R_STEP) out->value = (double)r->id;
    if (r->kind == AXP__R_ALLOC || r->kind == AXP__R_FREE)
        out->value = (double)r->bytes;
}

axp_status axp_view_events(const axp_view *v, const axp_event_filter *filter,
                           axp_event_fn fn, void *ctx)
{
    struct axp__stream *s;
    const struct axp__record *r;
    struct name_cache cache = {{0}, {0}};
    axp_event_info e;
    axp_event_filter f = {0};
    if (!v || !fn)
        return axp__fail(AXP_E_INVALID, "axp_view_events needs a view and a "
                                        "function");
    if (filter && !axp__sized_take(&f, sizeof f, filter,
                                   AXP__SIZE_TO(axp_event_filter, to)))
        return axp__fail(AXP_E_INVALID, "axp_event_filter has no valid size");
    axp_status status = axp__stream_open(v, AXP__STREAM_RAW, &s);
    if (status) return status;
    while ((r = axp__stream_next(s))) {
        if (!axp__stream_is_programs(s, r)) continue;
        to_event(r, name_of(&cache, v, r->name), &e);
        if (matches(&f, &e) && fn(&e, ctx)) break;
    }
    status = axp__stream_status(s);
    axp__stream_close(s);
    return status;
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
