/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The HTML report: the template of viewer/ with the run's data in it.
 *
 *   view ──► meta (JSON) ─────────────────────────────────┐
 *   stream by time ─► series: memory, counters, steps ──┐ ├─► page
 *   stream by row ──► rows ─► events ─► chunks ─► pack ─┴─┤
 *                       └─► flows, args, merged blocks ───┴─► index (JSON)
 *
 *   emit_html.c           the order in which a page is written
 *   emit_html_template.c  the template, embedded
 *   emit_html_strings.c   texts, each once, by number
 *   emit_html_meta.c      what the page shows before it has decoded anything
 *   emit_html_series.c    what goes on over time and is no slice
 *   emit_html_memory.c    memory of the host and of devices, also over time
 *   emit_html_steps.c     steps with their times
 *   emit_html_rows.c      records of a row to events, nested
 *   emit_html_stack.c     a track being filled; merging what is too short
 *   emit_html_lanes.c     spans that overlap, on as many tracks as it takes
 *   emit_html_events.c    events in chunks, which leave when they are done
 *   emit_html_pack.c      columns to byte planes, zlib, base64
 *   emit_html_tables.c    flows, args, merged blocks, who ended waits
 *   emit_html_states.c    when threads had no processor
 *   emit_html_heap.c      what the allocator handed out, by place
 *   emit_html_index.c     what is known at the end
 *
 * docs/html-data.md describes the format; viewer/src/data reads it.
 *
 * Memory     a chunk of 262144 events (7 MB) for each that still has an open
 *            scope in it, usually one or two; spans that overlap (32 bytes
 *            each) until their row ends. Both are bounded by the budget.
 * Failure    remembered in the job: everything goes on into nothing.
 */
#ifndef AXP_EMIT_HTML_H
#define AXP_EMIT_HTML_H
#include "analyze/analyze.h"
#include "emit/emit_json_out.h"
#include "graph/graph_bars.h"
#include "model/model_part.h"
#include "model/model_stream.h"

#define AXP__HTML_FORMAT 1
#define AXP__HTML_CHUNK 262144u /* events in a chunk */
#define AXP__HTML_BUDGET 5000000u
#define AXP__HTML_LINES 4096u /* of a table of a series */
#define AXP__HTML_NONE UINT64_MAX

/* ---- lists that grow ------------------------------------------------------------- */
/* The list, of n records of `size` bytes, with room for one more; NULL: no
 * memory, and the list is as it was. */
void *axp__html_grow(void *list, size_t n, size_t *cap, size_t size);

/* FNV-1a over words of 8 bytes: a hash for the tables here. */
static inline uint64_t axp__html_hash(const void *bytes, size_t len)
{
    const uint8_t *at = bytes;
    uint64_t h = 0xcbf29ce484222325u, word;
    for (; len >= 8; at += 8, len -= 8) {
        memcpy(&word, at, 8);
        h = (h ^ word) * 0x100000001b3u;
        h ^= h >> 29;
    }
    for (; len; at++, len--)
        h = (h ^ *at) * 0x100000001b3u;
    return h ^ h >> 32;
}

/* ---- texts (emit_html_strings.c) ---------------------------------------------------- */
/* Texts that a program chose have class 0; a wait, and what was seen from
 * outside, is another string, though its text may be the same. */
enum axp__html_class {
    AXP__HTML_PLAIN,
    AXP__HTML_WAIT,
    AXP__HTML_OUTSIDE,
    AXP__HTML_DEVICE
};
struct axp__html_text {
    const char *text; /* not owned */
    enum axp__html_class class;
};
struct axp__html_strings {
    struct axp__html_text *texts; /* by number */
    size_t n, cap;
    uint32_t *slots; /* number + 1 */
    size_t n_slots;
    uint32_t *by_name; /* name id of the view → number + 1; sparse */
    size_t n_written;  /* that meta has */
    char **copies;     /* of texts that the view does not keep */
    size_t n_copies, copies_cap, copied_bytes;
    bool has_failed;
};
void axp__html_strings_fini(struct axp__html_strings *s);
/* The number of a text that lives as long as the view. */
uint32_t axp__html_string_as(struct axp__html_strings *s,
                             enum axp__html_class class, const char *text);
static inline uint32_t axp__html_string(struct axp__html_strings *s,
                                        const char *text)
{
    return axp__html_string_as(s, AXP__HTML_PLAIN, text);
}
/* Of one that does not; UINT32_MAX: too much text, or no memory. */
uint32_t axp__html_string_copy(struct axp__html_strings *s, const char *text);
/* Of a name id of the view. */
/* The same for an operation; device NULL: the host. */
uint32_t axp__html_op(struct axp__html_strings *s, bool is_wait,
                      const char *name, const char *device);
uint32_t axp__html_name(struct axp__html_strings *s, const axp_view *v,
                        uint32_t name);
/* Those that have not been written yet, as a JSON list. */
void axp__html_strings_put(struct axp__html_strings *s, struct axp__json *j);

/* ---- columns (emit_html_pack.c) ------------------------------------------------------- */
struct axp__html_packer; /* keeps its buffers and zlib's from chunk to chunk */
struct axp__html_packer *axp__html_packer_create(int level); /* NULL: memory */
void axp__html_packer_destroy(struct axp__html_packer *p);
/* A chunk of n lines begins; then its columns; then it is written as base64.
 * False: no memory. */
bool axp__html_pack_begin(struct axp__html_packer *p, uint32_t n,
                          unsigned n_columns);
void axp__html_pack_u64(struct axp__html_packer *p, const uint64_t *values);
void axp__html_pack_u32(struct axp__html_packer *p, const uint32_t *values);
bool axp__html_pack_end(struct axp__html_packer *p, struct axp__out *o);

/* ---- events (emit_html_events.c) ------------------------------------------------------ */
struct axp__html_track {
    char row; /* t: thread, q: queue, a: asynchronous, x: unknown */
    uint32_t row_index, lane;
    bool is_marks;
    const char *name; /* NULL: the row's */
    uint64_t first, n;
};

/* A block that stands for events too short to be shown. */
struct axp__html_block {
    uint64_t event, count, sum_ns;
};

struct axp__html_events {
    struct axp__out *o; /* NULL: events are only counted */
    struct axp__html_packer *packer;
    struct axp__html_part **parts; /* from first_part on */
    size_t n_parts, first_part, parts_cap;
    struct axp__html_part *spare;
    uint64_t n;         /* events, truncated ones not */
    uint32_t n_chunks;  /* scripts written, tables too */
    uint64_t run_first; /* of the events that start at run_ns */
    axp_ns run_ns;
    int32_t run_less; /* what the next event of the run has less */
    axp_ns t0;
    struct axp__html_track *tracks;
    size_t n_tracks, tracks_cap;
    struct axp__html_block *blocks;
    size_t n_blocks, blocks_cap;
    bool has_failed;
};
void axp__html_events_init(struct axp__html_events *e, struct axp__out *o,
                           struct axp__html_packer *packer, axp_ns t0);
void axp__html_events_fini(struct axp__html_events *e);
/* Events that follow are of this track; it ends the one before. */
void axp__html_track_begin(struct axp__html_events *e,
                           const struct axp__html_track *track);
void axp__html_track_end(struct axp__html_events *e);
/* Opens an event, no earlier than the one before; gives its number. */
uint64_t axp__html_open(struct axp__html_events *e, axp_ns start,
                        uint32_t name);
void axp__html_close(struct axp__html_events *e, uint64_t event, axp_ns end,
                     uint32_t args);
/* Forgets the open event and all after it, which are closed. */
void axp__html_forget(struct axp__html_events *e, uint64_t event);
/* Makes a closed event longer; false: it has left already. */
bool axp__html_extend(struct axp__html_events *e, uint64_t event, axp_ns end);
/* Writes what is left. */
void axp__html_events_flush(struct axp__html_events *e);
/* A table after the chunks: its script. */
void axp__html_script_begin(struct axp__html_events *e);
void axp__html_script_end(struct axp__html_events *e);

/* ---- what events say of themselves, arrows (emit_html_tables.c) ------------------------ */
struct axp__html_flow {
    uint64_t id, event;
    axp_ns time_ns;
    bool is_in;
};
/* Who ended a wait: the thread, and how long before the wait's end. */
struct axp__html_waker {
    uint64_t event;
    axp_ns before_ns;
    uint32_t thread; /* of meta's */
};
struct axp__html_tables {
    struct axp__html_args *args;
    struct axp__html_waker *wakers; /* by event */
    size_t n_wakers, wakers_cap;
    struct axp__html_flow *flows;
    size_t n_flows, flows_cap;
    uint64_t n_moved; /* flows that changed their event */
    bool has_failed;
};
void axp__html_tables_fini(struct axp__html_tables *t);
/* Args ids; 0: none, or too many different ones. */
uint32_t axp__html_work(struct axp__html_tables *t,
                        const struct axp__scope_work *work);
uint32_t axp__html_text(struct axp__html_tables *t, uint32_t string);
void axp__html_flow(struct axp__html_tables *t, struct axp__html_flow flow);
/* Flows of events after this one are this one's: they were merged. */
void axp__html_flows_move(struct axp__html_tables *t, uint64_t event);
void axp__html_waker(struct axp__html_tables *t, struct axp__html_waker waker);
/* Of this event and all after it: they were merged. */
void axp__html_wakers_forget(struct axp__html_tables *t, uint64_t event);
void axp__html_args_put(const struct axp__html_tables *t, struct axp__json *j);

/* ---- series (emit_html_series.c) ------------------------------------------------------- */
struct axp__html_step {
    uint64_t index;
    axp_ns begin, end;
    uint64_t live_bytes;
};
struct axp__html_series; /* memory and counters */
/* A byte for each name id, wide enough for this one; NULL: no memory. */
uint8_t *axp__html_byte_for(uint8_t **map, size_t *n, uint32_t name);
/* Live bytes by name, of each domain (emit_html_memory.c). */
struct axp__html_memory;
struct axp__html_memory *axp__html_memory_create(const axp_view *v); /* NULL */
void axp__html_memory_destroy(struct axp__html_memory *m);
/* An allocation or a free, on a device of that number; part: of the run. False:
 * no memory, here and below. */
bool axp__html_memory_change(struct axp__html_memory *m,
                             const struct axp__record *r, uint32_t device,
                             uint64_t part);
bool axp__html_memory_end(struct axp__html_memory *m);
struct axp__html_around {
    struct axp__html_series *series;
    struct axp__html_step *steps; /* by begin */
    size_t n_steps, steps_cap;
    uint64_t step_mask; /* numbers with one of these bits are passed over */
};
/* False: no memory. */
bool axp__html_step_take(struct axp__html_around *a,
                         const struct axp__record *r);
/* Adds what the recorder kept; in order then, each once. */
bool axp__html_steps_join(struct axp__html_around *a, const axp_view *v);
/* Reads the timeline by time, where there is anything to be read. */
axp_status axp__html_around_read(const axp_view *v, axp_ns t0,
                                 struct axp__html_around *a);
void axp__html_around_fini(struct axp__html_around *a);
/* Their tables. */
struct axp__html_job;
void axp__html_series_write(struct axp__html_job *job);

/* ---- the job ------------------------------------------------------------------------------ */
struct axp__html_job {
    const axp_view *v;
    struct axp__part timeline; /* what of it is shown */
    const axp_findings *f;
    const axp_report_options *options;
    struct axp__out *o;
    struct axp__json json; /* to it */
    axp_ns t0;             /* earliest time there is */
    axp_ns keep_ns;        /* shorter ones are merged; 0: none */
    uint64_t budget;       /* events that the page may have */
    uint64_t n_merged;     /* events that blocks stand for */
    uint64_t n_left_out;   /* marks past the budget */
    uint64_t n_slices;     /* counted: all that there are */
    uint64_t *lengths;     /* counted: by class of length, or NULL */
    struct axp__html_strings strings;
    struct axp__html_events events;
    struct axp__html_tables tables;
    struct axp__html_around around;
    struct axp__bars path;         /* has texts that strings refer to */
    struct axp__html_table *index; /* tables written */
    size_t n_index, index_cap;
    axp_status status;
};

/* What the index says of a table. */
struct axp__html_table {
    uint32_t chunk, n_columns, n;
    const char *kind;
    const uint32_t *names; /* of memory: strings, UINT32_MAX: the others */
    size_t n_names;
    uint32_t name;   /* of a counter */
    uint32_t device; /* of memory: 0: the host, else 1 + an index */
    bool is_exact;
    axp_ns least_ns; /* of states: shorter ones are left out; 0: none */
};

/* Lengths in classes of an eighth of an octave; those under 8 exactly. */
#define AXP__HTML_LENGTHS 496u

static inline unsigned axp__html_length_class(axp_ns length)
{
    if (length < 8) return (unsigned)length;
    unsigned top = 63 - (unsigned)__builtin_clzll(length);
    return (top - 2) * 8 + (unsigned)(length >> (top - 3) & 7);
}

/* The shortest length of a class. */
static inline axp_ns axp__html_length_least(unsigned class)
{
    if (class < 8) return class;
    return (axp_ns)(8 + class % 8) << (class / 8 - 1);
}

/* The shortest length to keep so that no more than `most` are. */
axp_ns axp__html_length_for(const uint64_t *lengths, uint64_t most);

axp_status axp__html_fail(struct axp__html_job *job, axp_status status);
/* The chunk that was packed last, and its line in the index. */
void axp__html_write_table(struct axp__html_job *job,
                           const struct axp__html_table *table);
/* A time in meta, relative to the first one. */
void axp__html_put_time(struct axp__html_job *job, const char *name, axp_ns t);
/* All rows of the view into job->events; also where they are only counted. */
axp_status axp__html_rows(struct axp__html_job *job);
void axp__html_meta_put(struct axp__html_job *job);
void axp__html_machine_put(struct axp__html_job *job);
void axp__html_shapes_put(struct axp__html_job *job);
void axp__html_index_put(struct axp__html_job *job);
void axp__html_flows_write(struct axp__html_job *job);
void axp__html_wakers_write(struct axp__html_job *job);
void axp__html_blocks_write(struct axp__html_job *job);
void axp__html_memory_put(struct axp__html_job *job);
void axp__html_memory_write(struct axp__html_job *job,
                            struct axp__html_memory *m);
void axp__html_states_write(struct axp__html_job *job);
void axp__html_path_put(struct axp__html_job *job);
void axp__html_path_write(struct axp__html_job *job);
void axp__html_heap_put(struct axp__html_job *job);
void axp__html_heap_write(struct axp__html_job *job);

/* ---- a track being filled (emit_html_stack.c) ------------------------------------------------- */
struct axp__html_span {
    axp_ns begin, end;
    uint32_t name, args;
    uint64_t flow; /* of the arrow that ends in it; 0: none */
};
struct axp__html_frame {
    uint64_t event;
    axp_ns begin, end; /* end: of spans, which are known whole */
    uint64_t block;    /* last child that is a block; NONE: the last is not */
    uint32_t args;
};
struct axp__html_stack { /* frames[0] is the track itself */
    struct axp__html_frame *frames;
    size_t n, cap;
};
/* False: no memory. */
bool axp__html_stack_begin(struct axp__html_stack *s);
bool axp__html_push(struct axp__html_job *job, struct axp__html_stack *s,
                    const struct axp__html_span *span);
void axp__html_pop(struct axp__html_job *job, struct axp__html_stack *s,
                   axp_ns end, uint32_t args);
/* A span that is known whole; 0: it overlaps what is there, -1: no memory. */
int axp__html_place(struct axp__html_job *job, struct axp__html_stack *s,
                    const struct axp__html_span *span);
/* Ends all that is open: spans where they end. */
void axp__html_pop_all(struct axp__html_job *job, struct axp__html_stack *s);

/* ---- spans that overlap (emit_html_lanes.c) ---------------------------------------------------- */
#define AXP__HTML_LANES 64u /* what overlaps deeper is counted as left out */
struct axp__html_spans {
    struct axp__html_span *all;
    size_t n, cap;
};
bool axp__html_span_add(struct axp__html_spans *s,
                        const struct axp__html_span *span);
/* Lays them out on tracks like `track`, lanes counting up from its lane;
 * empties the list. False: no memory. */
bool axp__html_lanes(struct axp__html_job *job, struct axp__html_stack *stack,
                     struct axp__html_spans *s, struct axp__html_track track);

extern const char axp__html_template[];
extern const size_t axp__html_template_size;

#endif
