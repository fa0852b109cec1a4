/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The timeline of a view as a stream of records: the one way to read it.
 *
 *   chunks of a row ─► words ─► records ─► scopes matched ─┐
 *   chunks of a row ─► …                                   ├─► merged ─► next
 *   chunks of a track ─► sorted by the times given ────────┘
 *
 * Place      axp_view_events, the exports and the HTML page read from here.
 * Orders     by time, all rows merged; or row by row, each by time. Within a
 *            row times never go back, whatever the words say.
 * Memory     one chunk a row that is being read, the scopes open in it, and
 *            of a track what was recorded out of order. Nothing grows with
 *            the number of events.
 * Input      untrusted: chunks may be missing, damaged, or hold anything.
 * Threads    a stream is one thread's; any number may read one view.
 *
 * A scope is a BEGIN and an END. Unless AXP__STREAM_RAW was asked for, these
 * hold for every row, so that whoever writes them out need not check:
 *
 *   - each BEGIN has its END later on, and each END, but for NO_BEGIN ones,
 *     had its BEGIN;
 *   - those without OVERLAPS nest;
 *   - a scope that began before the timeline's window has a BEGIN, marked
 *     CUT, before everything else of its row;
 *   - a scope that is open has an END, marked OPEN, at the last time there is
 *     of its process;
 *   - a scope whose end was lost (a damaged chunk) ends, marked LOST, with the
 *     one around it.
 *
 * Named scopes may overlap. Whether one does shows only when it stops, and
 * then it is too late for a writer that has passed its beginning on: so the
 * words are read twice, and a name that overlapped anywhere is marked
 * OVERLAPS everywhere. So are scopes that another thread ended: their END
 * here says ELSEWHERE and has no event of its own, and a CROSS record in the
 * other thread's row has both times.
 */
#ifndef AXP_MODEL_STREAM_H
#define AXP_MODEL_STREAM_H
#include "axprof/axprof_adapter.h"
#include "model/model_view.h"

enum axp__stream_option {
    AXP__STREAM_BY_ROW = 1, /* else by time */
    /* Events as they were recorded, scopes not matched: no begin_ns, work or
     * category of an END, none of the marks, nothing made up. */
    AXP__STREAM_RAW = 2,
    AXP__STREAM_SAMPLES = 4, /* and what was seen from outside; not with RAW */
    /* For who does not write scopes out: words are read once where that will do, all
     * named scopes are marked OVERLAPS, and an END need not have its work. */
    AXP__STREAM_ONCE = 8,
    /* Scopes that are no waits may come before earlier records of other rows,
     * where their row has nothing else in between: going from row to row for each
     * costs more than reading it. */
    AXP__STREAM_AHEAD = 16
};

enum axp__record_kind {
    AXP__R_BEGIN, /* category; begin_ns: before time_ns if cut and known */
    AXP__R_END,   /* begin_ns, category, work */
    AXP__R_ASYNC_BEGIN, /* id */
    AXP__R_ASYNC_END,   /* id, begin_ns */
    AXP__R_CROSS,       /* a scope begun on from_row, ended here; begin_ns */
    AXP__R_INSTANT,
    AXP__R_EVENT,   /* argument: axp_event_type; metadata */
    AXP__R_COUNTER, /* value */
    AXP__R_ALLOC,   /* id: address; bytes; argument: axp_mem; stack */
    AXP__R_FREE,    /* id: address; bytes */
    AXP__R_STEP, /* ends here; begin_ns. id: its number; bytes: live; no name */
    AXP__R_FLOW_OUT, /* id; no name; not an event */
    AXP__R_FLOW_IN,
    AXP__R_SPAN,     /* of a track, when it begins: end_ns, category, work;
                        id: its flow, bytes: 1 + its step; 0: none */
    AXP__R_SPAN_END, /* the same when it ends: begin_ns */
    AXP__R_SAMPLE,   /* begin_ns: when; stack; id: weight; argument: kind; no
                        name; not an event */
    AXP__R_SYNC,     /* axp__record_verb, _sync; id: object, bytes: number;
                        begin_ns of a wait; end_ns, from_row: when and by whom
                        it was given; not an event */
};

enum axp__record_flag {
    AXP__R_NAMED = 1,      /* by name: start and stop */
    AXP__R_OVERLAPS = 2,   /* does not nest */
    AXP__R_ABANDONED = 4,  /* unwound without an end */
    AXP__R_CUT = 8,        /* began before the window */
    AXP__R_OPEN = 16,      /* has not ended */
    AXP__R_LOST = 32,      /* its end is missing */
    AXP__R_ELSEWHERE = 64, /* ended by another thread: see CROSS */
    AXP__R_NO_BEGIN = 128  /* an END of nothing that is known */
};

/* Declared work; all zero but what was declared. */
struct axp__scope_work {
    double flops, bytes;
    uint32_t dtype, n_dims, dims[6];
};

/* What each kind leaves out above is undefined in it. */
struct axp__record {
    uint8_t kind; /* enum axp__record_kind */
    uint8_t flags;
    uint16_t category; /* axp_cat, inherited where not its own */
    uint32_t name;     /* axp__view_name, or capture->name_at for the place */
    uint32_t row;      /* of the stream */
    uint32_t argument;
    axp_ns time_ns;
    axp_ns begin_ns;
    uint64_t thread_id; /* of who recorded it */
    axp_ns end_ns;
    uint64_t id, bytes;
    double value;
    const char *metadata;               /* NULL: none */
    const struct axp__scope_work *work; /* NULL: none */
    uint32_t stack;                     /* its id; 0: none */
    uint32_t from_row; /* of the capture: axp__stream_find_row */
};

/* A thread, or a track with all threads that feed it. */
struct axp__stream_row {
    const struct axp__cap_row *cap; /* NULL: known by its words alone */
    const char *name;               /* "": none */
    const char *title;              /* of its process … */
    axp_ns end_ns;                  /* … which ended then */
    uint64_t process_id, thread_id;
    uint32_t process; /* its number among those that were joined, from 0 */
    int32_t rank;     /* -1: none */
    uint32_t track;   /* 0: a thread */
    bool is_outside;  /* axprof run's own */
    uint32_t device;  /* of a track; 0: the host */
};

/* An open scope. */
struct axp__scope {
    axp_ns begin_ns;
    uint32_t name;
    uint16_t category;
    uint8_t flags; /* NAMED, OVERLAPS, CUT */
    uint8_t has_work;
    uint32_t below, older; /* model_scopes.h: 1 + a place, or 0 */
};
#define AXP__SCOPE_GONE UINT32_MAX /* as its name: a gap */

struct axp__stream;
/* options: enum axp__stream_option. On failure *out is untouched. */
axp_status axp__stream_open(const axp_view *v, unsigned options,
                            struct axp__stream **out);
void axp__stream_close(struct axp__stream *s); /* NULL allowed */
/* The next record, until the call after; NULL at the end. */
const struct axp__record *axp__stream_next(struct axp__stream *s);
/* Scopes that begin and end after the last record, in its row, and before anything
 * else there: as many as fit, and the stream goes on after them. None of category
 * sync, none that more is said of than its name, and no name that has no bit in
 * `names`, which has one for each that may be. With AXP__STREAM_AHEAD alone. */
struct axp__brief {
    axp_ns time_ns;
    uint32_t name;
    uint16_t category;
    bool is_end;
};
size_t axp__stream_run(struct axp__stream *s, const uint64_t *names,
                       struct axp__brief *out, size_t cap);
/* AXP_E_NO_MEMORY where that was why it ended. */
axp_status axp__stream_status(const struct axp__stream *s);

/* Rows in the order in which they appeared. */
size_t axp__stream_n_rows(const struct axp__stream *s);
const struct axp__stream_row *axp__stream_row(const struct axp__stream *s,
                                              uint32_t row);
/* Whether there are several processes. */
bool axp__stream_is_joined(const struct axp__stream *s);
/* By the id that the capture gives it; UINT32_MAX: it has no events. */
uint32_t axp__stream_find_row(const struct axp__stream *s, uint32_t row_id);
/* The scopes open in the row of the last record, once that is done, outermost
 * first; until the next call of next. A track has none. */
const struct axp__scope *axp__stream_scopes(const struct axp__stream *s,
                                            size_t *n);
/* How many these are, without the gaps (AXP__SCOPE_GONE) among them. */
size_t axp__stream_depth(const struct axp__stream *s);
/* Where samples were asked for, all of them; those that are not placed are in
 * no row. */
struct axp__samples;
const struct axp__samples *axp__stream_samples(const struct axp__stream *s);
/* The last time there is. */
axp_ns axp__stream_end_ns(const struct axp__stream *s);

/* Of a record that is an event. */
axp_event_type axp__record_type(const struct axp__record *r);

/* Of a SYNC. */
static inline axp_sync_verb axp__record_verb(const struct axp__record *r)
{
    return (axp_sync_verb)(r->argument & 255);
}

static inline axp_sync_kind axp__record_sync(const struct axp__record *r)
{
    return (axp_sync_kind)(r->argument >> 8);
}

/* Whether its thread waits for a pool's next region from there on. */
static inline bool axp__record_is_back(const struct axp__record *r)
{
    return axp__record_sync(r) == AXP_SYNC_BACK &&
           axp__record_verb(r) == AXP_SYNC_GAVE;
}

/* Whether it was recorded as an event. */
static inline bool axp__record_is_event(const struct axp__record *r)
{
    return r->kind != AXP__R_FLOW_OUT && r->kind != AXP__R_FLOW_IN &&
           r->kind != AXP__R_SAMPLE && r->kind != AXP__R_SYNC &&
           !(r->flags & (AXP__R_OPEN | AXP__R_LOST | AXP__R_ELSEWHERE)) &&
           !(r->flags & AXP__R_CUT &&
             (r->kind == AXP__R_BEGIN || r->kind == AXP__R_SPAN));
}

/* Whether axp_view_event_count counts it: axprof's own row, with the lives of
 * processes and what the system counts, is not the program's. */
static inline bool axp__stream_is_programs(const struct axp__stream *s,
                                           const struct axp__record *r)
{
    return axp__record_is_event(r) && !axp__stream_row(s, r->row)->is_outside;
}

#endif
