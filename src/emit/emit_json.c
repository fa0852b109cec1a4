/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The JSON report: everything that is in the view and the findings.
 *
 * docs/report.schema.json describes it; a change that breaks a reader raises
 * the number in "schema". Numbers are in base units (ns, bytes, FLOPs, shares
 * of 1); null is "not known". One record a line, so that tools that know lines
 * alone can work with it.
 */
#include "emit/emit_heap.h"
#include "emit/emit_json_out.h"
#include "emit/emit_machine.h"
#include "emit/emit_path.h"
#include "emit/emit_report.h"
#include "emit/emit_roof.h"
#include "emit/emit_words.h"

#define SCHEMA "axprof-report-1"

/* Nothing of what is the host's. */
static void put_device(struct axp__json *j, const char *device)
{
    if (device) axp__json_text(j, "device", device);
}

/* ---- run and findings -------------------------------------------------------------- */

static void put_applied(struct axp__json *j, const axp_findings *f)
{
    axp__json_object(j, "thresholds");
    for (size_t i = 0; i < AXP__N_THRESHOLDS; i++)
        axp__json_f64(j, axp__thresholds[i].key, f->threshold[i]);
    axp__json_end(j, '}');
    axp__json_list(j, "ignored");
    for (size_t i = 0; i < f->n_ignored; i++) {
        axp__json_next(j);
        axp__out_json(j->o, f->ignored[i]);
    }
    axp__json_end(j, ']');
}

static void put_run(struct axp__json *j, const axp_view *v,
                    const axp_findings *f)
{
    const struct axp__capture *c = v->capture;
    uint64_t self = 0;
    for (size_t i = 0; i < v->n_ops; i++)
        self += v->ops[i].self_ns;
    axp__json_object(j, "run");
    axp__json_text(j, "title", c->title);
    axp__json_u64(j, "duration_ns", v->duration_ns);
    axp__json_u64(j, "process_count", axp__view_n_processes(v));
    axp__json_u64(j, "thread_count", v->n_threads);
    axp__json_u64(j, "operation_count", v->n_ops);
    axp__json_u64(j, "call_count", axp__view_n_calls(v));
    axp__json_u64(j, "total_time_ns", self);
    axp__json_u64(j, "event_count", axp_view_event_count(v));
    axp__json_u64(j, "cut_events", axp_view_cut_count(v));
    axp__json_u64(j, "process_id", c->process_id);
    axp__json_known(j, "rank", c->rank >= 0, c->rank);
    axp__json_bool(j, "is_finished", c->is_finished);
    axp__json_text(j, "made_by", "axprof " AXP_VERSION);
    axp__json_utilisation(j, &f->roofs->run);
    put_applied(j, f);
    axp__json_end(j, '}');
}

static void put_finding(struct axp__json *j, const axp_finding *f)
{
    bool is_known = f->saving_share > 0;
    axp__json_text(j, "type", f->type_name);
    axp__json_text(j, "severity", axp__word_severity(f->severity));
    axp__json_text(j, "name", f->name);
    axp__json_text(j, "description", f->description);
    axp__json_text(j, "suggestion", f->suggestion);
    axp__json_text(j, "file", f->file);
    axp__json_known(j, "line", f->line > 0, f->line);
    axp__json_known(j, "saving_ns", is_known, (double)f->saving_ns);
    axp__json_known(j, "saving_share", is_known, f->saving_share);
    axp__json_bool(j, "saving_is_bound", f->saving_is_bound);
    axp__json_f64(j, "confidence", f->confidence);
    axp__json_object(j, "metrics");
    for (size_t i = 0; i < f->n_metrics; i++)
        axp__json_f64(j, f->metrics[i].key, f->metrics[i].value);
    axp__json_end(j, '}');
    put_device(j, f->device);
}

static void put_findings(struct axp__json *j, const axp_findings *f,
                         const axp_report_options *options)
{
    size_t n = f->n;
    if (options->max_findings && options->max_findings < n)
        n = options->max_findings;
    axp__json_list(j, "findings");
    for (size_t i = 0; i < n; i++) {
        axp__json_item(j);
        put_finding(j, &f->all[i]);
        axp__json_end(j, '}');
    }
    axp__json_items_end(j);
}

/* ---- operations and tree ------------------------------------------------------------- */

static void put_shape(struct axp__json *j, const axp_shape *s,
                      const struct axp__roof *roof)
{
    axp__json_list(j, "dims");
    for (uint32_t i = 0; i < s->n_dims; i++) {
        axp__json_next(j);
        axp__out_u64(j->o, s->dims[i]);
    }
    axp__json_end(j, ']');
    axp__json_u64(j, "shape_count", s->n_shapes);
    axp__json_u64(j, "calls", s->calls);
    axp__json_u64(j, "total_ns", s->total_ns);
    axp__json_known(j, "flops", s->n_flops_calls, s->flops);
    axp__json_known(j, "bytes", s->n_bytes_calls, s->bytes);
    axp__json_known(j, "flops_ns", s->n_flops_calls, (double)s->flops_ns);
    axp__json_known(j, "bytes_ns", s->n_bytes_calls, (double)s->bytes_ns);
    axp__json_f64(j, "gflops", s->gflops);
    axp__json_f64(j, "gbps", s->gbps);
    axp__json_text(j, "dtype", axp__word_dtype(s->dtype));
    axp__json_roof(j, roof);
}

/* Nothing of an operation that told none. */
static void put_shapes(struct axp__json *j, const axp_view *v, size_t op,
                       const struct axp__roofs *roofs)
{
    size_t n;
    const struct axp__view_shape *s = axp__view_shapes_of(v, &v->ops[op], &n);
    if (!n) return;
    axp__json_list(j, "shapes");
    for (size_t i = 0; i < n; i++) {
        axp__json_next(j);
        axp__json_begin(j, '{');
        struct axp__roof r = axp__roof_of_shape(roofs, v, op, &s[i].shape);
        put_shape(j, &s[i].shape, &r);
        axp__json_end(j, '}');
    }
    axp__json_end(j, ']');
}

static void put_op(struct axp__json *j, const axp_op *op)
{
    axp__json_text(j, "name", op->name);
    axp__json_u64(j, "calls", op->calls);
    axp__json_u64(j, "total_ns", op->total_ns);
    axp__json_u64(j, "self_ns", op->self_ns);
    axp__json_u64(j, "min_ns", op->min_ns);
    axp__json_u64(j, "max_ns", op->max_ns);
    axp__json_u64(j, "avg_ns", op->avg_ns);
    axp__json_u64(j, "p50_ns", op->p50_ns);
    axp__json_u64(j, "p95_ns", op->p95_ns);
    axp__json_u64(j, "p99_ns", op->p99_ns);
    axp__json_f64(j, "time_share", op->time_share);
    axp__json_u64(j, "doubt_ns", op->doubt_ns);
    axp__json_bool(j, "is_doubtful", op->is_doubtful);
    axp__json_known(j, "flops", op->n_flops_calls, op->flops);
    axp__json_known(j, "bytes", op->n_bytes_calls, op->bytes);
    axp__json_u64(j, "n_flops_calls", op->n_flops_calls);
    axp__json_u64(j, "n_bytes_calls", op->n_bytes_calls);
    axp__json_known(j, "flops_ns", op->n_flops_calls, (double)op->flops_ns);
    axp__json_known(j, "bytes_ns", op->n_bytes_calls, (double)op->bytes_ns);
    axp__json_f64(j, "gflops", axp_op_gflops(op));
    axp__json_f64(j, "gbps", axp_op_gbps(op));
    axp__json_text(j, "dtype", axp__word_dtype(op->dtype));
    axp__json_text(j, "category", axp__word_cat(op->category));
    axp__json_text(j, "file", op->file);
    axp__json_known(j, "line", op->line > 0, op->line);
    axp__json_bool(j, "is_sampled", op->is_sampled);
    axp__json_bool(j, "is_wait", op->is_wait);
    put_device(j, op->device);
}

static void put_ops(struct axp__json *j, const axp_view *v,
                    const struct axp__roofs *roofs)
{
    axp__json_list(j, "ops");
    for (size_t i = 0; i < v->n_ops; i++) {
        axp__json_item(j);
        put_op(j, &v->ops[i]);
        axp__json_roof(j, &roofs->at[i]);
        put_shapes(j, v, i, roofs);
        axp__json_end(j, '}');
    }
    axp__json_items_end(j);
}

/* Of which most of an operation's fields would say nothing. */
static void put_functions(struct axp__json *j, const axp_view *v)
{
    axp__json_list(j, "functions");
    for (size_t i = 0; i < v->n_functions; i++) {
        const axp_op *f = &v->functions[i];
        axp__json_item(j);
        axp__json_text(j, "name", f->name);
        axp__json_u64(j, "samples", f->samples);
        axp__json_u64(j, "total_ns", f->total_ns);
        axp__json_u64(j, "self_ns", f->self_ns);
        axp__json_f64(j, "time_share", f->time_share);
        axp__json_f64(j, "share_error", f->share_error);
        axp__json_text(j, "file", f->file);
        axp__json_known(j, "line", f->line > 0, f->line);
        axp__json_end(j, '}');
    }
    axp__json_items_end(j);
}

static void put_tree(struct axp__json *j, const axp_view *v)
{
    axp__json_list(j, "tree");
    for (size_t i = 0; i < v->n_tree; i++) {
        const axp_tree_node *n = &v->tree[i];
        axp__json_item(j);
        axp__json_text(j, "name", n->name);
        axp__json_i64(j, "parent", n->parent);
        axp__json_u64(j, "calls", n->calls);
        axp__json_u64(j, "total_ns", n->total_ns);
        axp__json_u64(j, "self_ns", n->self_ns);
        axp__json_u64(j, "doubt_ns", n->doubt_ns);
        axp__json_known(j, "flops", n->flops > 0, n->flops);
        axp__json_known(j, "bytes", n->bytes > 0, n->bytes);
        axp__json_u64(j, "allocated_bytes", n->allocated_bytes);
        axp__json_bool(j, "is_sampled", n->is_sampled);
        if (n->is_sampled) axp__json_u64(j, "samples", n->samples);
        put_device(j, n->device);
        axp__json_end(j, '}');
    }
    axp__json_items_end(j);
}

/* ---- memory ---------------------------------------------------------------------------- */

static void put_memory_name(struct axp__json *j, const axp_memory_name *m)
{
    axp__json_text(j, "name", m->name);
    axp__json_text(j, "kind", axp__word_mem(m->kind));
    axp__json_u64(j, "current_bytes", m->current_bytes);
    axp__json_u64(j, "peak_bytes", m->peak_bytes);
    axp__json_u64(j, "at_peak_bytes", m->at_peak_bytes);
    axp__json_u64(j, "total_allocated", m->total_allocated);
    axp__json_u64(j, "n_allocs", m->n_allocs);
    axp__json_u64(j, "n_frees", m->n_frees);
    if (m->growth_early != 0 || m->growth_late != 0) {
        axp__json_f64(j, "growth_early", m->growth_early);
        axp__json_f64(j, "growth_late", m->growth_late);
    }
    put_device(j, m->device);
}

static void put_leak(struct axp__json *j, const axp_leak *l)
{
    axp__json_text(j, "name", l->name);
    axp__json_u64(j, "bytes", l->bytes);
    axp__json_u64(j, "n_blocks", l->n_blocks);
    axp__json_u64(j, "at", l->at);
    axp__json_u64(j, "thread_id", l->thread_id);
    axp__json_bool(j, "is_retained", l->is_retained);
    put_device(j, l->device);
}

static void put_total(struct axp__json *j, const axp_memory *m)
{
    axp__json_u64(j, "current_bytes", m->current_bytes);
    axp__json_u64(j, "peak_bytes", m->peak_bytes);
    axp__json_known(j, "peak_at", m->peak_bytes, (double)m->peak_at);
    axp__json_u64(j, "total_allocated", m->total_allocated);
    axp__json_u64(j, "total_freed", m->total_freed);
    axp__json_u64(j, "n_allocs", m->n_allocs);
    axp__json_u64(j, "n_frees", m->n_frees);
}

static void put_memory(struct axp__json *j, const axp_view *v)
{
    axp__json_object(j, "memory");
    put_total(j, &v->memory);
    if (v->n_domains > 1) axp__json_list(j, "devices");
    for (size_t i = 1; i < v->n_domains; i++) {
        axp__json_item(j);
        put_device(j, v->domains[i].device);
        put_total(j, &v->domains[i].memory);
        axp__json_end(j, '}');
    }
    if (v->n_domains > 1) axp__json_items_end(j);
    axp__json_list(j, "names");
    for (size_t i = 0; i < v->n_memory_names; i++) {
        axp__json_item(j);
        put_memory_name(j, &v->memory_names[i]);
        axp__json_end(j, '}');
    }
    axp__json_items_end(j);
    axp__json_list(j, "leaks");
    for (size_t i = 0; i < v->n_leaks; i++) {
        axp__json_item(j);
        put_leak(j, &v->leaks[i]);
        axp__json_end(j, '}');
    }
    axp__json_items_end(j);
    axp__json_end(j, '}');
}

/* ---- the rest ----------------------------------------------------------------------------- */

static void put_steps(struct axp__json *j, const axp_view *v)
{
    const axp_step_stats *s = &v->steps;
    const struct {
        const char *name;
        axp_ns ns;
    } times[] = {{"avg_ns", s->avg_ns}, {"p50_ns", s->p50_ns},
                 {"p95_ns", s->p95_ns}, {"p99_ns", s->p99_ns},
                 {"min_ns", s->min_ns}, {"max_ns", s->max_ns}};
    axp__json_object(j, "steps");
    axp__json_u64(j, "count", s->count);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        axp__json_known(j, times[i].name, s->count, (double)times[i].ns);
    axp__json_end(j, '}');
}

static void put_threads(struct axp__json *j, const axp_view *v)
{
    axp__json_list(j, "threads");
    for (size_t i = 0; i < v->n_threads; i++) {
        const axp_thread_info *t = &v->threads[i];
        axp__json_item(j);
        axp__json_u64(j, "id", t->id);
        axp__json_text(j, "name", t->name);
        axp__json_u64(j, "process_id", t->process_id);
        axp__json_known(j, "rank", t->rank >= 0, t->rank);
        axp__json_u64(j, "begin", t->begin);
        axp__json_u64(j, "end", t->end);
        axp__json_u64(j, "busy_ns", t->busy_ns);
        axp__json_u64(j, "wait_ns", t->wait_ns);
        axp__json_known(j, "cpu_ns", t->cpu_ns || t->is_scheduled,
                        (double)t->cpu_ns);
        axp__json_known(j, "ready_ns", t->is_scheduled, (double)t->ready_ns);
        axp__json_known(j, "off_ns", t->is_scheduled, (double)t->off_ns);
        axp__json_known(j, "spun_ns", t->is_scheduled, (double)t->spun_ns);
        axp__json_u64(j, "events", t->events);
        axp__json_end(j, '}');
    }
    axp__json_items_end(j);
}

static int put_wait(const axp_waits *w, void *ctx)
{
    struct axp__json *j = ctx;
    axp__json_item(j);
    axp__json_text(j, "name", w->name);
    axp__json_u64(j, "process_id", w->process_id);
    axp__json_u64(j, "thread_id", w->thread_id);
    axp__json_known(j, "by_thread_id", w->by_thread, (double)w->by_thread_id);
    axp__json_u64(j, "count", w->count);
    axp__json_u64(j, "total_ns", w->total_ns);
    axp__json_u64(j, "max_ns", w->max_ns);
    axp__json_end(j, '}');
    return 0;
}

static void put_waits(struct axp__json *j, const axp_view *v)
{
    axp__json_list(j, "waits");
    if (axp__view_has_waits(v)) (void)axp_view_waits(v, put_wait, j);
    axp__json_items_end(j);
}

static void put_processes(struct axp__json *j, const axp_view *v)
{
    axp__json_list(j, "processes");
    for (size_t i = 0; i < v->n_processes; i++) {
        const axp_process_info *p = &v->processes[i];
        axp__json_item(j);
        axp__json_text(j, "name", p->name);
        axp__json_u64(j, "count", p->count);
        axp__json_u64(j, "total_ns", p->total_ns);
        axp__json_u64(j, "avg_ns", p->avg_ns);
        axp__json_u64(j, "max_ns", p->max_ns);
        axp__json_end(j, '}');
    }
    axp__json_items_end(j);
}

static void put_tracks(struct axp__json *j, const axp_view *v)
{
    axp__json_list(j, "tracks");
    for (size_t i = 0; i < v->n_tracks; i++) {
        const struct axp__view_track *t = &v->tracks[i];
        axp__json_item(j);
        axp__json_u64(j, "id", t->id);
        axp__json_text(j, "name", t->name);
        axp__json_u64(j, "process_id", t->process_id);
        axp__json_known(j, "rank", t->rank >= 0, t->rank);
        axp__json_u64(j, "begin", t->begin);
        axp__json_u64(j, "end", t->end);
        axp__json_u64(j, "busy_ns", t->busy_ns);
        axp__json_u64(j, "events", t->events);
        put_device(j, t->device);
        axp__json_end(j, '}');
    }
    axp__json_items_end(j);
}

static void put_counters(struct axp__json *j, const axp_view *v)
{
    axp__json_list(j, "counters");
    for (size_t i = 0; i < v->n_counters; i++) {
        const struct axp__view_counter *k = &v->counters[i];
        axp__json_item(j);
        axp__json_text(j, "name", k->name);
        axp__json_u64(j, "n", k->n);
        axp__json_f64(j, "last", k->last);
        axp__json_u64(j, "last_at", k->last_at);
        axp__json_f64(j, "min", k->min);
        axp__json_f64(j, "max", k->max);
        axp__json_f64(j, "avg", k->mean);
        axp__json_bool(j, "is_outside", k->is_outside);
        axp__json_known(j, "rate_per_s", k->rate > 0, k->rate);
        axp__json_end(j, '}');
    }
    axp__json_items_end(j);
}

/* What is known of the machine; 0: not. */
static void put_machine(struct axp__json *j, const axp_view *v,
                        const axp_findings *f)
{
    const struct axp__capture *c = v->capture;
    double gflops = f->threshold[AXP__T_low_throughput_peak_gflops];
    double gbps = f->threshold[AXP__T_low_throughput_peak_gbps];
    double tick_ns = (double)c->rate_mult / 4294967296.0;
    axp__json_object(j, "machine");
    axp__json_f64(j, "tick_ns", tick_ns);
    axp__json_f64(
        j, "own_cost_ns",
        (double)(c->own_cost.around_ticks + c->own_cost.inside_ticks) *
            tick_ns);
    axp__json_known(j, "peak_gflops", gflops > 0, gflops);
    axp__json_known(j, "peak_gbps", gbps > 0, gbps);
    if (v->machine) {
        axp__json_object(j, "measured");
        axp__json_machine(j, v->machine);
        axp__json_end(j, '}');
    } else {
        axp__json_text(j, "measured", NULL);
    }
    axp__json_end(j, '}');
}

static void put_warnings(struct axp__json *j, const axp_view *v)
{
    axp__json_list(j, "warnings");
    for (size_t i = 0; i < v->n_warnings; i++) {
        const axp_warning *w = &v->warnings[i];
        axp__json_item(j);
        axp__json_text(j, "code", w->code);
        axp__json_text(j, "name", w->name);
        axp__json_u64(j, "count", w->count);
        axp__json_text(j, "text", w->text);
        axp__json_end(j, '}');
    }
    axp__json_items_end(j);
}

axp_status axp__emit_json(const axp_view *v, const axp_findings *f,
                          const axp_report_options *options, struct axp__out *o)
{
    static void (*const sections[])(struct axp__json *, const axp_view *) = {
        put_functions, put_tree,  put_memory,    axp__json_heap, put_steps,
        put_threads,   put_waits, put_processes, put_tracks,     put_counters};
    struct axp__json j = {.o = o, .is_airy = true};
    axp__json_begin(&j, '{');
    axp__json_line(&j, "  ");
    axp__json_text(&j, "schema", SCHEMA);
    axp__json_line(&j, "  ");
    axp__json_text(&j, "verdict", f->verdict);
    axp__json_line(&j, "  ");
    put_run(&j, v, f);
    axp__json_line(&j, "  ");
    put_findings(&j, f, options);
    axp__json_line(&j, "  ");
    axp_status status = axp__path_json(&j, v);
    axp__json_line(&j, "  ");
    put_ops(&j, v, f->roofs);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        axp__json_line(&j, "  ");
        sections[i](&j, v);
    }
    axp__json_line(&j, "  ");
    put_machine(&j, v, f);
    axp__json_line(&j, "  ");
    put_warnings(&j, v);
    axp__out_text(o, "\n}\n");
    return status;
}
