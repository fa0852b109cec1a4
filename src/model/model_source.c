/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Words of a row, and the sorting of a track; see model_source.h. */
#include "model/model_source.h"

#include <stdlib.h>
#include <string.h>

#include "base/base_category.h"

/* ---- words of a row ---------------------------------------------------------------- */

static void load(struct axp__words *w)
{
    axp__words_unload(&w->loaded);
    if (w->chunk == w->end || !axp__words_load(w->chunk, w->part, &w->loaded))
        w->loaded = (struct axp__cap_words){0};
    axp__decoder_init(&w->decoder, w->loaded.words, w->loaded.n_words,
                      w->loaded.base_ticks);
}

void axp__words_rewind(struct axp__words *w)
{
    axp__words_unload(&w->loaded);
    axp__decoder_init(&w->decoder, NULL, 0, 0);
    w->chunk = w->first;
    w->part = 0;
    w->is_begun = false;
}

void axp__words_fini(struct axp__words *w)
{
    axp__words_unload(&w->loaded);
}

bool axp__words_next_chunk(struct axp__words *w)
{
    if (w->is_begun && w->chunk < w->end && w->part++ == w->chunk->n_more) {
        w->chunk++;
        w->part = 0;
    }
    w->is_begun = true;
    load(w);
    return w->chunk < w->end;
}

/* ---- a track: items ------------------------------------------------------------------ */

static double as_double(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, 8);
    return value;
}

/* Words that a record has left out are 0. */
static uint64_t word(const struct axp__wire_event *w, size_t i)
{
    return i < w->n_payload ? w->payload[i] : 0;
}

static void to_span(const struct axp__wire_event *w, struct axp__track_item *t)
{
    const uint64_t *p = w->payload;
    t->kind = AXP__R_SPAN;
    t->end_ns = p[1] > p[0] ? p[1] : p[0];
    if (w->n_payload < 5) return;
    t->work.flops = as_double(p[2]);
    t->work.bytes = as_double(p[3]);
    t->work.dtype = (uint32_t)p[4];
    t->has_work = p[2] || p[3];
    if (w->ext == AXP__X_SPAN) return;
    t->address = word(w, 5);
    t->bytes = word(w, 6);
    t->category = w->argument < AXP__N_CATEGORIES ? (uint8_t)w->argument : 0;
    for (uint32_t i = 0; i < 6; i++)
        t->work.dims[i] = (uint32_t)(word(w, 7 + i / 2) >> 32 * (i % 2));
    while (t->work.n_dims < 6 && t->work.dims[t->work.n_dims])
        t->work.n_dims++;
    t->has_work |= t->work.n_dims > 0;
}

/* A span of a shape is one of its operation, with dims. */
static void use_shape(const struct axp__capture *c, struct axp__track_item *t)
{
    struct axp__shape shape;
    if (t->kind != AXP__R_SPAN || !axp__cap_shape(c, t->name, &shape)) return;
    t->name = shape.op;
    t->work.n_dims = shape.n_dims;
    memcpy(t->work.dims, shape.dims, shape.n_dims * sizeof *shape.dims);
    t->has_work = true;
}

static bool to_item(const struct axp__wire_event *w, struct axp__track_item *t)
{
    const uint64_t *p = w->payload;
    if (w->kind != AXP__W_EXT || w->n_payload < 2) return false;
    *t = (struct axp__track_item){.name = w->name, .time_ns = p[0]};
    if (w->ext == AXP__X_SPAN || w->ext == AXP__X_SPAN_EX) {
        to_span(w, t);
        return true;
    }
    if (w->ext != AXP__X_TRACK_ALLOC && w->ext != AXP__X_TRACK_FREE)
        return false;
    t->kind = w->ext == AXP__X_TRACK_ALLOC ? AXP__R_ALLOC : AXP__R_FREE;
    t->bytes = p[1] & (((uint64_t)1 << 56) - 1);
    t->mem = (uint8_t)(p[1] >> 56);
    t->address = w->n_payload >= 3 ? p[2] : 0;
    return true;
}

/* What is given first: the earlier; at the same time the longer span, which
 * holds the others; then as recorded. */
static bool is_earlier(const struct axp__track_item *a,
                       const struct axp__track_item *b)
{
    if (a->time_ns != b->time_ns) return a->time_ns < b->time_ns;
    if (a->end_ns != b->end_ns) return a->end_ns > b->end_ns;
    return a->order < b->order;
}

/* What ends first; of two at the same time the one given last. */
static bool ends_earlier(const struct axp__track_item *a,
                         const struct axp__track_item *b)
{
    if (a->end_ns != b->end_ns) return a->end_ns < b->end_ns;
    return a->order > b->order;
}

/* ---- heaps ------------------------------------------------------------------------------ */

typedef bool (*before_fn)(const struct axp__track_item *a,
                          const struct axp__track_item *b);

static bool heap_push(struct axp__track_heap *h, before_fn before,
                      const struct axp__track_item *item)
{
    if (h->n == h->cap) {
        size_t cap = h->cap ? h->cap * 2 : 64;
        struct axp__track_item *at = realloc(h->at, cap * sizeof *at);
        if (!at) return false;
        h->at = at;
        h->cap = cap;
    }
    size_t i = h->n++;
    for (; i && before(item, &h->at[(i - 1) / 2]); i = (i - 1) / 2)
        h->at[i] = h->at[(i - 1) / 2];
    h->at[i] = *item;
    return true;
}

static struct axp__track_item heap_pop(struct axp__track_heap *h,
                                       before_fn before)
{
    struct axp__track_item top = h->at[0];
    const struct axp__track_item *last = &h->at[--h->n];
    size_t i = 0;
    for (;;) {
        size_t least = 2 * i + 1;
        if (least >= h->n) break;
        if (least + 1 < h->n && before(&h->at[least + 1], &h->at[least]))
            least++;
        if (!before(&h->at[least], last)) break;
        h->at[i] = h->at[least];
        i = least;
    }
    h->at[i] = *last;
    return top;
}

/* ---- in order ----------------------------------------------------------------------------- */

/* For each chunk the earliest time in it, then in it and all after it. */
static void find_earliest(struct axp__track *t)
{
    struct axp__words *w = &t->words;
    size_t n = (size_t)(w->end - w->first);
    for (size_t i = 0; i < n; i++)
        t->earliest[i] = UINT64_MAX;
    axp__words_rewind(w);
    while (axp__words_next_chunk(w)) {
        struct axp__wire_event e = {0};
        struct axp__track_item item;
        axp_ns *at = &t->earliest[w->chunk - w->first];
        while (axp__decoder_next(&w->decoder, &e))
            if (to_item(&e, &item) && item.time_ns < *at) *at = item.time_ns;
    }
    for (size_t i = n; i-- > 1;)
        if (t->earliest[i] < t->earliest[i - 1])
            t->earliest[i - 1] = t->earliest[i];
}

bool axp__track_begin(struct axp__track *t)
{
    size_t n = (size_t)(t->words.end - t->words.first);
    if (!t->earliest) {
        t->earliest = malloc((n + 1) * sizeof *t->earliest);
        if (!t->earliest) return false;
        find_earliest(t);
    }
    axp__words_rewind(&t->words);
    t->waiting.n = t->open.n = 0;
    t->n_read = t->n_given = 0;
    return true;
}

void axp__track_fini(struct axp__track *t)
{
    axp__words_fini(&t->words);
    free(t->earliest);
    free(t->waiting.at);
    free(t->open.at);
}

bool axp__track_cut(struct axp__track *t)
{
    for (size_t i = 0; i < t->open.n; i++) {
        t->open.at[i].is_cut = true;
        if (!heap_push(&t->waiting, is_earlier, &t->open.at[i])) return false;
    }
    t->open.n = 0;
    return true;
}

/* The next to be given of what was read; UINT64_MAX: nothing. */
static axp_ns next_time(const struct axp__track *t)
{
    axp_ns at = t->waiting.n ? t->waiting.at[0].time_ns : UINT64_MAX;
    return t->open.n && t->open.at[0].end_ns < at ? t->open.at[0].end_ns : at;
}

/* The index of the chunk of which a part would be read next. */
static size_t unread(const struct axp__words *w)
{
    bool is_through =
        w->is_begun && w->chunk < w->end && w->part == w->chunk->n_more;
    return (size_t)(w->chunk - w->first) + is_through;
}

/* Reads chunks until what comes next can come before nothing unread. */
static bool read_ahead(struct axp__track *t)
{
    struct axp__words *w = &t->words;
    size_t n = (size_t)(w->end - w->first);
    struct axp__wire_event e = {0};
    struct axp__track_item item;
    while (unread(w) < n && t->earliest[unread(w)] <= next_time(t)) {
        axp__words_next_chunk(w);
        while (axp__decoder_next(&w->decoder, &e)) {
            if (!to_item(&e, &item)) continue;
            use_shape(w->capture, &item);
            item.order = t->n_read++;
            if (!heap_push(&t->waiting, is_earlier, &item)) return false;
        }
    }
    return true;
}

static void fill(struct axp__record *out, const struct axp__track_item *item)
{
    out->kind = item->kind;
    out->flags = item->is_cut ? AXP__R_CUT : 0;
    out->name = item->name;
    out->time_ns = item->time_ns;
    out->begin_ns = item->time_ns;
    out->end_ns = item->end_ns;
    out->id = item->address;
    out->bytes = item->bytes;
    out->argument = item->mem;
    out->category = item->category;
    out->work = item->has_work ? &item->work : NULL;
    out->stack = 0;
}

enum axp__track_next axp__track_next(struct axp__track *t,
                                     struct axp__record *out)
{
    if (!read_ahead(t)) return AXP__TRACK_NO_MEMORY;
    if (t->open.n &&
        (!t->waiting.n || t->open.at[0].end_ns <= t->waiting.at[0].time_ns)) {
        t->current = heap_pop(&t->open, ends_earlier);
        fill(out, &t->current);
        out->kind = AXP__R_SPAN_END;
        out->time_ns = t->current.end_ns;
        return AXP__TRACK_NEXT;
    }
    if (!t->waiting.n) {
        axp__words_fini(&t->words);
        return AXP__TRACK_DONE;
    }
    t->current = heap_pop(&t->waiting, is_earlier);
    fill(out, &t->current);
    if (t->current.kind != AXP__R_SPAN) return AXP__TRACK_NEXT;
    t->current.order = t->n_given++;
    return heap_push(&t->open, ends_earlier, &t->current)
               ? AXP__TRACK_NEXT
               : AXP__TRACK_NO_MEMORY;
}
