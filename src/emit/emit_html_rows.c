/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The rows of the timeline as tracks of events.
 *
 * A row gives up to three kinds of tracks: its scopes, which nest and are
 * passed on as they come; its marks; and what overlaps (named scopes that were
 * stopped out of order, scopes that ended on another thread, spans of a queue
 * that run side by side), laid out in lanes when the row is done. Asynchronous
 * spans of all rows come last, a row a name.
 */
#include "emit/emit_html.h"

#include <stdlib.h>

#define MARKS_SHARE 4 /* of the budget that marks may have */

struct owner { /* a thread of the view, or a track, by what a row says of it */
    uint64_t process_id, id;
    axp_ns begin;
    uint32_t index;
};

struct rows {
    struct axp__html_job *job;
    struct axp__stream *stream;
    struct axp__html_track track; /* of the row that is being read */
    struct axp__html_stack stack, lane;
    struct axp__html_spans loose, marks, async;
    struct axp__html_spans same;    /* spans of a queue that begin together */
    struct owner *threads, *tracks; /* sorted */
    uint64_t n_marks;
    uint32_t opened; /* name of the scope that began with the last record; 0 */
    bool is_counting;
};

/* ---- whose a row is -------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
    const struct owner *x = a, *y = b;
    if (x->process_id != y->process_id)
        return x->process_id > y->process_id ? 1 : -1;
    if (x->id != y->id) return x->id > y->id ? 1 : -1;
    if (x->begin != y->begin) return x->begin > y->begin ? 1 : -1;
    return (x->index > y->index) - (x->index < y->index);
}

static bool list_owners(struct rows *r)
{
    const axp_view *v = r->job->v;
    r->threads = malloc((v->n_threads + 1) * sizeof *r->threads);
    r->tracks = malloc((v->n_tracks + 1) * sizeof *r->tracks);
    if (!r->threads || !r->tracks) return false;
    for (size_t i = 0; i < v->n_threads; i++) {
        const axp_thread_info *t = &v->threads[i];
        r->threads[i] =
            (struct owner){t->process_id, t->id, t->begin, (uint32_t)i};
    }
    for (size_t i = 0; i < v->n_tracks; i++)
        r->tracks[i] =
            (struct owner){.id = v->tracks[i].id, .index = (uint32_t)i};
    qsort(r->threads, v->n_threads, sizeof *r->threads, by_key);
    qsort(r->tracks, v->n_tracks, sizeof *r->tracks, by_key);
    return true;
}

/* The first of a list that is not before the key. */
static const struct owner *find_owner(const struct owner *list, size_t n,
                                      const struct owner *key)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (by_key(&list[mid], key) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    bool is_it = low < n && list[low].id == key->id &&
                 list[low].process_id == key->process_id;
    return is_it ? &list[low] : NULL;
}

static struct axp__html_track track_of(const struct rows *r,
                                       const struct axp__stream_row *row)
{
    const axp_view *v = r->job->v;
    struct owner key = {.id = row->track};
    const struct owner *o;
    if (row->track) {
        o = find_owner(r->tracks, v->n_tracks, &key);
    } else {
        key.process_id = row->process_id;
        key.id = row->thread_id;
        key.begin = row->cap ? v->lives[row->cap - v->capture->rows].begin : 0;
        o = find_owner(r->threads, v->n_threads, &key);
        if (o && row->cap && o->begin != key.begin) o = NULL;
    }
    if (!o) return (struct axp__html_track){.row = 'x', .name = row->name};
    return (struct axp__html_track){.row = row->track ? 'q' : 't',
                                    .row_index = o->index};
}

/* ---- records --------------------------------------------------------------------------------- */

static struct axp__html_span span_of(struct rows *r,
                                     const struct axp__record *record,
                                     axp_ns begin, axp_ns end)
{
    struct axp__html_span span = {begin < end ? begin : end, end, 0, 0, 0};
    if (r->is_counting) return span;
    span.name = axp__html_name(&r->job->strings, r->job->v, record->name);
    return span;
}

static uint32_t work_of(struct rows *r, const struct axp__record *record)
{
    if (!record->work || r->is_counting) return 0;
    return axp__html_work(&r->job->tables, record->work);
}

static bool begin_scope(struct rows *r, const struct axp__record *record)
{
    bool is_cut = record->flags & AXP__R_CUT;
    axp_ns begin = is_cut ? record->begin_ns : record->time_ns;
    if (record->flags & AXP__R_OVERLAPS) return true; /* whole at its end */
    struct axp__html_span span =
        span_of(r, record, begin, axp__stream_end_ns(r->stream));
    return axp__html_push(r->job, &r->stack, &span);
}

static bool end_scope(struct rows *r, const struct axp__record *record)
{
    if (record->flags & (AXP__R_NO_BEGIN | AXP__R_ELSEWHERE)) return true;
    if (record->flags & AXP__R_OVERLAPS) {
        struct axp__html_span span =
            span_of(r, record, record->begin_ns, record->time_ns);
        span.args = work_of(r, record);
        return axp__html_span_add(&r->loose, &span);
    }
    if (r->stack.n > 1)
        axp__html_pop(r->job, &r->stack, record->time_ns, work_of(r, record));
    return true;
}

/* Spans begin in order; of those that begin together the longest is first. */
static int by_end(const void *a, const void *b)
{
    const struct axp__html_span *x = a, *y = b;
    return (x->end < y->end) - (x->end > y->end);
}

static bool place_same(struct rows *r)
{
    struct axp__html_spans *s = &r->same;
    bool ok = true;
    if (s->n > 1) qsort(s->all, s->n, sizeof *s->all, by_end);
    for (size_t i = 0; ok && i < s->n; i++) {
        int placed = axp__html_place(r->job, &r->stack, &s->all[i]);
        ok = placed > 0 ||
             (!placed && axp__html_span_add(&r->loose, &s->all[i]));
    }
    s->n = 0;
    return ok;
}

static bool add_span(struct rows *r, const struct axp__record *record)
{
    axp_ns begin = record->time_ns;
    struct axp__html_span span = span_of(
        r, record, begin, record->end_ns > begin ? record->end_ns : begin);
    span.args = work_of(r, record);
    if (!r->is_counting) span.flow = record->id;
    if (r->same.n && r->same.all[0].begin != span.begin && !place_same(r))
        return false;
    return axp__html_span_add(&r->same, &span);
}

static bool add_mark(struct rows *r, const struct axp__record *record)
{
    if (r->n_marks++ >= r->job->budget / MARKS_SHARE) {
        r->job->n_left_out++;
        return true;
    }
    struct axp__html_span span =
        span_of(r, record, record->time_ns, record->time_ns);
    if (record->kind == AXP__R_EVENT && record->metadata && !r->is_counting)
        span.args = axp__html_text(
            &r->job->tables,
            axp__html_string_copy(&r->job->strings, record->metadata));
    return axp__html_span_add(&r->marks, &span);
}

/* Who ended the wait that is open: its scope began just before. */
static void add_waker(struct rows *r, const struct axp__record *record)
{
    uint32_t from = axp__stream_find_row(r->stream, record->from_row);
    if (axp__record_verb(record) != AXP_SYNC_WAITED || from == UINT32_MAX ||
        !r->opened || r->opened != record->name || r->is_counting)
        return;
    struct axp__html_track by = track_of(r, axp__stream_row(r->stream, from));
    if (by.row != 't' || r->stack.n < 2) return;
    axp__html_waker(&r->job->tables, (struct axp__html_waker){
                                         r->stack.frames[r->stack.n - 1].event,
                                         record->time_ns > record->end_ns
                                             ? record->time_ns - record->end_ns
                                             : 0,
                                         by.row_index});
}

static bool add_record(struct rows *r, const struct axp__record *record)
{
    switch (record->kind) {
    case AXP__R_BEGIN: return begin_scope(r, record);
    case AXP__R_END: return end_scope(r, record);
    case AXP__R_SPAN: return add_span(r, record);
    case AXP__R_INSTANT:
    case AXP__R_EVENT: return add_mark(r, record);
    case AXP__R_ASYNC_END:
    case AXP__R_CROSS: {
        struct axp__html_span span =
            span_of(r, record, record->begin_ns, record->time_ns);
        return axp__html_span_add(
            record->kind == AXP__R_CROSS ? &r->loose : &r->async, &span);
    }
    case AXP__R_FLOW_OUT:
    case AXP__R_FLOW_IN:
        if (r->stack.n > 1 && !r->is_counting)
            axp__html_flow(
                &r->job->tables,
                (struct axp__html_flow){
                    record->id, r->stack.frames[r->stack.n - 1].event,
                    record->time_ns, record->kind == AXP__R_FLOW_IN});
        return true;
    case AXP__R_SYNC: add_waker(r, record); return true;
    default: return true; /* series: emit_html_series.c */
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool begin_row(struct rows *r, uint32_t row)
{
    r->track = track_of(r, axp__stream_row(r->stream, row));
    axp__html_track_begin(&r->job->events, &r->track);
    return axp__html_stack_begin(&r->stack);
}

static bool end_row(struct rows *r)
{
    struct axp__html_events *e = &r->job->events;
    bool ok = place_same(r);
    axp__html_pop_all(r->job, &r->stack);
    axp__html_track_end(e);
    struct axp__html_track track = r->track;
    track.is_marks = true;
    if (r->marks.n) {
        axp__html_track_begin(e, &track);
        for (size_t i = 0; i < r->marks.n; i++) {
            const struct axp__html_span *m = &r->marks.all[i];
            axp__html_close(e, axp__html_open(e, m->begin, m->name), m->begin,
                            m->args);
        }
        axp__html_track_end(e);
        r->marks.n = 0;
    }
    track.is_marks = false;
    track.lane = 1;
    return ok && axp__html_lanes(r->job, &r->lane, &r->loose, track);
}

static int by_name(const void *a, const void *b)
{
    const struct axp__html_span *x = a, *y = b;
    return (x->name > y->name) - (x->name < y->name);
}

/* Asynchronous spans of all rows: those of a name belong together. */
static bool write_async(struct rows *r)
{
    struct axp__html_spans *all = &r->async;
    bool ok = true;
    if (all->n) qsort(all->all, all->n, sizeof *all->all, by_name);
    for (size_t i = 0, end; ok && i < all->n; i = end) {
        for (end = i; end < all->n && all->all[end].name == all->all[i].name;)
            end++;
        struct axp__html_spans some = {all->all + i, end - i, 0};
        struct axp__html_track track = {.row = 'a'};
        if (!r->is_counting)
            track.name = r->job->strings.texts[all->all[i].name].text;
        ok = axp__html_lanes(r->job, &r->lane, &some, track);
    }
    return ok;
}

static bool read_rows(struct rows *r)
{
    const struct axp__record *record;
    uint32_t row = UINT32_MAX;
    bool ok = true;
    while (ok && (record = axp__stream_next(r->stream)) &&
           !r->job->events.has_failed) {
        if (record->row != row) {
            ok = (row == UINT32_MAX || end_row(r)) && begin_row(r, record->row);
            row = record->row;
        }
        ok = ok && add_record(r, record);
        bool is_open =
            record->kind == AXP__R_BEGIN && !(record->flags & AXP__R_OVERLAPS);
        r->opened = is_open ? record->name : 0;
    }
    if (ok && row != UINT32_MAX) ok = end_row(r);
    return ok && write_async(r) && !r->job->events.has_failed;
}

axp_status axp__html_rows(struct axp__html_job *job)
{
    struct rows r = {.job = job, .is_counting = !job->events.o};
    axp_status status =
        axp__stream_open(job->timeline.view, AXP__STREAM_BY_ROW, &r.stream);
    if (status) return status;
    bool ok = list_owners(&r) && read_rows(&r);
    status = axp__stream_status(r.stream);
    axp__stream_close(r.stream);
    free(r.stack.frames);
    free(r.lane.frames);
    free(r.loose.all);
    free(r.marks.all);
    free(r.async.all);
    free(r.same.all);
    free(r.threads);
    free(r.tracks);
    return status ? status : ok ? AXP_OK : AXP_E_NO_MEMORY;
}
