/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads and tracks, and the time that all of them together cover. */
#include <stdlib.h>
#include <string.h>

#include "base/base_order.h"
#include "base/base_text.h"
#include "model/model_view.h"
#include "wire/wire_states.h"

/* ---- lives ------------------------------------------------------------------------- */

bool axp__row_is_outside(const axp_view *v, const struct axp__cap_row *row)
{
    return !row->track && axp__view_kind(v, row->name) == AXP__KIND_OUTSIDE;
}

/* From its first to its last event; what is open goes on to the end. */
static void set_events(axp_view *v)
{
    const struct axp__capture *c = v->capture;
    for (size_t i = 0; i < c->n_rows; i++) {
        const struct axp__cap_row *row = &c->rows[i];
        v->lives[i] = row->track
                          ? (struct axp__life){row->first, row->last}
                          : (struct axp__life){axp__view_time(v, row->first),
                                               axp__view_time(v, row->last)};
        v->is_outside |= axp__row_is_outside(v, row);
    }
    for (size_t i = 0; i < c->n_lanes; i++) {
        const struct axp__cap_lane *lane = &c->lanes[i];
        if (lane->row >= 0 && lane->n_frames && !lane->is_track)
            v->lives[lane->row].end =
                axp__view_time(v, axp__cap_lane_end(c, lane));
    }
}

static void cover(struct axp__life *wall, axp_ns begin, axp_ns end)
{
    if (begin < wall->begin) wall->begin = begin;
    if (end > wall->end) wall->end = end;
}

/* Where nobody recorded himself: whoever looks on may have come late. */
static void cover_states(const axp_view *v, struct axp__life *wall)
{
    const struct axp__capture *c = v->capture;
    for (size_t i = 0; i < c->n_states; i++)
        cover(wall, axp__view_time(v, c->states[i].begin_ticks),
              axp__view_time(v, c->states[i].end_ticks));
}

static void set_wall(axp_view *v, bool with_outside)
{
    struct axp__life wall = {UINT64_MAX, 0};
    bool has_own = false;
    for (size_t i = 0; i < v->capture->n_rows; i++) {
        const struct axp__cap_row *row = &v->capture->rows[i];
        bool is_outside = axp__row_is_outside(v, row);
        has_own |= !is_outside && row->n_events;
        if (!is_outside || with_outside)
            cover(&wall, v->lives[i].begin, v->lives[i].end);
    }
    if (with_outside && !has_own) cover_states(v, &wall);
    v->begin_ns = wall.end > wall.begin ? wall.begin : 0;
    v->duration_ns = wall.end > wall.begin ? wall.end - wall.begin : 0;
}

/* Was a part of the run asked for? Whoever looks from outside sees all. */
static bool is_part(const struct axp__capture *c)
{
    for (size_t i = 0; i < c->n_warnings; i++)
        if (c->warnings[i].count && !strcmp(c->warnings[i].code, "window"))
            return true;
    return false;
}

/* A part that was asked for by time is all of that time, as far as there was a
 * run. What was recorded beyond it, until the program was told, belongs to it. */
static void set_part(axp_view *v)
{
    const struct axp__capture *c = v->capture;
    struct axp__life own = {v->begin_ns, v->begin_ns + v->duration_ns};
    uint64_t begin = c->start_ticks + (uint64_t)c->part.after_ticks;
    set_wall(v, true);
    struct axp__life part = {v->begin_ns, v->begin_ns + v->duration_ns};
    if (c->part.after_ticks > 0 && axp__view_time(v, begin) > part.begin)
        part.begin = axp__view_time(v, begin);
    if (c->part.ticks < UINT64_MAX - begin) {
        axp_ns end = axp__view_time(v, begin + c->part.ticks);
        if (end < part.end) part.end = end;
    }
    if (own.end > own.begin) cover(&part, own.begin, own.end);
    v->begin_ns = part.begin;
    v->duration_ns = part.end > part.begin ? part.end - part.begin : 0;
}

/* Steps were asked for, and nobody has come to the first of them. */
static bool has_no_step(const axp_view *v)
{
    const struct axp__capture *c = v->capture;
    if (!c->part.first_step || c->n_steps) return false;
    for (size_t i = 0; i < c->n_rows; i++)
        if (c->rows[i].n_events && !axp__row_is_outside(v, &c->rows[i]))
            return false;
    return true;
}

/* Whoever ran for longer than he can have within the wall time was at work after
 * the last event of all: then what his process recorded goes on to its end. */
static void cover_work(axp_view *v)
{
    const struct axp__capture *c = v->capture;
    struct axp__life wall = {v->begin_ns, v->begin_ns + v->duration_ns};
    for (size_t i = 0; i < c->n_rows; i++) {
        const struct axp__cap_row *row = &c->rows[i];
        axp_ns begin = v->lives[i].begin;
        if (row->is_ended || row->track || axp__row_is_outside(v, row) ||
            begin + row->cpu_ns <= wall.end)
            continue;
        cover(&wall, begin, axp__view_time(v, axp__cap_end_of(c, row->id)));
    }
    if (v->duration_ns) v->duration_ns = wall.end - v->begin_ns;
}

/* A thread that has not ended lives as long as its process is recorded. */
static void set_ends(axp_view *v)
{
    const struct axp__capture *c = v->capture;
    axp_ns wall = v->begin_ns + v->duration_ns;
    for (size_t i = 0; i < c->n_rows; i++) {
        const struct axp__cap_row *row = &c->rows[i];
        if (row->is_ended || row->track || axp__row_is_outside(v, row))
            continue;
        axp_ns end = axp__view_time(v, axp__cap_end_of(c, row->id));
        axp_ns seen = axp__view_end_of(v, row);
        if (seen > end) end = seen;
        if (end > wall) end = wall;
        if (end > v->lives[i].end) v->lives[i].end = end;
    }
}

struct stay { /* of a thread in a row */
    size_t state, row;
    axp_ns begin;
};

static int by_stay(const void *a, const void *b)
{
    const struct stay *x = a, *y = b;
    if (x->state != y->state) return x->state > y->state ? 1 : -1;
    if (x->begin != y->begin) return x->begin > y->begin ? 1 : -1;
    return (x->row > y->row) - (x->row < y->row);
}

/* A program that started another in its place was there until then. */
static bool end_replaced(axp_view *v)
{
    const struct axp__capture *c = v->capture;
    struct stay *stays = calloc(c->n_rows + 1, sizeof *stays);
    size_t n = 0;
    if (!stays) return false;
    for (size_t i = 0; i < c->n_rows; i++) {
        const struct axp__cap_row *row = &c->rows[i];
        if (row->track || axp__row_is_outside(v, row)) continue;
        stays[n] =
            (struct stay){axp__view_state_of(v, row), i, v->lives[i].begin};
        n += stays[n].state > 0;
    }
    if (n) qsort(stays, n, sizeof *stays, by_stay);
    for (size_t i = 0; i + 1 < n; i++) {
        struct axp__life *life = &v->lives[stays[i].row];
        axp_ns last = axp__view_time(v, c->rows[stays[i].row].last);
        axp_ns next = stays[i + 1].begin;
        if (stays[i + 1].state != stays[i].state || life->end <= next) continue;
        life->end = last > next ? last : next;
    }
    free(stays);
    return true;
}

bool axp__view_make_lives(axp_view *v)
{
    const struct axp__capture *c = v->capture;
    v->lives = calloc(c->n_rows + 1, sizeof *v->lives);
    if (!v->lives) return false;
    axp__view_sort_states(v);
    set_events(v);
    v->is_part = is_part(c);
    set_wall(v, !v->is_part);
    if (c->part.ticks)
        set_part(v); /* which may never have come */
    else if (!v->duration_ns && !has_no_step(v))
        set_wall(v, true);
    v->has_no_part = v->is_part && !v->duration_ns;
    if (!v->is_part) cover_work(v);
    set_ends(v);
    if (!end_replaced(v)) return false;
    for (size_t i = 0; i < c->n_rows; i++)
        if (v->lives[i].end < v->lives[i].begin)
            v->lives[i].end = v->lives[i].begin;
    return (!v->is_part || axp__view_cut_states(v)) && axp__view_widen_lives(v);
}

/* ---- threads ----------------------------------------------------------------------- */

/* Time in outermost scopes, open ones included; in the lane's unit. */
static uint64_t busy_of(const axp_view *v, const struct axp__cap_lane *lane)
{
    uint64_t busy = 0;
    for (uint32_t i = 1; i < lane->n_nodes; i++)
        if (lane->nodes[i].parent == 0) busy += lane->nodes[i].total_ticks;
    if (lane->n_frames) busy += axp__frame_total(v, lane, 0);
    return busy;
}

/* Own time of scopes of category sync, open ones included. */
static uint64_t waited_in(const axp_view *v, const struct axp__cap_lane *lane)
{
    uint64_t waited = 0;
    for (uint32_t i = 1; i < lane->n_nodes; i++)
        if (lane->nodes[i].category == AXP_CAT_SYNC)
            waited += lane->nodes[i].self_ticks;
    for (uint32_t i = 0; i < lane->n_frames; i++) {
        int32_t node = lane->frames[i].node;
        if (node > 0 && lane->nodes[node].category == AXP_CAT_SYNC)
            waited += axp__frame_self(v, lane, i);
    }
    return waited;
}

struct seen_in { /* a row */
    uint64_t busy, waited;
};

/* Its clock is read a little before the thread's first event, and a little after
 * the recording ends. Ended threads that share a row may have run at once. */
static axp_ns cpu_of(const axp_view *v, size_t i)
{
    const struct axp__cap_row *row = &v->capture->rows[i];
    axp_ns life = v->lives[i].end - v->lives[i].begin;
    return row->cpu_ns > life && !row->n_merged ? life : row->cpu_ns;
}

/* The thread goes on in another row: what it did in all of them is its own, and
 * its name that of the last. */
static void join_thread(axp_thread_info *to, struct axp__told *told,
                        struct axp__life life, const axp_thread_info *more)
{
    if (more->begin >= told->named) {
        told->named = more->begin;
        to->name = more->name;
        to->rank = more->rank;
    }
    cover(&life, to->begin, to->end);
    cover(&life, more->begin, more->end);
    to->begin = life.begin;
    to->end = life.end;
    if (more->cpu_ns > to->cpu_ns) to->cpu_ns = more->cpu_ns;
    to->busy_ns += more->busy_ns;
    to->wait_ns += more->wait_ns;
    to->events += more->events;
}

static void add_thread(axp_view *v, size_t i, struct seen_in in,
                       struct axp__told *by_state)
{
    const struct axp__cap_row *row = &v->capture->rows[i];
    size_t state = axp__view_state_of(v, row);
    struct axp__told *told = state ? &by_state[state - 1] : NULL;
    if (axp__row_is_outside(v, row)) return;
    axp_thread_info is = {.id = row->tid,
                          .name = row->name ? axp__view_name(v, row->name) : "",
                          .process_id = row->process_id,
                          .rank = row->rank,
                          .begin = v->lives[i].begin,
                          .end = v->lives[i].end,
                          .busy_ns = axp__view_ns(v, in.busy),
                          .wait_ns = axp__view_ns(v, in.waited),
                          .cpu_ns = cpu_of(v, i),
                          .events = row->n_events};
    axp__view_set_states(v, row, &is);
    if (told && told->thread) {
        join_thread(&v->threads[told->thread - 1], told,
                    axp__view_life_of(v, state), &is);
        return;
    }
    v->threads[v->n_threads++] = is;
    if (told) *told = (struct axp__told){(uint32_t)v->n_threads, is.begin};
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
                                      .device = axp__view_device(v, row->name),
                                      .begin = row->first,
                                      .end = row->last};
    }
    if (row->first < t->begin) t->begin = row->first;
    if (row->last > t->end) t->end = row->last;
    t->busy_ns += busy;
    t->events += row->n_events;
}

int axp__thread_by_begin(const void *a, const void *b)
{
    const axp_thread_info *x = a, *y = b;
    if (x->begin != y->begin) return x->begin > y->begin ? 1 : -1;
    return (x->id > y->id) - (x->id < y->id);
}

/* ---- counting ----------------------------------------------------------------------- */

/* How many different ones there are; sorts them. */
static size_t count_different(uint64_t *of, size_t n)
{
    size_t different = 0;
    qsort(of, n, sizeof *of, axp__by_u64);
    for (size_t i = 0; i < n; i++)
        different += !i || of[i] != of[i - 1];
    return different;
}

/* Two of one number may be on two hosts, or in two namespaces. */
static uint64_t whose(const struct axp__capture *c,
                      const struct axp__cap_row *row)
{
    uint64_t host =
        c->n_processes ? c->processes[axp__cap_process_of(c, row->id)].host : 0;
    return host << 32 | (row->process_id & UINT32_MAX);
}

/* Of the rows that are the program's; a thread that did nothing but allocate has
 * recorded nothing. And of the threads that there are, whoever told of them. */
static bool count_processes(axp_view *v)
{
    const struct axp__capture *c = v->capture;
    size_t n = 0;
    uint64_t *of = calloc(c->n_rows + v->n_threads + 1, sizeof *of);
    if (!of) return false;
    for (size_t i = 0; i < c->n_rows; i++)
        if (!axp__row_is_outside(v, &c->rows[i]) && c->rows[i].n_events)
            of[n++] = whose(c, &c->rows[i]);
    v->n_recorded = count_different(of, n);
    for (n = 0; n < v->n_threads; n++)
        of[n] = v->threads[n].process_id;
    v->n_with_threads = count_different(of, n);
    free(of);
    return true;
}

/* Who looks on counts a process again when another program is started in it, and
 * the scheduler does not. */
size_t axp__view_n_processes(const axp_view *v)
{
    size_t seen = 0;
    for (size_t i = 0; i < v->n_processes && !v->capture->n_states; i++)
        seen += v->processes[i].count;
    if (seen < v->n_with_threads) seen = v->n_with_threads;
    return seen > v->n_recorded ? seen : v->n_recorded;
}

uint64_t axp__view_n_calls(const axp_view *v)
{
    uint64_t calls = 0;
    for (size_t i = 0; i < v->n_ops; i++)
        calls += v->ops[i].calls;
    return calls;
}

bool axp__view_make_rows(axp_view *v)
{
    const struct axp__capture *c = v->capture;
    v->threads = calloc(c->n_rows + c->n_states + 1, sizeof *v->threads);
    v->tracks = calloc(c->n_rows + 1, sizeof *v->tracks);
    bool *has_lane = calloc(c->n_rows + 1, sizeof *has_lane);
    struct axp__told *told = calloc(c->n_states + 1, sizeof *told);
    struct track_table table = {0};
    bool ok = v->threads && v->tracks && has_lane && told &&
              make_table(&table, c->n_rows);
    for (size_t i = 0; ok && i < c->n_lanes; i++) {
        const struct axp__cap_lane *lane = &c->lanes[i];
        if (lane->row < 0) continue;
        has_lane[lane->row] = true;
        if (lane->is_track)
            add_track(v, &table, &c->rows[lane->row], busy_of(v, lane));
        else
            add_thread(v, (size_t)lane->row,
                       (struct seen_in){busy_of(v, lane), waited_in(v, lane)},
                       told);
    }
    for (size_t i = 0; ok && i < c->n_rows; i++)
        if (!has_lane[i])
            add_thread(v, i,
                       (struct seen_in){c->rows[i].busy, c->rows[i].waited},
                       told);
    if (ok) v->n_threads += axp__view_unrecorded(v, told);
    free(has_lane);
    free(told);
    free(table.at);
    if (ok)
        qsort(v->threads, v->n_threads, sizeof *v->threads,
              axp__thread_by_begin);
    return ok && count_processes(v);
}

/* ---- the public calls ----------------------------------------------------------------- */

axp_ns axp_view_duration(const axp_view *v)
{
    return v ? v->duration_ns : 0;
}
