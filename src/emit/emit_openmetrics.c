/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The view's sums as OpenMetrics text 1.0, for whatever scrapes or pushes it.
 * Base units: seconds and bytes. Names are labels, so that any text is a
 * valid one; a family without samples is left out. Of those that are written
 * alike, because what is no text became a sign or what is too long was cut, or
 * because a function and a scope have one name, all but the first have a number:
 * a series that comes twice makes the whole invalid. */
#include <math.h>
#include <stdlib.h>

#include "emit/emit_export.h"
#include "record/record_thread.h"

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
    size_t nth; /* of those that are written alike; 0: the first, or only one */
};

static void put_labels(struct axp__out *o, const struct labels *l)
{
    if (l->label) put_label(o, l->key, l->label);
    if (l->kind) axp__out_format(o, ",kind=\"%s\"", l->kind);
    if (l->device && l->label) axp__out_char(o, ',');
    if (l->device) put_label(o, "device", l->device);
    if (l->nth)
        axp__out_format(o, "%snth=\"%zu\"", l->label || l->device ? "," : "",
                        l->nth + 1);
}

/* A sample up to its value. */
static void begin_with(struct axp__out *o, const char *name, struct labels l)
{
    axp__out_text(o, "axprof_");
    axp__out_text(o, name);
    if (l.label || l.device || l.nth) {
        axp__out_char(o, '{');
        put_labels(o, &l);
        axp__out_char(o, '}');
    }
    axp__out_char(o, ' ');
}

static void begin_sample(struct axp__out *o, const char *name, const char *key,
                         const char *label)
{
    begin_with(o, name, (struct labels){.key = key, .label = label});
}

/* ---- what names may make alike ------------------------------------------------------ */

enum list { OPS, MEMORY_NAMES, DOMAINS, COUNTERS, N_LISTS };

struct metrics {
    const axp_view *v;
    struct axp__out *o;
    size_t n[N_LISTS];
    size_t *nth[N_LISTS];
};

static struct labels named(const struct metrics *m, enum list list, size_t i)
{
    const axp_view *v = m->v;
    const axp_op *op = list == OPS ? &v->ops[i] : NULL;
    switch (list) {
    case OPS:
        return (struct labels){"op", op->name, op->is_wait ? "wait" : NULL,
                               op->device, 0};
    case MEMORY_NAMES:
        return (struct labels){.key = "name",
                               .label = v->memory_names[i].name,
                               .device = v->memory_names[i].device};
    case DOMAINS: return (struct labels){.device = v->domains[i].device};
    default:
        return (struct labels){.key = "name",
                               .label = v->counters[i].name,
                               .kind = v->counters[i].is_outside ? "outside"
                                                                 : NULL};
    }
}

static struct labels labels_at(const struct metrics *m, enum list list,
                               size_t i)
{
    struct labels l = named(m, list, i);
    l.nth = m->nth[list][i];
    return l;
}

struct written { /* what is written of one, as a number; and its place */
    uint64_t sum;
    size_t at;
};

/* Other texts with the same sum would get a number that they do not need. An
 * empty label is to its readers as none. */
static uint64_t sum_of(struct axp__out *scratch, struct labels l)
{
    uint64_t sum = 14695981039346656037u; /* FNV-1a */
    scratch->len = 0;
    if (l.label && !*l.label) l.label = NULL;
    if (l.device && !*l.device) l.device = NULL;
    put_labels(scratch, &l);
    for (size_t i = 0; i < scratch->len; i++)
        sum = (sum ^ (unsigned char)scratch->buffer[i]) * 1099511628211u;
    return sum;
}

static int by_sum(const void *a, const void *b)
{
    const struct written *x = a, *y = b;
    if (x->sum != y->sum) return x->sum < y->sum ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static bool count_alike(struct metrics *m, enum list list,
                        struct axp__out *scratch)
{
    size_t n = m->n[list];
    struct written *all = calloc(n + 1, sizeof *all);
    m->nth[list] = calloc(n + 1, sizeof *m->nth[list]);
    bool ok = all && m->nth[list];
    for (size_t i = 0; ok && i < n; i++)
        all[i] = (struct written){sum_of(scratch, named(m, list, i)), i};
    if (ok) qsort(all, n, sizeof *all, by_sum);
    for (size_t i = 1; ok && i < n; i++)
        if (all[i].sum == all[i - 1].sum)
            m->nth[list][all[i].at] = m->nth[list][all[i - 1].at] + 1;
    free(all);
    return ok;
}

static bool init_metrics(struct metrics *m)
{
    struct axp__out *scratch = malloc(sizeof *scratch);
    bool ok = scratch != NULL;
    if (ok) axp__out_init(scratch, NULL);
    for (int list = 0; ok && list < N_LISTS; list++)
        ok = count_alike(m, (enum list)list, scratch);
    free(scratch);
    return ok;
}

static void begin_named(const struct metrics *m, const char *name,
                        enum list list, size_t i)
{
    begin_with(m->o, name, labels_at(m, list, i));
}

/* ---- numbers ------------------------------------------------------------------------ */

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

static void put_quantile(struct axp__out *o, const char *name,
                         const struct labels *l, const char *quantile,
                         axp_ns ns)
{
    axp__out_text(o, "axprof_");
    axp__out_text(o, name);
    axp__out_char(o, '{');
    if (l) {
        put_labels(o, l);
        axp__out_char(o, ',');
    }
    axp__out_text(o, "quantile=\"");
    axp__out_text(o, quantile);
    axp__out_text(o, "\"} ");
    put_time(o, ns);
}

static void put_op_times(const struct metrics *m)
{
    struct axp__out *o = m->o;
    begin_family(o, "op_duration_seconds", "summary", "seconds",
                 "Time of single calls, inclusive.");
    for (size_t i = 0; i < m->n[OPS]; i++) {
        const axp_op *op = &m->v->ops[i];
        struct labels l = labels_at(m, OPS, i);
        put_quantile(o, "op_duration_seconds", &l, "0.5", op->p50_ns);
        put_quantile(o, "op_duration_seconds", &l, "0.95", op->p95_ns);
        put_quantile(o, "op_duration_seconds", &l, "0.99", op->p99_ns);
        begin_with(o, "op_duration_seconds_count", l);
        put_whole(o, op->calls);
        begin_with(o, "op_duration_seconds_sum", l);
        put_time(o, op->total_ns);
    }
    begin_family(o, "op_self_seconds", "counter", "seconds",
                 "Time outside of what was called.");
    for (size_t i = 0; i < m->n[OPS]; i++) {
        begin_named(m, "op_self_seconds_total", OPS, i);
        put_time(o, m->v->ops[i].self_ns);
    }
}

static void put_op_work(const struct metrics *m)
{
    bool has_flops = false, has_bytes = false;
    for (size_t i = 0; i < m->n[OPS]; i++) {
        if (!m->v->ops[i].n_flops_calls) continue;
        if (!has_flops)
            begin_family(m->o, "op_flops", "counter", NULL,
                         "Declared floating-point operations.");
        has_flops = true;
        begin_named(m, "op_flops_total", OPS, i);
        put_value(m->o, m->v->ops[i].flops);
    }
    for (size_t i = 0; i < m->n[OPS]; i++) {
        if (!m->v->ops[i].n_bytes_calls) continue;
        if (!has_bytes)
            begin_family(m->o, "op_moved_bytes", "counter", "bytes",
                         "Declared bytes read and written.");
        has_bytes = true;
        begin_named(m, "op_moved_bytes_total", OPS, i);
        put_value(m->o, m->v->ops[i].bytes);
    }
}

/* ---- memory ---------------------------------------------------------------------------- */

/* The host's, and each device's. */
static void put_domains(const struct metrics *m, const char *family,
                        bool is_peak)
{
    for (size_t i = 0; i < m->n[DOMAINS]; i++) {
        const axp_memory_domain *d = &m->v->domains[i];
        begin_named(m, family, DOMAINS, i);
        put_whole(m->o,
                  is_peak ? d->memory.peak_bytes : d->memory.current_bytes);
    }
}

static void put_memory(const struct metrics *m)
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
    struct axp__out *o = m->o;
    for (size_t f = 0; m->n[MEMORY_NAMES] && f < 5; f++) {
        char sample[64];
        snprintf(sample, sizeof sample, "%s%s", families[f].name,
                 families[f].suffix);
        begin_family(o, families[f].name, families[f].type, families[f].unit,
                     families[f].help);
        for (size_t i = 0; i < m->n[MEMORY_NAMES]; i++) {
            const axp_memory_name *of = &m->v->memory_names[i];
            const uint64_t values[] = {of->current_bytes, of->peak_bytes,
                                       of->total_allocated, of->n_allocs,
                                       of->n_frees};
            begin_named(m, sample, MEMORY_NAMES, i);
            put_whole(o, values[f]);
        }
    }
    begin_family(o, "memory_all_live_bytes", "gauge", "bytes",
                 "Allocated and not freed, all names.");
    put_domains(m, "memory_all_live_bytes", false);
    begin_family(o, "memory_all_peak_bytes", "gauge", "bytes",
                 "The most that was live, all names.");
    put_domains(m, "memory_all_peak_bytes", true);
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

static void put_counters(const struct metrics *m)
{
    if (!m->n[COUNTERS]) return;
    begin_family(m->o, "counter_last", "gauge", NULL,
                 "The last value of each counter.");
    for (size_t i = 0; i < m->n[COUNTERS]; i++) {
        begin_named(m, "counter_last", COUNTERS, i);
        put_value(m->o, m->v->counters[i].last);
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
    struct metrics m = {.v = v,
                        .o = o,
                        .n = {[OPS] = v->n_ops,
                              [MEMORY_NAMES] = v->n_memory_names,
                              [DOMAINS] = v->n_domains,
                              [COUNTERS] = v->n_counters}};
    bool ok = init_metrics(&m);
    if (ok) {
        put_run(o, v);
        if (v->n_ops) {
            put_op_times(&m);
            put_op_work(&m);
        }
        put_memory(&m);
        put_steps(o, v);
        put_counters(&m);
        put_warnings(o, v);
        axp__out_text(o, "# EOF\n");
    }
    for (int list = 0; list < N_LISTS; list++)
        free(m.nth[list]);
    return ok ? AXP_OK : axp__fail(AXP_E_NO_MEMORY, "no memory to export");
}
