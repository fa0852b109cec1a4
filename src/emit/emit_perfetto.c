/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Perfetto's own format: a sequence of packets, each a TrackEvent, a
 * description of a track, or names to be referred to by number.
 *
 *   process ─┬─ steps
 *            ├─ async (as many as overlap)
 *            ├─ counters, memory
 *            ├─ thread ─── overlapping (as many as do)
 *            └─ track (as many as overlap)
 *
 * Scopes are a packet at each end, in the order of the stream, so that their
 * nesting is theirs whatever the clock's resolution. Pairs (async spans, steps,
 * spans of tracks) are written when both times are known; readers sort by time
 * and, at the same time, keep the order of the file, in which no lane's end
 * comes after the beginning that follows it.
 *
 * Place      field numbers are those of the public definitions (trace_packet,
 *            track_event, interned_data and debug_annotation .proto).
 * Hot        put_begin and put_end write a scope's packets byte by byte.
 */
#include <stdlib.h>

#include "emit/emit_async.h"
#include "emit/emit_bytes.h"
#include "emit/emit_export.h"
#include "emit/emit_lanes.h"
#include "emit/emit_live.h"
#include "emit/emit_proto.h"
#include "emit/emit_record.h"
#include "emit/emit_words.h"
#include "record/record_thread.h"

#define MOST_TEXT 8192u

enum { /* TrackEvent.type */
       SLICE_BEGIN = 1,
       SLICE_END = 2,
       INSTANT = 3,
       COUNTER = 4
};

enum {                /* numbers of what is interned from the start, from 1 */
       CAT_ALLOC = 9, /* categories: axp_cat, then these */
       CAT_FREE,
       N_CATS
};

/* Names of annotations, by number. */
#define ANNOTATIONS(X)                                                         \
    X(FLOPS, "flops")                                                          \
    X(BYTES, "bytes")                                                          \
    X(DTYPE, "dtype")                                                          \
    X(DIMS, "dims")                                                            \
    X(OPEN, "open")                                                            \
    X(CUT, "cut")                                                              \
    X(LOST, "lost") X(ABANDONED, "abandoned") X(METADATA, "metadata")          \
        X(TYPE, "type") X(ADDRESS, "address") X(KIND, "kind")                  \
            X(LIVE, "live_bytes") X(ID, "id")
enum annotation {
    NO_ANNOTATION,
#define X(id, name) A_##id,
    ANNOTATIONS(X)
#undef X
};

/* Tracks of one name and parent, one a lane. */
struct lanes {
    uint64_t *uuids;
    uint32_t n;
    struct axp__pair_lanes pairs;
    struct axp__span_lanes spans;
};

struct row {
    char track[12]; /* the field track_uuid, with its tag */
    uint32_t track_len;
    uint64_t uuid;
    struct lanes lanes; /* of what overlaps */
};

struct process {
    uint64_t uuid, steps_uuid;
    struct lanes asyncs;
    uint32_t *counters; /* uuid by name; 0: none */
};

struct perfetto {
    const axp_view *v;
    struct axp__out *o;
    struct axp__out *m; /* a packet that is being made */
    struct axp__stream *s;
    struct axp__names names; /* the fields name_iid and source_location_iid */
    struct axp__live live;
    struct axp__asyncs asyncs;
    struct row *rows;
    struct process *processes;
    uint64_t *memory_uuids; /* by place */
    uint64_t next_uuid;
    axp_ns last_ns;
    bool has_failed;
};

/* ---- packets ------------------------------------------------------------------------- */

/* sequence_flags 2: it refers to what was interned. */
static void begin_packet(struct perfetto *p)
{
    axp__out_init(p->m, NULL);
    axp__pb_u64(p->m, 10, 1); /* trusted_packet_sequence_id */
    axp__pb_u64(p->m, 13, 2); /* sequence_flags */
}

static void end_packet(struct perfetto *p)
{
    char head[AXP__NUMBER_ROOM], *at = head;
    if (p->m->error) {
        p->has_failed = true;
        return;
    }
    *at++ = 0x0a; /* Trace.packet */
    at = axp__put_varint(at, p->m->len);
    axp__out_bytes(p->o, head, (size_t)(at - head));
    axp__out_bytes(p->o, p->m->buffer, p->m->len);
}

static void put_string(struct perfetto *p, unsigned field, const char *text)
{
    axp__pb_text(p->m, field, text, strnlen(text, MOST_TEXT));
}

/* A track event up to its track; end_event ends both. */
static size_t begin_event(struct perfetto *p, unsigned type, uint64_t uuid,
                          axp_ns time_ns)
{
    begin_packet(p);
    axp__pb_u64(p->m, 8, time_ns);
    size_t event = axp__pb_begin(p->m, 11);
    axp__pb_u64(p->m, 9, type);
    axp__pb_u64(p->m, 11, uuid);
    return event;
}

static void end_event(struct perfetto *p, size_t event)
{
    axp__pb_end(p->m, event);
    end_packet(p);
}

static void put_category(struct perfetto *p, unsigned category)
{
    if (category) axp__pb_u64(p->m, 3, category);
}

static void put_name(struct perfetto *p, const struct axp__bytes *name)
{
    axp__out_bytes(p->m, name->at, name->len);
}

/* ---- what is interned ------------------------------------------------------------------- */

static void intern(struct perfetto *p, unsigned field, uint64_t iid,
                   const char *text)
{
    size_t entry = axp__pb_begin(p->m, field);
    axp__pb_u64(p->m, 1, iid);
    put_string(p, 2, text);
    axp__pb_end(p->m, entry);
}

static void put_first_packet(struct perfetto *p)
{
    static const char *const annotations[] = {
#define X(id, name) name,
        ANNOTATIONS(X)
#undef X
    };
    axp__out_init(p->m, NULL);
    axp__pb_u64(p->m, 10, 1);
    axp__pb_u64(p->m, 13, 3); /* state cleared; needs it */
    axp__pb_u64(p->m, 87, 1); /* first_packet_on_sequence */
    size_t data = axp__pb_begin(p->m, 12);
    for (unsigned i = 1; i < N_CATS; i++)
        intern(p, 1, i,
               i == CAT_ALLOC  ? "alloc"
               : i == CAT_FREE ? "free"
                               : axp__word_cat((axp_cat)i));
    for (unsigned i = 0; i < sizeof annotations / sizeof *annotations; i++)
        intern(p, 3, i + 1, annotations[i]);
    axp__pb_end(p->m, data);
    end_packet(p);
}

/* Interns a name, and its place in the source where that is known. */
static void make_name(struct axp__names *n, uint32_t id, struct axp__out *to)
{
    struct perfetto *p = n->ctx;
    struct axp__cap_name name = n->v->capture->name_at(n->v->capture, id);
    uint32_t iid = ++n->next_number;
    struct axp__out *before = p->m;
    p->m = to; /* a packet may be half made */
    begin_packet(p);
    size_t data = axp__pb_begin(p->m, 12);
    intern(p, 2, iid, name.text);
    if (name.file) {
        size_t place = axp__pb_begin(p->m, 4);
        axp__pb_u64(p->m, 1, iid);
        put_string(p, 2, name.file);
        if (name.line > 0) axp__pb_u64(p->m, 4, (uint64_t)name.line);
        axp__pb_end(p->m, place);
    }
    axp__pb_end(p->m, data);
    end_packet(p);
    p->m = before;
    axp__out_init(to, NULL);
    axp__pb_u64(to, 10, iid);
    if (name.file) axp__pb_u64(to, 34, iid);
}

/* ---- tracks --------------------------------------------------------------------------------- */

static uint64_t begin_track(struct perfetto *p, size_t *descriptor,
                            uint64_t parent)
{
    uint64_t uuid = ++p->next_uuid;
    begin_packet(p);
    *descriptor = axp__pb_begin(p->m, 60);
    axp__pb_u64(p->m, 1, uuid);
    if (parent) axp__pb_u64(p->m, 5, parent);
    return uuid;
}

static void end_track(struct perfetto *p, size_t descriptor)
{
    axp__pb_end(p->m, descriptor);
    end_packet(p);
}

static uint64_t put_track(struct perfetto *p, const char *name, uint64_t parent)
{
    size_t descriptor;
    uint64_t uuid = begin_track(p, &descriptor, parent);
    put_string(p, 2, name);
    end_track(p, descriptor);
    return uuid;
}

/* unit 3: bytes; 0: none. */
static uint64_t put_counter_track(struct perfetto *p, const char *name,
                                  uint64_t parent, unsigned unit)
{
    size_t descriptor;
    uint64_t uuid = begin_track(p, &descriptor, parent);
    put_string(p, 2, name);
    size_t counter = axp__pb_begin(p->m, 8);
    if (unit) axp__pb_u64(p->m, 3, unit);
    axp__pb_end(p->m, counter);
    end_track(p, descriptor);
    return uuid;
}

static uint64_t positive(uint64_t id)
{
    return id & INT32_MAX; /* an int32 there */
}

static uint64_t put_process(struct perfetto *p,
                            const struct axp__stream_row *row)
{
    size_t descriptor;
    char text[96];
    uint64_t cut = axp_view_cut_count(p->v);
    uint64_t uuid = begin_track(p, &descriptor, 0);
    size_t process = axp__pb_begin(p->m, 3);
    axp__pb_u64(p->m, 1, positive(row->process_id));
    put_string(p, 6, p->v->capture->title);
    if (row->rank >= 0) {
        snprintf(text, sizeof text, "rank %d", (int)row->rank);
        put_string(p, 8, text);
    }
    axp__pb_end(p->m, process);
    if (cut) {
        snprintf(text, sizeof text,
                 "%llu older events are not in this timeline",
                 (unsigned long long)cut);
        put_string(p, 14, text);
    }
    end_track(p, descriptor);
    return uuid;
}

/* Whether a line before this one has the same process and thread. */
static bool is_repeated(const struct perfetto *p, uint32_t i)
{
    const struct axp__stream_row *row = axp__stream_row(p->s, i);
    for (uint32_t k = 0; k < i; k++) {
        const struct axp__stream_row *other = axp__stream_row(p->s, k);
        if (!other->track && other->thread_id == row->thread_id &&
            other->process_id == row->process_id)
            return true;
    }
    return false;
}

static uint64_t put_row(struct perfetto *p, uint32_t i, uint64_t parent)
{
    const struct axp__stream_row *row = axp__stream_row(p->s, i);
    size_t descriptor;
    if (row->track) return put_track(p, row->name, parent);
    if (!row->thread_id || is_repeated(p, i))
        return put_track(p, *row->name ? row->name : "thread", parent);
    uint64_t uuid = begin_track(p, &descriptor, parent);
    size_t thread = axp__pb_begin(p->m, 4);
    axp__pb_u64(p->m, 1, positive(row->process_id));
    axp__pb_u64(p->m, 2, positive(row->thread_id));
    if (*row->name) put_string(p, 5, row->name);
    axp__pb_end(p->m, thread);
    end_track(p, descriptor);
    return uuid;
}

static void put_rows(struct perfetto *p)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < axp__stream_n_rows(p->s); i++) {
        struct row *r = &p->rows[i];
        uint32_t process = axp__live_process(&p->live, i);
        if (process == n)
            p->processes[n++].uuid = put_process(p, axp__stream_row(p->s, i));
        r->uuid = put_row(p, i, p->processes[process].uuid);
        r->track[0] = 0x58; /* TrackEvent.track_uuid */
        r->track_len =
            (uint32_t)(axp__put_varint(r->track + 1, r->uuid) - r->track);
    }
}

static struct process *process_of(struct perfetto *p, uint32_t row)
{
    return &p->processes[axp__live_process(&p->live, row)];
}

/* The track of a lane, described when it is the first time. */
static uint64_t lane_track(struct perfetto *p, struct lanes *l, uint32_t lane,
                           const char *name, uint64_t parent)
{
    while (l->n <= lane) {
        uint64_t *wider = realloc(l->uuids, (l->n + 1) * sizeof *wider);
        if (!wider) {
            p->has_failed = true;
            return parent;
        }
        l->uuids = wider;
        l->uuids[l->n++] = put_track(p, name, parent);
    }
    return l->uuids[lane];
}

/* ---- annotations -------------------------------------------------------------------------------- */

static size_t begin_annotation(struct perfetto *p, enum annotation name)
{
    size_t begin = axp__pb_begin(p->m, 4);
    axp__pb_u64(p->m, 1, name);
    return begin;
}

static void annotate_double(struct perfetto *p, enum annotation name, double v)
{
    size_t begin = begin_annotation(p, name);
    axp__pb_double(p->m, 5, v);
    axp__pb_end(p->m, begin);
}

static void annotate_u64(struct perfetto *p, enum annotation name, uint64_t v)
{
    size_t begin = begin_annotation(p, name);
    axp__pb_u64(p->m, 3, v);
    axp__pb_end(p->m, begin);
}

static void annotate_text(struct perfetto *p, enum annotation name,
                          const char *text)
{
    size_t begin = begin_annotation(p, name);
    put_string(p, 6, text);
    axp__pb_end(p->m, begin);
}

static void annotate_true(struct perfetto *p, enum annotation name)
{
    size_t begin = begin_annotation(p, name);
    axp__pb_u64(p->m, 2, 1);
    axp__pb_end(p->m, begin);
}

static void annotate_work(struct perfetto *p, const struct axp__scope_work *w)
{
    const char *dtype = axp__word_dtype((axp_dtype)w->dtype);
    if (w->flops > 0) annotate_double(p, A_FLOPS, w->flops);
    if (w->bytes > 0) annotate_double(p, A_BYTES, w->bytes);
    if (dtype) annotate_text(p, A_DTYPE, dtype);
    if (!w->n_dims) return;
    size_t begin = begin_annotation(p, A_DIMS);
    for (uint32_t i = 0; i < w->n_dims; i++) {
        size_t value = axp__pb_begin(p->m, 12); /* array_values */
        axp__pb_u64(p->m, 3, w->dims[i]);
        axp__pb_end(p->m, value);
    }
    axp__pb_end(p->m, begin);
}

#define MARKS (AXP__R_OPEN | AXP__R_CUT | AXP__R_LOST | AXP__R_ABANDONED)

static void annotate_scope(struct perfetto *p, unsigned flags,
                           const struct axp__scope_work *work)
{
    if (work) annotate_work(p, work);
    if (flags & AXP__R_OPEN) annotate_true(p, A_OPEN);
    if (flags & AXP__R_CUT) annotate_true(p, A_CUT);
    if (flags & AXP__R_LOST) annotate_true(p, A_LOST);
    if (flags & AXP__R_ABANDONED) annotate_true(p, A_ABANDONED);
}

/* ---- scopes ----------------------------------------------------------------------------------------- */

#define PACKET_ROOM 128u /* of a packet with no text */

static inline char *put(char *at, const void *bytes, size_t len)
{
    memcpy(at, bytes, len);
    return at + len;
}

/* HOT */
static inline void put_begin(struct perfetto *p, const struct axp__record *r)
{
    const struct axp__bytes *name = axp__names_get(&p->names, r->name);
    const struct row *row = &p->rows[r->row];
    char *packet = axp__out_room(p->o, PACKET_ROOM), *at = packet + 2;
    *at++ = 0x40; /* timestamp */
    at = axp__put_varint_fast(at, r->begin_ns);
    /* sequence id 1, sequence_flags 2, track_event */
    at = put(at, "\x50\x01\x68\x02\x5a", 5);
    char *event = at++;
    at = put(at, "\x48\x01", 2); /* type */
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

static void put_end_with(struct perfetto *p, const struct axp__record *r)
{
    size_t event = begin_event(p, SLICE_END, p->rows[r->row].uuid, r->time_ns);
    annotate_scope(p, r->flags, r->work);
    end_event(p, event);
}

/* HOT */
static inline void put_end(struct perfetto *p, const struct axp__record *r)
{
    const struct row *row = &p->rows[r->row];
    if (axp__unlikely(r->work || r->flags & MARKS)) {
        put_end_with(p, r);
        return;
    }
    char *packet = axp__out_room(p->o, PACKET_ROOM), *at = packet + 2;
    *at++ = 0x40;
    at = axp__put_varint_fast(at, r->time_ns);
    at = put(at, "\x50\x01\x5a", 3);
    char *event = at++;
    at = put(at, "\x48\x02", 2);
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
    const uint64_t *id; /* NULL: none */
};

static void put_pair(struct perfetto *p, const struct pair *x, uint32_t name_id)
{
    const struct axp__bytes *name = axp__names_get(&p->names, name_id);
    size_t event = begin_event(p, SLICE_BEGIN, x->track, x->begin_ns);
    put_category(p, x->category);
    put_name(p, name);
    if (x->id) annotate_u64(p, A_ID, *x->id);
    annotate_scope(p, x->flags, x->work);
    end_event(p, event);
    end_event(p, begin_event(p, SLICE_END, x->track, x->end_ns));
}

static void put_overlapping(struct perfetto *p, const struct axp__record *r)
{
    struct row *row = &p->rows[r->row];
    if (r->flags & (AXP__R_NO_BEGIN | AXP__R_ELSEWHERE)) return;
    uint32_t lane =
        axp__pair_lanes_add(&row->lanes.pairs, r->begin_ns, r->time_ns);
    struct pair x = {lane_track(p, &row->lanes, lane, "overlapping", row->uuid),
                     r->begin_ns,
                     r->time_ns,
                     r->category,
                     r->flags,
                     r->work,
                     NULL};
    put_pair(p, &x, r->name);
}

static void put_async_pair(struct perfetto *p, const struct axp__async *a,
                           axp_ns end_ns, unsigned flags, bool has_id)
{
    struct process *process = process_of(p, a->row);
    uint32_t lane =
        axp__pair_lanes_add(&process->asyncs.pairs, a->begin_ns, end_ns);
    struct pair x = {
        .track = lane_track(p, &process->asyncs, lane, "async", process->uuid),
        .begin_ns = a->begin_ns,
        .end_ns = end_ns,
        .flags = flags,
        .id = has_id ? &a->id : NULL};
    put_pair(p, &x, a->name);
}

static void put_async(struct perfetto *p, const struct axp__record *r)
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

static void put_span(struct perfetto *p, const struct axp__record *r)
{
    struct row *row = &p->rows[r->row];
    uint32_t lane =
        axp__span_lanes_add(&row->lanes.spans, r->begin_ns, r->end_ns);
    struct pair x = {.track = row->uuid,
                     .begin_ns = r->begin_ns,
                     .end_ns = r->end_ns,
                     .work = r->work};
    if (lane)
        x.track = lane_track(p, &row->lanes, lane - 1,
                             axp__stream_row(p->s, r->row)->name,
                             process_of(p, r->row)->uuid);
    if (r->end_ns > p->last_ns) p->last_ns = r->end_ns;
    put_pair(p, &x, r->name);
}

static void put_step(struct perfetto *p, const struct axp__record *r)
{
    struct process *process = process_of(p, r->row);
    char name[32];
    if (!process->steps_uuid)
        process->steps_uuid = put_track(p, "steps", process->uuid);
    size_t event =
        begin_event(p, SLICE_BEGIN, process->steps_uuid, r->begin_ns);
    snprintf(name, sizeof name, "step %llu", (unsigned long long)r->id);
    put_string(p, 23, name);
    annotate_u64(p, A_LIVE, r->bytes);
    end_event(p, event);
    end_event(p, begin_event(p, SLICE_END, process->steps_uuid, r->time_ns));
}

/* ---- points ------------------------------------------------------------------------------------------- */

static void put_mark(struct perfetto *p, const struct axp__record *r)
{
    const struct axp__bytes *name = axp__names_get(&p->names, r->name);
    size_t event = begin_event(p, INSTANT, p->rows[r->row].uuid, r->time_ns);
    put_name(p, name);
    if (r->kind == AXP__R_EVENT) {
        annotate_text(p, A_TYPE, axp__word_event(r->argument));
        if (r->metadata) annotate_text(p, A_METADATA, r->metadata);
    }
    end_event(p, event);
}

/* An arrow begins and ends in a point inside the scope: only a point has the
 * arrow's own time, by which readers tell its direction. */
static void put_flow(struct perfetto *p, const struct axp__record *r)
{
    bool is_out = r->kind == AXP__R_FLOW_OUT;
    uint64_t process = axp__live_process(&p->live, r->row);
    size_t event = begin_event(p, INSTANT, p->rows[r->row].uuid, r->time_ns);
    put_string(p, 23, is_out ? "flow out" : "flow in");
    /* ids are a process's own: another process's differ in the high bits */
    axp__pb_fixed64(p->m, is_out ? 47 : 48, r->id ^ process << 48);
    end_event(p, event);
}

static void put_counter(struct perfetto *p, const struct axp__record *r)
{
    struct process *process = process_of(p, r->row);
    if (!process->counters)
        process->counters = calloc(AXP__MAX_NAMES, sizeof(uint32_t));
    if (!process->counters) {
        p->has_failed = true;
        return;
    }
    uint32_t *uuid = &process->counters[r->name];
    if (!*uuid)
        *uuid = (uint32_t)put_counter_track(p, axp__view_name(p->v, r->name),
                                            process->uuid, 0);
    size_t event = begin_event(p, COUNTER, *uuid, r->time_ns);
    axp__pb_double(p->m, 44, r->value);
    end_event(p, event);
}

static void put_live(struct perfetto *p, const struct axp__record *r)
{
    const struct axp__live_place *place = axp__live_add(&p->live, r);
    uint64_t *uuid = &p->memory_uuids[place - p->live.places];
    if (!*uuid) {
        const char *track =
            place->track ? axp__stream_row(p->s, r->row)->name : "";
        char name[300];
        snprintf(name, sizeof name, "memory%s%.256s", *track ? " of " : "",
                 track);
        *uuid = put_counter_track(p, name, process_of(p, r->row)->uuid, 3);
    }
    size_t event = begin_event(p, COUNTER, *uuid, r->time_ns);
    axp__pb_u64(p->m, 30, place->bytes);
    end_event(p, event);
}

static void put_memory(struct perfetto *p, const struct axp__record *r)
{
    const struct axp__bytes *name = axp__names_get(&p->names, r->name);
    bool is_alloc = r->kind == AXP__R_ALLOC;
    const char *kind = is_alloc ? axp__word_mem((axp_mem)r->argument) : NULL;
    size_t event = begin_event(p, INSTANT, p->rows[r->row].uuid, r->time_ns);
    put_category(p, is_alloc ? CAT_ALLOC : CAT_FREE);
    put_name(p, name);
    annotate_u64(p, A_BYTES, r->bytes);
    if (r->id) {
        size_t address = begin_annotation(p, A_ADDRESS);
        axp__pb_u64(p->m, 7, r->id);
        axp__pb_end(p->m, address);
    }
    if (kind) annotate_text(p, A_KIND, kind);
    end_event(p, event);
    put_live(p, r);
}

/* ---- the whole ------------------------------------------------------------------------------------------ */

static void put_record(struct perfetto *p, const struct axp__record *r)
{
    switch ((enum axp__record_kind)r->kind) {
    case AXP__R_BEGIN: break;
    case AXP__R_END: put_overlapping(p, r); break;
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
    case AXP__R_SPAN: put_span(p, r); break;
    }
}

static void put_all(struct perfetto *p)
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
        put_async_pair(p, &p->asyncs.at[i], p->last_ns, AXP__R_OPEN, true);
}

static bool init(struct perfetto *p)
{
    size_t n = axp__stream_n_rows(p->s);
    p->last_ns = axp__stream_end_ns(p->s);
    p->m = malloc(sizeof *p->m);
    p->rows = calloc(n + 1, sizeof *p->rows);
    p->processes = calloc(n + 1, sizeof *p->processes);
    p->memory_uuids = calloc(n + 1, sizeof *p->memory_uuids);
    return p->m && p->rows && p->processes && p->memory_uuids &&
           axp__names_init(&p->names, p->v, make_name, p) &&
           axp__live_init(&p->live, p->v, p->s);
}

static void free_lanes(struct lanes *l)
{
    free(l->uuids);
    axp__pair_lanes_fini(&l->pairs);
    axp__span_lanes_fini(&l->spans);
}

static void fini(struct perfetto *p)
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
    axp__names_fini(&p->names);
    axp__stream_close(p->s);
}

axp_status axp__emit_perfetto(const axp_view *v, struct axp__out *o)
{
    struct perfetto p = {.v = v, .o = o};
    axp_status status = axp__stream_open(v, 0, &p.s);
    if (status) return status;
    if (!init(&p)) {
        fini(&p);
        return axp__fail(AXP_E_NO_MEMORY, "no memory to export");
    }
    put_first_packet(&p);
    put_rows(&p);
    put_all(&p);
    status = axp__stream_status(p.s);
    if (!status && (p.has_failed || p.names.has_failed || p.live.has_failed))
        status = axp__fail(AXP_E_NO_MEMORY, "no memory to export");
    fini(&p);
    return status;
}
