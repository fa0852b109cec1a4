/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* speedscope's file format: an evented profile a thread and a track, each
 * written as its row is read; frames, which its events refer to by number,
 * come last.
 *
 * A profile is a stack and nothing else: what does not nest (overlapping
 * scopes, async spans, spans of a track beside one another) is in one more
 * profile, as the sum of each name. What was sampled is in one of its own, as
 * the sum of each path: the scopes that were open, and the functions below them.
 *
 * Times are nanoseconds.
 */
#include <stdlib.h>

#include "emit/emit_async.h"
#include "emit/emit_name.h"
#include "emit/emit_name_cache.h"
#include "emit/emit_export.h"
#include "emit/emit_json_out.h"
#include "emit/emit_number.h"
#include "model/model_slots.h"
#include "record/record_thread.h"
#include "wire/wire_word.h"

#define MOST_PATH 2048 /* frames of one sample */

struct span { /* of a track, in its profile */
    axp_ns begin_ns, end_ns;
    uint32_t name;
};

struct speedscope {
    const axp_view *v;
    struct axp__out *o;
    struct axp__json json; /* to it */
    struct axp__stream *s;
    struct axp__name_cache names; /* `"frame":7,"at":`; number: the frame */
    uint32_t *frames;             /* name of a frame */
    uint32_t cap_frames;
    uint64_t *sums;   /* ns by name, of what does not nest; NULL: nothing */
    uint32_t *summed; /* names, in the order of their first */
    uint32_t n_summed, cap_summed;
    struct span *spans;
    size_t n_spans, cap_spans;
    const char **functions; /* whose frames come after the names' */
    size_t n_functions, cap_functions;
    struct axp__slots function_slots;
    axp_ns first_ns, last_ns;
    uint64_t n_open;
    bool has_events, has_failed;
};

static void make_frame(struct axp__name_cache *n, uint32_t id,
                       struct axp__out *to)
{
    struct speedscope *p = n->ctx;
    uint32_t frame = n->next_number++;
    if (frame == p->cap_frames) {
        uint32_t cap = p->cap_frames ? p->cap_frames * 2 : 256;
        uint32_t *wider = realloc(p->frames, cap * sizeof *wider);
        if (!wider) {
            p->has_failed = true;
            n->next_number--;
            frame = 0;
        } else {
            p->frames = wider;
            p->cap_frames = cap;
        }
    }
    if (frame < p->cap_frames) p->frames[frame] = id;
    n->by_id[id].number = frame;
    axp__out_format(to, "\"frame\":%u,\"at\":", frame);
}

/* ---- events -------------------------------------------------------------------------- */

static void put_event(struct speedscope *p, bool is_open, uint32_t name,
                      axp_ns time_ns)
{
    const struct axp__name_bytes *b = axp__name_cache_get(&p->names, name);
    if (!p->has_events) p->first_ns = p->last_ns = time_ns;
    if (time_ns > p->last_ns) p->last_ns = time_ns;
    char *start = axp__out_room(p->o, 128), *at = start;
    if (p->has_events) *at++ = ',';
    at = AXP__PUT_TEXT(at, "\n{\"type\":\"");
    *at++ = is_open ? 'O' : 'C';
    at = AXP__PUT_TEXT(at, "\",");
    at = axp__put_bytes(at, b->at, b->len);
    at = axp__print_u64(at, p->last_ns);
    *at++ = '}';
    p->o->len += (size_t)(at - start);
    p->has_events = true;
}

static void add_sum(struct speedscope *p, uint32_t name, axp_ns ns)
{
    if (!p->sums) p->sums = calloc(AXP__MAX_NAMES, sizeof *p->sums);
    if (p->n_summed == p->cap_summed) {
        uint32_t cap = p->cap_summed ? p->cap_summed * 2 : 64;
        uint32_t *wider = realloc(p->summed, cap * sizeof *wider);
        if (wider) p->summed = wider;
        if (wider) p->cap_summed = cap;
    }
    if (!p->sums || p->n_summed == p->cap_summed) {
        p->has_failed = true;
        return;
    }
    if (!p->sums[name] && ns) p->summed[p->n_summed++] = name;
    if (__builtin_add_overflow(p->sums[name], ns, &p->sums[name]))
        p->sums[name] = UINT64_MAX;
}

static void put_scope(struct speedscope *p, const struct axp__record *r)
{
    bool is_begin = r->kind == AXP__R_BEGIN;
    if (!(r->flags & (AXP__R_OVERLAPS | AXP__R_NO_BEGIN))) {
        put_event(p, is_begin, r->name, is_begin ? r->begin_ns : r->time_ns);
        p->n_open += r->flags & AXP__R_OPEN ? 1 : 0;
    } else if (!is_begin &&
               !(r->flags & (AXP__R_NO_BEGIN | AXP__R_ELSEWHERE))) {
        add_sum(p, r->name, r->time_ns - r->begin_ns);
    }
}

/* Into the profile if it nests there. */
static void begin_span(struct speedscope *p, const struct axp__record *r)
{
    if (p->n_spans && p->spans[p->n_spans - 1].end_ns < r->end_ns) {
        add_sum(p, r->name, r->end_ns - r->begin_ns);
        return;
    }
    if (p->n_spans == p->cap_spans) {
        size_t cap = p->cap_spans ? p->cap_spans * 2 : 16;
        struct span *wider = realloc(p->spans, cap * sizeof *wider);
        if (!wider) {
            p->has_failed = true;
            return;
        }
        p->spans = wider;
        p->cap_spans = cap;
    }
    p->spans[p->n_spans++] = (struct span){r->begin_ns, r->end_ns, r->name};
    put_event(p, true, r->name, r->begin_ns);
}

static void end_span(struct speedscope *p, const struct axp__record *r)
{
    const struct span *top = p->n_spans ? &p->spans[p->n_spans - 1] : NULL;
    if (!top || top->name != r->name || top->begin_ns != r->begin_ns ||
        top->end_ns != r->time_ns)
        return; /* summed */
    p->n_spans--;
    put_event(p, false, r->name, r->time_ns);
}

static void put_record(struct speedscope *p, const struct axp__record *r)
{
    switch (r->kind) {
    case AXP__R_BEGIN:
    case AXP__R_END: put_scope(p, r); break;
    case AXP__R_SPAN: begin_span(p, r); break;
    case AXP__R_SPAN_END: end_span(p, r); break;
    case AXP__R_CROSS: add_sum(p, r->name, r->time_ns - r->begin_ns); break;
    default: break; /* no place for them here */
    }
}

/* ---- profiles ---------------------------------------------------------------------------- */

static void begin_profile(struct speedscope *p, const char *type)
{
    axp__json_line(&p->json, "");
    axp__json_begin(&p->json, '{');
    axp__json_text(&p->json, "type", type);
    axp__json_text(&p->json, "unit", "nanoseconds");
}

static void begin_row(struct speedscope *p)
{
    begin_profile(p, "evented");
    axp__json_list(&p->json, "events");
    p->has_events = false;
    p->first_ns = p->last_ns = 0;
    p->n_spans = 0;
    p->n_open = 0;
}

static void end_row(struct speedscope *p, uint32_t row)
{
    const struct axp__stream_row *r = axp__stream_row(p->s, row);
    char name[320];
    int len =
        snprintf(name, sizeof name, "%.200s %s %llu",
                 *r->name ? r->name : "thread", r->track ? "track" : "thread",
                 (unsigned long long)(r->track ? r->track : r->thread_id));
    if (p->v->capture->n_processes > 1)
        len += snprintf(name + len, sizeof name - (size_t)len, " process %llu",
                        (unsigned long long)r->process_id);
    if (r->rank >= 0)
        len += snprintf(name + len, sizeof name - (size_t)len, " rank %d",
                        (int)r->rank);
    if (p->n_open)
        snprintf(name + len, sizeof name - (size_t)len,
                 " (%llu open at the end)", (unsigned long long)p->n_open);
    axp__out_char(p->o, '\n');
    axp__json_end(&p->json, ']');
    axp__json_u64(&p->json, "startValue", p->first_ns);
    axp__json_u64(&p->json, "endValue", p->last_ns);
    axp__json_text(&p->json, "name", name);
    axp__json_end(&p->json, '}');
}

/* Whoever looked on has processes and counters, and no stack. */
static bool is_outside(const struct axp__stream *s, const struct axp__record *r)
{
    return axp__stream_row(s, r->row)->is_outside;
}

/* Async spans cross rows: they are read once more, by time. */
static void sum_asyncs(struct speedscope *p)
{
    struct axp__stream *s;
    struct axp__asyncs asyncs = {0};
    const struct axp__record *r;
    struct axp__async left;
    if (axp__stream_open(p->v, AXP__STREAM_RAW, &s)) {
        p->has_failed = true;
        return;
    }
    axp_ns end_ns = axp__stream_end_ns(s);
    while ((r = axp__stream_next(s))) {
        if (is_outside(s, r)) continue;
        if (r->kind == AXP__R_ASYNC_END) {
            axp__asyncs_end(&asyncs, r, axp__stream_row(s, r->row)->process);
            add_sum(p, r->name, r->time_ns - r->begin_ns);
        } else if (r->kind == AXP__R_ASYNC_BEGIN &&
                   axp__asyncs_begin(&asyncs, r,
                                     axp__stream_row(s, r->row)->process,
                                     &left)) {
            add_sum(p, left.name, r->time_ns - left.begin_ns);
        }
        if (r->time_ns > end_ns) end_ns = r->time_ns;
    }
    for (size_t i = 0; i < asyncs.n_slots; i++)
        if (asyncs.at[i].is_open)
            add_sum(p, asyncs.at[i].name,
                    axp__async_end_ns(&asyncs.at[i], s, end_ns) -
                        asyncs.at[i].begin_ns);
    if (axp__stream_status(s) || asyncs.has_failed) p->has_failed = true;
    axp__asyncs_fini(&asyncs);
    axp__stream_close(s);
}

static void put_sums(struct speedscope *p)
{
    struct axp__json *j = &p->json;
    uint64_t total = 0;
    if (!p->n_summed) return;
    begin_profile(p, "sampled");
    axp__json_text(j, "name", "async and overlapping, sum of each");
    axp__json_u64(j, "startValue", 0);
    axp__json_list(j, "samples");
    for (uint32_t i = 0; i < p->n_summed; i++) {
        axp__json_next(j);
        axp__json_begin(j, '[');
        axp__out_u64(p->o,
                     axp__name_cache_get(&p->names, p->summed[i])->number);
        axp__json_end(j, ']');
    }
    axp__json_end(j, ']');
    axp__json_list(j, "weights");
    for (uint32_t i = 0; i < p->n_summed; i++) {
        axp__json_next(j);
        axp__out_u64(p->o, p->sums[p->summed[i]]);
        total += p->sums[p->summed[i]];
    }
    axp__json_end(j, ']');
    axp__json_u64(j, "endValue", total);
    axp__json_end(j, '}');
}

/* ---- samples ------------------------------------------------------------------------------- */

static uint64_t hash_pointer(const char *name)
{
    return axp__mix64((uintptr_t)name);
}

static uint64_t function_hash(const void *ctx, uint32_t i)
{
    return hash_pointer(((const struct speedscope *)ctx)->functions[i]);
}

/* Its place among the functions: equal names are one pointer. */
static size_t get_function(struct speedscope *p, const char *name)
{
    void *at = p->functions;
    bool ok = axp__slots_widen(&p->function_slots, p, function_hash) &&
              axp__array_grow(&at, &p->cap_functions, p->n_functions + 1,
                              sizeof *p->functions);
    p->functions = at;
    if (!ok) {
        p->has_failed = true;
        return 0;
    }
    uint64_t k = hash_pointer(name);
    uint32_t *slot;
    for (; *(slot = axp__slots_at(&p->function_slots, k)); k++)
        if (p->functions[*slot - 1] == name) return *slot - 1;
    p->functions[p->n_functions] = name;
    p->function_slots.n_used++;
    *slot = (uint32_t)++p->n_functions;
    return *slot - 1;
}

/* Scopes first, so that the frames of functions come after all of theirs. */
static void count_frames(struct speedscope *p)
{
    const axp_view *v = p->v;
    for (size_t i = 1; i < v->n_tree; i++)
        if (v->tree[i].is_sampled)
            (void)get_function(p, v->tree[i].name);
        else
            (void)axp__name_cache_get(&p->names, v->tree_names[i]);
}

static uint64_t frame_of(struct speedscope *p, int32_t place)
{
    const axp_tree_node *n = &p->v->tree[place];
    if (n->is_sampled) return p->names.next_number + get_function(p, n->name);
    return axp__name_cache_get(&p->names, p->v->tree_names[place])->number;
}

/* The frames of a place in the tree, outermost first; of more than that the
 * innermost. */
static void put_path(struct speedscope *p, int32_t place)
{
    int32_t path[MOST_PATH];
    size_t n = 0;
    for (; place > 0 && n < MOST_PATH; place = p->v->tree[place].parent)
        path[n++] = place;
    while (n--) {
        axp__json_next(&p->json);
        axp__out_u64(p->o, frame_of(p, path[n]));
    }
}

static bool is_seen(const axp_tree_node *n)
{
    return n->is_sampled && n->self_ns;
}

static void put_samples(struct speedscope *p)
{
    const axp_view *v = p->v;
    struct axp__json *j = &p->json;
    uint64_t total = 0;
    if (!v->n_sampled) return;
    count_frames(p);
    begin_profile(p, "sampled");
    axp__json_text(j, "name",
                   "functions, sampled: processor time of each path");
    axp__json_u64(j, "startValue", 0);
    axp__json_list(j, "samples");
    for (size_t i = 1; i < v->n_tree; i++) {
        if (!is_seen(&v->tree[i])) continue;
        axp__json_next(j);
        axp__json_begin(j, '[');
        put_path(p, (int32_t)i);
        axp__json_end(j, ']');
    }
    axp__json_end(j, ']');
    axp__json_list(j, "weights");
    for (size_t i = 1; i < v->n_tree; i++) {
        if (!is_seen(&v->tree[i])) continue;
        axp__json_next(j);
        axp__out_u64(p->o, v->tree[i].self_ns);
        total += v->tree[i].self_ns;
    }
    axp__json_end(j, ']');
    axp__json_u64(j, "endValue", total);
    axp__json_end(j, '}');
}

/* ---- frames -------------------------------------------------------------------------------- */

static void put_frame(struct speedscope *p, const struct axp__cap_name *name)
{
    struct axp__json *j = &p->json;
    char *text =
        axp__name_on(name->text, axp__cap_device(p->v->capture,
                                                 axp__device_of(name->flags)));
    if (!text) p->has_failed = true;
    axp__json_line(j, "");
    axp__json_begin(j, '{');
    axp__json_key(j, "name");
    axp__out_json_n(j->o, text ? text : "",
                    text ? axp__len_to(text, AXP__MOST_NAME) : 0);
    free(text);
    if (name->file) {
        axp__json_key(j, "file");
        axp__out_json_n(j->o, name->file,
                        axp__len_to(name->file, AXP__MOST_NAME));
        if (name->line > 0) axp__json_u64(j, "line", (uint64_t)name->line);
    }
    axp__json_end(j, '}');
}

static void put_frames(struct speedscope *p)
{
    const struct axp__capture *c = p->v->capture;
    struct axp__json *j = &p->json;
    axp__json_object(j, "shared");
    axp__json_list(j, "frames");
    for (uint32_t i = 0; i < p->names.next_number; i++) {
        struct axp__cap_name name = c->name_at(c, p->frames[i]);
        put_frame(p, &name);
    }
    for (size_t i = 0; i < p->n_functions; i++)
        put_frame(p, &(struct axp__cap_name){.text = p->functions[i]});
    axp__out_char(p->o, '\n');
    axp__json_end(j, ']');
    axp__json_end(j, '}');
}

/* ---- the whole -------------------------------------------------------------------------------- */

static void put_rows(struct speedscope *p)
{
    const struct axp__record *r;
    uint32_t row = UINT32_MAX;
    bool has_asyncs = false;
    while ((r = axp__stream_next(p->s))) {
        if (r->kind == AXP__R_SYNC || is_outside(p->s, r)) continue;
        if (r->row != row) {
            if (row != UINT32_MAX) end_row(p, row);
            begin_row(p);
            row = r->row;
        }
        has_asyncs |=
            r->kind == AXP__R_ASYNC_BEGIN || r->kind == AXP__R_ASYNC_END;
        put_record(p, r);
    }
    if (row != UINT32_MAX) end_row(p, row);
    if (has_asyncs) sum_asyncs(p);
    put_sums(p);
    put_samples(p);
}

static void put_all(struct speedscope *p)
{
    struct axp__json *j = &p->json;
    axp__json_begin(j, '{');
    axp__json_text(j, "$schema",
                   "https://www.speedscope.app/file-format-schema.json");
    axp__json_text(j, "exporter", "axprof@" AXP_VERSION);
    axp__json_text(j, "name", p->v->capture->title);
    axp__json_list(j, "profiles");
    put_rows(p);
    axp__out_char(p->o, '\n');
    axp__json_end(j, ']');
    put_frames(p);
    axp__json_end(j, '}');
    axp__out_char(p->o, '\n');
}

axp_status axp__emit_speedscope(const axp_view *v, struct axp__out *o)
{
    struct speedscope p = {.v = v, .o = o, .json = {.o = o}};
    axp_status status = axp__stream_open(v, AXP__STREAM_BY_ROW, &p.s);
    if (status) return status;
    if (axp__name_cache_init(&p.names, v, make_frame, &p)) {
        put_all(&p);
        status = axp__stream_status(p.s);
    } else {
        p.has_failed = true;
    }
    if (!status && (p.has_failed || p.names.has_failed))
        status = axp__fail(AXP_E_NO_MEMORY, "no memory to export");
    axp__name_cache_fini(&p.names);
    axp__stream_close(p.s);
    free(p.frames);
    free(p.sums);
    free(p.summed);
    free(p.spans);
    free(p.functions);
    free(p.function_slots.at);
    return status;
}
