/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The Markdown report, section by section; see emit_markdown.h. */
#include "emit/emit_markdown.h"

#include <math.h>
#include <stdlib.h>

#include "base/base_number.h"
#include "emit/emit_name.h"
#include "emit/emit_roof.h"
#include "emit/emit_short.h"
#include "emit/emit_text.h"
#include "emit/emit_words.h"
#include "record/record_thread.h"

#define SHOWN_OPS 20

/* ---- sections --------------------------------------------------------------------- */

static void put_count(struct axp__md *m, uint64_t n, const char *one,
                      const char *many)
{
    axp__out_u64(m->o, n);
    axp__out_format(m->o, " %s", n == 1 ? one : many);
}

static void put_counts(struct axp__md *m, const axp_view *v)
{
    bool is_outside_alone = v->is_outside && !v->n_recorded;
    size_t n_processes = axp__view_n_processes(v);
    if (n_processes > 1) {
        put_count(m, n_processes, "process", "processes");
        axp__out_text(m->o, ", ");
    }
    if (!is_outside_alone || v->n_threads)
        put_count(m, v->n_threads, "thread", "threads");
    if (is_outside_alone)
        axp__out_format(m->o, "%s%s", v->n_threads ? ", " : "",
                        v->has_no_part
                            ? "the part that was asked for never came"
                            : "seen from outside alone");
    if (is_outside_alone && !v->n_ops) return;
    axp__out_text(m->o, ", ");
    put_count(m, v->n_ops, "operation", "operations");
    axp__out_text(m->o, ", ");
    put_count(m, axp__view_n_calls(v), "call", "calls");
}

static void put_run(struct axp__md *m, const axp_view *v)
{
    char time[32], bytes[32];
    axp__out_text(m->o, "# Profile of ");
    axp__md_name(m, v->capture->title);
    axp__out_format(m->o, "\n\n**%s**, ",
                    axp_format_ns(time, sizeof time, v->duration_ns));
    put_counts(m, v);
    if (v->steps.count) {
        axp__out_text(m->o, ", ");
        put_count(m, v->steps.count, "step", "steps");
        axp__out_format(m->o, " of %s (p50; p99 %s)",
                        axp_format_ns(time, sizeof time, v->steps.p50_ns),
                        axp_format_ns(bytes, sizeof bytes, v->steps.p99_ns));
    }
    if (v->memory.peak_bytes)
        axp__out_format(
            m->o, ", memory peak **%s**",
            axp_format_bytes(bytes, sizeof bytes, v->memory.peak_bytes));
    axp__out_text(m->o, ".\n\n");
}

static void put_warnings(struct axp__md *m, const axp_view *v)
{
    for (size_t i = 0; i < v->n_warnings; i++) {
        const axp_warning *w = &v->warnings[i];
        axp__cell many;
        axp__out_format(m->o, "> ⚠️ %s%s", axp__short_many(many, w),
                        w->text);
        if (w->name) {
            axp__out_format(m->o, " (%s", axp__short_last(w));
            axp__md_name(m, w->name);
            axp__out_char(m->o, ')');
        }
        axp__out_text(m->o, "  \n");
    }
    if (v->n_warnings) axp__out_char(m->o, '\n');
}

static void put_place(struct axp__md *m, const char *file, int line)
{
    char place[AXP__SHORT_PLACE_BYTES];
    if (!axp__short_place(place, file, line, 60)) return;
    axp__out_text(m->o, " at ");
    axp__md_name(m, place);
}

static void put_finding(struct axp__md *m, const axp_finding *f)
{
    static const char *const marks[] = {"🟢 Low", "🟡 Medium", "🟠 High",
                                        "🔴 Critical"};
    char time[32], share[32];
    axp__out_format(m->o, "1. **%s** %s ", marks[f->severity], f->type_name);
    axp__md_name(m, f->name);
    axp__md_device(m, f->device);
    if (f->saving_ns)
        axp__out_format(
            m->o, ", %s **%s** (%s %%)",
            f->saving_is_bound ? "at most" : "saves",
            axp_format_ns(time, sizeof time, f->saving_ns),
            axp__fixed(share, sizeof share, 100 * f->saving_share, 1));
    put_place(m, f->file, f->line);
    axp__out_format(m->o, "  \n   %s  \n   *%s*\n", f->description,
                    f->suggestion);
}

static void put_findings(struct axp__md *m, const axp_findings *f, size_t shown)
{
    if (!f->n) return;
    axp__out_text(m->o, "## Bottlenecks\n\n");
    for (size_t i = 0; i < shown; i++)
        put_finding(m, &f->all[i]);
    if (shown < f->n) axp__out_format(m->o, "\nand %zu more\n", f->n - shown);
    axp__out_char(m->o, '\n');
}

static void put_op(struct axp__md *m, const axp_op *op, bool has_work)
{
    axp__cell cell, text;
    axp__md_row_begin(m, op->name);
    axp__md_device(m, op->device);
    axp__md_cell(m, axp__short_count(cell, op->calls));
    axp__md_cell(m, axp__short_ns(cell, op->total_ns));
    axp__short_ns(text, op->self_ns);
    axp__md_cell(m, axp__mark_doubt(cell, text, op));
    axp__md_cell(m, axp__short_ns(cell, op->avg_ns));
    axp__md_cell(m, axp__short_ns(cell, op->p99_ns));
    axp__short_percent(text, op->time_share);
    axp__md_cell(m, axp__mark_doubt(cell, text, op));
    if (has_work) {
        axp__md_cell(m, axp__short_rate(cell, axp_op_gflops(op)));
        axp__md_cell(m, axp__short_rate(cell, axp_op_gbps(op)));
    }
    axp__out_text(m->o, " | ");
    char place[AXP__SHORT_PLACE_BYTES];
    if (axp__short_place(place, op->file, op->line, 60)) axp__md_name(m, place);
    axp__md_row_end(m);
}

static void put_ops(struct axp__md *m, const axp_view *v)
{
    static const char *const heads[] = {"operation", "calls", "total", "self",
                                        "mean",      "p99",   "share", "at"};
    static const char *const all_heads[] = {
        "operation", "calls", "total",   "self", "mean",
        "p99",       "share", "GFLOP/s", "GB/s", "at"};
    size_t n_shown = v->n_ops < SHOWN_OPS ? v->n_ops : SHOWN_OPS;
    bool has_work = false;
    char text[32];
    axp_ns rest = 0;
    axp__out_text(m->o, "## Compute Statistics\n\n");
    if (!v->n_ops) {
        axp__out_text(m->o, "No operation was recorded.\n\n");
        return;
    }
    for (size_t i = 0; i < v->n_ops && i < SHOWN_OPS; i++)
        has_work |= v->ops[i].n_flops_calls || v->ops[i].n_bytes_calls;
    axp__out_text(m->o, "Share is of the time of an operation's threads.\n\n");
    axp__md_heads(m, has_work ? all_heads : heads, has_work ? 10 : 8, 1);
    for (size_t i = 0; i < v->n_ops; i++)
        if (i < SHOWN_OPS)
            put_op(m, &v->ops[i], has_work);
        else
            rest += v->ops[i].self_ns;
    if (axp__has_doubt(v->ops, n_shown))
        axp__out_format(m->o, "\n%s\n", AXP__DOUBT_TEXT);
    if (axp__view_has_cost(v)) axp__out_format(m->o, "\n%s\n", AXP__LESS_TEXT);
    if (v->n_ops > SHOWN_OPS)
        axp__out_format(m->o, "\nand %zu more, %s self\n", v->n_ops - SHOWN_OPS,
                        axp_format_ns(text, sizeof text, rest));
    axp__out_char(m->o, '\n');
}

static void put_roof(struct axp__md *m, const axp_op *op,
                     const struct axp__roof *r)
{
    axp__cell cell;
    double roof = r->flops > 0 ? r->roof_flops : r->roof_bytes;
    axp__md_row_begin(m, op->name);
    axp__md_cell(m, r->flops > 0 ? axp__short_rate(cell, r->flops / 1e9) : "");
    axp__md_cell(m, r->bytes > 0 ? axp__short_rate(cell, r->bytes / 1e9) : "");
    axp__md_cell(m, axp__short_rate(cell, roof / 1e9));
    axp__md_cell(m, axp__short_percent(cell, r->share));
    axp__md_cell(m, axp__roof_bound(r));
    axp__md_cell(m, r->threads ? axp__short_count(cell, r->threads) : "");
    if (r->is_impossible) axp__out_text(m->o, " ⚠️");
    axp__md_row_end(m);
}

static void put_roofline(struct axp__md *m, const axp_view *v,
                         const struct axp__roofs *roofs)
{
    static const char *const heads[] = {"operation", "GFLOP/s", "GB/s",
                                        "roof",      "reached", "bound by",
                                        "threads"};
    char about[200];
    size_t n, n_wrong = 0;
    struct axp__roof_row *rows = axp__roof_rows(v, roofs, &n);
    if (!rows) m->has_failed = true;
    if (n) {
        axp__out_format(m->o, "## Roofline\n\n%s.\n\n",
                        axp__roof_about_run(&roofs->run, about, sizeof about));
        axp__md_heads(m, heads, sizeof heads / sizeof *heads, 1);
    }
    for (size_t i = 0; rows && i < n && i < SHOWN_OPS; i++) {
        put_roof(m, &v->ops[rows[i].op], &roofs->at[rows[i].op]);
        n_wrong += roofs->at[rows[i].op].is_impossible;
    }
    if (n_wrong)
        axp__out_text(m->o,
                      "\n⚠️ more than the machine can: the declared work "
                      "is wrong\n");
    if (n) axp__out_char(m->o, '\n');
    free(rows);
}

static void put_function(struct axp__md *m, const axp_op *f)
{
    char place[AXP__SHORT_PLACE_BYTES];
    axp__cell cell;
    axp__md_row_begin(m, f->name);
    axp__md_cell(m, axp__short_ns(cell, f->self_ns));
    axp__md_cell(m, axp__short_percent(cell, f->time_share));
    axp__md_cell(m, axp__short_percent(cell, f->share_error));
    axp__md_cell(m, axp__short_ns(cell, f->total_ns));
    axp__md_cell(m, axp__short_count(cell, f->samples));
    axp__out_text(m->o, " | ");
    if (axp__short_place(place, f->file, f->line, 60)) axp__md_name(m, place);
    axp__md_row_end(m);
}

static void put_functions(struct axp__md *m, const axp_view *v)
{
    static const char *const heads[] = {"function", "self",    "share", "±",
                                        "total",    "samples", "at"};
    char time[32];
    axp__cell samples;
    if (!v->n_functions) return;
    axp__out_format(m->o,
                    "## Functions\n\n%s %s of %s of processor time; ± is "
                    "points at 95 %%.\n\n",
                    axp__short_count(samples, v->n_sampled),
                    v->n_sampled == 1 ? "sample" : "samples",
                    axp_format_ns(time, sizeof time, v->sampled_ns));
    axp__md_heads(m, heads, sizeof heads / sizeof *heads, 1);
    for (size_t i = 0; i < v->n_functions && i < SHOWN_OPS; i++)
        if (v->functions[i].self_ns) put_function(m, &v->functions[i]);
    axp__out_char(m->o, '\n');
}

static void put_applied(struct axp__md *m, const axp_findings *f)
{
    char *text = axp__applied(f);
    if (text) {
        axp__out_text(m->o, "<sub>axprof " AXP_VERSION ", ");
        axp__md_name(m, text);
        axp__out_text(m->o, "</sub>\n");
    } else {
        m->has_failed = true;
    }
    free(text);
}

axp_status axp__emit_markdown(const axp_view *v, const axp_findings *f,
                              const axp_report_options *options,
                              struct axp__out *o)
{
    struct axp__md m = {.o = o};
    axp__out_text(o, "> ");
    axp__md_sentence(&m, f->verdict);
    axp__out_text(o, "\n\n");
    put_run(&m, v);
    put_warnings(&m, v);
    put_findings(&m, f, axp__shown_findings(f, options));
    axp__md_path(&m, v);
    put_ops(&m, v);
    put_roofline(&m, v, f->roofs);
    put_functions(&m, v);
    axp__md_heap(&m, v);
    axp__md_memory(&m, v);
    axp__md_threads(&m, v);
    axp__md_waits(&m, v);
    put_applied(&m, f);
    if (!m.has_failed) return AXP_OK;
    return axp__fail(AXP_E_NO_MEMORY, "no memory for a report");
}
