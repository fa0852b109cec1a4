/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the page shows at once: everything but the timeline, from the view's
 * own figures. Lists of many equal records are written as columns, which JSON
 * parsers read faster and which take half the bytes. */
#include "emit/emit_html.h"

#include <math.h>
#include <stdlib.h>

#include "emit/emit_run.h"
#include "emit/emit_words.h"

/* ---- pieces ----------------------------------------------------------------------- */

struct json {
    struct axp__html_job *job;
    struct axp__out *o;
    bool has_member;
};

static void key(struct json *j, const char *name)
{
    axp__out_text(j->o, j->has_member ? ",\"" : "\"");
    axp__out_text(j->o, name);
    axp__out_text(j->o, "\":");
    j->has_member = true;
}

static void begin(struct json *j, char bracket)
{
    axp__out_char(j->o, bracket);
    j->has_member = false;
}

static void end(struct json *j, char bracket)
{
    axp__out_char(j->o, bracket);
    j->has_member = true;
}

/* The next record of a list. */
static void item(struct json *j, size_t i)
{
    if (i) axp__out_char(j->o, ',');
    begin(j, '{');
}

static void put_u64(struct json *j, const char *name, uint64_t value)
{
    key(j, name);
    axp__out_u64(j->o, value);
}

static void put_i64(struct json *j, const char *name, int64_t value)
{
    key(j, name);
    axp__out_i64(j->o, value);
}

static void put_f64(struct json *j, const char *name, double value)
{
    key(j, name);
    axp__out_f64(j->o, value);
}

static void put_text(struct json *j, const char *name, const char *text)
{
    key(j, name);
    axp__out_json(j->o, text);
}

static void put_bool(struct json *j, const char *name, bool value)
{
    key(j, name);
    axp__out_text(j->o, value ? "true" : "false");
}

static void put_name(struct json *j, const char *name, const char *text)
{
    key(j, name);
    if (text)
        axp__out_u64(j->o, axp__html_string(&j->job->strings, text));
    else
        axp__out_text(j->o, "-1");
}

/* Times are relative to the first one. */
static axp_ns since(const struct json *j, axp_ns t)
{
    return t > j->job->t0 ? t - j->job->t0 : 0;
}

static void put_time(struct json *j, const char *name, axp_ns t)
{
    put_u64(j, name, since(j, t));
}

/* A column: `expression` of each of `n` records, number i. */
#define PUT_COLUMN(j, name, n, call)                                           \
    do {                                                                       \
        key(j, name);                                                          \
        axp__out_char((j)->o, '[');                                            \
        for (size_t i = 0; i < (n); i++) {                                     \
            if (i) axp__out_char((j)->o, ',');                                 \
            call;                                                              \
        }                                                                      \
        axp__out_char((j)->o, ']');                                            \
    } while (0)

static void known(struct json *j, bool is_known, double value)
{
    axp__out_f64(j->o, is_known ? value : NAN); /* null */
}

/* ---- run and findings ---------------------------------------------------------------- */

/* What ran, where and when. */
static void put_where(struct json *j)
{
    const struct axp__capture *c = j->job->v->capture;
    char *command = axp__run_command(j->job->v);
    char started[32];
    axp__run_started(j->job->v, started);
    if (command) put_text(j, "command", command);
    if (c->about.host) put_text(j, "host", c->about.host);
    if (c->about.cpu) put_text(j, "cpu", c->about.cpu);
    if (*started) put_text(j, "started", started);
    put_u64(j, "process_id", c->process_id);
    free(command);
}

static void put_run(struct json *j)
{
    const axp_view *v = j->job->v;
    const struct axp__capture *c = v->capture;
    uint64_t self = 0;
    for (size_t i = 0; i < v->n_ops; i++)
        self += v->ops[i].self_ns;
    key(j, "run");
    begin(j, '{');
    put_text(j, "title", c->title ? c->title : "");
    put_u64(j, "duration_ns", v->duration_ns);
    key(j, "t0");
    axp__out_format(j->o, "\"%llu\"", (unsigned long long)j->job->t0);
    put_u64(j, "process_count", axp__view_n_processes(v));
    put_u64(j, "thread_count", v->n_threads);
    put_u64(j, "operation_count", v->n_ops);
    put_u64(j, "call_count", axp__view_n_calls(v));
    put_u64(j, "total_time_ns", self);
    put_u64(j, "events", v->n_events);
    put_u64(j, "cut_events", axp_view_cut_count(v));
    put_u64(
        j, "own_cost_ns",
        axp__view_ns(v, c->own_cost.around_ticks + c->own_cost.inside_ticks));
    put_where(j);
    put_text(j, "version", AXP_VERSION);
    end(j, '}');
}

static void put_finding(struct json *j, const axp_finding *f)
{
    bool is_known = f->saving_share > 0;
    put_text(j, "type", f->type_name);
    put_text(j, "severity", axp__word_severity(f->severity));
    put_name(j, "name", f->name);
    put_text(j, "description", f->description);
    put_text(j, "suggestion", f->suggestion);
    put_u64(j, "saving_ns", is_known ? f->saving_ns : 0);
    put_f64(j, "saving_share", is_known ? f->saving_share : 0);
    put_bool(j, "saving_is_bound", f->saving_is_bound);
    put_f64(j, "confidence", f->confidence);
    key(j, "metrics");
    begin(j, '{');
    for (size_t i = 0; i < f->n_metrics; i++)
        put_f64(j, f->metrics[i].key, f->metrics[i].value);
    end(j, '}');
}

static void put_findings(struct json *j)
{
    const axp_findings *f = j->job->f;
    size_t most = j->job->options->max_findings;
    size_t n = most && most < f->n ? most : f->n;
    key(j, "findings");
    begin(j, '[');
    for (size_t i = 0; i < n; i++) {
        item(j, i);
        put_finding(j, &f->all[i]);
        end(j, '}');
    }
    end(j, ']');
    key(j, "thresholds");
    begin(j, '[');
    for (size_t i = 0; i < AXP__N_THRESHOLDS; i++) {
        axp__out_text(j->o, i ? ",[" : "[");
        axp__out_json(j->o, axp__thresholds[i].key);
        axp__out_char(j->o, ',');
        axp__out_f64(j->o, f->threshold[i]);
        axp__out_char(j->o, ']');
    }
    end(j, ']');
}

static void put_warnings(struct json *j)
{
    const axp_view *v = j->job->v;
    key(j, "warnings");
    begin(j, '[');
    for (size_t i = 0; i < v->n_warnings; i++) {
        const axp_warning *w = &v->warnings[i];
        item(j, i);
        put_text(j, "code", w->code);
        if (w->name) put_text(j, "name", w->name);
        put_u64(j, "count", w->count);
        put_text(j, "text", w->text);
        end(j, '}');
    }
    end(j, ']');
}

/* ---- operations and tree ---------------------------------------------------------------- */

static void file(struct json *j, const char *path)
{
    if (path)
        axp__out_u64(j->o, axp__html_string(&j->job->strings, path));
    else
        axp__out_text(j->o, "-1");
}

static uint32_t name_of(struct axp__html_strings *s, bool is_wait,
                        const char *name)
{
    return axp__html_string_as(s, is_wait ? AXP__HTML_WAIT : AXP__HTML_PLAIN,
                               name);
}

static void put_ops(struct json *j)
{
    const axp_view *v = j->job->v;
    const axp_op *op = v->ops;
    struct axp__out *o = j->o;
    struct axp__html_strings *s = &j->job->strings;
    size_t n = v->n_ops;
    if (!n) return;
    key(j, "ops");
    begin(j, '{');
    PUT_COLUMN(j, "name", n,
               axp__out_u64(o, name_of(s, op[i].is_wait, op[i].name)));
    PUT_COLUMN(j, "calls", n, axp__out_u64(o, op[i].calls));
    PUT_COLUMN(j, "total", n, axp__out_u64(o, op[i].total_ns));
    PUT_COLUMN(j, "self", n, axp__out_u64(o, op[i].self_ns));
    PUT_COLUMN(j, "min", n, axp__out_u64(o, op[i].min_ns));
    PUT_COLUMN(j, "max", n, axp__out_u64(o, op[i].max_ns));
    PUT_COLUMN(j, "p50", n, axp__out_u64(o, op[i].p50_ns));
    PUT_COLUMN(j, "p95", n, axp__out_u64(o, op[i].p95_ns));
    PUT_COLUMN(j, "p99", n, axp__out_u64(o, op[i].p99_ns));
    PUT_COLUMN(j, "share", n, axp__out_f64(o, op[i].time_share));
    PUT_COLUMN(j, "flops", n, known(j, op[i].n_flops_calls, op[i].flops));
    PUT_COLUMN(j, "bytes", n, known(j, op[i].n_bytes_calls, op[i].bytes));
    PUT_COLUMN(j, "flops_ns", n,
               known(j, op[i].n_flops_calls, (double)op[i].flops_ns));
    PUT_COLUMN(j, "bytes_ns", n,
               known(j, op[i].n_bytes_calls, (double)op[i].bytes_ns));
    PUT_COLUMN(j, "dtype", n, axp__out_u64(o, (uint64_t)op[i].dtype));
    PUT_COLUMN(j, "category", n, axp__out_u64(o, (uint64_t)op[i].category));
    PUT_COLUMN(j, "file", n, file(j, op[i].file));
    PUT_COLUMN(j, "line", n, axp__out_i64(o, op[i].line));
    PUT_COLUMN(j, "sampled", n, axp__out_u64(o, op[i].is_sampled));
    PUT_COLUMN(j, "wait", n, axp__out_u64(o, op[i].is_wait));
    end(j, '}');
}

static void put_tree(struct json *j)
{
    const axp_view *v = j->job->v;
    const axp_tree_node *t = v->tree;
    struct axp__out *o = j->o;
    struct axp__html_strings *s = &j->job->strings;
    size_t n = v->n_tree;
    if (n < 2) return; /* the root alone */
    key(j, "tree");
    begin(j, '{');
    PUT_COLUMN(j, "name", n,
               axp__out_u64(o, name_of(s, t[i].is_wait, t[i].name)));
    PUT_COLUMN(j, "parent", n, axp__out_i64(o, t[i].parent));
    PUT_COLUMN(j, "calls", n, axp__out_u64(o, t[i].calls));
    PUT_COLUMN(j, "total", n, axp__out_u64(o, t[i].total_ns));
    PUT_COLUMN(j, "self", n, axp__out_u64(o, t[i].self_ns));
    PUT_COLUMN(j, "flops", n, known(j, t[i].flops > 0, t[i].flops));
    PUT_COLUMN(j, "bytes", n, known(j, t[i].bytes > 0, t[i].bytes));
    PUT_COLUMN(j, "alloc", n, axp__out_u64(o, t[i].allocated_bytes));
    end(j, '}');
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* Every step, by its time within 1.6 %. */
static void put_hist(struct json *j)
{
    size_t n = 0, shown = 0;
    struct axp__weighted *w = axp__view_step_times(j->job->v, &n);
    if (!w) axp__html_fail(j->job, AXP_E_NO_MEMORY);
    key(j, "hist");
    axp__out_char(j->o, '[');
    for (size_t i = 0; w && i < n; i++) {
        if (!w[i].count) continue;
        axp__out_text(j->o, shown++ ? ",[" : "[");
        axp__out_u64(j->o, w[i].value);
        axp__out_char(j->o, ',');
        axp__out_u64(j->o, w[i].value);
        axp__out_char(j->o, ',');
        axp__out_u64(j->o, w[i].count);
        axp__out_char(j->o, ']');
    }
    axp__out_char(j->o, ']');
    free(w);
}

static void put_steps(struct json *j)
{
    const axp_step_stats *s = &j->job->v->steps;
    const struct axp__html_step *list = j->job->around.steps;
    size_t n = j->job->around.n_steps;
    if (!s->count) return;
    key(j, "steps");
    begin(j, '{');
    put_u64(j, "count", s->count);
    put_u64(j, "avg", s->avg_ns);
    put_u64(j, "p50", s->p50_ns);
    put_u64(j, "p95", s->p95_ns);
    put_u64(j, "p99", s->p99_ns);
    put_u64(j, "min", s->min_ns);
    put_u64(j, "max", s->max_ns);
    key(j, "list");
    begin(j, '{');
    PUT_COLUMN(j, "index", n, axp__out_u64(j->o, list[i].index));
    PUT_COLUMN(j, "begin", n, axp__out_u64(j->o, since(j, list[i].begin)));
    PUT_COLUMN(j, "end", n, axp__out_u64(j->o, since(j, list[i].end)));
    PUT_COLUMN(j, "live", n, axp__out_u64(j->o, list[i].live_bytes));
    end(j, '}');
    put_hist(j);
    end(j, '}');
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void put_memory_names(struct json *j)
{
    const axp_view *v = j->job->v;
    key(j, "names");
    begin(j, '[');
    for (size_t i = 0; i < v->n_memory_names; i++) {
        const axp_memory_name *m = &v->memory_names[i];
        item(j, i);
        put_name(j, "name", m->name);
        put_u64(j, "kind", (uint64_t)m->kind);
        put_u64(j, "current", m->current_bytes);
        put_u64(j, "peak", m->peak_bytes);
        put_u64(j, "at_peak", m->at_peak_bytes);
        put_u64(j, "allocated", m->total_allocated);
        put_u64(j, "n_allocs", m->n_allocs);
        put_u64(j, "n_frees", m->n_frees);
        end(j, '}');
    }
    end(j, ']');
    key(j, "leaks");
    begin(j, '[');
    for (size_t i = 0; i < v->n_leaks; i++) {
        const axp_leak *l = &v->leaks[i];
        item(j, i);
        put_name(j, "name", l->name);
        put_u64(j, "bytes", l->bytes);
        put_time(j, "at", l->at);
        put_u64(j, "thread", l->thread_id);
        put_bool(j, "is_retained", l->is_retained);
        put_u64(j, "n_blocks", l->n_blocks);
        end(j, '}');
    }
    end(j, ']');
}

static void put_memory(struct json *j)
{
    const axp_memory *m = &j->job->v->memory;
    if (!m->n_allocs && !m->n_frees) return;
    key(j, "memory");
    begin(j, '{');
    put_u64(j, "current", m->current_bytes);
    put_u64(j, "peak", m->peak_bytes);
    put_time(j, "peak_at", m->peak_at);
    put_u64(j, "allocated", m->total_allocated);
    put_u64(j, "freed", m->total_freed);
    put_u64(j, "n_allocs", m->n_allocs);
    put_u64(j, "n_frees", m->n_frees);
    put_memory_names(j);
    end(j, '}');
}

/* ---- rows and machine --------------------------------------------------------------------------- */

static void put_threads(struct json *j)
{
    const axp_view *v = j->job->v;
    key(j, "threads");
    begin(j, '[');
    for (size_t i = 0; i < v->n_threads; i++) {
        const axp_thread_info *t = &v->threads[i];
        item(j, i);
        put_u64(j, "id", t->id);
        put_text(j, "name", t->name);
        put_u64(j, "process", t->process_id);
        put_i64(j, "rank", t->rank);
        put_time(j, "begin", t->begin);
        put_time(j, "end", t->end);
        put_u64(j, "busy", t->busy_ns);
        put_u64(j, "wait", t->wait_ns);
        if (t->cpu_ns) put_u64(j, "cpu", t->cpu_ns);
        put_u64(j, "events", t->events);
        end(j, '}');
    }
    end(j, ']');
}

/* The row that feeds a track knows whose it is. */
static const struct axp__cap_row *row_of(const axp_view *v, uint32_t track)
{
    for (size_t i = 0; i < v->capture->n_rows; i++)
        if (v->capture->rows[i].track == track) return &v->capture->rows[i];
    return NULL;
}

static void put_queues(struct json *j)
{
    const axp_view *v = j->job->v;
    if (!v->n_tracks) return;
    key(j, "queues");
    begin(j, '[');
    for (size_t i = 0; i < v->n_tracks; i++) {
        const struct axp__view_track *t = &v->tracks[i];
        const struct axp__cap_row *row = row_of(v, t->id);
        item(j, i);
        put_text(j, "name", t->name);
        put_u64(j, "process", row ? row->process_id : v->capture->process_id);
        put_i64(j, "rank", row ? row->rank : -1);
        put_time(j, "begin", t->begin);
        put_time(j, "end", t->end);
        put_u64(j, "busy", t->busy_ns);
        put_u64(j, "events", t->events);
        end(j, '}');
    }
    end(j, ']');
}

/* Peaks are known where someone gave them. */
static void put_machine(struct json *j)
{
    const double *t = j->job->f->threshold;
    double gflops = t[AXP__T_low_throughput_peak_gflops];
    double gbps = t[AXP__T_low_throughput_peak_gbps];
    if (!(gflops > 0) && !(gbps > 0)) return;
    key(j, "machine");
    begin(j, '{');
    put_text(j, "name", "the machine, as given");
    put_u64(j, "cores", 0);
    key(j, "gflops");
    axp__out_char(j->o, '[');
    if (gflops > 0) {
        axp__out_text(j->o, "[\"peak\",");
        axp__out_f64(j->o, gflops);
        axp__out_char(j->o, ']');
    }
    axp__out_char(j->o, ']');
    key(j, "gbps");
    axp__out_char(j->o, '[');
    if (gbps > 0) {
        axp__out_text(j->o, "[\"memory\",");
        axp__out_f64(j->o, gbps);
        axp__out_char(j->o, ']');
    }
    axp__out_char(j->o, ']');
    end(j, '}');
}

void axp__html_meta_put(struct axp__html_job *job)
{
    static void (*const sections[])(struct json *) = {
        put_run,   put_findings, put_warnings, put_ops,    put_tree,
        put_steps, put_memory,   put_threads,  put_queues, put_machine};
    struct json j = {.job = job, .o = job->o};
    axp__out_text(job->o, "<script type=\"application/json\" id=\"axp-meta\">");
    begin(&j, '{');
    put_u64(&j, "format", AXP__HTML_FORMAT);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        sections[i](&j);
    key(&j, "strings");
    axp__html_strings_put(&job->strings, job->o);
    end(&j, '}');
    axp__out_text(job->o, "</script>\n");
}
