/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the page shows at once: everything but the timeline, from the view's
 * own figures. Lists of many equal records are written as columns, which JSON
 * parsers read faster and which take half the bytes. */
#include "emit/emit_html.h"

#include <math.h>
#include <stdlib.h>

#include "emit/emit_name.h"
#include "emit/emit_run.h"
#include "emit/emit_words.h"

/* ---- pieces ----------------------------------------------------------------------- */

/* Times are relative to the first one. */
static axp_ns since(const struct axp__html_job *job, axp_ns t)
{
    return t > job->t0 ? t - job->t0 : 0;
}

void axp__html_put_time(struct axp__html_job *job, const char *name, axp_ns t)
{
    struct axp__json *j = &job->json;
    axp__json_u64(j, name, since(job, t));
}

/* The next record of a list. */
static void next_record(struct axp__json *j)
{
    axp__json_next(j);
    axp__json_begin(j, '{');
}

/* A column: `call` writes the value of record i, of n. */
#define MOST_WAITS 200 /* that take longest */
#define PUT_COLUMN(j, name, n, call)                                           \
    do {                                                                       \
        axp__json_list(j, name);                                               \
        for (size_t i = 0; i < (n); i++) {                                     \
            axp__json_next(j);                                                 \
            call;                                                              \
        }                                                                      \
        axp__json_end(j, ']');                                                 \
    } while (0)

static void known(struct axp__json *j, bool is_known, double value)
{
    axp__out_f64(j->o, is_known ? value : NAN); /* null */
}

/* ---- run and findings ---------------------------------------------------------------- */

/* What ran, where and when. */
static void put_where(struct axp__html_job *job)
{
    struct axp__json *j = &job->json;
    const struct axp__capture *c = job->v->capture;
    char *command = axp__run_command(job->v);
    char started[32];
    axp__run_started(job->v, started);
    if (command) axp__json_text(j, "command", command);
    if (c->about.host) axp__json_text(j, "host", c->about.host);
    if (c->about.cpu) axp__json_text(j, "cpu", c->about.cpu);
    if (*started) axp__json_text(j, "started", started);
    axp__json_u64(j, "process_id", c->process_id);
    free(command);
}

/* What was declared, a second, and what all threads could. */
static void put_rate(struct axp__html_job *job)
{
    struct axp__json *j = &job->json;
    const struct axp__roof_run *r = &job->f->roofs->run;
    const char *word = axp__word_dtype(r->dtype ? r->dtype : AXP_F32);
    if (!(r->flops_per_s > 0)) return;
    axp__json_f64(j, "gflops", r->flops_per_s / 1e9);
    if (!(r->peak > 0)) return;
    axp__json_list(j, "peak");
    axp__json_next(j);
    axp__out_json(j->o, r->threads ? word : "as given");
    axp__json_next(j);
    axp__out_f64(j->o, r->peak / 1e9);
    axp__json_end(j, ']');
}

static void put_run(struct axp__html_job *job)
{
    struct axp__json *j = &job->json;
    const axp_view *v = job->v;
    const struct axp__capture *c = v->capture;
    uint64_t self = 0;
    for (size_t i = 0; i < v->n_ops; i++)
        self += v->ops[i].self_ns;
    axp__json_object(j, "run");
    axp__json_text(j, "title", c->title ? c->title : "");
    axp__json_u64(j, "duration_ns", v->duration_ns);
    axp__json_key(j, "t0");
    axp__out_format(j->o, "\"%llu\"", (unsigned long long)job->t0);
    axp__json_u64(j, "process_count", axp__view_n_processes(v));
    axp__json_u64(j, "thread_count", v->n_threads);
    axp__json_u64(j, "operation_count", v->n_ops);
    axp__json_u64(j, "call_count", axp__view_n_calls(v));
    axp__json_u64(j, "total_time_ns", self);
    axp__json_u64(j, "events", axp_view_event_count(v));
    axp__json_u64(j, "cut_events", axp_view_cut_count(v));
    axp__json_u64(
        j, "own_cost_ns",
        axp__view_ns(v, c->own_cost.around_ticks + c->own_cost.inside_ticks));
    put_where(job);
    put_rate(job);
    axp__json_text(j, "version", AXP_VERSION);
    axp__json_end(j, '}');
}

static void put_finding(struct axp__html_job *job, const axp_finding *f)
{
    struct axp__json *j = &job->json;
    bool is_known = f->saving_share > 0;
    axp__json_text(j, "type", f->type_name);
    axp__json_text(j, "severity", axp__word_severity(f->severity));
    axp__json_key(j, "name");
    axp__out_u64(j->o, axp__html_op(&job->strings, false, f->name, f->device));
    axp__json_text(j, "description", f->description);
    axp__json_text(j, "suggestion", f->suggestion);
    axp__json_u64(j, "saving_ns", is_known ? f->saving_ns : 0);
    axp__json_f64(j, "saving_share", is_known ? f->saving_share : 0);
    axp__json_bool(j, "saving_is_bound", f->saving_is_bound);
    axp__json_f64(j, "confidence", f->confidence);
    axp__json_object(j, "metrics");
    for (size_t i = 0; i < f->n_metrics; i++)
        axp__json_f64(j, f->metrics[i].key, f->metrics[i].value);
    axp__json_end(j, '}');
}

static void put_pair(struct axp__json *j, const char *text, double value)
{
    axp__json_next(j);
    axp__json_begin(j, '[');
    axp__json_next(j);
    axp__out_json(j->o, text);
    axp__json_next(j);
    axp__out_f64(j->o, value);
    axp__json_end(j, ']');
}

static void put_findings(struct axp__html_job *job)
{
    struct axp__json *j = &job->json;
    const axp_findings *f = job->f;
    size_t most = job->options->max_findings;
    size_t n = most && most < f->n ? most : f->n;
    axp__json_text(j, "verdict", f->verdict);
    axp__json_list(j, "findings");
    for (size_t i = 0; i < n; i++) {
        next_record(j);
        put_finding(job, &f->all[i]);
        axp__json_end(j, '}');
    }
    axp__json_end(j, ']');
    axp__json_list(j, "thresholds");
    for (size_t i = 0; i < AXP__N_THRESHOLDS; i++) {
        put_pair(j, axp__thresholds[i].key, f->threshold[i]);
    }
    axp__json_end(j, ']');
}

static void put_warnings(struct axp__html_job *job)
{
    struct axp__json *j = &job->json;
    const axp_view *v = job->v;
    axp__json_list(j, "warnings");
    for (size_t i = 0; i < v->n_warnings; i++) {
        const axp_warning *w = &v->warnings[i];
        next_record(j);
        axp__json_text(j, "code", w->code);
        if (w->name) axp__json_text(j, "name", w->name);
        axp__json_u64(j, "count", w->count);
        axp__json_text(j, "text", w->text);
        axp__json_end(j, '}');
    }
    axp__json_end(j, ']');
}

/* ---- operations and tree ---------------------------------------------------------------- */

static void file(struct axp__html_job *job, const char *path)
{
    struct axp__json *j = &job->json;
    if (path)
        axp__out_u64(j->o, axp__html_string(&job->strings, path));
    else
        axp__out_text(j->o, "-1");
}

/* What it allows a call: the page has rates of calls. */
static void roof(struct axp__json *j, const struct axp__roof *r)
{
    known(j, r->is_known && r->flops > 0 && r->at_once,
          r->roof_flops / 1e9 / (r->at_once ? r->at_once : 1));
}

static void put_ops(struct axp__html_job *job)
{
    struct axp__json *j = &job->json;
    const axp_view *v = job->v;
    const axp_op *op = v->ops;
    struct axp__out *o = job->o;
    struct axp__html_strings *s = &job->strings;
    size_t n = v->n_ops;
    if (!n) return;
    axp__json_object(j, "ops");
    PUT_COLUMN(j, "name", n,
               axp__out_u64(o, axp__html_op(s, op[i].is_wait, op[i].name,
                                            op[i].device)));
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
    PUT_COLUMN(j, "roof", n, roof(j, &job->f->roofs->at[i]));
    PUT_COLUMN(j, "dtype", n, axp__out_u64(o, (uint64_t)op[i].dtype));
    PUT_COLUMN(j, "category", n, axp__out_u64(o, (uint64_t)op[i].category));
    PUT_COLUMN(j, "file", n, file(job, op[i].file));
    PUT_COLUMN(j, "line", n, axp__out_i64(o, op[i].line));
    PUT_COLUMN(j, "sampled", n, axp__out_u64(o, op[i].is_sampled));
    PUT_COLUMN(j, "wait", n, axp__out_u64(o, op[i].is_wait));
    PUT_COLUMN(j, "doubt", n,
               axp__out_u64(o, op[i].is_doubtful ? op[i].doubt_ns : 0));
    axp__json_end(j, '}');
}

static void put_tree(struct axp__html_job *job)
{
    struct axp__json *j = &job->json;
    const axp_view *v = job->v;
    const axp_tree_node *t = v->tree;
    struct axp__out *o = job->o;
    struct axp__html_strings *s = &job->strings;
    size_t n = v->n_tree;
    if (n < 2) return; /* the root alone */
    axp__json_object(j, "tree");
    PUT_COLUMN(
        j, "name", n,
        axp__out_u64(o, axp__html_op(s, t[i].is_wait, t[i].name, t[i].device)));
    PUT_COLUMN(j, "parent", n, axp__out_i64(o, t[i].parent));
    PUT_COLUMN(j, "calls", n, axp__out_u64(o, t[i].calls));
    PUT_COLUMN(j, "total", n, axp__out_u64(o, t[i].total_ns));
    PUT_COLUMN(j, "self", n, axp__out_u64(o, t[i].self_ns));
    PUT_COLUMN(j, "flops", n, known(j, t[i].flops > 0, t[i].flops));
    PUT_COLUMN(j, "bytes", n, known(j, t[i].bytes > 0, t[i].bytes));
    PUT_COLUMN(j, "alloc", n, axp__out_u64(o, t[i].allocated_bytes));
    axp__json_end(j, '}');
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* Every step, by its time within 1.6 %. */
static void put_hist(struct axp__html_job *job)
{
    struct axp__json *j = &job->json;
    size_t n = 0;
    struct axp__weighted *w = axp__view_step_times(job->v, &n);
    if (!w) axp__html_fail(job, AXP_E_NO_MEMORY);
    axp__json_list(j, "hist");
    for (size_t i = 0; w && i < n; i++) {
        uint64_t bucket[] = {w[i].value, w[i].value, w[i].count};
        if (!w[i].count) continue;
        axp__json_next(j);
        axp__json_begin(j, '[');
        for (size_t k = 0; k < 3; k++) {
            axp__json_next(j);
            axp__out_u64(j->o, bucket[k]);
        }
        axp__json_end(j, ']');
    }
    axp__json_end(j, ']');
    free(w);
}

static void put_steps(struct axp__html_job *job)
{
    struct axp__json *j = &job->json;
    const axp_step_stats *s = &job->v->steps;
    const struct axp__html_step *list = job->around.steps;
    size_t n = job->around.n_steps;
    if (!s->count) return;
    axp__json_object(j, "steps");
    axp__json_u64(j, "count", s->count);
    axp__json_u64(j, "avg", s->avg_ns);
    axp__json_u64(j, "p50", s->p50_ns);
    axp__json_u64(j, "p95", s->p95_ns);
    axp__json_u64(j, "p99", s->p99_ns);
    axp__json_u64(j, "min", s->min_ns);
    axp__json_u64(j, "max", s->max_ns);
    axp__json_object(j, "list");
    PUT_COLUMN(j, "index", n, axp__out_u64(j->o, list[i].index));
    PUT_COLUMN(j, "begin", n, axp__out_u64(j->o, since(job, list[i].begin)));
    PUT_COLUMN(j, "end", n, axp__out_u64(j->o, since(job, list[i].end)));
    PUT_COLUMN(j, "live", n, axp__out_u64(j->o, list[i].live_bytes));
    axp__json_end(j, '}');
    put_hist(job);
    axp__json_end(j, '}');
}

/* ---- rows and machine --------------------------------------------------------------------------- */

static void put_threads(struct axp__html_job *job)
{
    struct axp__json *j = &job->json;
    const axp_view *v = job->v;
    axp__json_list(j, "threads");
    for (size_t i = 0; i < v->n_threads; i++) {
        const axp_thread_info *t = &v->threads[i];
        next_record(j);
        axp__json_u64(j, "id", t->id);
        axp__json_text(j, "name", t->name);
        axp__json_u64(j, "process", t->process_id);
        axp__json_i64(j, "rank", t->rank);
        axp__html_put_time(job, "begin", t->begin);
        axp__html_put_time(job, "end", t->end);
        axp__json_u64(j, "busy", t->busy_ns);
        axp__json_u64(j, "wait", t->wait_ns);
        if (t->cpu_ns || t->is_scheduled) axp__json_u64(j, "cpu", t->cpu_ns);
        if (t->is_scheduled) {
            axp__json_u64(j, "ready", t->ready_ns);
            axp__json_u64(j, "off", t->off_ns);
            axp__json_u64(j, "spun", t->spun_ns);
        }
        axp__json_u64(j, "events", t->events);
        axp__json_end(j, '}');
    }
    axp__json_end(j, ']');
}

struct waits {
    struct axp__html_job *job;
    size_t n;
};

static int put_wait(const axp_waits *w, void *ctx)
{
    struct waits *waits = ctx;
    struct axp__json *j = &waits->job->json;
    if (waits->n++ == MOST_WAITS) return 1;
    next_record(j);
    axp__json_text(j, "name", w->name);
    axp__json_u64(j, "process", w->process_id);
    axp__json_u64(j, "thread", w->thread_id);
    axp__json_text(j, "thread_name", w->thread);
    if (w->by_thread) {
        axp__json_u64(j, "by", w->by_thread_id);
        axp__json_text(j, "by_name", w->by_thread);
    }
    axp__json_u64(j, "count", w->count);
    axp__json_u64(j, "total", w->total_ns);
    axp__json_u64(j, "max", w->max_ns);
    axp__json_end(j, '}');
    return 0;
}

static void put_waits(struct axp__html_job *job)
{
    struct axp__json *j = &job->json;
    struct waits waits = {job, 0};
    if (!axp__view_has_waits(job->v)) return;
    axp__json_list(j, "waits");
    (void)axp_view_waits(job->v, put_wait, &waits);
    axp__json_end(j, ']');
}

/* The row that feeds a track knows whose it is. */
static const struct axp__cap_row *row_of(const axp_view *v, uint32_t track)
{
    for (size_t i = 0; i < v->capture->n_rows; i++)
        if (v->capture->rows[i].track == track) return &v->capture->rows[i];
    return NULL;
}

static void put_queues(struct axp__html_job *job)
{
    struct axp__json *j = &job->json;
    const axp_view *v = job->v;
    if (!v->n_tracks) return;
    axp__json_list(j, "queues");
    for (size_t i = 0; i < v->n_tracks; i++) {
        const struct axp__view_track *t = &v->tracks[i];
        const struct axp__cap_row *row = row_of(v, t->id);
        char *name = axp__name_on(t->name, t->device);
        next_record(j);
        axp__json_text(j, "name", name ? name : t->name);
        free(name);
        axp__json_u64(j, "process",
                      row ? row->process_id : v->capture->process_id);
        axp__json_i64(j, "rank", row ? row->rank : -1);
        axp__html_put_time(job, "begin", t->begin);
        axp__html_put_time(job, "end", t->end);
        axp__json_u64(j, "busy", t->busy_ns);
        axp__json_u64(j, "events", t->events);
        axp__json_end(j, '}');
    }
    axp__json_end(j, ']');
}

void axp__html_meta_put(struct axp__html_job *job)
{
    static void (*const sections[])(struct axp__html_job *) = {
        put_run,
        put_findings,
        put_warnings,
        put_ops,
        axp__html_shapes_put,
        put_tree,
        axp__html_path_put,
        put_steps,
        axp__html_memory_put,
        axp__html_heap_put,
        put_threads,
        put_waits,
        put_queues,
        axp__html_machine_put};
    struct axp__json *j = &job->json;
    axp__out_text(job->o, "<script type=\"application/json\" id=\"axp-meta\">");
    axp__json_begin(j, '{');
    axp__json_u64(j, "format", AXP__HTML_FORMAT);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        sections[i](job);
    axp__json_key(j, "strings");
    axp__html_strings_put(&job->strings, j);
    axp__json_end(j, '}');
    axp__out_text(job->o, "</script>\n");
}
