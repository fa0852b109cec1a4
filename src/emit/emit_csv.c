/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tables: operations, their shapes, and events, a line each, comma separated (RFC 4180).
 *
 * Text is in quotes, quotes doubled. A text that a spreadsheet would take for
 * a formula (it begins with = + - @) has an apostrophe before it. What is not
 * known is empty.
 */
#include <math.h>
#include <stdlib.h>

#include "analyze/analyze_roof.h"
#include "emit/emit_name_cache.h"
#include "emit/emit_export.h"
#include "emit/emit_record.h"
#include "emit/emit_shape.h"
#include "emit/emit_words.h"
#include "record/record_thread.h"

static void put_text(struct axp__out *o, const char *text)
{
    if (!text) return;
    size_t len = axp__len_to(text, AXP__MOST_NAME);
    axp__out_char(o, '"');
    if (len && strchr("=+-@\t\r", *text)) axp__out_char(o, '\'');
    for (const char *end = text + len; text < end;) {
        const char *quote = memchr(text, '"', (size_t)(end - text));
        size_t n = (size_t)((quote ? quote : end) - text);
        axp__out_utf8(o, text, n);
        text += n;
        if (!quote) break;
        axp__out_text(o, "\"\"");
        text++;
    }
    axp__out_char(o, '"');
}

static void put_known(struct axp__out *o, bool is_known, double value)
{
    axp__out_char(o, ',');
    if (is_known && isfinite(value)) axp__out_f64(o, value);
}

/* ---- operations -------------------------------------------------------------------- */

static void put_roof(struct axp__out *o, const struct axp__roof *roof)
{
    put_known(o, roof->is_known && roof->flops > 0, roof->roof_flops / 1e9);
    put_known(o, roof->is_known, roof->share);
    axp__out_char(o, ',');
    if (roof->is_known) put_text(o, axp__roof_bound(roof));
    put_known(o, roof->threads, roof->threads);
}

static void put_op(struct axp__out *o, const axp_op *op,
                   const struct axp__roof *roof, bool has_devices)
{
    const uint64_t times[] = {op->calls,  op->total_ns, op->self_ns,
                              op->min_ns, op->max_ns,   op->avg_ns,
                              op->p50_ns, op->p95_ns,   op->p99_ns};
    bool has_flops = op->n_flops_calls > 0, has_bytes = op->n_bytes_calls > 0;
    put_text(o, op->name);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        axp__out_char(o, ',');
        axp__out_u64(o, times[i]);
    }
    put_known(o, true, op->time_share);
    put_known(o, has_flops, op->flops);
    put_known(o, has_bytes, op->bytes);
    put_known(o, has_flops, axp_op_gflops(op));
    put_known(o, has_bytes, axp_op_gbps(op));
    axp__out_char(o, ',');
    put_text(o, axp__word_dtype(op->dtype));
    axp__out_char(o, ',');
    put_text(o, axp__word_cat(op->category));
    axp__out_char(o, ',');
    put_text(o, op->file);
    axp__out_char(o, ',');
    if (op->line > 0) axp__out_i64(o, op->line);
    put_roof(o, roof);
    axp__out_char(o, ',');
    axp__out_u64(o, op->doubt_ns);
    if (has_devices) axp__out_char(o, ',');
    put_text(o, op->device);
    axp__out_char(o, '\n');
}

/* The last column is there where one has something in it. */
axp_status axp__emit_csv_ops(const axp_view *v, struct axp__out *o)
{
    bool has_devices = false;
    struct axp__roofs *roofs = axp__roofs_create(v, 0, 0);
    if (!roofs) return axp__fail(AXP_E_NO_MEMORY, "no memory to export");
    for (size_t i = 0; i < v->n_ops; i++)
        has_devices |= v->ops[i].device != NULL;
    axp__out_text(o, "name,calls,total_ns,self_ns,min_ns,max_ns,avg_ns,p50_ns,"
                     "p95_ns,p99_ns,time_share,flops,bytes,gflops,gbps,dtype,"
                     "category,file,line,roof_gflops,roof_share,bound_by,"
                     "roof_threads,doubt_ns");
    axp__out_text(o, has_devices ? ",device\n" : "\n");
    for (size_t i = 0; i < v->n_ops; i++)
        put_op(o, &v->ops[i], &roofs->at[i], has_devices);
    free(roofs);
    return AXP_OK;
}

/* ---- shapes ------------------------------------------------------------------------ */

static void put_shape(struct axp__out *o, const axp_op *op, const axp_shape *s,
                      const struct axp__roof *roof)
{
    char label[AXP__SHAPE_LABEL];
    const uint64_t numbers[] = {s->n_shapes, s->calls, s->total_ns};
    put_text(o, op->name);
    axp__out_char(o, ',');
    put_text(o, op->device);
    axp__out_char(o, ',');
    if (s->n_dims) axp__out_text(o, axp__shape_label(s, label));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        axp__out_char(o, ',');
        axp__out_u64(o, numbers[i]);
    }
    put_known(o, s->n_flops_calls, s->flops);
    put_known(o, s->n_bytes_calls, s->bytes);
    put_known(o, s->n_flops_calls, s->gflops);
    put_known(o, s->n_bytes_calls, s->gbps);
    axp__out_char(o, ',');
    put_text(o, axp__word_dtype(s->dtype));
    put_roof(o, roof);
    axp__out_char(o, '\n');
}

/* Without dims: the other shapes of an operation together. */
axp_status axp__emit_csv_shapes(const axp_view *v, struct axp__out *o)
{
    size_t n;
    struct axp__roofs *roofs = axp__roofs_create(v, 0, 0);
    if (!roofs) return axp__fail(AXP_E_NO_MEMORY, "no memory to export");
    axp__out_text(o, "name,device,dims,shapes,calls,total_ns,flops,bytes,"
                     "gflops,gbps,dtype,roof_gflops,roof_share,bound_by,"
                     "roof_threads\n");
    for (size_t i = 0; i < v->n_ops; i++) {
        const struct axp__view_shape *s =
            axp__view_shapes_of(v, &v->ops[i], &n);
        for (size_t k = 0; k < n; k++) {
            struct axp__roof r = axp__roof_of_shape(roofs, v, i, &s[k].shape);
            put_shape(o, &v->ops[i], &s[k].shape, &r);
        }
    }
    free(roofs);
    return AXP_OK;
}

/* ---- events ---------------------------------------------------------------------------- */

static void make_name(struct axp__name_cache *n, uint32_t id,
                      struct axp__out *to)
{
    put_text(to, axp__view_name(n->v, id));
}

static void put_event(struct axp__out *o, struct axp__name_cache *names,
                      const struct axp__stream *s, const struct axp__record *r)
{
    const struct axp__stream_row *row = axp__stream_row(s, r->row);
    const struct axp__name_bytes *name = axp__name_cache_get(names, r->name);
    axp_event_type type = axp__record_type(r);
    axp__out_u64(o, r->time_ns);
    axp__out_char(o, ',');
    axp__out_text(o, axp__word_event(type));
    axp__out_char(o, ',');
    if (r->kind == AXP__R_STEP)
        axp__out_text(o, "\"step\"");
    else
        axp__out_bytes(o, name->at, name->len);
    axp__out_char(o, ',');
    axp__out_u64(o, row->process_id);
    axp__out_char(o, ',');
    if (row->rank >= 0) axp__out_u64(o, (uint64_t)row->rank);
    axp__out_char(o, ',');
    axp__out_u64(o, r->thread_id);
    axp__out_char(o, ',');
    put_text(o, row->track ? row->name : NULL);
    double value = 0;
    bool has_value = axp__record_value(r, &value);
    put_known(o, has_value, value);
    axp__out_char(o, ',');
    uint64_t id;
    if (axp__record_id(r, &id)) axp__out_u64(o, id);
    axp__out_char(o, ',');
    put_text(o, r->kind == AXP__R_EVENT ? r->metadata : NULL);
    axp__out_char(o, '\n');
}

axp_status axp__emit_csv_events(const axp_view *v, struct axp__out *o)
{
    struct axp__name_cache names;
    struct axp__stream *s = NULL;
    const struct axp__record *r;
    axp_status status = AXP_E_NO_MEMORY;
    if (axp__name_cache_init(&names, v, make_name, NULL))
        status = axp__stream_open(v, AXP__STREAM_RAW, &s);
    axp__out_text(o, "time_ns,type,name,process_id,rank,thread_id,track,value,"
                     "id,metadata\n");
    while (s && (r = axp__stream_next(s)))
        if (axp__stream_is_programs(s, r)) put_event(o, &names, s, r);
    if (s) status = axp__stream_status(s);
    if (names.has_failed) status = AXP_E_NO_MEMORY;
    axp__stream_close(s);
    axp__name_cache_fini(&names);
    return status ? axp__fail(status, "no memory to export") : AXP_OK;
}
