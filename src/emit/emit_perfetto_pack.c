/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Perfetto's packets but for events: names, tracks, annotations; see
 * emit_perfetto.h. */
#include "emit/emit_perfetto.h"

#include <stdlib.h>

#include "emit/emit_export.h"
#include "emit/emit_words.h"

/* Clocks: from 64 on they are the sequence's own. */
enum { CLOCK_REAL = 1, CLOCK_OF_TRACE = 3 /* monotonic */, OUR_CLOCK = 64 };

/* ---- packets ------------------------------------------------------------------------- */

/* sequence_flags 2: it refers to what was interned. */
void axp__pf_begin_packet(struct axp__pf *p)
{
    axp__out_init(p->m, NULL);
    axp__pb_u64(p->m, 10, 1); /* trusted_packet_sequence_id */
    axp__pb_u64(p->m, 13, 2); /* sequence_flags */
}

static void end_packet(struct axp__pf *p)
{
    char head[AXP__NUMBER_ROOM], *at = head;
    if (p->m->error) {
        p->has_failed = true;
        return;
    }
    *at++ = 0x0a; /* Trace.packet */
    at = axp__print_varint(at, p->m->len);
    axp__out_bytes(p->o, head, (size_t)(at - head));
    axp__out_bytes(p->o, p->m->buffer, p->m->len);
}

void axp__pf_string(struct axp__pf *p, unsigned field, const char *text)
{
    axp__pb_text(p->m, field, text, axp__len_to(text, AXP__MOST_NAME));
}

/* A track event up to its track; end_event ends both. */
size_t axp__pf_begin_event(struct axp__pf *p, unsigned type, uint64_t uuid,
                           axp_ns time_ns)
{
    axp__pf_begin_packet(p);
    axp__pb_u64(p->m, 8, time_ns);
    size_t event = axp__pb_begin(p->m, 11);
    axp__pb_u64(p->m, 9, type);
    axp__pb_u64(p->m, 11, uuid);
    return event;
}

void axp__pf_end_event(struct axp__pf *p, size_t event)
{
    axp__pb_end(p->m, event);
    end_packet(p);
}

void axp__pf_category(struct axp__pf *p, unsigned category)
{
    if (category) axp__pb_u64(p->m, 3, category);
}

void axp__pf_name(struct axp__pf *p, const struct axp__name_bytes *name)
{
    axp__out_bytes(p->m, name->at, name->len);
}

/* ---- clocks and what is interned ------------------------------------------------------------------- */

void axp__pf_intern(struct axp__pf *p, unsigned field, uint64_t iid,
                    const char *text)
{
    size_t entry = axp__pb_begin(p->m, field);
    axp__pb_u64(p->m, 1, iid);
    axp__pf_string(p, 2, text);
    axp__pb_end(p->m, entry);
}

size_t axp__pf_begin_interned(struct axp__pf *p)
{
    axp__pf_begin_packet(p);
    return axp__pb_begin(p->m, 12);
}

static void put_clock(struct axp__pf *p, unsigned id, uint64_t ns)
{
    size_t clock = axp__pb_begin(p->m, 1);
    axp__pb_u64(p->m, 1, id);
    axp__pb_u64(p->m, 2, ns);
    axp__pb_end(p->m, clock);
}

/* What the system's clocks said at our 0, so that traces of other recorders of
 * the same time can be laid beside this one. */
static void put_clocks(struct axp__pf *p, const struct axp__view_clocks *at)
{
    axp__pf_begin_packet(p);
    size_t snapshot = axp__pb_begin(p->m, 6);
    put_clock(p, OUR_CLOCK, 0);
    put_clock(p, CLOCK_OF_TRACE, at->monotonic_ns);
    put_clock(p, CLOCK_REAL, at->realtime_ns);
    axp__pb_u64(p->m, 2, CLOCK_OF_TRACE); /* primary_trace_clock */
    axp__pb_end(p->m, snapshot);
    end_packet(p);
}

void axp__pf_first_packets(struct axp__pf *p)
{
    struct axp__view_clocks at_zero;
    bool has_clocks = axp__view_clocks(p->v, &at_zero);
    static const char *const annotations[] = {
#define X(id, name) name,
#include "emit/emit_perfetto.def"
#undef X
    };
    axp__out_init(p->m, NULL);
    axp__pb_u64(p->m, 10, 1);
    axp__pb_u64(p->m, 13, 3); /* state cleared; needs it */
    axp__pb_u64(p->m, 87, 1); /* first_packet_on_sequence */
    size_t data = axp__pb_begin(p->m, 12);
    for (unsigned i = 1; i < AXP__PF_N_CATS; i++)
        axp__pf_intern(p, 1, i,
                       i == AXP__PF_CAT_ALLOC  ? "alloc"
                       : i == AXP__PF_CAT_FREE ? "free"
                                               : axp__word_cat((axp_cat)i));
    for (unsigned i = 0; i < sizeof annotations / sizeof *annotations; i++)
        axp__pf_intern(p, 3, i + 1, annotations[i]);
    axp__pb_end(p->m, data);
    if (has_clocks) {
        size_t defaults = axp__pb_begin(p->m, 59);
        axp__pb_u64(p->m, 58, OUR_CLOCK); /* timestamp_clock_id */
        axp__pb_end(p->m, defaults);
    }
    end_packet(p);
    if (has_clocks) put_clocks(p, &at_zero);
}

/* Interns a name, and its place in the source where that is known. */
void axp__pf_make_name(struct axp__name_cache *n, uint32_t id,
                       struct axp__out *to)
{
    struct axp__pf *p = n->ctx;
    struct axp__cap_name name = n->v->capture->name_at(n->v->capture, id);
    uint32_t iid = ++n->next_number;
    struct axp__out *before = p->m;
    p->m = to; /* a packet may be half made */
    axp__pf_begin_packet(p);
    size_t data = axp__pb_begin(p->m, 12);
    axp__pf_intern(p, 2, iid, name.text);
    if (name.file) {
        size_t place = axp__pb_begin(p->m, 4);
        axp__pb_u64(p->m, 1, iid);
        axp__pf_string(p, 2, name.file);
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

static uint64_t begin_track(struct axp__pf *p, size_t *descriptor,
                            uint64_t parent)
{
    uint64_t uuid = ++p->next_uuid;
    axp__pf_begin_packet(p);
    *descriptor = axp__pb_begin(p->m, 60);
    axp__pb_u64(p->m, 1, uuid);
    if (parent) axp__pb_u64(p->m, 5, parent);
    return uuid;
}

static void end_track(struct axp__pf *p, size_t descriptor)
{
    axp__pb_end(p->m, descriptor);
    end_packet(p);
}

uint64_t axp__pf_track(struct axp__pf *p, const char *name, uint64_t parent)
{
    size_t descriptor;
    uint64_t uuid = begin_track(p, &descriptor, parent);
    axp__pf_string(p, 2, name);
    end_track(p, descriptor);
    return uuid;
}

/* unit 3: bytes; 0: none. */
uint64_t axp__pf_counter_track(struct axp__pf *p, const char *name,
                               uint64_t parent, unsigned unit)
{
    size_t descriptor;
    uint64_t uuid = begin_track(p, &descriptor, parent);
    axp__pf_string(p, 2, name);
    size_t counter = axp__pb_begin(p->m, 8);
    if (unit) axp__pb_u64(p->m, 3, unit);
    axp__pb_end(p->m, counter);
    end_track(p, descriptor);
    return uuid;
}

uint64_t axp__pf_thread_track(struct axp__pf *p, const struct axp__pf_thread *t)
{
    size_t descriptor;
    uint64_t uuid = begin_track(p, &descriptor, t->parent);
    size_t thread = axp__pb_begin(p->m, 4);
    axp__pb_u64(p->m, 1, t->pid);
    axp__pb_u64(p->m, 2, t->tid & INT32_MAX); /* an int32 there */
    if (*t->name) axp__pf_string(p, 5, t->name);
    axp__pb_end(p->m, thread);
    end_track(p, descriptor);
    return uuid;
}

static uint64_t put_process(struct axp__pf *p, uint32_t i)
{
    const struct axp__stream_row *row = axp__stream_row(p->s, i);
    size_t descriptor;
    char text[96];
    uint64_t cut = axp_view_cut_count(p->v);
    uint64_t uuid = begin_track(p, &descriptor, 0);
    size_t process = axp__pb_begin(p->m, 3);
    axp__pb_u64(p->m, 1, axp__live_pid(&p->live, i));
    axp__pf_string(p, 6, row->title);
    if (row->rank >= 0) {
        snprintf(text, sizeof text, "rank %d", (int)row->rank);
        axp__pf_string(p, 8, text);
    }
    axp__pb_end(p->m, process);
    if (cut) {
        snprintf(text, sizeof text,
                 "%llu older events are not in this timeline",
                 (unsigned long long)cut);
        axp__pf_string(p, 14, text);
    }
    end_track(p, descriptor);
    return uuid;
}

/* Whether a line before this one has the same process and thread. */
static bool is_repeated(const struct axp__pf *p, uint32_t i)
{
    const struct axp__stream_row *row = axp__stream_row(p->s, i);
    for (uint32_t k = 0; k < i; k++) {
        const struct axp__stream_row *other = axp__stream_row(p->s, k);
        if (!other->track && other->thread_id == row->thread_id &&
            other->process == row->process)
            return true;
    }
    return false;
}

static uint64_t put_row(struct axp__pf *p, uint32_t i, uint64_t parent)
{
    const struct axp__stream_row *row = axp__stream_row(p->s, i);
    if (row->track) return axp__pf_track(p, row->name, parent);
    if (!row->thread_id || is_repeated(p, i))
        return axp__pf_track(p, *row->name ? row->name : "thread", parent);
    return axp__pf_thread_track(
        p, &(struct axp__pf_thread){axp__live_pid(&p->live, i), row->thread_id,
                                    row->name, parent});
}

void axp__pf_rows(struct axp__pf *p)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < axp__stream_n_rows(p->s); i++) {
        struct axp__pf_row *r = &p->rows[i];
        uint32_t process = axp__live_process(&p->live, i);
        if (process == n) p->processes[n++].uuid = put_process(p, i);
        r->uuid = put_row(p, i, p->processes[process].uuid);
        r->track[0] = 0x58; /* TrackEvent.track_uuid */
        r->track_len =
            (uint32_t)(axp__print_varint(r->track + 1, r->uuid) - r->track);
    }
}

struct axp__pf_process *axp__pf_process_of(struct axp__pf *p, uint32_t row)
{
    return &p->processes[axp__live_process(&p->live, row)];
}

/* The track of a lane, described when it is the first time. */
uint64_t axp__pf_lane_track(struct axp__pf *p, struct axp__pf_lanes *l,
                            uint32_t lane, const char *name, uint64_t parent)
{
    while (l->n <= lane) {
        uint64_t *wider = realloc(l->uuids, (l->n + 1) * sizeof *wider);
        if (!wider) {
            p->has_failed = true;
            return parent;
        }
        l->uuids = wider;
        l->uuids[l->n++] = axp__pf_track(p, name, parent);
    }
    return l->uuids[lane];
}

/* ---- annotations -------------------------------------------------------------------------------- */

size_t axp__pf_begin_annotation(struct axp__pf *p, enum axp__pf_annotation name)
{
    size_t begin = axp__pb_begin(p->m, 4);
    axp__pb_u64(p->m, 1, name);
    return begin;
}

static void annotate_double(struct axp__pf *p, enum axp__pf_annotation name,
                            double v)
{
    size_t begin = axp__pf_begin_annotation(p, name);
    axp__pb_double(p->m, 5, v);
    axp__pb_end(p->m, begin);
}

void axp__pf_annotate_u64(struct axp__pf *p, enum axp__pf_annotation name,
                          uint64_t v)
{
    size_t begin = axp__pf_begin_annotation(p, name);
    axp__pb_u64(p->m, 3, v);
    axp__pb_end(p->m, begin);
}

void axp__pf_annotate_text(struct axp__pf *p, enum axp__pf_annotation name,
                           const char *text)
{
    size_t begin = axp__pf_begin_annotation(p, name);
    axp__pf_string(p, 6, text);
    axp__pb_end(p->m, begin);
}

static void annotate_true(struct axp__pf *p, enum axp__pf_annotation name)
{
    size_t begin = axp__pf_begin_annotation(p, name);
    axp__pb_u64(p->m, 2, 1);
    axp__pb_end(p->m, begin);
}

static void annotate_work(struct axp__pf *p, const struct axp__scope_work *w)
{
    const char *dtype = axp__word_dtype((axp_dtype)w->dtype);
    if (w->flops > 0) annotate_double(p, AXP__PF_A_FLOPS, w->flops);
    if (w->bytes > 0) annotate_double(p, AXP__PF_A_BYTES, w->bytes);
    if (dtype) axp__pf_annotate_text(p, AXP__PF_A_DTYPE, dtype);
    if (!w->n_dims) return;
    size_t begin = axp__pf_begin_annotation(p, AXP__PF_A_DIMS);
    for (uint32_t i = 0; i < w->n_dims; i++) {
        size_t value = axp__pb_begin(p->m, 12); /* array_values */
        axp__pb_u64(p->m, 3, w->dims[i]);
        axp__pb_end(p->m, value);
    }
    axp__pb_end(p->m, begin);
}

void axp__pf_annotate_scope(struct axp__pf *p, unsigned flags,
                            const struct axp__scope_work *work)
{
    if (work) annotate_work(p, work);
    if (flags & AXP__R_OPEN) annotate_true(p, AXP__PF_A_OPEN);
    if (flags & AXP__R_CUT) annotate_true(p, AXP__PF_A_CUT);
    if (flags & AXP__R_LOST) annotate_true(p, AXP__PF_A_LOST);
    if (flags & AXP__R_ABANDONED) annotate_true(p, AXP__PF_A_ABANDONED);
}
