/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads and tracks, and the time that all of them together cover. */
#include <stdlib.h>
#include <string.h>

#include "base/base_text.h"
#include "model/model_view.h"

/* Time in outermost scopes, open ones included; in the lane's unit. */
static uint64_t busy_of(const axp_view *v, const struct axp__cap_lane *lane)
{
    uint64_t busy = 0;
    for (uint32_t i = 1; i < lane->n_nodes; i++)
        if (lane->nodes[i].parent == 0) busy += lane->nodes[i].total_ticks;
    if (lane->n_frames) busy += axp__frame_total(v, lane, 0);
    return busy;
}

static void add_thread(axp_view *v, const struct axp__cap_row *row,
                       uint64_t busy, bool has_open)
{
    uint64_t last = has_open ? axp__cap_end_of(v->capture, row->id) : row->last;
    v->threads[v->n_threads++] =
        (axp_thread_info){.id = row->tid,
                          .name = row->name ? axp__view_name(v, row->name) : "",
                          .process_id = row->process_id,
                          .rank = row->rank,
                          .begin = axp__view_time(v, row->first),
                          .end = axp__view_time(v, last),
                          .busy_ns = axp__view_ns(v, busy),
                          .events = row->n_events};
}

/* Tracks by their ids: 1 + index, in a table at most half full. */
struct track_table {
    uint32_t *at;
    size_t n;
};

static bool make_table(struct track_table *t, size_t n_rows)
{
    t->n = 16;
    while (t->n < 2 * n_rows)
        t->n *= 2;
    t->at = calloc(t->n, sizeof *t->at);
    return t->at;
}

/* Lanes of several threads may feed one track. */
static void add_track(axp_view *v, struct track_table *table,
                      const struct axp__cap_row *row, uint64_t busy)
{
    size_t i = axp__mix64(row->track) & (table->n - 1);
    while (table->at[i] && v->tracks[table->at[i] - 1].id != row->track)
        i = (i + 1) & (table->n - 1);
    bool is_new = !table->at[i];
    if (is_new) table->at[i] = (uint32_t)v->n_tracks + 1;
    struct axp__view_track *t = &v->tracks[table->at[i] - 1];
    if (is_new) {
        v->n_tracks++;
        *t = (struct axp__view_track){.id = row->track,
                                      .rank = row->rank,
                                      .process_id = row->process_id,
                                      .name = axp__view_name(v, row->name),
                                      .begin = row->first,
                                      .end = row->last};
    }
    if (row->first < t->begin) t->begin = row->first;
    if (row->last > t->end) t->end = row->last;
    t->busy_ns += busy;
    t->events += row->n_events;
}

static int by_begin(const void *a, const void *b)
{
    const axp_thread_info *x = a, *y = b;
    if (x->begin != y->begin) return x->begin > y->begin ? 1 : -1;
    return (x->id > y->id) - (x->id < y->id);
}

static void set_duration(axp_view *v)
{
    axp_ns first = UINT64_MAX, last = 0;
    for (size_t i = 0; i < v->n_threads; i++) {
        if (v->threads[i].begin < first) first = v->threads[i].begin;
        if (v->threads[i].end > last) last = v->threads[i].end;
    }
    for (size_t i = 0; i < v->n_tracks; i++) {
        if (v->tracks[i].begin < first) first = v->tracks[i].begin;
        if (v->tracks[i].end > last) last = v->tracks[i].end;
    }
    v->duration_ns = last > first ? last - first : 0;
}

bool axp__view_make_rows(axp_view *v)
{
    const struct axp__capture *c = v->capture;
    v->threads = calloc(c->n_rows + 1, sizeof *v->threads);
    v->tracks = calloc(c->n_rows + 1, sizeof *v->tracks);
    bool *has_lane = calloc(c->n_rows + 1, sizeof *has_lane);
    struct track_table table = {0};
    bool ok =
        v->threads && v->tracks && has_lane && make_table(&table, c->n_rows);
    for (size_t i = 0; ok && i < c->n_lanes; i++) {
        const struct axp__cap_lane *lane = &c->lanes[i];
        if (lane->row < 0) continue;
        has_lane[lane->row] = true;
        if (lane->is_track)
            add_track(v, &table, &c->rows[lane->row], busy_of(v, lane));
        else
            add_thread(v, &c->rows[lane->row], busy_of(v, lane),
                       lane->n_frames > 0);
    }
    for (size_t i = 0; ok && i < c->n_rows; i++)
        if (!has_lane[i]) add_thread(v, &c->rows[i], c->rows[i].busy, false);
    free(has_lane);
    free(table.at);
    if (!ok) return false;
    qsort(v->threads, v->n_threads, sizeof *v->threads, by_begin);
    set_duration(v);
    return true;
}

bool axp__is_outside(const axp_thread_info *thread)
{
    return !strcmp(thread->name, AXP__OUTSIDE);
}

size_t axp__view_n_inside(const axp_view *v)
{
    size_t n = 0;
    for (size_t i = 0; i < v->n_threads; i++)
        n += !axp__is_outside(&v->threads[i]);
    return n;
}

size_t axp_view_threads(const axp_view *v, axp_thread_info *out, size_t cap)
{
    if (!v) return 0;
    for (size_t i = 0; out && i < cap && i < v->n_threads; i++)
        out[i] = v->threads[i];
    return v->n_threads;
}

size_t axp_view_tracks(const axp_view *v, axp_track_info *out, size_t cap)
{
    if (!v) return 0;
    for (size_t i = 0; out && i < cap && i < v->n_tracks; i++) {
        const struct axp__view_track *t = &v->tracks[i];
        out[i] = (axp_track_info){t->name, t->process_id, t->rank,  t->begin,
                                  t->end,  t->busy_ns,    t->events};
    }
    return v->n_tracks;
}

axp_ns axp_view_duration(const axp_view *v)
{
    return v ? v->duration_ns : 0;
}
