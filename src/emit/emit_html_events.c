/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Events on their way to the page, in parts that become chunks.
 *
 *   part 0          part 1          part 2
 *   [o······o····]  left            [····o··|      ]
 *    └ open                               └ open    n
 *
 * An event is written where it begins and known when it ends. A part leaves
 * when it is full and none of its events is open: so a scope around the whole
 * run keeps one part in memory, not all of them. Chunks have their part's
 * number and may stand in the file in any order.
 *
 * Depth is not written: it follows from nesting, but for events that begin at
 * the very tick at which a scope around them ends (docs/html-data.md). Those
 * are always the last ones that began, a *run* of equal starts: each scope
 * that ends at that tick adds 1 to the events of the run that are in it. The
 * additions are kept as differences and summed when the run is over, so that
 * a million scopes in one tick cost no more than others.
 */
#include "emit/emit_html.h"

#include <stdlib.h>

#include "base/base_atomic.h"

#define N AXP__HTML_CHUNK

struct axp__html_part {
    uint32_t n_open;
    uint64_t start[N], dur[N];
    uint32_t name[N], args[N], nesting[N];
};

void axp__html_events_init(struct axp__html_events *e, struct axp__out *o,
                           struct axp__html_packer *packer, axp_ns t0)
{
    *e = (struct axp__html_events){.o = o, .packer = packer, .t0 = t0};
}

void axp__html_events_fini(struct axp__html_events *e)
{
    for (size_t i = 0; i < e->n_parts; i++)
        free(e->parts[i]);
    free(e->parts);
    free(e->spare);
    free(e->tracks);
    free(e->blocks);
}

static inline struct axp__html_part *part_of(struct axp__html_events *e,
                                             uint64_t event)
{
    size_t i = (size_t)(event / N);
    return i < e->n_parts ? e->parts[i] : NULL;
}

/* ---- leaving -------------------------------------------------------------------- */

/* Starts become differences; the first of a track or part is since t0. */
static void make_deltas(struct axp__html_events *e, struct axp__html_part *p,
                        uint64_t first, uint32_t n)
{
    size_t t = 0;
    while (t < e->n_tracks && e->tracks[t].first <= first)
        t++;
    uint64_t next = t < e->n_tracks ? e->tracks[t].first - first : n;
    axp_ns before = e->t0;
    for (uint32_t i = 0; i < n; i++) {
        if (axp__unlikely(i == next)) {
            before = e->t0;
            next = ++t < e->n_tracks ? e->tracks[t].first - first : n;
        }
        axp_ns start = p->start[i];
        p->start[i] = start - before;
        before = start;
    }
}

void axp__html_script_begin(struct axp__html_events *e)
{
    axp__out_text(e->o, "<script type=\"application/octet-stream\" id=\"axp-c");
    axp__out_u64(e->o, e->n_chunks);
    axp__out_text(e->o, "\">");
}

void axp__html_script_end(struct axp__html_events *e)
{
    axp__out_text(e->o, "</script>\n");
}

static void write_part(struct axp__html_events *e, size_t i, uint32_t n)
{
    struct axp__html_part *p = e->parts[i];
    e->parts[i] = NULL;
    e->n_chunks = (uint32_t)i;
    make_deltas(e, p, (uint64_t)i * N, n);
    axp__html_script_begin(e);
    bool is_done = axp__html_pack_begin(e->packer, n, 5);
    if (is_done) {
        axp__html_pack_u64(e->packer, p->start);
        axp__html_pack_u64(e->packer, p->dur);
        axp__html_pack_u32(e->packer, p->name);
        axp__html_pack_u32(e->packer, p->args);
        axp__html_pack_u32(e->packer, p->nesting);
        is_done = axp__html_pack_end(e->packer, e->o);
    }
    if (!is_done) e->has_failed = true;
    axp__html_script_end(e);
    free(e->spare);
    e->spare = p;
}

/* Full parts without an open event, and without one of the last run. */
static void write_full(struct axp__html_events *e)
{
    while (e->first_part < e->n_parts && !e->parts[e->first_part])
        e->first_part++;
    for (size_t i = e->first_part; i < e->n_parts; i++) {
        uint64_t end = (uint64_t)(i + 1) * N;
        if (e->parts[i] && !e->parts[i]->n_open && end <= e->n &&
            end <= e->run_first)
            write_part(e, i, N);
    }
}

static bool add_part(struct axp__html_events *e)
{
    void *wider = axp__html_grow(e->parts, e->n_parts, &e->parts_cap,
                                 sizeof(struct axp__html_part *));
    struct axp__html_part *p = e->spare;
    if (wider) e->parts = wider;
    if (wider && !p) p = malloc(sizeof *p);
    if (!wider || !p) return false;
    e->spare = NULL;
    p->n_open = 0;
    e->parts[e->n_parts++] = p;
    return true;
}

void axp__html_events_flush(struct axp__html_events *e)
{
    if (!e->o) return;
    for (size_t i = 0; i < e->n_parts && !e->has_failed; i++) {
        uint64_t first = (uint64_t)i * N;
        uint64_t n = e->n > first ? e->n - first : 0;
        if (e->parts[i] && n) write_part(e, i, n > N ? N : (uint32_t)n);
    }
    e->n_chunks = (uint32_t)((e->n + N - 1) / N);
}

/* ---- runs of equal starts ------------------------------------------------------- */

static void end_run(struct axp__html_events *e)
{
    uint32_t sum = 0;
    for (uint64_t i = e->run_first; e->o && i < e->n; i++) {
        struct axp__html_part *p = part_of(e, i);
        if (!p) break;
        sum += p->nesting[i % N];
        p->nesting[i % N] = sum;
    }
    e->run_first = e->n;
    e->run_less = 0;
}

/* A scope that began as `event` ends at the tick at which the last began. */
static void end_in_run(struct axp__html_events *e, uint64_t event)
{
    uint64_t from = event + 1 > e->run_first ? event + 1 : e->run_first;
    struct axp__html_part *p = part_of(e, from);
    if (from >= e->n || !p) return;
    p->nesting[from % N]++;
    e->run_less++;
}

/* ---- tracks and events ------------------------------------------------------------ */

void axp__html_track_begin(struct axp__html_events *e,
                           const struct axp__html_track *track)
{
    void *wider = axp__html_grow(e->tracks, e->n_tracks, &e->tracks_cap,
                                 sizeof *e->tracks);
    if (!wider) {
        e->has_failed = true;
        return;
    }
    e->tracks = wider;
    e->tracks[e->n_tracks] = *track;
    e->tracks[e->n_tracks++].first = e->n;
    e->run_first = e->n;
    e->run_ns = e->t0;
    e->run_less = 0;
}

void axp__html_track_end(struct axp__html_events *e)
{
    end_run(e);
    if (!e->n_tracks) return;
    struct axp__html_track *t = &e->tracks[e->n_tracks - 1];
    t->n = e->n - t->first;
    if (!t->n) e->n_tracks--;
}

uint64_t axp__html_open(struct axp__html_events *e, axp_ns start, uint32_t name)
{
    uint64_t event = e->n;
    uint32_t nesting = 0;
    if (start < e->run_ns) start = e->run_ns;
    if (!e->o) {
        e->n++;
        return event;
    }
    if (start != e->run_ns) {
        end_run(e);
        e->run_ns = start;
    } else {
        nesting = 0u - (uint32_t)e->run_less;
        e->run_less = 0;
    }
    if (axp__unlikely(event / N == e->n_parts)) {
        write_full(e);
        if (e->has_failed || !add_part(e)) e->has_failed = true;
    }
    struct axp__html_part *p = part_of(e, event);
    e->n++;
    if (axp__unlikely(!p)) return event;
    size_t i = event % N;
    p->start[i] = start;
    p->dur[i] = 0;
    p->name[i] = name;
    p->args[i] = 0;
    p->nesting[i] = nesting;
    p->n_open++;
    return event;
}

void axp__html_close(struct axp__html_events *e, uint64_t event, axp_ns end,
                     uint32_t args)
{
    struct axp__html_part *p = part_of(e, event);
    if (axp__unlikely(!p)) return;
    size_t i = event % N;
    p->dur[i] = end > p->start[i] ? end - p->start[i] : 0;
    p->args[i] = args;
    p->n_open--;
    if (axp__unlikely(end <= e->run_ns)) end_in_run(e, event);
    if (axp__unlikely(!p->n_open && event / N + 1 < e->n_parts)) write_full(e);
}

void axp__html_forget(struct axp__html_events *e, uint64_t event)
{
    struct axp__html_part *p = part_of(e, event);
    e->n = event;
    if (!p) return;
    p->n_open--;
    e->run_less = 0;
    if (event > e->run_first) {
        e->run_less = (int32_t)(0u - p->nesting[event % N]);
    } else {
        e->run_first = event;
        e->run_ns = p->start[event % N];
    }
}

bool axp__html_extend(struct axp__html_events *e, uint64_t event, axp_ns end)
{
    if (!e->o) return true;
    struct axp__html_part *p = part_of(e, event);
    if (!p) return false;
    p->dur[event % N] = end - p->start[event % N];
    return true;
}
