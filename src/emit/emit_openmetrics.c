/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The view's sums as OpenMetrics text 1.0, for whatever scrapes or pushes it.
 * Base units: seconds and bytes. Names are labels, so that any text is a
 * valid one; a family without samples is left out. */
#include <math.h>

#include "emit/emit_export.h"

static void put_label(struct axp__out *o, const char *key, const char *text)
{
    size_t len = axp__len_to(text, AXP__MOST_NAME);
    axp__out_text(o, key);
    axp__out_text(o, "=\"");
    for (const char *end = text + len; text < end;) {
        size_t n = 0;
        while (text + n < end && !strchr("\\\"\n", text[n]))
            n++;
        axp__out_utf8(o, text, n);
        text += n;
        if (text == end) break;
        axp__out_char(o, '\\');
        axp__out_char(o, *text == '\n' ? 'n' : *text);
        text++;
    }
    axp__out_char(o, '"');
}

static void put_seconds(struct axp__out *o, axp_ns ns)
{
    axp__out_u64(o, ns / 1000000000u);
    axp__out_format(o, ".%09u", (unsigned)(ns % 1000000000u));
}

static void put_number(struct axp__out *o, double value)
{
    if (isfinite(value))
        axp__out_f64(o, value);
    else
        axp__out_text(o, isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf");
}

/* unit NULL: none; where there is one the name ends in it. */
static void begin_family(struct axp__out *o, const char *name, const char *type,
                         const char *unit, const char *help)
{
    axp__out_format(o, "# HELP axprof_%s %s\n# TYPE axprof_%s %s\n", name, help,
                    name, type);
    if (unit) axp__out_format(o, "# UNIT axprof_%s %s\n", name, unit);
}

/* What tells a sample from others of its family; NULL: nothing. kind: what it
 * is, where a label of the program's might be the same. */
struct labels {
    const char *key, *label, *kind, *device;
};

static void put_labels(struct axp__out *o, const struct labels *l)
{
    if (l->label) put_label(o, l->key, l->label);
    if (l->kind) axp__out_format(o, ",kind=\"%s\"", l->kind);
    if (l->device && l->label) axp__out_char(o, ',');
    if (l->device) put_label(o, "device", l->device);
}

/* A sample up to its value. */
static void begin_with(struct axp__out *o, const char *name, struct labels l)
{
    axp__out_text(o, "axprof_");
    axp__out_text(o, name);
    if (l.label || l.device) {
        axp__out_char(o, '{');
        put_labels(o, &l);
        axp__out_char(o, '}');
    }
    axp__out_char(o, ' ');
}

static void begin_sample(struct axp__out *o, const char *name, const char *key,
                         const char *label)
{
    begin_with(o, name, (struct labels){key, label, NULL, NULL});
}

static struct labels labels_of(const axp_op *op)
{
    return (struct labels){"op", op->name, op->is_wait ? "wait" : NULL,
                           op->device};
}

static void begin_op(struct axp__out *o, const char *name, const axp_op *op)
{
    begin_with(o, name, labels_of(op));
}

static void put_whole(struct axp__out *o, uint64_t value)
{
    axp__out_u64(o, value);
    axp__out_char(o, '\n');
}

static void put_time(struct axp__out *o, axp_ns ns)
{
    put_seconds(o, ns);
    axp__out_char(o, '\n');
}

static void put_value(struct axp__out *o, double value)
{
    put_number(o, value);
    axp__out_char(o, '\n');
}

/* ---- operations --------------------------------------------------------------------- */

static void put_quantile(struct axp__out *o, const char *name, const axp_op *op,
                         const char *quantile, axp_ns ns)
{
    axp__out_text(o, "axprof_");
    axp__out_text(o, name);
    axp__out_char(o, '{');
    if (op) {
        struct labels l = labels_of(op);
        put_labels(o, &l);
        axp__out_char(o, ',');
    }
    axp__out_text(o, "quantile=\"");
    axp__out_text(o, quantile);
    axp__out_text(o, "\"} ");
    put_time(o, ns);
}

static void put_op_times(struct axp__out *o, const axp_view *v)
{
    begin_family(o, "op_duration_seconds", "summary", "seconds",
                 "Time of single calls, inclusive.");
    for (size_t i = 0; i < v->n_ops; i++) {
        const axp_op *op = &v->ops[i];
        put_quantile(o, "op_duration_seconds", op, "0.5", op->p50_ns);
        put_quantile(o, "op_duration_seconds", op, "0.95", op->p95_ns);
        put_quantile(o, "op_duration_seconds", op, "0.99", op->p99_ns);
        begin_op(o, "op_duration_seconds_count", op);
        put_whole(o, op->calls);
        begin_op(o, "op_duration_seconds_sum", op);
        put_time(o, op->total_ns);
    }
    begin_family(o, "op_self_seconds", "counter", "seconds",
                 "Time outside of what was called.");
    for (size_t i = 0; i < v->n_ops; i++) {
        begin_op(o, "op_self_seconds_total", &v->ops[i]);
        put_time(o, v->ops[i].self_ns);
    }
}

static void put_op_work(struct axp__out *o, const axp_view *v)
{
    bool has_flops = false, has_bytes = false;
    for (size_t i = 0; i < v->n_ops; i++) {
        if (!v->ops[i].n_flops_calls) continue;
        if (!has_flops)
            begin_family(o, "op_flops", "counter", NULL,
                         "Declared floating-point operations.");
        has_flops = true;
        begin_op(o, "op_flops_total", &v->ops[i]);
        put_value(o, v->ops[i].flops);
    }
    for (size_t i = 0; i < v->n_ops; i++) {
        if (!v->ops[i].n_bytes_calls) continue;
        if (!has_bytes)
            begin_family(o, "op_moved_bytes", "counter", "bytes",
                         "Declared bytes read and written.");
        has_bytes = true;
        begin_op(o, "op_moved_bytes_total", &v->ops[i]);
        put_value(o, v->ops[i].bytes);
    }
}

/* ---- memory ---------------------------------------------------------------------------- */

/* The host's, and each device's. */
static void put_domains(struct axp__out *o, const axp_view *v,
                        const char *family, bool is_peak)
{
    for (size_t i = 0; i < v->n_domains; i++) {
        const axp_memory_domain *d = &v->domains[i];
        begin_with(o, family, (struct labels){.device = d->device});
        put_whole(o, is_peak ? d->memory.peak_bytes : d->memory.current_bytes);
    }
}

static void put_memory(struct axp__out *o, const axp_view *v)
{
    static const struct {
        const char *name, *type, *unit, *help, *suffix;
    } families[] = {
        {"memory_live_bytes", "gauge", "bytes", "Allocated and not freed.", ""},
        {"memory_peak_bytes", "gauge", "bytes", "The most that was live.", ""},
        {"memory_allocated_bytes", "counter", "bytes",
         "All that was allocated.", "_total"},
        {"memory_allocations", "counter", NULL, "Allocations.", "_total"},
        {"memory_frees", "counter", NULL, "Frees.", "_total"}};
    for (size_t f = 0; v->n_memory_names && f < 5; f++) {
        char sample[64];
        snprintf(sample, sizeof sample, "%s%s", families[f].name,
                 families[f].suffix);
        begin_family(o, families[f].name, families[f].type, families[f].unit,
                     families[f].help);
        for (size_t i = 0; i < v->n_memory_names; i++) {
            const axp_memory_name *m = &v->memory_names[i];
            const uint64_t values[] = {m->current_bytes, m->peak_bytes,
                                       m->total_allocated, m->n_allocs,
                                       m->n_frees};
            begin_with(o, sample,
                       (struct labels){"name", m->name, NULL, m->device});
            put_whole(o, values[f]);
        }
    }
    begin_family(o, "memory_all_live_bytes", "gauge", "bytes",
                 "Allocated and not freed, all names.");
    put_domains(o, v, "memory_all_live_bytes", false);
    begin_family(o, "memory_all_peak_bytes", "gauge", "bytes",
                 "The most that was live, all names.");
    put_domains(o, v, "memory_all_peak_bytes", true);
}

/* ---- the rest ------------------------------------------------------------------------------ */

static void put_run(struct axp__out *o, const axp_view *v)
{
    begin_family(o, "run", "info", NULL, "The run.");
    axp__out_text(o, "axprof_run_info{");
    put_label(o, "title", v->capture->title);
    axp__out_text(o, ",version=\"" AXP_VERSION "\"} 1\n");
    begin_family(o, "run_duration_seconds", "gauge", "seconds",
                 "First to last event.");
    begin_sample(o, "run_duration_seconds", NULL, NULL);
    put_time(o, v->duration_ns);
    begin_family(o, "timeline_cut_events", "gauge", NULL,
                 "Events recorded that the timeline no longer holds.");
    begin_sample(o, "timeline_cut_events", NULL, NULL);
    put_whole(o, axp_view_cut_count(v));
}

static void put_steps(struct axp__out *o, const axp_view *v)
{
    const axp_step_stats *s = &v->steps;
    if (!s->count) return;
    begin_family(o, "step_duration_seconds", "summary", "seconds",
                 "Time of steps.");
    put_quantile(o, "step_duration_seconds", NULL, "0.5", s->p50_ns);
    put_quantile(o, "step_duration_seconds", NULL, "0.95", s->p95_ns);
    put_quantile(o, "step_duration_seconds", NULL, "0.99", s->p99_ns);
    begin_sample(o, "step_duration_seconds_count", NULL, NULL);
    put_whole(o, s->count);
}

static void put_counters(struct axp__out *o, const axp_view *v)
{
    if (!v->n_counters) return;
    begin_family(o, "counter_last", "gauge", NULL,
                 "The last value of each counter.");
    for (size_t i = 0; i < v->n_counters; i++) {
        begin_with(o, "counter_last",
                   (struct labels){"name", v->counters[i].name,
                                   v->counters[i].is_outside ? "outside" : NULL,
                                   NULL});
        put_value(o, v->counters[i].last);
    }
}

static void put_warnings(struct axp__out *o, const axp_view *v)
{
    if (!v->n_warnings) return;
    begin_family(o, "warnings", "gauge", NULL, "What was counted as wrong.");
    for (size_t i = 0; i < v->n_warnings; i++) {
        begin_sample(o, "warnings", "code", v->warnings[i].code);
        put_whole(o, v->warnings[i].count);
    }
}

axp_status axp__emit_openmetrics(const axp_view *v, struct axp__out *o)
{
    put_run(o, v);
    if (v->n_ops) {
        put_op_times(o, v);
        put_op_work(o, v);
    }
    put_memory(o, v);
    put_steps(o, v);
    put_counters(o, v);
    put_warnings(o, v);
    axp__out_text(o, "# EOF\n");
    return AXP_OK;
}
