/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The merge of all rows; see model_stream.h.
 *
 * A heap of readers gives the next record of all. A reader enters it with the
 * base time of its first chunk, which is no later than its first word, and
 * is started when it comes to the top: so only rows that are under way hold a
 * chunk in memory.
 *
 * With a timeline_capacity the oldest events beyond it are passed over: the
 * rows are merged once to find out how many those are in each row.
 */
#include "model/model_stream.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/base_text.h"
#include "model/model_match.h"
#include "model/model_samples.h"
#include "record/record_thread.h"

struct source {
    struct axp__row_reader reader;
    uint32_t row_id; /* of the capture */
    uint32_t row;    /* of the stream */
    axp_ns key;      /* of the next record, or no later */
    bool is_started;
    uint32_t next_in_row; /* 1 + the next source of the same row; 0: none */
};

struct axp__stream {
    const axp_view *v;
    unsigned options;
    axp_status status;
    axp_ns end_ns;
    struct axp__cap_chunk *chunks; /* sorted by row and seq */
    struct source *sources;        /* by row_id */
    size_t n_sources;
    struct axp__stream_row *rows;
    uint32_t *first_in_row;    /* 1 + a source */
    uint32_t *track_rows;      /* 1 + the row of a track, by hash */
    size_t n_track_rows;       /* a power of 2 */
    uint32_t n_rows, next_row; /* next_row: where it is read row by row */
    struct source **heap;
    size_t n_heap;
    struct source *given; /* whose record was given last */
    uint64_t *overlaps;
    struct axp__samples samples;
};

/* ---- the heap ------------------------------------------------------------------------- */

static inline bool is_before(const struct source *a, const struct source *b)
{
    return a->key < b->key || (a->key == b->key && a < b);
}

static void sift_down(struct axp__stream *s, size_t i)
{
    struct source *moved = s->heap[i];
    size_t from = i;
    for (;;) {
        size_t least = 2 * i + 1;
        if (least >= s->n_heap) break;
        if (least + 1 < s->n_heap &&
            is_before(s->heap[least + 1], s->heap[least]))
            least++;
        if (!is_before(s->heap[least], moved)) break;
        s->heap[i] = s->heap[least];
        i = least;
    }
    s->heap[i] = moved;
    assert(i == from || !is_before(moved, s->heap[(i - 1) / 2]));
    (void)from;
}

static inline void put_back(struct axp__stream *s, struct source *top,
                            bool has_next)
{
    if (axp__likely(has_next)) {
        top->key = top->reader.next.time_ns;
    } else {
        if (top->reader.has_failed)
            s->status =
                axp__fail(AXP_E_NO_MEMORY, "no memory to read the timeline");
        s->heap[0] = s->heap[--s->n_heap];
    }
    if (s->n_heap > 1) sift_down(s, 0);
}

/* The earliest time that a row may have: it may have been seen before it recorded
 * anything. */
static axp_ns earliest(const struct axp__stream *s,
                       const struct axp__row_reader *r)
{
    uint64_t ticks = r->words.first->base_ticks;
    if (r->track) return 0;
    if (r->n_samples && r->samples[0].ticks < ticks)
        ticks = r->samples[0].ticks;
    return axp__view_time(s->v, ticks);
}

static void enter(struct axp__stream *s, struct source *source)
{
    source->is_started = false;
    source->key = earliest(s, &source->reader);
    axp__words_rewind(&source->reader.words);
    if (source->reader.track) axp__words_rewind(&source->reader.track->words);
    source->reader.last_ns = source->key;
    s->heap[s->n_heap++] = source;
    assert(s->n_heap <= s->n_sources);
}

static void begin(struct axp__stream *s)
{
    s->n_heap = 0;
    s->next_row = 0;
    s->given = NULL;
    if (s->options & AXP__STREAM_BY_ROW) return;
    for (size_t i = 0; i < s->n_sources; i++)
        enter(s, &s->sources[i]);
    for (size_t i = s->n_heap; i--;)
        sift_down(s, i);
}

static bool begin_row(struct axp__stream *s)
{
    while (!s->n_heap && s->options & AXP__STREAM_BY_ROW &&
           s->next_row < s->n_rows) {
        for (uint32_t i = s->first_in_row[s->next_row]; i;
             i = s->sources[i - 1].next_in_row)
            enter(s, &s->sources[i - 1]);
        s->next_row++;
        for (size_t i = s->n_heap; i--;)
            sift_down(s, i);
    }
    return s->n_heap > 0;
}

/* Whether the top of the heap, whose key has grown, is the top still. */
static inline bool is_top(const struct axp__stream *s)
{
    return (s->n_heap < 2 || is_before(s->heap[0], s->heap[1])) &&
           (s->n_heap < 3 || is_before(s->heap[0], s->heap[2]));
}

/* Whether it may come before its time. */
static inline bool is_early(const struct axp__stream *s,
                            const struct axp__record *r)
{
    return s->options & AXP__STREAM_AHEAD && r->kind <= AXP__R_END &&
           r->category != AXP_CAT_SYNC;
}

const struct axp__record *axp__stream_next(struct axp__stream *s)
{
    struct source *given = s->given;
    if (axp__likely(given != NULL)) {
        bool has_next = axp__reader_next(&given->reader);
        const struct axp__record *next = &given->reader.next;
        given->key = next->time_ns;
        if (axp__likely(has_next && (is_early(s, next) || is_top(s))))
            return next;
        put_back(s, given, has_next);
        s->given = NULL;
    }
    while (axp__likely(!s->status && (s->n_heap || begin_row(s)))) {
        struct source *top = s->heap[0];
        if (axp__likely(top->is_started)) {
            s->given = top;
            return &top->reader.next;
        }
        top->is_started = true;
        put_back(s, top, axp__reader_begin(&top->reader));
    }
    return NULL;
}

size_t axp__stream_run(struct axp__stream *s, const uint64_t *names,
                       struct axp__brief *out, size_t cap)
{
    if (!s->given || !(s->options & AXP__STREAM_AHEAD)) return 0;
    return axp__reader_run(&s->given->reader, names, out, cap);
}

/* ---- rows and sources ------------------------------------------------------------------- */

static int by_row_and_seq(const void *a, const void *b)
{
    const struct axp__cap_chunk *x = a, *y = b;
    if (x->row != y->row) return x->row > y->row ? 1 : -1;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

/* 1 + the row of a track of a process, or where that belongs. */
static uint32_t *row_of_track(struct axp__stream *s, uint32_t track,
                              uint32_t process)
{
    uint64_t k = axp__mix64((uint64_t)track << 32 | process);
    uint32_t *at;
    for (; *(at = &s->track_rows[k & (s->n_track_rows - 1)]); k++) {
        const struct axp__stream_row *row = &s->rows[*at - 1];
        if (row->track == track && row->process == process) break;
    }
    return at;
}

/* A track's row is one for all that feed it. */
static uint32_t row_for(struct axp__stream *s, const struct axp__cap_row *cap,
                        uint32_t row_id)
{
    const struct axp__capture *c = s->v->capture;
    uint32_t process = axp__cap_process_of(c, row_id);
    uint32_t *known =
        cap && cap->track ? row_of_track(s, cap->track, process) : NULL;
    if (known && *known) return *known - 1;
    if (known) *known = s->n_rows + 1;
    struct axp__cap_process alone = {.title = c->title,
                                     .process_id = c->process_id,
                                     .rank = c->rank,
                                     .end_ticks = c->end_ticks};
    const struct axp__cap_process *of =
        c->n_processes ? &c->processes[process] : &alone;
    s->rows[s->n_rows++] = (struct axp__stream_row){
        .cap = cap,
        .name = cap && cap->name ? axp__view_name(s->v, cap->name) : "",
        .title = of->title,
        .end_ns = axp__view_time(s->v, of->end_ticks),
        .process = process,
        .process_id = cap ? cap->process_id : of->process_id,
        .thread_id = cap ? cap->tid : 0,
        .rank = cap ? cap->rank : of->rank,
        .track = cap ? cap->track : 0,
        .is_outside = cap && axp__row_is_outside(s->v, cap),
        .device = cap && cap->track ? axp__cap_device_of(c, cap->name) : 0,
    };
    return s->n_rows - 1;
}

static bool add_source(struct axp__stream *s, const struct axp__cap_chunk *from,
                       const struct axp__cap_chunk *end)
{
    struct source *source = &s->sources[s->n_sources++];
    struct axp__row_reader *r = &source->reader;
    struct axp__words words = {
        .capture = s->v->capture, .first = from, .chunk = from, .end = end};
    r->v = s->v;
    r->rate.mult = s->v->capture->rate_mult;
    r->start_ticks = s->v->capture->start_ticks;
    r->cap = axp__view_row(s->v, from->row);
    r->words = words;
    r->overlaps = s->overlaps;
    source->row_id = from->row;
    source->row = row_for(s, r->cap, from->row);
    source->next_in_row = s->first_in_row[source->row];
    s->first_in_row[source->row] = (uint32_t)s->n_sources;
    r->end_ns = s->rows[source->row].end_ns;
    r->next.row = source->row;
    r->next.thread_id = r->cap ? r->cap->tid : 0;
    if (!r->cap || !r->cap->track) return true;
    r->track = calloc(1, sizeof *r->track);
    if (r->track) r->track->words = words;
    return r->track != NULL;
}

static bool add_sources(struct axp__stream *s)
{
    const struct axp__capture *c = s->v->capture;
    size_t n = 0;
    s->chunks = malloc((c->n_chunks + 1) * sizeof *s->chunks);
    if (!s->chunks) return false;
    if (c->n_chunks)
        memcpy(s->chunks, c->chunks, c->n_chunks * sizeof *s->chunks);
    qsort(s->chunks, c->n_chunks, sizeof *s->chunks, by_row_and_seq);
    for (size_t i = 0; i < c->n_chunks; i++)
        n += !i || s->chunks[i].row != s->chunks[i - 1].row;
    s->sources = calloc(n + 1, sizeof *s->sources);
    s->rows = calloc(n + 1, sizeof *s->rows);
    s->heap = malloc((n + 1) * sizeof(struct source *));
    s->first_in_row = calloc(n + 1, sizeof *s->first_in_row);
    for (s->n_track_rows = 16; s->n_track_rows < 2 * n;)
        s->n_track_rows *= 2;
    s->track_rows = calloc(s->n_track_rows, sizeof *s->track_rows);
    if (!s->sources || !s->rows || !s->heap || !s->first_in_row ||
        !s->track_rows)
        return false;
    for (size_t i = 0, k; i < c->n_chunks; i = k) {
        for (k = i; k < c->n_chunks && s->chunks[k].row == s->chunks[i].row;)
            k++;
        if (!add_source(s, s->chunks + i, s->chunks + k)) return false;
    }
    return true;
}

/* ---- opening ------------------------------------------------------------------------------ */

/* Counts, for each row, the events that are too old to be shown. */
static bool count_skipped(struct axp__stream *s)
{
    unsigned options = s->options;
    uint64_t left = s->v->n_skipped;
    uint64_t *n_skip = calloc(s->n_sources + 1, sizeof *n_skip);
    const struct axp__record *r;
    if (!n_skip) return false;
    s->options = AXP__STREAM_RAW;
    for (size_t i = 0; i < s->n_sources; i++)
        s->sources[i].reader.is_raw = true;
    begin(s);
    while (left && (r = axp__stream_next(s))) {
        if (!axp__record_is_event(r)) continue;
        n_skip[s->given - s->sources]++;
        left--;
    }
    for (size_t i = 0; i < s->n_sources; i++)
        s->sources[i].reader.n_skip = n_skip[i];
    free(n_skip);
    s->options = options;
    return !s->status;
}

static bool prepare(struct axp__stream *s)
{
    if (s->v->n_skipped && !count_skipped(s)) return false;
    for (size_t i = 0; i < s->n_sources; i++) {
        struct axp__row_reader *r = &s->sources[i].reader;
        r->is_raw = s->options & AXP__STREAM_RAW;
        r->is_once = s->options & AXP__STREAM_ONCE;
        if (!r->is_raw && !r->track && !axp__reader_prepare(r)) return false;
    }
    return true;
}

static bool give_samples(struct axp__stream *s)
{
    struct axp__sampled_row *rows = malloc((s->n_sources + 1) * sizeof *rows);
    size_t n = 0;
    for (size_t i = 0; rows && i < s->n_sources; i++) {
        struct axp__row_reader *r = &s->sources[i].reader;
        uint32_t process = s->rows[s->sources[i].row].process;
        if (r->cap && !r->track)
            rows[n++] = (struct axp__sampled_row){
                r, axp__cap_whose(s->v->capture, process)};
    }
    bool ok = rows && axp__samples_load(s->v, &s->samples);
    if (ok) axp__samples_place(&s->samples, rows, n);
    free(rows);
    return ok;
}

axp_status axp__stream_open(const axp_view *v, unsigned options,
                            struct axp__stream **out)
{
    struct axp__stream *s = calloc(1, sizeof *s);
    if (s) {
        s->v = v;
        s->options = options;
        s->end_ns = axp__view_time(v, v->capture->end_ticks);
        if (!(options & AXP__STREAM_RAW))
            s->overlaps = calloc(AXP__MAX_NAMES / 64, sizeof *s->overlaps);
    }
    if (!s || (!s->overlaps && !(options & AXP__STREAM_RAW)) ||
        !add_sources(s) || !prepare(s) ||
        (options & AXP__STREAM_SAMPLES && !give_samples(s))) {
        axp__stream_close(s);
        return axp__fail(AXP_E_NO_MEMORY, "no memory to read the timeline");
    }
    begin(s);
    *out = s;
    return AXP_OK;
}

void axp__stream_close(struct axp__stream *s)
{
    if (!s) return;
    for (size_t i = 0; i < s->n_sources; i++)
        axp__reader_fini(&s->sources[i].reader);
    free(s->sources);
    free(s->chunks);
    free(s->rows);
    free(s->first_in_row);
    free(s->track_rows);
    free(s->heap);
    free(s->overlaps);
    axp__samples_fini(&s->samples);
    free(s);
}

axp_status axp__stream_status(const struct axp__stream *s)
{
    return s->status;
}

/* ---- what is known of rows ------------------------------------------------------------------ */

size_t axp__stream_n_rows(const struct axp__stream *s)
{
    return s->n_rows;
}

const struct axp__stream_row *axp__stream_row(const struct axp__stream *s,
                                              uint32_t row)
{
    return &s->rows[row];
}

uint32_t axp__stream_find_row(const struct axp__stream *s, uint32_t row_id)
{
    size_t low = 0, high = s->n_sources;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (s->sources[mid].row_id < row_id)
            low = mid + 1;
        else
            high = mid;
    }
    return low < s->n_sources && s->sources[low].row_id == row_id
               ? s->sources[low].row
               : UINT32_MAX;
}

const struct axp__scope *axp__stream_scopes(const struct axp__stream *s,
                                            size_t *n)
{
    *n = s->given ? s->given->reader.scopes.n : 0;
    return s->given ? s->given->reader.scopes.at : NULL;
}

size_t axp__stream_depth(const struct axp__stream *s)
{
    const struct axp__scopes *open = s->given ? &s->given->reader.scopes : NULL;
    return open ? open->n - open->n_gone : 0;
}

const struct axp__samples *axp__stream_samples(const struct axp__stream *s)
{
    return &s->samples;
}

axp_ns axp__stream_end_ns(const struct axp__stream *s)
{
    return s->end_ns;
}

bool axp__stream_is_joined(const struct axp__stream *s)
{
    return s->v->capture->n_processes > 1;
}
