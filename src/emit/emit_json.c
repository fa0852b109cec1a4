/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The JSON report: everything that is in the view and the findings.
 *
 * docs/report.schema.json describes it; a change that breaks a reader raises
 * the number in "schema". Numbers are in base units (ns, bytes, FLOPs, shares
 * of 1); null is "not known". One record a line, so that tools that know lines
 * alone can work with it.
 */
#include <math.h>

#include "emit/emit_report.h"
#include "emit/emit_words.h"

#define SCHEMA "axprof-report-1"

/* ---- members ----------------------------------------------------------------- */

struct json {
    struct axp__out *o;
    bool has_member; /* a comma comes first */
};

static void key(struct json *j, const char *name)
{
    if (j->has_member) axp__out_text(j->o, ", ");
    j->has_member = true;
    axp__out_char(j->o, '"');
    axp__out_text(j->o, name);
    axp__out_text(j->o, "\": ");
}

static void put_u64(struct json *j, const char *name, uint64_t value)
{
    key(j, name);
    axp__out_u64(j->o, value);
}

static void put_f64(struct json *j, const char *name, double value)
{
    key(j, name);
    axp__out_f64(j->o, value);
}

/* null where it is not known */
static void put_known(struct json *j, const char *name, bool is_known,
                      double value)
{
    put_f64(j, name, is_known ? value : NAN);
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

static void begin(struct json *j)
{
    axp__out_char(j->o, '{');
    j->has_member = false;
}

static void end(struct json *j)
{
    axp__out_char(j->o, '}');
    j->has_member = true;
}

/* A record of a list, on a line of its own. */
static void begin_item(struct json *j, size_t i, const char *indent)
{
    axp__out_text(j->o, i ? ",\n" : "\n");
    axp__out_text(j->o, indent);
    begin(j);
}

static void begin_list(struct json *j, const char *name)
{
    key(j, name);
    axp__out_char(j->o, '[');
    j->has_member = false;
}

static void end_list(struct json *j, size_t n, const char *indent)
{
    if (n) {
        axp__out_char(j->o, '\n');
        axp__out_text(j->o, indent);
    }
    axp__out_char(j->o, ']');
    j->has_member = true;
}

/* A member of the report itself. */
static void begin_section(struct json *j)
{
    axp__out_text(j->o, j->has_member ? ",\n  " : "\n  ");
    j->has_member = false;
}

/* ---- run and findings -------------------------------------------------------------- */

static void put_applied(struct json *j, const axp_findings *f)
{
    key(j, "thresholds");
    begin(j);
    for (size_t i = 0; i < AXP__N_THRESHOLDS; i++)
        put_f64(j, axp__thresholds[i].key, f->threshold[i]);
    end(j);
    begin_list(j, "ignored");
    for (size_t i = 0; i < f->n_ignored; i++) {
        if (i) axp__out_text(j->o, ", ");
        axp__out_json(j->o, f->ignored[i]);
    }
    end_list(j, 0, "");
}

static void put_run(struct json *j, const axp_view *v, const axp_findings *f)
{
    const struct axp__capture *c = v->capture;
    uint64_t self = 0;
    for (size_t i = 0; i < v->n_ops; i++)
        self += v->ops[i].self_ns;
    key(j, "run");
    begin(j);
    put_text(j, "title", c->title);
    put_u64(j, "duration_ns", v->duration_ns);
    put_u64(j, "process_count", axp__view_n_processes(v));
    put_u64(j, "thread_count", v->n_threads);
    put_u64(j, "operation_count", v->n_ops);
    put_u64(j, "call_count", axp__view_n_calls(v));
    put_u64(j, "total_time_ns", self);
    put_u64(j, "event_count", v->n_events);
    put_u64(j, "cut_events", axp_view_cut_count(v));
    put_u64(j, "process_id", c->process_id);
    put_known(j, "rank", c->rank >= 0, c->rank);
    put_bool(j, "is_finished", c->is_finished);
    put_text(j, "made_by", "axprof " AXP_VERSION);
    put_applied(j, f);
    end(j);
}

static void put_finding(struct json *j, const axp_finding *f)
{
    bool is_known = f->saving_share > 0;
    put_text(j, "type", f->type_name);
    put_text(j, "severity", axp__word_severity(f->severity));
    put_text(j, "name", f->name);
    put_text(j, "description", f->description);
    put_text(j, "suggestion", f->suggestion);
    put_text(j, "file", f->file);
    put_known(j, "line", f->line > 0, f->line);
    put_known(j, "saving_ns", is_known, (double)f->saving_ns);
    put_known(j, "saving_share", is_known, f->saving_share);
    put_bool(j, "saving_is_bound", f->saving_is_bound);
    put_f64(j, "confidence", f->confidence);
    key(j, "metrics");
    begin(j);
    for (size_t i = 0; i < f->n_metrics; i++)
        put_f64(j, f->metrics[i].key, f->metrics[i].value);
    end(j);
}

static void put_findings(struct json *j, const axp_findings *f,
                         const axp_report_options *options)
{
    size_t n = f->n;
    if (options->max_findings && options->max_findings < n)
        n = options->max_findings;
    begin_list(j, "findings");
    for (size_t i = 0; i < n; i++) {
        begin_item(j, i, "    ");
        put_finding(j, &f->all[i]);
        end(j);
    }
    end_list(j, n, "  ");
}

/* ---- operations and tree ------------------------------------------------------------- */

static void put_op(struct json *j, const axp_op *op)
{
    put_text(j, "name", op->name);
    put_u64(j, "calls", op->calls);
    put_u64(j, "total_ns", op->total_ns);
    put_u64(j, "self_ns", op->self_ns);
    put_u64(j, "min_ns", op->min_ns);
    put_u64(j, "max_ns", op->max_ns);
    put_u64(j, "avg_ns", op->avg_ns);
    put_u64(j, "p50_ns", op->p50_ns);
    put_u64(j, "p95_ns", op->p95_ns);
    put_u64(j, "p99_ns", op->p99_ns);
    put_f64(j, "time_share", op->time_share);
    put_known(j, "flops", op->n_flops_calls, op->flops);
    put_known(j, "bytes", op->n_bytes_calls, op->bytes);
    put_u64(j, "n_flops_calls", op->n_flops_calls);
    put_u64(j, "n_bytes_calls", op->n_bytes_calls);
    put_known(j, "flops_ns", op->n_flops_calls, (double)op->flops_ns);
    put_known(j, "bytes_ns", op->n_bytes_calls, (double)op->bytes_ns);
    put_f64(j, "gflops", axp_op_gflops(op));
    put_f64(j, "gbps", axp_op_gbps(op));
    put_text(j, "dtype", axp__word_dtype(op->dtype));
    put_text(j, "category", axp__word_cat(op->category));
    put_text(j, "file", op->file);
    put_known(j, "line", op->line > 0, op->line);
    put_bool(j, "is_sampled", op->is_sampled);
    put_bool(j, "is_wait", op->is_wait);
}

static void put_ops(struct json *j, const axp_view *v)
{
    begin_list(j, "ops");
    for (size_t i = 0; i < v->n_ops; i++) {
        begin_item(j, i, "    ");
        put_op(j, &v->ops[i]);
        end(j);
    }
    end_list(j, v->n_ops, "  ");
}

static void put_tree(struct json *j, const axp_view *v)
{
    begin_list(j, "tree");
    for (size_t i = 0; i < v->n_tree; i++) {
        const axp_tree_node *n = &v->tree[i];
        begin_item(j, i, "    ");
        put_text(j, "name", n->name);
        key(j, "parent");
        axp__out_i64(j->o, n->parent);
        put_u64(j, "calls", n->calls);
        put_u64(j, "total_ns", n->total_ns);
        put_u64(j, "self_ns", n->self_ns);
        put_known(j, "flops", n->flops > 0, n->flops);
        put_known(j, "bytes", n->bytes > 0, n->bytes);
        put_u64(j, "allocated_bytes", n->allocated_bytes);
        put_bool(j, "is_sampled", n->is_sampled);
        end(j);
    }
    end_list(j, v->n_tree, "  ");
}

/* ---- memory ---------------------------------------------------------------------------- */

static void put_memory_name(struct json *j, const axp_memory_name *m)
{
    put_text(j, "name", m->name);
    put_text(j, "kind", axp__word_mem(m->kind));
    put_u64(j, "current_bytes", m->current_bytes);
    put_u64(j, "peak_bytes", m->peak_bytes);
    put_u64(j, "at_peak_bytes", m->at_peak_bytes);
    put_u64(j, "total_allocated", m->total_allocated);
    put_u64(j, "n_allocs", m->n_allocs);
    put_u64(j, "n_frees", m->n_frees);
}

static void put_leak(struct json *j, const axp_leak *l)
{
    put_text(j, "name", l->name);
    put_u64(j, "bytes", l->bytes);
    put_u64(j, "n_blocks", l->n_blocks);
    put_u64(j, "at", l->at);
    put_u64(j, "thread_id", l->thread_id);
    put_bool(j, "is_retained", l->is_retained);
}

static void put_memory(struct json *j, const axp_view *v)
{
    const axp_memory *m = &v->memory;
    key(j, "memory");
    begin(j);
    put_u64(j, "current_bytes", m->current_bytes);
    put_u64(j, "peak_bytes", m->peak_bytes);
    put_known(j, "peak_at", m->peak_bytes, (double)m->peak_at);
    put_u64(j, "total_allocated", m->total_allocated);
    put_u64(j, "total_freed", m->total_freed);
    put_u64(j, "n_allocs", m->n_allocs);
    put_u64(j, "n_frees", m->n_frees);
    begin_list(j, "names");
    for (size_t i = 0; i < v->n_memory_names; i++) {
        begin_item(j, i, "    ");
        put_memory_name(j, &v->memory_names[i]);
        end(j);
    }
    end_list(j, v->n_memory_names, "  ");
    begin_list(j, "leaks");
    for (size_t i = 0; i < v->n_leaks; i++) {
        begin_item(j, i, "    ");
        put_leak(j, &v->leaks[i]);
        end(j);
    }
    end_list(j, v->n_leaks, "  ");
    end(j);
}

/* ---- the rest ----------------------------------------------------------------------------- */

static void put_steps(struct json *j, const axp_view *v)
{
    const axp_step_stats *s = &v->steps;
    const struct {
        const char *name;
        axp_ns ns;
    } times[] = {{"avg_ns", s->avg_ns}, {"p50_ns", s->p50_ns},
                 {"p95_ns", s->p95_ns}, {"p99_ns", s->p99_ns},
                 {"min_ns", s->min_ns}, {"max_ns", s->max_ns}};
    key(j, "steps");
    begin(j);
    put_u64(j, "count", s->count);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        put_known(j, times[i].name, s->count, (double)times[i].ns);
    end(j);
}

static void put_threads(struct json *j, const axp_view *v)
{
    begin_list(j, "threads");
    for (size_t i = 0; i < v->n_threads; i++) {
        const axp_thread_info *t = &v->threads[i];
        begin_item(j, i, "    ");
        put_u64(j, "id", t->id);
        put_text(j, "name", t->name);
        put_u64(j, "process_id", t->process_id);
        put_known(j, "rank", t->rank >= 0, t->rank);
        put_u64(j, "begin", t->begin);
        put_u64(j, "end", t->end);
        put_u64(j, "busy_ns", t->busy_ns);
        put_u64(j, "wait_ns", t->wait_ns);
        put_known(j, "cpu_ns", t->cpu_ns, (double)t->cpu_ns);
        put_u64(j, "events", t->events);
        end(j);
    }
    end_list(j, v->n_threads, "  ");
}

static void put_processes(struct json *j, const axp_view *v)
{
    begin_list(j, "processes");
    for (size_t i = 0; i < v->n_processes; i++) {
        const axp_process_info *p = &v->processes[i];
        begin_item(j, i, "    ");
        put_text(j, "name", p->name);
        put_u64(j, "count", p->count);
        put_u64(j, "total_ns", p->total_ns);
        put_u64(j, "avg_ns", p->avg_ns);
        put_u64(j, "max_ns", p->max_ns);
        end(j);
    }
    end_list(j, v->n_processes, "  ");
}

static void put_tracks(struct json *j, const axp_view *v)
{
    begin_list(j, "tracks");
    for (size_t i = 0; i < v->n_tracks; i++) {
        const struct axp__view_track *t = &v->tracks[i];
        begin_item(j, i, "    ");
        put_u64(j, "id", t->id);
        put_text(j, "name", t->name);
        put_u64(j, "process_id", t->process_id);
        put_known(j, "rank", t->rank >= 0, t->rank);
        put_u64(j, "begin", t->begin);
        put_u64(j, "end", t->end);
        put_u64(j, "busy_ns", t->busy_ns);
        put_u64(j, "events", t->events);
        end(j);
    }
    end_list(j, v->n_tracks, "  ");
}

static void put_counters(struct json *j, const axp_view *v)
{
    begin_list(j, "counters");
    for (size_t i = 0; i < v->n_counters; i++) {
        const struct axp__view_counter *k = &v->counters[i];
        begin_item(j, i, "    ");
        put_text(j, "name", k->name);
        put_u64(j, "n", k->n);
        put_f64(j, "last", k->last);
        put_u64(j, "last_at", k->last_at);
        put_f64(j, "min", k->min);
        put_f64(j, "max", k->max);
        put_f64(j, "avg", k->mean);
        put_bool(j, "is_outside", k->is_outside);
        end(j);
    }
    end_list(j, v->n_counters, "  ");
}

/* What is known of the machine; 0: not. */
static void put_machine(struct json *j, const axp_view *v,
                        const axp_findings *f)
{
    const struct axp__capture *c = v->capture;
    double gflops = f->threshold[AXP__T_low_throughput_peak_gflops];
    double gbps = f->threshold[AXP__T_low_throughput_peak_gbps];
    double tick_ns = (double)c->rate_mult / 4294967296.0;
    key(j, "machine");
    begin(j);
    put_f64(j, "tick_ns", tick_ns);
    put_f64(j, "own_cost_ns",
            (double)(c->own_cost.around_ticks + c->own_cost.inside_ticks) *
                tick_ns);
    put_known(j, "peak_gflops", gflops > 0, gflops);
    put_known(j, "peak_gbps", gbps > 0, gbps);
    end(j);
}

static void put_warnings(struct json *j, const axp_view *v)
{
    begin_list(j, "warnings");
    for (size_t i = 0; i < v->n_warnings; i++) {
        const axp_warning *w = &v->warnings[i];
        begin_item(j, i, "    ");
        put_text(j, "code", w->code);
        put_text(j, "name", w->name);
        put_u64(j, "count", w->count);
        put_text(j, "text", w->text);
        end(j);
    }
    end_list(j, v->n_warnings, "  ");
}

axp_status axp__emit_json(const axp_view *v, const axp_findings *f,
                          const axp_report_options *options, struct axp__out *o)
{
    static void (*const sections[])(struct json *, const axp_view *) = {
        put_ops,     put_tree,      put_memory, put_steps,
        put_threads, put_processes, put_tracks, put_counters};
    struct json j = {.o = o};
    axp__out_char(o, '{');
    begin_section(&j);
    put_text(&j, "schema", SCHEMA);
    begin_section(&j);
    put_run(&j, v, f);
    begin_section(&j);
    put_findings(&j, f, options);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        begin_section(&j);
        sections[i](&j, v);
    }
    begin_section(&j);
    put_machine(&j, v, f);
    begin_section(&j);
    put_warnings(&j, v);
    axp__out_text(o, "\n}\n");
    return AXP_OK;
}
