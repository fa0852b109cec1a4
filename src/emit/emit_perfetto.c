/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Perfetto's own format: a sequence of packets, each a TrackEvent, a
 * description of a track, or names to be referred to by number.
 *
 *   process ─┬─ steps
 *            ├─ async (as many as overlap)
 *            ├─ counters, memory
 *            ├─ thread ─── overlapping (as many as do)
 *            └─ track (as many as overlap)
 *   samples (emit_perfetto_samples.c)
 *
 * Scopes are a packet at each end, in the order of the stream, so that their
 * nesting is theirs whatever the clock's resolution. Pairs (async spans, steps,
 * spans of tracks) are written when both times are known; readers sort by time
 * and, at the same time, keep the order of the file, in which no lane's end
 * comes after the beginning that follows it.
 *
 * Time       counts from our own 0, in a clock of our own, which is tied to the
 *            system's by a snapshot of all three.
 * Hot        put_begin and put_end write a scope's packets byte by byte.
 */
#include "emit/emit_perfetto.h"

#include <stdlib.h>

#include "emit/emit_export.h"
#include "emit/emit_record.h"
#include "emit/emit_words.h"
#include "record/record_thread.h"

#define MARKS (AXP__R_OPEN | AXP__R_CUT | AXP__R_LOST | AXP__R_ABANDONED)

/* ---- scopes ----------------------------------------------------------------------------------------- */

#define PACKET_ROOM 128u /* of a packet with no text */

/* HOT */
static inline void put_begin(struct axp__pf *p, const struct axp__record *r)
{
    const struct axp__name_bytes *name =
        axp__name_cache_get(&p->names, r->name);
    const struct axp__pf_row *row = &p->rows[r->row];
    char *packet = axp__out_room(p->o, PACKET_ROOM), *at = packet + 2;
    *at++ = 0x40; /* timestamp */
    at = axp__put_varint_fast(at, r->begin_ns);
    /* sequence id 1, sequence_flags 2, track_event */
    at = axp__put_bytes(at, "\x50\x01\x68\x02\x5a", 5);
    char *event = at++;
    at = axp__put_bytes(at, "\x48\x01", 2); /* type */
    memcpy(at, row->track, sizeof row->track);
    at += row->track_len;
    if (r->category) {
        *at++ = 0x18; /* category_iids */
        *at++ = (char)r->category;
    }
    memcpy(at, name->at, AXP__BYTES_ROOM); /* longer than any */
    at += name->len;
    *event = (char)(at - event - 1);
    packet[0] = 0x0a;
    packet[1] = (char)(at - packet - 2);
    p->o->len += (size_t)(at - packet);
}

static void put_end_with(struct axp__pf *p, const struct axp__record *r)
{
    size_t event = axp__pf_begin_event(p, AXP__PF_SLICE_END,
                                       p->rows[r->row].uuid, r->time_ns);
    axp__pf_annotate_scope(p, r->flags, r->work);
    axp__pf_end_event(p, event);
}

/* HOT */
static inline void put_end(struct axp__pf *p, const struct axp__record *r)
{
    const struct axp__pf_row *row = &p->rows[r->row];
    if (axp__unlikely(r->work || r->flags & MARKS)) {
        put_end_with(p, r);
        return;
    }
    char *packet = axp__out_room(p->o, PACKET_ROOM), *at = packet + 2;
    *at++ = 0x40;
    at = axp__put_varint_fast(at, r->time_ns);
    at = axp__put_bytes(at, "\x50\x01\x5a", 3);
    char *event = at++;
    at = axp__put_bytes(at, "\x48\x02", 2);
    memcpy(at, row->track, sizeof row->track);
    at += row->track_len;
    *event = (char)(at - event - 1);
    packet[0] = 0x0a;
    packet[1] = (char)(at - packet - 2);
    p->o->len += (size_t)(at - packet);
}

/* ---- pairs -------------------------------------------------------------------------------------------- */

struct pair {
    uint64_t track;
    axp_ns begin_ns, end_ns;
    unsigned category, flags;
    const struct axp__scope_work *work;
    const uint64_t *id;             /* NULL: none */
    const struct axp__record *flow; /* that ends in it; NULL: none */
    uint64_t step;                  /* and 1; 0: none */
};

/* Ids are a process's own: another process's differ in the high bits. */
static void put_flow_id(struct axp__pf *p, const struct axp__record *r,
                        bool is_out)
{
    uint64_t process = axp__live_process(&p->live, r->row);
    axp__pb_fixed64(p->m, is_out ? 47 : 48, r->id ^ process << 48);
}

static void put_pair(struct axp__pf *p, const struct pair *x, uint32_t name_id)
{
    const struct axp__name_bytes *name =
        axp__name_cache_get(&p->names, name_id);
    size_t event =
        axp__pf_begin_event(p, AXP__PF_SLICE_BEGIN, x->track, x->begin_ns);
    axp__pf_category(p, x->category);
    axp__pf_name(p, name);
    if (x->id) axp__pf_annotate_u64(p, AXP__PF_A_ID, *x->id);
    if (x->step) axp__pf_annotate_u64(p, AXP__PF_A_STEP, x->step - 1);
    axp__pf_annotate_scope(p, x->flags, x->work);
    if (x->flow) put_flow_id(p, x->flow, false);
    axp__pf_end_event(p, event);
    axp__pf_end_event(
        p, axp__pf_begin_event(p, AXP__PF_SLICE_END, x->track, x->end_ns));
}

static void put_overlapping(struct axp__pf *p, const struct axp__record *r)
{
    struct axp__pf_row *row = &p->rows[r->row];
    if (r->flags & (AXP__R_NO_BEGIN | AXP__R_ELSEWHERE)) return;
    uint32_t lane =
        axp__pair_lanes_add(&row->lanes.pairs, r->begin_ns, r->time_ns);
    struct pair x = {
        axp__pf_lane_track(p, &row->lanes, lane, "overlapping", row->uuid),
        r->begin_ns,
        r->time_ns,
        r->category,
        r->flags,
        r->work,
        NULL,
        NULL,
        0};
    put_pair(p, &x, r->name);
}

static void put_async_pair(struct axp__pf *p, const struct axp__async *a,
                           axp_ns end_ns, unsigned flags, bool has_id)
{
    struct axp__pf_process *process = axp__pf_process_of(p, a->row);
    uint32_t lane =
        axp__pair_lanes_add(&process->asyncs.pairs, a->begin_ns, end_ns);
    struct pair x = {.track = axp__pf_lane_track(p, &process->asyncs, lane,
                                                 "async", process->uuid),
                     .begin_ns = a->begin_ns,
                     .end_ns = end_ns,
                     .flags = flags,
                     .id = has_id ? &a->id : NULL};
    put_pair(p, &x, a->name);
}

static void put_async(struct axp__pf *p, const struct axp__record *r)
{
    uint32_t process = axp__live_process(&p->live, r->row);
    struct axp__async a = {
        .begin_ns = r->begin_ns, .id = r->id, .name = r->name, .row = r->row};
    if (r->kind == AXP__R_CROSS) {
        put_async_pair(p, &a, r->time_ns, 0, false);
    } else if (r->kind == AXP__R_ASYNC_END) {
        a.row = axp__asyncs_end(&p->asyncs, r, process);
        put_async_pair(p, &a, r->time_ns, 0, true);
    } else if (axp__asyncs_begin(&p->asyncs, r, process, &a)) {
        put_async_pair(p, &a, r->time_ns, AXP__R_LOST, true);
    }
}

static void put_span(struct axp__pf *p, const struct axp__record *r)
{
    struct axp__pf_row *row = &p->rows[r->row];
    uint32_t lane =
        axp__span_lanes_add(&row->lanes.spans, r->begin_ns, r->end_ns);
    struct pair x = {.track = row->uuid,
                     .begin_ns = r->begin_ns,
                     .end_ns = r->end_ns,
                     .category = r->category,
                     .work = r->work,
                     .flow = r->id ? r : NULL,
                     .step = r->bytes};
    if (lane)
        x.track = axp__pf_lane_track(p, &row->lanes, lane - 1,
                                     axp__stream_row(p->s, r->row)->name,
                                     axp__pf_process_of(p, r->row)->uuid);
    if (r->end_ns > p->last_ns) p->last_ns = r->end_ns;
    put_pair(p, &x, r->name);
}

static void put_step(struct axp__pf *p, const struct axp__record *r)
{
    struct axp__pf_process *process = axp__pf_process_of(p, r->row);
    char name[32];
    if (!process->steps_uuid)
        process->steps_uuid = axp__pf_track(p, "steps", process->uuid);
    size_t event = axp__pf_begin_event(p, AXP__PF_SLICE_BEGIN,
                                       process->steps_uuid, r->begin_ns);
    snprintf(name, sizeof name, "step %llu", (unsigned long long)r->id);
    axp__pf_string(p, 23, name);
    axp__pf_annotate_u64(p, AXP__PF_A_LIVE, r->bytes);
    axp__pf_end_event(p, event);
    axp__pf_end_event(p, axp__pf_begin_event(p, AXP__PF_SLICE_END,
                                             process->steps_uuid, r->time_ns));
}

/* ---- points ------------------------------------------------------------------------------------------- */

static void put_mark(struct axp__pf *p, const struct axp__record *r)
{
    const struct axp__name_bytes *name =
        axp__name_cache_get(&p->names, r->name);
    size_t event = axp__pf_begin_event(p, AXP__PF_INSTANT, p->rows[r->row].uuid,
                                       r->time_ns);
    axp__pf_name(p, name);
    if (r->kind == AXP__R_EVENT) {
        axp__pf_annotate_text(p, AXP__PF_A_TYPE, axp__word_event(r->argument));
        if (r->metadata)
            axp__pf_annotate_text(p, AXP__PF_A_METADATA, r->metadata);
    }
    axp__pf_end_event(p, event);
}

/* An arrow begins and ends in a point inside the scope: only a point has the
 * arrow's own time, by which readers tell its direction. */
static void put_flow(struct axp__pf *p, const struct axp__record *r)
{
    bool is_out = r->kind == AXP__R_FLOW_OUT;
    size_t event = axp__pf_begin_event(p, AXP__PF_INSTANT, p->rows[r->row].uuid,
                                       r->time_ns);
    axp__pf_string(p, 23, is_out ? "flow out" : "flow in");
    put_flow_id(p, r, is_out);
    axp__pf_end_event(p, event);
}

#define OF_WAITS ((uint64_t)1 << 63) /* ids of arrows that are no program's */

static void put_end_of_wait(struct axp__pf *p, uint32_t row, axp_ns time_ns,
                            bool is_out)
{
    size_t event =
        axp__pf_begin_event(p, AXP__PF_INSTANT, p->rows[row].uuid, time_ns);
    axp__pf_string(p, 23, is_out ? "ends a wait" : "wait ended");
    axp__pb_fixed64(p->m, is_out ? 47 : 48, OF_WAITS | p->n_waits);
    axp__pf_end_event(p, event);
}

/* From who ended a wait to who waited. */
static void put_waited(struct axp__pf *p, const struct axp__record *r)
{
    uint32_t from = axp__stream_find_row(p->s, r->from_row);
    if (axp__record_verb(r) != AXP_SYNC_WAITED || from == UINT32_MAX) return;
    p->n_waits++;
    put_end_of_wait(p, from, r->end_ns, true);
    put_end_of_wait(p, r->row, r->time_ns, false);
}

static void put_counter(struct axp__pf *p, const struct axp__record *r)
{
    struct axp__pf_process *process = axp__pf_process_of(p, r->row);
    if (!process->counters)
        process->counters = calloc(AXP__MAX_NAMES, sizeof(uint32_t));
    if (!process->counters) {
        p->has_failed = true;
        return;
    }
    uint32_t *uuid = &process->counters[r->name];
    if (!*uuid)
        *uuid = (uint32_t)axp__pf_counter_track(
            p, axp__view_name(p->v, r->name), process->uuid, 0);
    size_t event = axp__pf_begin_event(p, AXP__PF_COUNTER, *uuid, r->time_ns);
    axp__pb_double(p->m, 44, r->value);
    axp__pf_end_event(p, event);
}

static void put_live(struct axp__pf *p, const struct axp__record *r)
{
    const struct axp__live_place *place = axp__live_add(&p->live, r);
    uint64_t *uuid = &p->memory_uuids[place - p->live.places];
    if (!*uuid) {
        const char *device = axp__cap_device(p->v->capture, place->device);
        const char *track = device         ? device
                            : place->track ? axp__stream_row(p->s, r->row)->name
                                           : "";
        char name[300];
        snprintf(name, sizeof name, "memory%s%.256s", *track ? " of " : "",
                 track);
        *uuid = axp__pf_counter_track(p, name,
                                      axp__pf_process_of(p, r->row)->uuid, 3);
    }
    size_t event = axp__pf_begin_event(p, AXP__PF_COUNTER, *uuid, r->time_ns);
    axp__pb_u64(p->m, 30, place->bytes);
    axp__pf_end_event(p, event);
}

static void put_memory(struct axp__pf *p, const struct axp__record *r)
{
    const struct axp__name_bytes *name =
        axp__name_cache_get(&p->names, r->name);
    bool is_alloc = r->kind == AXP__R_ALLOC;
    const char *kind = is_alloc ? axp__word_mem((axp_mem)r->argument) : NULL;
    size_t event = axp__pf_begin_event(p, AXP__PF_INSTANT, p->rows[r->row].uuid,
                                       r->time_ns);
    axp__pf_category(p, is_alloc ? AXP__PF_CAT_ALLOC : AXP__PF_CAT_FREE);
    axp__pf_name(p, name);
    axp__pf_annotate_u64(p, AXP__PF_A_BYTES, r->bytes);
    if (r->id) {
        size_t address = axp__pf_begin_annotation(p, AXP__PF_A_ADDRESS);
        axp__pb_u64(p->m, 7, r->id);
        axp__pb_end(p->m, address);
    }
    if (kind) axp__pf_annotate_text(p, AXP__PF_A_KIND, kind);
    axp__pf_end_event(p, event);
    put_live(p, r);
}

/* ---- the whole ------------------------------------------------------------------------------------------ */

static void put_record(struct axp__pf *p, const struct axp__record *r)
{
    switch ((enum axp__record_kind)r->kind) {
    case AXP__R_BEGIN: break;
    case AXP__R_END: put_overlapping(p, r); break;
    case AXP__R_SAMPLE: /* not asked for */
    case AXP__R_SPAN_END: break;
    case AXP__R_ASYNC_BEGIN:
    case AXP__R_ASYNC_END:
    case AXP__R_CROSS: put_async(p, r); break;
    case AXP__R_INSTANT:
    case AXP__R_EVENT: put_mark(p, r); break;
    case AXP__R_COUNTER: put_counter(p, r); break;
    case AXP__R_ALLOC:
    case AXP__R_FREE: put_memory(p, r); break;
    case AXP__R_STEP: put_step(p, r); break;
    case AXP__R_FLOW_OUT:
    case AXP__R_FLOW_IN: put_flow(p, r); break;
    case AXP__R_SYNC: put_waited(p, r); break;
    case AXP__R_SPAN: put_span(p, r); break;
    }
}

static void put_all(struct axp__pf *p)
{
    const struct axp__record *r;
    while ((r = axp__stream_next(p->s))) {
        if (r->time_ns > p->last_ns) p->last_ns = r->time_ns;
        bool nests = !(r->flags & (AXP__R_OVERLAPS | AXP__R_NO_BEGIN));
        if (axp__likely(r->kind == AXP__R_BEGIN && nests))
            put_begin(p, r);
        else if (axp__likely(r->kind == AXP__R_END && nests))
            put_end(p, r);
        else
            put_record(p, r);
    }
    axp__asyncs_sort(&p->asyncs);
    for (size_t i = 0; i < p->asyncs.n; i++)
        put_async_pair(p, &p->asyncs.at[i],
                       axp__async_end_ns(&p->asyncs.at[i], p->s, p->last_ns),
                       AXP__R_OPEN, true);
}

static void put_heap_at(struct axp__pf *p, uint64_t uuid, axp_ns at,
                        uint64_t bytes)
{
    size_t event = axp__pf_begin_event(p, AXP__PF_COUNTER, uuid, at);
    axp__pb_u64(p->m, 30, bytes);
    axp__pf_end_event(p, event);
}

/* What was live of it, highest and lowest in turn. */
static void put_heap(struct axp__pf *p)
{
    if (!p->v->n_heap_levels) return;
    uint64_t uuid = axp__pf_counter_track(p, "heap", 0, 3);
    for (size_t i = 0; i < p->v->n_heap_levels; i++) {
        const axp_heap_level *l = &p->v->heap_levels[i];
        put_heap_at(p, uuid, l->from, l->max_bytes);
        if (l->min_bytes != l->max_bytes)
            put_heap_at(p, uuid, l->from + (l->to - l->from) / 2, l->min_bytes);
    }
}

static bool init(struct axp__pf *p)
{
    size_t n = axp__stream_n_rows(p->s);
    p->last_ns = axp__stream_end_ns(p->s);
    p->m = malloc(sizeof *p->m);
    p->rows = calloc(n + 1, sizeof *p->rows);
    p->processes = calloc(n + 1, sizeof *p->processes);
    p->memory_uuids = calloc(n + 1, sizeof *p->memory_uuids);
    return p->m && p->rows && p->processes && p->memory_uuids &&
           axp__name_cache_init(&p->names, p->v, axp__pf_make_name, p) &&
           axp__live_init(&p->live, p->v, p->s);
}

static void free_lanes(struct axp__pf_lanes *l)
{
    free(l->uuids);
    axp__pair_lanes_fini(&l->pairs);
    axp__span_lanes_fini(&l->spans);
}

static void fini(struct axp__pf *p)
{
    size_t n = axp__stream_n_rows(p->s);
    for (size_t i = 0; p->rows && i < n; i++)
        free_lanes(&p->rows[i].lanes);
    for (size_t i = 0; p->processes && i < n; i++) {
        free_lanes(&p->processes[i].asyncs);
        free(p->processes[i].counters);
    }
    free(p->m);
    free(p->rows);
    free(p->processes);
    free(p->memory_uuids);
    axp__asyncs_fini(&p->asyncs);
    axp__live_fini(&p->live);
    axp__name_cache_fini(&p->names);
    axp__stream_close(p->s);
}

static bool has_failed(const struct axp__pf *p)
{
    bool failed = p->has_failed || p->names.has_failed || p->asyncs.has_failed;
    for (size_t i = 0; i < axp__stream_n_rows(p->s); i++)
        failed |= p->rows[i].lanes.pairs.has_failed ||
                  p->rows[i].lanes.spans.has_failed ||
                  p->processes[i].asyncs.pairs.has_failed;
    return failed;
}

axp_status axp__emit_perfetto(const axp_view *v, struct axp__out *o)
{
    struct axp__pf p = {.v = v, .o = o};
    axp_status status = axp__stream_open(v, 0, &p.s);
    if (status) return status;
    if (!init(&p)) {
        fini(&p);
        return axp__fail(AXP_E_NO_MEMORY, "no memory to export");
    }
    axp__pf_first_packets(&p);
    axp__pf_rows(&p);
    put_all(&p);
    put_heap(&p);
    status = axp__stream_status(p.s);
    if (!status) status = axp__pf_path(&p);
    if (!status) status = axp__pf_samples(&p);
    if (!status && has_failed(&p))
        status = axp__fail(AXP_E_NO_MEMORY, "no memory to export");
    fini(&p);
    return status;
}
