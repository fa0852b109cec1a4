/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* pprof's profile.proto, gzipped: a sample for each place in the call tree
 * with its self time, calls, declared FLOPs and bytes, and bytes allocated;
 * one for each name that holds memory, under "[memory]"; and one for what was
 * allocated outside of scopes. Where an allocator was looked at, its places are
 * what memory is of: scopes, and below them the functions of their stacks; and
 * there are blocks, what was held at the peak, and blocks that were freed before
 * their thread allocated again, beside the bytes.
 *
 * A function and a location are one name each. The fields of a Profile may
 * come in any order: samples are written as they are met, then the names.
 *
 * Field numbers are those of the public profile.proto.
 */
#include <stdlib.h>
#include <zlib.h>

#include "base/base_text.h"
#include "emit/emit_export.h"
#include "emit/emit_frame.h"
#include "emit/emit_name.h"
#include "emit/emit_proto.h"
#include "model/model_functions.h"
#include "record/record_thread.h"

#define N_VALUES 10 /* the last four where an allocator was looked at */
#define N_WITHOUT 6
#define N_KNOWN 1024u

struct function {
    const char *name, *file;
    int line;
    char *own; /* its name, where that was made here */
};

struct pprof {
    const axp_view *v;
    struct axp__out *o;
    struct axp__out *m; /* a message that is being made */
    z_stream z;
    struct function *functions;
    uint32_t *slots; /* hash by text: index + 1 */
    size_t n_functions, n_slots;
    struct known { /* by address: long names are not hashed at each place */
        const char *name;
        uint64_t function;
    } known[N_KNOWN];
    bool has_failed;
};

/* ---- gzip ------------------------------------------------------------------------------- */

static void deflate_to(struct pprof *p, const void *bytes, size_t len,
                       int flush)
{
    p->z.next_in = (Bytef *)(uintptr_t)bytes;
    p->z.avail_in = (uInt)len;
    do {
        char *at = axp__out_room(p->o, 4096);
        p->z.next_out = (Bytef *)at;
        p->z.avail_out = 4096;
        if (deflate(&p->z, flush) == Z_STREAM_ERROR) {
            p->has_failed = true;
            return;
        }
        p->o->len += 4096 - p->z.avail_out;
    } while (p->z.avail_out == 0);
}

/* Adds what was made in m, and empties it. */
static void put_message(struct pprof *p)
{
    if (p->m->error) p->has_failed = true;
    deflate_to(p, p->m->buffer, p->m->len, Z_NO_FLUSH);
    axp__out_init(p->m, NULL);
}

/* ---- functions ---------------------------------------------------------------------------- */

static uint64_t hash(const char *text)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    return axp__mix64(h);
}

/* From 1; the same text the same number. */
static uint64_t find_function(struct pprof *p, const char *name)
{
    size_t i = (size_t)hash(name) & (p->n_slots - 1);
    for (; p->slots[i]; i = (i + 1) & (p->n_slots - 1))
        if (!strcmp(p->functions[p->slots[i] - 1].name, name))
            return p->slots[i];
    p->functions[p->n_functions] = (struct function){.name = name};
    p->slots[i] = (uint32_t)++p->n_functions;
    return p->n_functions;
}

/* By address: a name has one for each device. */
static uint64_t function_of(struct pprof *p, const char *name,
                            const char *device)
{
    struct known *k = &p->known[axp__mix64((uintptr_t)name) % N_KNOWN];
    if (k->name == name) return k->function;
    char *own = device ? axp__name_on(name, device) : NULL;
    if (device && !own) p->has_failed = true;
    uint64_t function = find_function(p, own ? own : name);
    struct function *f = &p->functions[function - 1];
    if (own && f->name == own)
        f->own = own;
    else
        free(own);
    *k = (struct known){.name = name, .function = function};
    return function;
}

static void set_place(struct pprof *p, const axp_op *op)
{
    struct function *f =
        &p->functions[function_of(p, op->name, op->device) - 1];
    f->file = op->file;
    f->line = op->line;
}

static size_t count_heap(const axp_view *v);

static bool init_functions(struct pprof *p)
{
    size_t most = p->v->n_tree + p->v->n_memory_names + p->v->n_ops +
                  p->v->n_functions + count_heap(p->v) + 3;
    p->n_slots = 64;
    while (p->n_slots < most * 2)
        p->n_slots *= 2;
    p->functions = calloc(most, sizeof *p->functions);
    p->slots = calloc(p->n_slots, sizeof *p->slots);
    if (!p->functions || !p->slots) return false;
    for (size_t i = 0; i < p->v->n_functions; i++)
        set_place(p, &p->v->functions[i]);
    for (size_t i = 0; i < p->v->n_ops; i++)
        set_place(p, &p->v->ops[i]);
    return true;
}

/* String 1 … are the fixed ones below, then a name and a file a function. */
static const char *const fixed_strings[] = {
    "wall",          "nanoseconds",   "calls",       "count",
    "flops",         "bytes",         "alloc_space", "inuse_space",
    "alloc_objects", "inuse_objects", "peak_space",  "temporary_objects"};
#define N_FIXED (sizeof fixed_strings / sizeof *fixed_strings)

static size_t n_values(const struct pprof *p)
{
    return p->v->heap.is_seen ? N_VALUES : N_WITHOUT;
}

static size_t n_fixed(const struct pprof *p)
{
    return N_FIXED - (N_VALUES - n_values(p));
}

static void put_string(struct pprof *p, const char *text)
{
    axp__pb_text(p->m, 6, text, axp__len_to(text, AXP__MOST_NAME));
    put_message(p);
}

static void put_functions(struct pprof *p)
{
    for (uint64_t i = 1; i <= p->n_functions; i++) {
        const struct function *f = &p->functions[i - 1];
        uint64_t name = n_fixed(p) + 2 * i;
        size_t at = axp__pb_begin(p->m, 5);
        axp__pb_u64(p->m, 1, i);
        axp__pb_u64(p->m, 2, name);
        axp__pb_u64(p->m, 3, name);
        if (f->file) axp__pb_u64(p->m, 4, name + 1);
        if (f->line > 0) axp__pb_u64(p->m, 5, (uint64_t)f->line);
        axp__pb_end(p->m, at);
        at = axp__pb_begin(p->m, 4);
        axp__pb_u64(p->m, 1, i);
        axp__pb_u64(p->m, 2, 1); /* the mapping */
        size_t line = axp__pb_begin(p->m, 4);
        axp__pb_u64(p->m, 1, i);
        if (f->line > 0) axp__pb_u64(p->m, 2, (uint64_t)f->line);
        axp__pb_end(p->m, line);
        axp__pb_end(p->m, at);
        put_message(p);
    }
    put_string(p, "");
    for (size_t i = 0; i < n_fixed(p); i++)
        put_string(p, fixed_strings[i]);
    put_string(p, p->v->capture->title); /* of the mapping */
    for (size_t i = 0; i < p->n_functions; i++) {
        put_string(p, p->functions[i].name);
        put_string(p, p->functions[i].file ? p->functions[i].file : "");
    }
}

/* ---- samples --------------------------------------------------------------------------------- */

static uint64_t to_int(double value)
{
    if (!(value > 0)) return 0;
    return value < 9.2e18 ? (uint64_t)value : INT64_MAX;
}

/* path: functions from the innermost. */
static void put_sample(struct pprof *p, const uint64_t *path, size_t n,
                       const uint64_t values[N_VALUES])
{
    size_t sample = axp__pb_begin(p->m, 2);
    size_t at = axp__pb_begin(p->m, 1);
    for (size_t i = 0; i < n; i++)
        axp__pb_raw(p->m, path[i]);
    axp__pb_end(p->m, at);
    at = axp__pb_begin(p->m, 2);
    for (size_t i = 0; i < n_values(p); i++)
        axp__pb_raw(p->m, values[i] < INT64_MAX ? values[i] : INT64_MAX);
    axp__pb_end(p->m, at);
    axp__pb_end(p->m, sample);
    put_message(p);
}

#define MOST_DEPTH 4096u /* frames of a sample; the outermost are left out */

static void put_tree(struct pprof *p)
{
    uint64_t path[MOST_DEPTH];
    struct axp__stack_limit most;
    uint32_t *function = malloc((p->v->n_tree + 1) * sizeof *function);
    axp_ns *rest = axp__view_rest(p->v);
    if (!function || !rest || !axp__export_stack(p->v, &most)) {
        p->has_failed = true;
        free(function);
        free(rest);
        return;
    }
    if (most.n_frames > MOST_DEPTH) most.n_frames = MOST_DEPTH;
    for (size_t i = 1; i < p->v->n_tree; i++) {
        const axp_tree_node *node = &p->v->tree[i];
        size_t n = 0;
        function[i] = (uint32_t)function_of(p, node->name, node->device);
        for (int32_t k = (int32_t)i; k > 0 && n < most.n_frames;
             k = p->v->tree[k].parent)
            path[n++] = function[k];
        const uint64_t values[N_VALUES] = {rest[i],
                                           node->calls,
                                           to_int(node->flops),
                                           to_int(node->bytes),
                                           p->v->heap.is_seen
                                               ? 0 /* put_heap */
                                               : node->allocated_bytes,
                                           0};
        put_sample(p, path, n, values);
    }
    free(function);
    free(rest);
}

static void put_memory(struct pprof *p)
{
    uint64_t outside = p->v->n_tree ? p->v->tree[0].allocated_bytes : 0;
    if (outside) {
        const uint64_t path[1] = {function_of(p, "[outside of scopes]", NULL)};
        const uint64_t values[N_VALUES] = {0, 0, 0, 0, outside, 0};
        put_sample(p, path, 1, values);
    }
    for (size_t i = 0; i < p->v->n_memory_names; i++) {
        const axp_memory_name *m = &p->v->memory_names[i];
        if (!m->current_bytes) continue;
        const uint64_t path[2] = {function_of(p, m->name, m->device),
                                  function_of(p, "[memory]", NULL)};
        const uint64_t values[N_VALUES] = {0, 0, 0, 0, 0, m->current_bytes};
        put_sample(p, path, 2, values);
    }
}

/* ---- the heap ----------------------------------------------------------------------------- */

#define HEAP_FRAMES 64u

/* What a frame is called, for as long as the file is made. */
static uint64_t function_of_frame(struct pprof *p, const axp_frame *f)
{
    char text[AXP__FRAME_TEXT];
    const char *name = axp__frame_text(f, text);
    char *own = name == text ? strdup(text) : NULL;
    if (name == text && !own) {
        p->has_failed = true;
        return 0;
    }
    uint64_t function = find_function(p, own ? own : name);
    struct function *to = &p->functions[function - 1];
    if (own && to->name == own)
        to->own = own;
    else
        free(own);
    if (!to->file && f->file) {
        to->file = f->file;
        to->line = f->line;
    }
    return function;
}

static void put_place(struct pprof *p, const axp_heap_place *place)
{
    axp_frame frames[HEAP_FRAMES];
    uint64_t path[2 * HEAP_FRAMES + 2];
    size_t n = 0, n_frames = 0;
    if (place->name) path[n++] = function_of(p, place->name, NULL);
    if (place->stack)
        n_frames = axp_view_stack(p->v, place->stack, frames, HEAP_FRAMES);
    for (size_t i = 0; i < n_frames && i < HEAP_FRAMES; i++)
        path[n++] = function_of_frame(p, &frames[i]);
    for (size_t i = place->n_scopes; i-- && n < 2 * HEAP_FRAMES;)
        path[n++] = function_of(p, place->scopes[i], NULL);
    if (!n) path[n++] = function_of(p, "[heap]", NULL);
    const uint64_t values[N_VALUES] = {
        0,
        0,
        0,
        0,
        place->total_allocated,
        place->current_bytes,
        place->n_allocs,
        place->current_blocks,
        place->at_peak_bytes,
        place->n_temporary,
    };
    if (!p->has_failed) put_sample(p, path, n, values);
}

static void put_heap(struct pprof *p)
{
    for (size_t i = 0; i < p->v->n_heap_places && !p->has_failed; i++)
        put_place(p, &p->v->heap_places[i]);
}

/* No more functions than frames, and a name each. */
static size_t count_heap(const axp_view *v)
{
    axp_frame frames[HEAP_FRAMES];
    size_t n = 1;
    for (size_t i = 0; i < v->n_heap_places; i++) {
        const axp_heap_place *p = &v->heap_places[i];
        n += p->n_scopes + 1;
        if (p->stack) n += axp_view_stack(v, p->stack, frames, HEAP_FRAMES);
    }
    return n;
}

static void put_head(struct pprof *p)
{
    static const uint8_t types[N_VALUES][2] = {{1, 2},  {3, 4}, {5, 4}, {6, 6},
                                               {7, 6},  {8, 6}, {9, 4}, {10, 4},
                                               {11, 6}, {12, 4}};
    for (size_t i = 0; i < n_values(p); i++) {
        size_t at = axp__pb_begin(p->m, 1);
        axp__pb_u64(p->m, 1, types[i][0]);
        axp__pb_u64(p->m, 2, types[i][1]);
        axp__pb_end(p->m, at);
    }
    struct axp__view_clocks at_zero;
    if (axp__view_clocks(p->v, &at_zero))
        axp__pb_u64(p->m, 9, at_zero.realtime_ns);
    axp__pb_u64(p->m, 10, p->v->duration_ns);
    axp__pb_u64(p->m, 14, 1); /* default_sample_type: wall */
    size_t mapping = axp__pb_begin(p->m, 3);
    axp__pb_u64(p->m, 1, 1);
    axp__pb_u64(p->m, 5, n_fixed(p) + 1);
    for (unsigned field = 7; field <= 9; field++) /* has all but inlines */
        axp__pb_u64(p->m, field, 1);
    axp__pb_end(p->m, mapping);
    put_message(p);
}

axp_status axp__emit_pprof(const axp_view *v, struct axp__out *o)
{
    struct pprof p = {.v = v, .o = o};
    p.m = malloc(sizeof *p.m);
    bool has_gzip = deflateInit2(&p.z, 6, Z_DEFLATED, 15 + 16, 8,
                                 Z_DEFAULT_STRATEGY) == Z_OK;
    if (p.m && has_gzip && init_functions(&p)) {
        axp__out_init(p.m, NULL);
        put_head(&p);
        put_tree(&p);
        if (v->heap.is_seen)
            put_heap(&p);
        else
            put_memory(&p);
        put_functions(&p);
        deflate_to(&p, "", 0, Z_FINISH);
    } else {
        p.has_failed = true;
    }
    if (has_gzip) deflateEnd(&p.z);
    free(p.m);
    for (size_t i = 0; p.functions && i < p.n_functions; i++)
        free(p.functions[i].own);
    free(p.functions);
    free(p.slots);
    return p.has_failed ? axp__fail(AXP_E_NO_MEMORY, "no memory to export")
                        : AXP_OK;
}
