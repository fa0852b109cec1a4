/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What emit_perfetto.c (events), emit_perfetto_samples.c, emit_perfetto_path.c and
 * emit_perfetto_pack.c (packets, names, tracks, annotations) share.
 *
 * Place      field numbers are those of the public definitions (trace_packet,
 *            track_event, track_descriptor, interned_data and
 *            debug_annotation .proto).
 * A packet   is made in `m` and leaves it whole.
 */
#ifndef AXP_EMIT_PERFETTO_H
#define AXP_EMIT_PERFETTO_H
#include "emit/emit_async.h"
#include "emit/emit_name_cache.h"
#include "emit/emit_lanes.h"
#include "emit/emit_live.h"
#include "emit/emit_proto.h"

/* TrackEvent.type */
enum {
    AXP__PF_SLICE_BEGIN = 1,
    AXP__PF_SLICE_END = 2,
    AXP__PF_INSTANT = 3,
    AXP__PF_COUNTER = 4
};

/* Categories: axp_cat, then these. */
enum { AXP__PF_CAT_ALLOC = 9, AXP__PF_CAT_FREE, AXP__PF_N_CATS };

enum axp__pf_annotation {
    AXP__PF_NO_ANNOTATION,
#define X(id, name) AXP__PF_A_##id,
#include "emit/emit_perfetto.def"
#undef X
};

/* Tracks of one name and parent, one a lane. */
struct axp__pf_lanes {
    uint64_t *uuids;
    uint32_t n;
    struct axp__pair_lanes pairs;
    struct axp__span_lanes spans;
};

struct axp__pf_row {
    char track[12]; /* the field track_uuid, with its tag */
    uint32_t track_len;
    uint64_t uuid;
    struct axp__pf_lanes lanes; /* of what overlaps */
};

struct axp__pf_process {
    uint64_t uuid, steps_uuid;
    struct axp__pf_lanes asyncs;
    uint32_t *counters; /* uuid by name; 0: none */
};

struct axp__pf {
    const axp_view *v;
    struct axp__out *o;
    struct axp__out *m; /* a packet that is being made */
    struct axp__stream *s;
    struct axp__name_cache
        names; /* the fields name_iid and source_location_iid */
    struct axp__live live;
    struct axp__asyncs asyncs;
    struct axp__pf_row *rows;
    struct axp__pf_process *processes;
    uint64_t *memory_uuids; /* by place */
    uint64_t next_uuid;
    uint64_t n_waits; /* whose ends have arrows */
    axp_ns last_ns;
    bool has_failed;
};

/* ---- packets, tracks, annotations -------------------------------------------- */
void axp__pf_begin_packet(struct axp__pf *p);
/* Interned data, which end_event ends; and a text of it. */
size_t axp__pf_begin_interned(struct axp__pf *p);
void axp__pf_intern(struct axp__pf *p, unsigned field, uint64_t iid,
                    const char *text);
/* A track event up to its track; end_event ends both. */
size_t axp__pf_begin_event(struct axp__pf *p, unsigned type, uint64_t uuid,
                           axp_ns time_ns);
void axp__pf_end_event(struct axp__pf *p, size_t event);
void axp__pf_string(struct axp__pf *p, unsigned field, const char *text);
void axp__pf_category(struct axp__pf *p, unsigned category);
void axp__pf_name(struct axp__pf *p, const struct axp__name_bytes *name);
/* What the rest refers to: names of categories and annotations, the clock. */
void axp__pf_first_packets(struct axp__pf *p);
/* Interns a name; its bytes refer to it. */
void axp__pf_make_name(struct axp__name_cache *n, uint32_t id,
                       struct axp__out *to);
/* Each describes a track and returns its uuid. */
uint64_t axp__pf_track(struct axp__pf *p, const char *name, uint64_t parent);
struct axp__pf_thread {
    uint64_t pid, tid;
    const char *name; /* "": none */
    uint64_t parent;  /* 0: none */
};
uint64_t axp__pf_thread_track(struct axp__pf *p,
                              const struct axp__pf_thread *t);
/* unit 3: bytes; 0: none. */
uint64_t axp__pf_counter_track(struct axp__pf *p, const char *name,
                               uint64_t parent, unsigned unit);
/* Processes, threads and tracks. */
void axp__pf_rows(struct axp__pf *p);
struct axp__pf_process *axp__pf_process_of(struct axp__pf *p, uint32_t row);
/* The track of a lane, described when it is the first time. */
uint64_t axp__pf_lane_track(struct axp__pf *p, struct axp__pf_lanes *l,
                            uint32_t lane, const char *name, uint64_t parent);
void axp__pf_annotate_u64(struct axp__pf *p, enum axp__pf_annotation name,
                          uint64_t v);
void axp__pf_annotate_text(struct axp__pf *p, enum axp__pf_annotation name,
                           const char *text);
/* Its work and marks. */
void axp__pf_annotate_scope(struct axp__pf *p, unsigned flags,
                            const struct axp__scope_work *work);
size_t axp__pf_begin_annotation(struct axp__pf *p,
                                enum axp__pf_annotation name);

/* The critical path, on a track of its own. */
axp_status axp__pf_path(struct axp__pf *p);
/* All samples, and the functions that they are of. */
axp_status axp__pf_samples(struct axp__pf *p);

#endif
