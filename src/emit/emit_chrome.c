/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Trace Event JSON, in the dialect of PyTorch's profiler (Kineto), so that
 * tools for its traces read these too.
 *
 * A scope is written when it ends, as one complete event ("X"). Readers sort
 * those by begin, the longer first; only where a scope and the one around it
 * have both times in common does the order in the file decide, so there the
 * outer one is put before the inner one in the buffer.
 *
 *   scopes                 X, cat cpu_op; args: category, flops, bytes, …
 *   overlapping, async     b and e, cat async, an id a pair
 *   spans of tracks        X, cat kernel, on a line a track and lane
 *   steps                  X, ProfilerStep#N, on a line of their own
 *   allocations            i, [memory], with what is live after it
 *   counters, arrows       C; s and f
 *
 * Times are microseconds with three decimals: nanoseconds, exactly. They count
 * from baseTimeNanoseconds, which is real time, so that files of several
 * recordings can be put on one axis.
 */
#include "emit/emit_chrome.h"

#include <math.h>
#include <stdlib.h>

#include "emit/emit_export.h"
#include "emit/emit_json_out.h"
#include "emit/emit_record.h"
#include "emit/emit_words.h"
#include "record/record_thread.h"

/* ---- pieces ---------------------------------------------------------------------------- */

static void make_name(struct axp__name_cache *n, uint32_t id,
                      struct axp__out *to)
{
    const char *text = axp__view_name(n->v, id);
    axp__out_text(to, "\"name\":");
    axp__out_json_n(to, text, axp__len_to(text, AXP__MOST_NAME));
    axp__out_char(to, ',');
}

/* Room for an event of that name but for its args. */
static inline char *begin_event(struct axp__chrome *c,
                                const struct axp__name_bytes *name)
{
    return axp__out_room(c->o, name->len + 512);
}

static inline void end_event(struct axp__chrome *c, const char *at)
{
    c->o->len = (size_t)(at - c->o->buffer);
}

static inline char *put_place(char *at, const struct axp__chrome_place *p)
{
    memcpy(at, p->text, AXP__CHROME_PLACE);
    return at + p->len;
}

/* Up to and with its time, at the end of which the rest is added. */
static char *begin_at(struct axp__chrome *c, const char *head, uint32_t name,
                      const struct axp__chrome_place *place, axp_ns time_ns)
{
    const struct axp__name_bytes *b = axp__name_cache_get(&c->names, name);
    char *at = begin_event(c, b);
    at = axp__put_bytes(at, head, strlen(head));
    at = axp__put_bytes(at, b->at, b->len);
    at = put_place(at, place);
    return axp__put_us(at, time_ns);
}

/* ---- args ---------------------------------------------------------------------------------- */

/* Of an event that is written but for its args, which come when there is
 * one. */
struct args {
    struct axp__json j;
    bool has_any;
};

static struct args args_of(struct axp__chrome *c)
{
    return (struct args){{.o = c->o, .has_member = true}, false};
}

static struct axp__json *open_args(struct args *a)
{
    if (!a->has_any) axp__json_key(&a->j, "args");
    if (!a->has_any) axp__json_begin(&a->j, '{');
    a->has_any = true;
    return &a->j;
}

static void end_args(struct args *a)
{
    axp__out_text(a->j.o, a->has_any ? "}},\n" : "},\n");
}

static void put_double(struct args *a, const char *key, double value)
{
    axp__json_key(open_args(a), key);
    if (isfinite(value))
        axp__out_f64(a->j.o, value);
    else
        axp__out_text(a->j.o, isnan(value) ? "\"NaN\""
                              : value > 0  ? "\"Infinity\""
                                           : "\"-Infinity\"");
}

static void put_work(struct args *a, const struct axp__scope_work *w)
{
    const char *dtype = axp__word_dtype((axp_dtype)w->dtype);
    if (w->flops > 0) put_double(a, "flops", w->flops);
    if (w->bytes > 0) put_double(a, "bytes", w->bytes);
    if (dtype) axp__json_text(open_args(a), "dtype", dtype);
    if (!w->n_dims) return;
    axp__json_key(open_args(a), "dims");
    axp__json_begin(&a->j, '[');
    for (uint32_t i = 0; i < w->n_dims; i++) {
        axp__json_next(&a->j);
        axp__out_u64(a->j.o, w->dims[i]);
    }
    axp__json_end(&a->j, ']');
}

static void put_marks(struct args *a, unsigned flags)
{
    static const struct {
        unsigned flag;
        const char *key;
    } marks[] = {{AXP__R_OPEN, "open"},
                 {AXP__R_CUT, "cut"},
                 {AXP__R_LOST, "lost"},
                 {AXP__R_ABANDONED, "abandoned"}};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (flags & marks[i].flag)
            axp__json_bool(open_args(a), marks[i].key, true);
}

static void put_args(struct axp__chrome *c, unsigned category, unsigned flags,
                     const struct axp__scope_work *work)
{
    struct args a = args_of(c);
    const char *word = axp__word_cat((axp_cat)category);
    if (word) axp__json_text(open_args(&a), "category", word);
    if (work) put_work(&a, work);
    put_marks(&a, flags);
    end_args(&a);
}

/* ---- scopes ----------------------------------------------------------------------------------- */

#define MARKS (AXP__R_OPEN | AXP__R_CUT | AXP__R_LOST | AXP__R_ABANDONED)

/* Moves what was written from `start` on to before the scopes inside it that
 * have the same times. */
static void put_before(struct axp__out *o, uint64_t start, uint64_t before)
{
    char text[1024];
    if (before < o->n_bytes) return; /* they have left the buffer */
    size_t to = (size_t)(before - o->n_bytes);
    size_t from = (size_t)(start - o->n_bytes), len = o->len - from;
    if (len > sizeof text) return;
    memcpy(text, o->buffer + from, len);
    memmove(o->buffer + to + len, o->buffer + to, from - to);
    memcpy(o->buffer + to, text, len);
}

static void settle_tie(struct axp__chrome *c, const struct axp__record *r,
                       uint64_t start)
{
    struct tie *tie = &c->rows[r->row].tie;
    size_t depth = axp__stream_depth(c->s);
    bool is_tie = tie->at != UINT64_MAX && tie->begin_ns == r->begin_ns &&
                  tie->end_ns == r->time_ns && depth <= tie->depth;
    if (is_tie && depth < tie->depth && start >= c->o->n_bytes)
        put_before(c->o, start, tie->at);
    if (!is_tie) tie->at = start;
    tie->begin_ns = r->begin_ns;
    tie->end_ns = r->time_ns;
    tie->depth = depth;
}

static inline void put_scope(struct axp__chrome *c, const struct axp__record *r)
{
    const struct axp__name_bytes *b = axp__name_cache_get(&c->names, r->name);
    char *at = begin_event(c, b);
    uint64_t start = c->o->n_bytes + c->o->len;
    at = AXP__PUT_TEXT(at, "{\"ph\":\"X\",\"cat\":\"cpu_op\",");
    at = axp__put_bytes(at, b->at, b->len);
    at = put_place(at, &c->rows[r->row].place);
    at = axp__put_us(at, r->begin_ns);
    at = AXP__PUT_TEXT(at, ",\"dur\":");
    at = axp__put_us(at, r->time_ns - r->begin_ns);
    if (axp__likely(!r->work && !r->category && !(r->flags & MARKS))) {
        end_event(c, AXP__PUT_TEXT(at, "},\n"));
    } else {
        end_event(c, at);
        put_args(c, r->category, r->flags, r->work);
    }
    settle_tie(c, r, start);
}

/* A pair that nests in nothing: b and e with an id of their own. */
static void put_pair(struct axp__chrome *c, const struct axp__async *a,
                     axp_ns end_ns, const struct axp__record *r, unsigned flags)
{
    static const char *const heads[] = {"{\"ph\":\"b\",\"cat\":\"async\",",
                                        "{\"ph\":\"e\",\"cat\":\"async\","};
    uint64_t id = ++c->next_id;
    for (int i = 0; i < 2; i++) {
        end_event(c, begin_at(c, heads[i], a->name, &c->rows[a->row].place,
                              i ? end_ns : a->begin_ns));
        axp__out_format(c->o, ",\"id\":\"0x%llx\"", (unsigned long long)id);
        if (i)
            axp__out_text(c->o, "},\n");
        else
            put_args(c, r ? r->category : 0, flags, r ? r->work : NULL);
    }
}

static void put_end(struct axp__chrome *c, const struct axp__record *r)
{
    if (axp__likely(!(r->flags & (AXP__R_OVERLAPS | AXP__R_NO_BEGIN)))) {
        put_scope(c, r);
        return;
    }
    if (r->flags & (AXP__R_NO_BEGIN | AXP__R_ELSEWHERE)) return;
    struct axp__async a = {
        .begin_ns = r->begin_ns, .name = r->name, .row = r->row};
    put_pair(c, &a, r->time_ns, r, r->flags);
}

static void put_async(struct axp__chrome *c, const struct axp__record *r)
{
    uint32_t process = axp__live_process(&c->live, r->row);
    struct axp__async a = {
        .begin_ns = r->begin_ns, .name = r->name, .row = r->row};
    if (r->kind == AXP__R_ASYNC_BEGIN) {
        if (axp__asyncs_begin(&c->asyncs, r, process, &a))
            put_pair(c, &a, r->time_ns, NULL, AXP__R_LOST);
        return;
    }
    a.row = axp__asyncs_end(&c->asyncs, r, process);
    put_pair(c, &a, r->time_ns, NULL, 0);
}

static void put_cross(struct axp__chrome *c, const struct axp__record *r)
{
    uint32_t from = axp__stream_find_row(c->s, r->from_row);
    struct axp__async a = {.begin_ns = r->begin_ns,
                           .name = r->name,
                           .row = from == UINT32_MAX ? r->row : from};
    put_pair(c, &a, r->time_ns, NULL, 0);
}

/* ---- the rest ------------------------------------------------------------------------------------ */

/* One end of an arrow. Ids are a process's own. */
static void put_arrow(struct axp__chrome *c, const char *kind,
                      const struct axp__record *r,
                      const struct axp__chrome_place *place, bool is_out)
{
    axp__out_text(c->o,
                  is_out ? "{\"ph\":\"s\"," : "{\"ph\":\"f\",\"bp\":\"e\",");
    axp__out_format(
        c->o, "\"cat\":\"%s\",\"name\":\"%s\",\"id\":\"%u:0x%llx\",", kind,
        kind, axp__live_process(&c->live, r->row), (unsigned long long)r->id);
    axp__out_bytes(c->o, place->text, place->len);
    axp__out_us(c->o, is_out ? r->begin_ns : r->time_ns);
    axp__out_text(c->o, "},\n");
}

static void put_flow(struct axp__chrome *c, const struct axp__record *r)
{
    struct axp__record point = *r;
    point.begin_ns = r->time_ns;
    put_arrow(c, "flow", &point, &c->rows[r->row].place,
              r->kind == AXP__R_FLOW_OUT);
}

/* From who ended a wait to who waited. */
static void put_waited(struct axp__chrome *c, const struct axp__record *r)
{
    uint32_t from = axp__stream_find_row(c->s, r->from_row);
    struct axp__record arrow = *r;
    if (axp__record_verb(r) != AXP_SYNC_WAITED || from == UINT32_MAX) return;
    arrow.id = ++c->n_waits;
    arrow.begin_ns = r->end_ns;
    put_arrow(c, "ended by", &arrow, &c->rows[from].place, true);
    put_arrow(c, "ended by", &arrow, &c->rows[r->row].place, false);
}

/* What a span says of itself beside its work. */
static void put_span_args(struct axp__chrome *c, struct args *a,
                          const struct axp__record *r)
{
    const struct axp__stream_row *row = axp__stream_row(c->s, r->row);
    const char *word = axp__word_cat((axp_cat)r->category);
    struct axp__json *j = open_args(a);
    axp__json_u64(j, "stream", row->track);
    if (row->device)
        axp__json_text(j, "device",
                       axp__cap_device(c->v->capture, row->device));
    if (word) axp__json_text(j, "category", word);
    if (r->id) axp__json_u64(j, "correlation", r->id);
    if (r->bytes) axp__json_u64(j, "step", r->bytes - 1);
}

static void put_span(struct axp__chrome *c, const struct axp__record *r)
{
    uint32_t lane =
        axp__span_lanes_add(&c->rows[r->row].spans, r->begin_ns, r->end_ns);
    const struct axp__chrome_place *place =
        axp__chrome_lane_place(c, r->row, lane);
    char *at = begin_at(c, "{\"ph\":\"X\",\"cat\":\"kernel\",", r->name, place,
                        r->begin_ns);
    at = AXP__PUT_TEXT(at, ",\"dur\":");
    end_event(c, axp__put_us(at, r->end_ns - r->begin_ns));
    struct args a = args_of(c);
    put_span_args(c, &a, r);
    if (r->work) put_work(&a, r->work);
    end_args(&a);
    if (r->id) put_arrow(c, "flow", r, place, false);
    if (r->end_ns > c->last_ns) c->last_ns = r->end_ns;
}

static void put_step(struct axp__chrome *c, const struct axp__record *r)
{
    const struct axp__chrome_place *place = axp__chrome_step_place(c, r->row);
    axp__out_format(c->o,
                    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":"
                    "\"ProfilerStep#%llu\",",
                    (unsigned long long)r->id);
    axp__out_bytes(c->o, place->text, place->len);
    axp__out_us(c->o, r->begin_ns);
    axp__out_text(c->o, ",\"dur\":");
    axp__out_us(c->o, r->time_ns - r->begin_ns);
    struct args a = args_of(c);
    axp__json_u64(open_args(&a), "live_bytes", r->bytes);
    end_args(&a);
}

static void put_mark(struct axp__chrome *c, const struct axp__record *r)
{
    end_event(c, begin_at(c,
                          "{\"ph\":\"i\",\"s\":\"t\",\"cat\":"
                          "\"cpu_instant_event\",",
                          r->name, &c->rows[r->row].place, r->time_ns));
    struct args a = args_of(c);
    if (r->kind == AXP__R_EVENT) {
        axp__json_text(open_args(&a), "type", axp__word_event(r->argument));
        if (r->metadata) axp__json_text(open_args(&a), "metadata", r->metadata);
    }
    end_args(&a);
}

static void put_counter(struct axp__chrome *c, const struct axp__record *r)
{
    end_event(c, begin_at(c, "{\"ph\":\"C\",", r->name, &c->rows[r->row].place,
                          r->time_ns));
    struct args a = args_of(c);
    put_double(&a, "value", r->value);
    end_args(&a);
}

static void put_memory(struct axp__chrome *c, const struct axp__record *r)
{
    const struct axp__live_place *live = axp__live_add(&c->live, r);
    const struct axp__chrome_place *place = &c->rows[r->row].place;
    const struct axp__name_bytes *name =
        axp__name_cache_get(&c->names, r->name);
    const char *kind =
        r->kind == AXP__R_ALLOC ? axp__word_mem((axp_mem)r->argument) : NULL;
    axp__out_text(c->o, "{\"ph\":\"i\",\"s\":\"t\",\"cat\":"
                        "\"cpu_instant_event\",\"name\":\"[memory]\",");
    axp__out_bytes(c->o, place->text, place->len);
    axp__out_us(c->o, r->time_ns);
    struct args a = args_of(c);
    struct axp__json *j = open_args(&a);
    axp__out_bytes(c->o, name->at, name->len); /* with its comma */
    axp__json_u64(j, "Addr", r->id);
    axp__json_key(j, "Bytes");
    if (r->kind == AXP__R_FREE && r->bytes) axp__out_char(c->o, '-');
    axp__out_u64(c->o, r->bytes);
    axp__json_u64(j, "Device Type", live->track ? 1 : 0);
    axp__json_i64(j, "Device Id",
                  live->device  ? (int64_t)live->device
                  : live->track ? (int64_t)live->track
                                : -1);
    axp__json_u64(j, "Total Allocated", live->bytes);
    if (kind) axp__json_text(j, "kind", kind);
    end_args(&a);
}

static void put_record(struct axp__chrome *c, const struct axp__record *r)
{
    switch ((enum axp__record_kind)r->kind) {
    case AXP__R_BEGIN:
    case AXP__R_END:
    case AXP__R_SAMPLE: /* not asked for */
    case AXP__R_SPAN_END: break;
    case AXP__R_ASYNC_BEGIN:
    case AXP__R_ASYNC_END: put_async(c, r); break;
    case AXP__R_CROSS: put_cross(c, r); break;
    case AXP__R_INSTANT:
    case AXP__R_EVENT: put_mark(c, r); break;
    case AXP__R_COUNTER: put_counter(c, r); break;
    case AXP__R_ALLOC:
    case AXP__R_FREE: put_memory(c, r); break;
    case AXP__R_STEP: put_step(c, r); break;
    case AXP__R_FLOW_OUT:
    case AXP__R_FLOW_IN: put_flow(c, r); break;
    case AXP__R_SYNC: put_waited(c, r); break;
    case AXP__R_SPAN: put_span(c, r); break;
    }
}

/* ---- the whole ------------------------------------------------------------------------------------- */

static void put_head(struct axp__chrome *c)
{
    struct axp__json j = {.o = c->o};
    struct axp__view_clocks at_zero;
    axp__json_begin(&j, '{');
    axp__json_u64(&j, "schemaVersion", 1);
    axp__json_list(&j, "deviceProperties");
    axp__json_end(&j, ']');
    if (c->v->capture->rank >= 0) {
        axp__json_object(&j, "distributedInfo");
        axp__json_i64(&j, "rank", c->v->capture->rank);
        axp__json_end(&j, '}');
    }
    if (axp__view_clocks(c->v, &at_zero))
        axp__json_u64(&j, "baseTimeNanoseconds", at_zero.realtime_ns);
    axp__json_text(&j, "displayTimeUnit", "ns");
    axp__json_text(&j, "traceName", c->v->capture->title);
    axp__json_object(&j, "otherData");
    axp__json_text(&j, "exporter", "axprof " AXP_VERSION);
    axp__json_u64(&j, "events", axp_view_event_count(c->v));
    axp__json_u64(&j, "cut_events", axp_view_cut_count(c->v));
    axp__json_end(&j, '}');
    axp__json_key(&j, "traceEvents");
    axp__out_text(c->o, "[\n");
}

/* A line of which there are few; its members come next, then its place. */
static struct axp__json begin_line(struct axp__chrome *c, const char *phase)
{
    struct axp__json j = {.o = c->o};
    axp__json_begin(&j, '{');
    axp__json_text(&j, "ph", phase);
    return j;
}

static void put_at(struct axp__json *j, const struct axp__chrome_place *place,
                   axp_ns ns)
{
    axp__json_next(j);
    axp__out_bytes(j->o, place->text, place->len);
    axp__out_us(j->o, ns);
}

static void put_heap_at(struct axp__chrome *c,
                        const struct axp__chrome_place *place, axp_ns at,
                        uint64_t bytes)
{
    struct axp__json j = begin_line(c, "C");
    axp__json_text(&j, "name", "heap");
    put_at(&j, place, at);
    struct args a = args_of(c);
    axp__json_u64(open_args(&a), "bytes", bytes);
    end_args(&a);
}

/* What was live of it, highest and lowest in turn. */
static void put_heap(struct axp__chrome *c)
{
    struct axp__chrome_place place;
    axp__chrome_set_place(&place, c->v->capture->process_id,
                          c->v->capture->process_id);
    for (size_t i = 0; i < c->v->n_heap_levels; i++) {
        const axp_heap_level *l = &c->v->heap_levels[i];
        put_heap_at(c, &place, l->from, l->max_bytes);
        if (l->min_bytes != l->max_bytes)
            put_heap_at(c, &place, l->from + (l->to - l->from) / 2,
                        l->min_bytes);
    }
}

static void put_tail(struct axp__chrome *c)
{
    struct axp__chrome_place p;
    axp__asyncs_sort(&c->asyncs);
    for (size_t i = 0; i < c->asyncs.n; i++)
        put_pair(c, &c->asyncs.at[i],
                 axp__async_end_ns(&c->asyncs.at[i], c->s, c->last_ns), NULL,
                 AXP__R_OPEN);
    axp__chrome_set_place(&p, c->v->capture->process_id,
                          c->v->capture->process_id);
    struct axp__json j = begin_line(c, "i");
    axp__json_text(&j, "s", "g");
    axp__json_text(&j, "name", "Record Window End");
    put_at(&j, &p, c->last_ns);
    axp__out_text(c->o, "}\n]}\n");
}

static bool init(struct axp__chrome *c)
{
    size_t n = axp__stream_n_rows(c->s);
    c->last_ns = axp__stream_end_ns(c->s);
    c->rows = calloc(n + 1, sizeof *c->rows);
    c->steps = calloc(n + 1, sizeof *c->steps);
    return axp__name_cache_init(&c->names, c->v, make_name, NULL) &&
           axp__live_init(&c->live, c->v, c->s) && c->rows && c->steps;
}

static void fini(struct axp__chrome *c)
{
    for (size_t i = 0; c->rows && i < axp__stream_n_rows(c->s); i++) {
        free(c->rows[i].lanes);
        axp__span_lanes_fini(&c->rows[i].spans);
    }
    free(c->rows);
    free(c->steps);
    axp__asyncs_fini(&c->asyncs);
    axp__live_fini(&c->live);
    axp__name_cache_fini(&c->names);
    axp__stream_close(c->s);
}

static bool has_failed(const struct axp__chrome *c)
{
    bool failed = c->has_failed || c->names.has_failed || c->asyncs.has_failed;
    for (size_t i = 0; i < axp__stream_n_rows(c->s); i++)
        failed |= c->rows[i].spans.has_failed;
    return failed;
}

axp_status axp__emit_chrome(const axp_view *v, struct axp__out *o)
{
    struct axp__chrome c = {.v = v, .o = o};
    const struct axp__record *r;
    axp_status status = axp__stream_open(v, 0, &c.s);
    if (status) return status;
    if (!init(&c)) {
        fini(&c);
        return axp__fail(AXP_E_NO_MEMORY, "no memory to export");
    }
    put_head(&c);
    axp__chrome_put_lines(&c);
    while ((r = axp__stream_next(c.s))) {
        if (r->time_ns > c.last_ns) c.last_ns = r->time_ns;
        if (axp__likely(r->kind == AXP__R_END))
            put_end(&c, r);
        else if (r->kind != AXP__R_BEGIN)
            put_record(&c, r);
    }
    put_heap(&c);
    put_tail(&c);
    status = axp__stream_status(c.s);
    if (!status && has_failed(&c))
        status = axp__fail(AXP_E_NO_MEMORY, "no memory to export");
    fini(&c);
    return status;
}
