/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Ticks, names and rows of a part; see file_shift.h. */
#include "file/file_shift.h"

#include <stdlib.h>
#include <string.h>

#include "tally/tally_fields.def"
#include "wire/wire_decode.h"

/* ---- words ---------------------------------------------------------------------- */

static void shift_payload(const struct axp__shift *s, const char *units,
                          uint64_t *p, size_t n)
{
    for (size_t i = 0; i < n && units[i]; i++) {
        if (units[i] == 't') p[i] = axp__shift_ticks(s, p[i]);
        if (units[i] == 'n') p[i] += s->shift_ns;
        if (units[i] == 'r') p[i] += s->first_row;
    }
}

/* A record of n words but TIME; new_base is the one before it. */
static void shift_record(const struct axp__shift *s, uint64_t *w, size_t n,
                         uint64_t base, uint64_t new_base)
{
    enum axp__word_kind kind = axp__word_kind(w[0]);
    uint32_t name = axp__word_name(w[0]);
    uint64_t ticks = axp__shift_ticks(s, base + axp__word_delta(w[0]));
    uint64_t delta = ticks > new_base ? ticks - new_base : 0;
    uint64_t most = ((uint64_t)1 << AXP__TIME_BITS) - 1;
    if (axp__has_name(kind)) name = axp__shift_name(s, name);
    w[0] = axp__word(kind, name, delta < most ? delta : most);
    if (kind == AXP__W_EXT && (w[1] & 255) == AXP__X_STACK_REF)
        w[1] = (w[1] & UINT32_MAX) |
               (uint64_t)axp__shift_stack(s, (uint32_t)(w[1] >> 32)) << 32;
    if (kind == AXP__W_EXT)
        shift_payload(s,
                      axp__ext_shape((enum axp__ext_kind)(w[1] & 255)).payload,
                      w + 2, n - 2);
    else
        shift_payload(s, axp__payload_of(kind), w + 1, n - 1);
}

/* Rewrites n words; returns how many are whole. */
static size_t shift_words(const struct axp__shift *s, uint64_t *w, size_t n,
                          uint64_t base)
{
    uint64_t new_base = axp__shift_ticks(s, base);
    size_t at = 0;
    while (at < n && w[at]) {
        size_t more = axp__record_words(w + at, n - at);
        if (!more) break;
        if (axp__word_kind(w[at]) == AXP__W_TIME) {
            base = w[at + 1];
            w[at + 1] = new_base = axp__shift_ticks(s, base);
        } else {
            shift_record(s, w + at, more, base, new_base);
        }
        at += more;
    }
    return at;
}

static void unload(struct axp__cap_words *words)
{
    free(words->memory);
}

static bool load(const struct axp__cap_source *source,
                 const struct axp__cap_chunk *at, uint32_t part,
                 struct axp__cap_words *out)
{
    const struct axp__shift *s =
        (const struct axp__shift *)(const void *)source;
    struct axp__cap_words words;
    if (!axp__words_load(&s->part->chunks[at->place], part, &words)) {
        axp__source_failed(source); /* the part's is not the capture's */
        return false;
    }
    uint64_t *copy = malloc((words.n_words + 1) * 8);
    if (copy) {
        if (words.n_words) memcpy(copy, words.words, words.n_words * 8);
        size_t n = shift_words(s, copy, words.n_words, words.base_ticks);
        *out = (struct axp__cap_words){
            copy, n, axp__shift_ticks(s, words.base_ticks), unload, copy};
    }
    axp__words_unload(&words);
    return copy;
}

static void close_shift(struct axp__cap_source *source)
{
    struct axp__shift *s = (struct axp__shift *)(void *)source;
    s->part->release(s->part);
    free(s->name);
    free(s);
}

bool axp__shift_chunks(struct axp__shift *s, struct axp__cap_chunk *to)
{
    s->source.load = load;
    s->source.close = close_shift;
    for (size_t i = 0; i < s->part->n_chunks; i++) {
        const struct axp__cap_chunk *from = &s->part->chunks[i];
        to[i] = (struct axp__cap_chunk){
            .row = s->first_row + from->row,
            .n_more = from->n_more,
            .seq = from->seq,
            .base_ticks = axp__shift_ticks(s, from->base_ticks),
            .source = &s->source,
            .place = i,
            .n_words = from->n_words,
            .n_events = from->n_events};
    }
    return true;
}

static bool load_samples(const struct axp__cap_samples *from,
                         struct axp__cap_sample *out)
{
    const struct axp__shift *s =
        (const struct axp__shift *)(const void *)from->source;
    const struct axp__cap_samples *part = &s->part->samples[from->place];
    if (!part->load(part, out)) {
        axp__source_failed(from->source);
        return false;
    }
    for (uint32_t i = 0; i < from->n; i++) {
        out[i].ticks = axp__shift_ticks(s, out[i].ticks);
        out[i].stack = axp__shift_stack(s, out[i].stack);
        out[i].process |= (uint64_t)s->host << 32;
    }
    return true;
}

void axp__shift_samples(struct axp__shift *s, uint32_t host,
                        struct axp__cap_samples *to)
{
    s->host = host;
    for (size_t i = 0; i < s->part->n_samples; i++)
        to[i] = (struct axp__cap_samples){.load = load_samples,
                                          .source = &s->source,
                                          .place = i,
                                          .n = s->part->samples[i].n};
}

/* ---- accumulators ------------------------------------------------------------------- */

#define SHIFT(coding, member, unit, ...) SHIFT_##unit(r->member)
#define SHIFT_plain(x)
#define SHIFT_apart(x)
#define SHIFT_name(x) (x) = axp__shift_name(s, x);
#define SHIFT_row(x) (x) += s->first_row;
#define SHIFT_at(x) (x) = is_track ? (x) + s->shift_ns : axp__shift_ticks(s, x);
#define SHIFT_ticks(x)                                                         \
    if (!is_track) (x) = axp__shift_duration(s, x);
#define SHIFT_area(x)                                                          \
    if (!is_track) (x) *= axp__shift_scale(s);

void axp__shift_row(const struct axp__shift *s, struct axp__cap_row *r)
{
    bool is_track = r->track;
    AXP__FIELDS_ROW(SHIFT)
    if (is_track) r->track += s->first_row; /* tracks of several are several */
}

static void shift_op(const struct axp__shift *s, struct axp__cap_op *r,
                     bool is_track)
{
    AXP__FIELDS_OP(SHIFT)
}

static void shift_node(const struct axp__shift *s, struct axp__cap_node *r,
                       bool is_track)
{
    AXP__FIELDS_NODE(SHIFT)
}

static void shift_small(const struct axp__shift *s, struct axp__cap_lane *lane)
{
    bool is_track = lane->is_track;
    for (uint32_t i = 0; i < lane->n_frames; i++) {
        struct axp__cap_frame *r = &lane->frames[i];
        AXP__FIELDS_FRAME(SHIFT)
    }
    for (uint32_t i = 0; i < lane->n_traffic; i++) {
        struct axp__cap_traffic *r = &lane->traffic[i];
        AXP__FIELDS_TRAFFIC(SHIFT)
    }
    for (uint32_t i = 0; i < lane->n_counters; i++) {
        struct axp__cap_counter *r = &lane->counters[i];
        AXP__FIELDS_COUNTER(SHIFT)
    }
}

static void shift_places(const struct axp__shift *s, struct axp__cap_lane *lane)
{
    bool is_track = false;
    for (uint32_t i = 0; i < lane->n_places; i++) {
        struct axp__cap_place *r = &lane->places[i];
        AXP__FIELDS_PLACE(SHIFT)
    }
}

void axp__shift_heap(const struct axp__shift *s, struct axp__cap_heap *r)
{
    bool is_track = false;
    AXP__FIELDS_HEAP(SHIFT)
}

void axp__shift_note(const struct axp__shift *s, struct axp__cap_note *r)
{
    bool is_track = false;
    AXP__FIELDS_NOTE(SHIFT)
}

void axp__shift_level(const struct axp__shift *s, struct axp__cap_level *r)
{
    bool is_track = false;
    AXP__FIELDS_LEVEL(SHIFT)
}

void axp__shift_live(const struct axp__shift *s, struct axp__cap_live *r)
{
    bool is_track = false;
    AXP__FIELDS_LIVE(SHIFT)
}

/* The pages of one op counted again, each bucket as its middle. */
static bool shift_hists(const struct axp__shift *s, struct axp__capture *c,
                        struct axp__cap_lane *lane)
{
    const struct axp__cap_hist *from = lane->hists;
    uint32_t n = lane->n_hists;
    if (axp__shift_duration(s, 1000000) == 1000000) return true;
    /* a page may fall on two: an octave is cut once */
    struct axp__cap_hist *to = axp__cap_take(c, 2 * (size_t)n, sizeof *to);
    uint64_t(*sum)[AXP__HIST_BUCKETS] = calloc(AXP__HIST_PAGES, sizeof *sum);
    bool ok = to && sum;
    lane->hists = to;
    lane->n_hists = 0;
    for (uint32_t i = 0; ok && i < n; i++) {
        for (uint32_t k = 0; k < AXP__HIST_BUCKETS; k++) {
            uint64_t v = axp__shift_duration(s, axp__hist_mid(from[i].page, k));
            struct axp__hist_at at =
                axp__hist_at(v < AXP__HIST_MAX ? v : AXP__HIST_MAX);
            sum[at.page][at.bucket] += from[i].count[k];
        }
        if (i + 1 < n && from[i + 1].op == from[i].op) continue;
        for (uint32_t page = 0; page < AXP__HIST_PAGES; page++) {
            uint64_t any = 0;
            for (uint32_t k = 0; k < AXP__HIST_BUCKETS; k++)
                any |= sum[page][k];
            if (!any || lane->n_hists == 2 * n) continue;
            struct axp__cap_hist *h = &to[lane->n_hists++];
            h->op = from[i].op;
            h->page = page;
            memcpy(h->count, sum[page], sizeof h->count);
            memset(sum[page], 0, sizeof sum[page]);
        }
    }
    free(sum);
    return ok;
}

static void shift_step(const struct axp__shift *s, struct axp__step *r)
{
    bool is_track = false;
    AXP__FIELDS_STEP(SHIFT)
}

/* Steps have a recorder's op. */
#define OWN(coding, member, unit, place, ...) OWN_##place(r->member, unit)
#define OWN_own(x, unit) SHIFT_##unit(x)
#define OWN_apart(x, unit)

static void shift_stats(const struct axp__shift *s, struct axp__op *r)
{
    bool is_track = false;
    AXP__FIELDS_OP(OWN)
}

static void shift_steps(const struct axp__shift *s, struct axp__steps *steps)
{
    shift_stats(s, &steps->stats);
    for (uint32_t i = 0; i < AXP__STEPS_RECENT; i++)
        shift_step(s, &steps->recent[i]);
    for (uint32_t i = 0; i < steps->n_slowest; i++)
        shift_step(s, &steps->slowest[i]);
    for (uint32_t i = 0; i < steps->n_sampled; i++)
        shift_step(s, &steps->sampled[i]);
}

#define COPY(member)                                                           \
    do {                                                                       \
        to->member = axp__cap_take(c, from->n_##member, sizeof *to->member);   \
        if (!to->member) return false;                                         \
        if (from->n_##member)                                                  \
            memcpy(to->member, from->member,                                   \
                   from->n_##member * sizeof *to->member);                     \
    } while (0)

static bool copy_lane(struct axp__capture *c, const struct axp__cap_lane *from,
                      struct axp__cap_lane *to)
{
    *to = *from;
    COPY(ops);
    COPY(nodes);
    COPY(hists);
    COPY(frames);
    COPY(traffic);
    COPY(counters);
    COPY(places);
    if (!from->steps) return true;
    to->steps = axp__cap_take(c, 1, sizeof *to->steps);
    if (to->steps) *to->steps = *from->steps;
    return to->steps;
}

bool axp__shift_lane(const struct axp__shift *s, struct axp__capture *c,
                     const struct axp__cap_lane *from, struct axp__cap_lane *to)
{
    if (!copy_lane(c, from, to)) return false;
    for (uint32_t i = 0; i < to->n_ops; i++)
        shift_op(s, &to->ops[i], to->is_track);
    for (uint32_t i = 0; i < to->n_nodes; i++)
        shift_node(s, &to->nodes[i], to->is_track);
    shift_small(s, to);
    shift_places(s, to);
    if (to->steps) shift_steps(s, to->steps);
    return to->is_track || shift_hists(s, c, to);
}
