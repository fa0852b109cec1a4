/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The Markdown report: GitHub's kind, made to be pasted into a pull request.
 *
 * Names are untrusted. They are first made printable (emit_name.h: no line
 * breaks, no control characters), then shown as code, where GitHub knows no
 * markup, no HTML, no @mentions and no #references. In a code span a backtick
 * would end it, and a pipe the cell of a table: names with those become a
 * <code> element in which all punctuation is written as numbers.
 */
#include <math.h>
#include <stdlib.h>

#include "base/base_number.h"
#include "emit/emit_heap.h"
#include "emit/emit_name.h"
#include "emit/emit_path.h"
#include "emit/emit_report.h"
#include "emit/emit_roof.h"
#include "emit/emit_short.h"
#include "emit/emit_text.h"
#include "emit/emit_words.h"
#include "record/record_thread.h"

#define SHOWN_OPS 20
#define SHOWN_NAMES 10
#define SHOWN_THREADS 10
#define SHOWN_WAITS 10
#define MAX_NAME 400 /* columns; longer ones are cut */

struct markdown {
    struct axp__out *o;
    bool has_failed;
};

/* ---- text ----------------------------------------------------------------------- */

static void put_entities(struct axp__out *o, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        bool is_word = c >= 0x80 || c == ' ' || (c >= '0' && c <= '9') ||
                       ((c | 32) >= 'a' && (c | 32) <= 'z');
        if (is_word)
            axp__out_char(o, (char)c);
        else
            axp__out_format(o, "&#%u;", c);
    }
}

/* A sentence with names in it: what has a meaning here is escaped. */
static void put_sentence(struct markdown *m, const char *text)
{
    char *plain = axp__plain(text);
    if (!plain) m->has_failed = true;
    for (const char *c = plain; c && *c; c++) {
        if (strchr("\\`*_{}[]<>&#|~!$", *c)) axp__out_char(m->o, '\\');
        axp__out_char(m->o, *c);
    }
    free(plain);
}

static void put_name(struct markdown *m, const char *name)
{
    struct axp__fit fit = {name, MAX_NAME, NULL};
    if (!axp__fit_names(&fit, 1)) {
        m->has_failed = true;
    } else if (strpbrk(fit.shown, "`|\\")) {
        axp__out_text(m->o, "<code>");
        put_entities(m->o, fit.shown);
        axp__out_text(m->o, "</code>");
    } else if (*fit.shown) {
        axp__out_char(m->o, '`');
        axp__out_text(m->o, fit.shown);
        axp__out_char(m->o, '`');
    }
    free(fit.shown);
}

/* Our own sentences: nothing in them but words and numbers. */
static void put_cell(struct markdown *m, const char *text)
{
    size_t len = strlen(text);
    while (len && text[len - 1] == ' ')
        len--;
    axp__out_text(m->o, " | ");
    axp__out_bytes(m->o, text, len);
}

/* The first n_texts columns are texts, the rest numbers. */
static void put_heads(struct markdown *m, const char *const *heads, size_t n,
                      size_t n_texts)
{
    for (size_t i = 0; i < n; i++)
        axp__out_format(m->o, "| %s ", heads[i]);
    axp__out_text(m->o, "|\n");
    for (size_t i = 0; i < n; i++)
        axp__out_text(m->o, i < n_texts ? "|:--" : "|--:");
    axp__out_text(m->o, "|\n");
}

static void begin_row(struct markdown *m, const char *name)
{
    axp__out_text(m->o, "| ");
    put_name(m, name);
}

static void put_device(struct markdown *m, const char *device)
{
    if (!device) return;
    axp__out_text(m->o, " on ");
    put_name(m, device);
}

static void end_row(struct markdown *m)
{
    axp__out_text(m->o, " |\n");
}

/* ---- sections --------------------------------------------------------------------- */

static void put_count(struct markdown *m, uint64_t n, const char *one,
                      const char *many)
{
    axp__out_u64(m->o, n);
    axp__out_format(m->o, " %s", n == 1 ? one : many);
}

static void put_counts(struct markdown *m, const axp_view *v)
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
        axp__out_format(m->o, "%sseen from outside alone",
                        v->n_threads ? ", " : "");
    if (is_outside_alone && !v->n_ops) return;
    axp__out_text(m->o, ", ");
    put_count(m, v->n_ops, "operation", "operations");
    axp__out_text(m->o, ", ");
    put_count(m, axp__view_n_calls(v), "call", "calls");
}

static void put_run(struct markdown *m, const axp_view *v)
{
    char time[32], bytes[32];
    axp__out_text(m->o, "# Profile of ");
    put_name(m, v->capture->title);
    axp__out_format(m->o, "\n\n**%s**, ",
                    axp_format_ns(time, sizeof time, v->duration_ns));
    put_counts(m, v);
    if (v->steps.count) {
        axp__out_text(m->o, ", ");
        axp__out_u64(m->o, v->steps.count);
        axp__out_format(m->o, " steps of %s (p50; p99 %s)",
                        axp_format_ns(time, sizeof time, v->steps.p50_ns),
                        axp_format_ns(bytes, sizeof bytes, v->steps.p99_ns));
    }
    if (v->memory.peak_bytes)
        axp__out_format(
            m->o, ", memory peak **%s**",
            axp_format_bytes(bytes, sizeof bytes, v->memory.peak_bytes));
    axp__out_text(m->o, ".\n\n");
}

static void put_warnings(struct markdown *m, const axp_view *v)
{
    for (size_t i = 0; i < v->n_warnings; i++) {
        const axp_warning *w = &v->warnings[i];
        axp__cell many;
        axp__out_format(m->o, "> ⚠️ %s%s", axp__short_many(many, w),
                        w->text);
        if (w->name) {
            axp__out_format(m->o, " (%s", axp__short_last(w));
            put_name(m, w->name);
            axp__out_char(m->o, ')');
        }
        axp__out_text(m->o, "  \n");
    }
    if (v->n_warnings) axp__out_char(m->o, '\n');
}

static void put_place(struct markdown *m, const char *file, int line)
{
    char place[AXP__SHORT_PLACE_BYTES];
    if (!axp__short_place(place, file, line, 60)) return;
    axp__out_text(m->o, " at ");
    put_name(m, place);
}

static void put_finding(struct markdown *m, const axp_finding *f)
{
    static const char *const marks[] = {"🟢 Low", "🟡 Medium", "🟠 High",
                                        "🔴 Critical"};
    char time[32], share[32];
    axp__out_format(m->o, "1. **%s** %s ", marks[f->severity], f->type_name);
    put_name(m, f->name);
    put_device(m, f->device);
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

static void put_findings(struct markdown *m, const axp_findings *f,
                         size_t shown)
{
    if (!f->n) return;
    axp__out_text(m->o, "## Bottlenecks\n\n");
    for (size_t i = 0; i < shown; i++)
        put_finding(m, &f->all[i]);
    if (shown < f->n) axp__out_format(m->o, "\nand %zu more\n", f->n - shown);
    axp__out_char(m->o, '\n');
}

static void put_op(struct markdown *m, const axp_op *op, bool has_work)
{
    axp__cell cell;
    begin_row(m, op->name);
    put_device(m, op->device);
    put_cell(m, axp__short_count(cell, op->calls));
    put_cell(m, axp__short_ns(cell, op->total_ns));
    put_cell(m, axp__short_ns(cell, op->self_ns));
    put_cell(m, axp__short_ns(cell, op->avg_ns));
    put_cell(m, axp__short_ns(cell, op->p99_ns));
    put_cell(m, axp__short_percent(cell, op->time_share));
    if (has_work) {
        put_cell(m, axp__short_rate(cell, axp_op_gflops(op)));
        put_cell(m, axp__short_rate(cell, axp_op_gbps(op)));
    }
    axp__out_text(m->o, " | ");
    char place[AXP__SHORT_PLACE_BYTES];
    if (axp__short_place(place, op->file, op->line, 60)) put_name(m, place);
    end_row(m);
}

static void put_ops(struct markdown *m, const axp_view *v)
{
    static const char *const heads[] = {"operation", "calls", "total", "self",
                                        "mean",      "p99",   "share", "at"};
    static const char *const all_heads[] = {
        "operation", "calls", "total",   "self", "mean",
        "p99",       "share", "GFLOP/s", "GB/s", "at"};
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
    put_heads(m, has_work ? all_heads : heads, has_work ? 10 : 8, 1);
    for (size_t i = 0; i < v->n_ops; i++)
        if (i < SHOWN_OPS)
            put_op(m, &v->ops[i], has_work);
        else
            rest += v->ops[i].self_ns;
    if (v->n_ops > SHOWN_OPS)
        axp__out_format(m->o, "\nand %zu more, %s self\n", v->n_ops - SHOWN_OPS,
                        axp_format_ns(text, sizeof text, rest));
    axp__out_char(m->o, '\n');
}

static void put_roof(struct markdown *m, const axp_op *op,
                     const struct axp__roof *r)
{
    axp__cell cell;
    double roof = r->flops > 0 ? r->roof_flops : r->roof_bytes;
    begin_row(m, op->name);
    put_cell(m, r->flops > 0 ? axp__short_rate(cell, r->flops / 1e9) : "");
    put_cell(m, r->bytes > 0 ? axp__short_rate(cell, r->bytes / 1e9) : "");
    put_cell(m, axp__short_rate(cell, roof / 1e9));
    put_cell(m, axp__short_percent(cell, r->share));
    put_cell(m, axp__roof_bound(r));
    put_cell(m, r->threads ? axp__short_count(cell, r->threads) : "");
    if (r->is_impossible) axp__out_text(m->o, " ⚠️");
    end_row(m);
}

static void put_roofline(struct markdown *m, const axp_view *v,
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
        put_heads(m, heads, sizeof heads / sizeof *heads, 1);
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

static void put_function(struct markdown *m, const axp_op *f)
{
    char place[AXP__SHORT_PLACE_BYTES];
    axp__cell cell;
    begin_row(m, f->name);
    put_cell(m, axp__short_ns(cell, f->self_ns));
    put_cell(m, axp__short_percent(cell, f->time_share));
    put_cell(m, axp__short_percent(cell, f->share_error));
    put_cell(m, axp__short_ns(cell, f->total_ns));
    put_cell(m, axp__short_count(cell, f->samples));
    axp__out_text(m->o, " | ");
    if (axp__short_place(place, f->file, f->line, 60)) put_name(m, place);
    end_row(m);
}

static void put_functions(struct markdown *m, const axp_view *v)
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
    put_heads(m, heads, sizeof heads / sizeof *heads, 1);
    for (size_t i = 0; i < v->n_functions && i < SHOWN_OPS; i++)
        if (v->functions[i].self_ns) put_function(m, &v->functions[i]);
    axp__out_char(m->o, '\n');
}

static void put_memory_name(struct markdown *m, const axp_memory_name *n,
                            double peak)
{
    const char *kind = axp__word_mem(n->kind);
    axp__cell cell;
    begin_row(m, n->name);
    put_cell(m, kind ? kind : "");
    put_cell(m, axp__short_bytes(cell, n->at_peak_bytes));
    put_cell(m, axp__short_percent(
                    cell, peak > 0 ? (double)n->at_peak_bytes / peak : 0));
    put_cell(m, axp__short_bytes(cell, n->total_allocated));
    put_cell(m, axp__short_count(cell, n->n_allocs));
    put_cell(m, axp__short_bytes(cell, n->current_bytes));
    end_row(m);
}

/* Of one domain. */
static void put_memory_names(struct markdown *m, const axp_view *v,
                             const axp_memory_domain *of)
{
    static const char *const heads[] = {"at the peak", "kind",      "held",
                                        "share",       "allocated", "allocs",
                                        "not freed"};
    size_t n = 0, shown = 0;
    put_heads(m, heads, sizeof heads / sizeof *heads, 2);
    for (size_t i = 0; i < v->n_memory_names; i++) {
        const axp_memory_name *name = &v->memory_names[i];
        if (axp__view_by_device(name->device, of->device)) continue;
        bool is_shown = !n || name->at_peak_bytes || name->current_bytes;
        if (shown == n++ && shown < SHOWN_NAMES && is_shown) {
            put_memory_name(m, name, (double)of->memory.peak_bytes);
            shown++;
        }
    }
    if (shown < n) axp__out_format(m->o, "\nand %zu more\n", n - shown);
    axp__out_char(m->o, '\n');
}

static void put_domain(struct markdown *m, const axp_view *v,
                       const axp_memory_domain *of)
{
    const axp_memory *is = &of->memory;
    char peak[32], at[32], live[32];
    axp__out_format(m->o,
                    "Peak %s after %s, %s not freed. Share is of the peak.\n\n",
                    axp_format_bytes(peak, sizeof peak, is->peak_bytes),
                    axp_format_ns(at, sizeof at, is->peak_at),
                    axp_format_bytes(live, sizeof live, is->current_bytes));
    put_memory_names(m, v, of);
}

static void put_heap_table(struct markdown *m, const struct axp__heap_group *g,
                           size_t n)
{
    static const char *const heads[] = {"at the peak", "kind",      "held",
                                        "share",       "allocated", "allocs",
                                        "not freed"};
    size_t shown = n < SHOWN_NAMES ? n : SHOWN_NAMES;
    double all = 0;
    for (size_t i = 0; i < n; i++)
        all += (double)g[i].at_peak_bytes;
    put_heads(m, heads, sizeof heads / sizeof *heads, 2);
    for (size_t i = 0; i < shown; i++) {
        const char *kind = axp__word_mem(g[i].kind);
        axp__cell cell;
        begin_row(m, g[i].text);
        put_cell(m, kind ? kind : "");
        put_cell(m, axp__short_bytes(cell, g[i].at_peak_bytes));
        put_cell(m, axp__short_percent(
                        cell, all > 0 ? (double)g[i].at_peak_bytes / all : 0));
        put_cell(m, axp__short_bytes(cell, g[i].total_allocated));
        put_cell(m, axp__short_count(cell, g[i].n_allocs));
        put_cell(m, axp__short_bytes(cell, g[i].current_bytes));
        end_row(m);
    }
    if (shown < n) axp__out_format(m->o, "\nand %zu more\n", n - shown);
    axp__out_char(m->o, '\n');
}

static void put_heap(struct markdown *m, const axp_view *v)
{
    char peak[32], at[32], live[32];
    const axp_heap *h = &v->heap;
    size_t n = 0;
    struct axp__heap_group *g = h->is_seen ? axp__heap_groups(v, &n) : NULL;
    if (!g) return;
    axp__out_format(m->o, "## Heap\n\nPeak %s after %s; %s not freed.%s\n\n",
                    axp_format_bytes(peak, sizeof peak, h->peak_bytes),
                    axp_format_ns(at, sizeof at, h->peak_at),
                    axp_format_bytes(live, sizeof live, h->current_bytes),
                    h->n_failed ? " An allocation failed: held means what was "
                                  "live then."
                                : "");
    if (h->n_mapped)
        axp__out_format(
            m->o, "Mapped beside it: %s at most, %s not unmapped.\n\n",
            axp_format_bytes(peak, sizeof peak, h->mapped_peak_bytes),
            axp_format_bytes(live, sizeof live, h->mapped_bytes));
    if (n) put_heap_table(m, g, n);
    axp__heap_groups_free(g, n);
}

static void put_memory(struct markdown *m, const axp_view *v)
{
    bool is_any = v->memory.n_allocs || v->memory.n_frees;
    if (v->heap.is_seen && !is_any && v->n_domains == 1) return;
    axp__out_text(m->o, "## Memory Statistics\n\n");
    if (is_any)
        put_domain(m, v, &v->domains[0]);
    else
        axp__out_text(m->o, v->n_domains > 1
                                ? "No allocation of the host was recorded.\n\n"
                                : "No allocation was recorded.\n\n");
    for (size_t i = 1; i < v->n_domains; i++) {
        axp__out_text(m->o, "### Memory of ");
        put_name(m, v->domains[i].device);
        axp__out_text(m->o, "\n\n");
        put_domain(m, v, &v->domains[i]);
    }
}

static void put_thread(struct markdown *m, const axp_thread_info *t)
{
    axp__cell cell;
    begin_row(m, *t->name ? t->name : "(thread)");
    put_cell(m, axp__fixed(cell, sizeof cell, (double)t->id, 0));
    put_cell(m, axp__short_ns(cell, t->end - t->begin));
    put_cell(m, t->cpu_ns ? axp__short_ns(cell, t->cpu_ns) : "");
    put_cell(m, axp__short_ns(cell, t->busy_ns));
    put_cell(m, t->wait_ns ? axp__short_ns(cell, t->wait_ns) : "");
    put_cell(m, t->is_scheduled ? axp__short_ns(cell, t->ready_ns) : "");
    put_cell(m, axp__short_count(cell, t->events));
    end_row(m);
}

static void put_threads(struct markdown *m, const axp_view *v)
{
    static const char *const heads[] = {"thread",  "id",        "lived",
                                        "CPU",     "in scopes", "waiting",
                                        "starved", "events"};
    if (!v->n_threads) return;
    axp__out_text(m->o, "## Threads\n\n");
    put_heads(m, heads, sizeof heads / sizeof *heads, 1);
    for (size_t i = 0; i < v->n_threads && i < SHOWN_THREADS; i++)
        put_thread(m, &v->threads[i]);
    if (v->n_threads > SHOWN_THREADS)
        axp__out_format(m->o, "\nand %zu more\n", v->n_threads - SHOWN_THREADS);
    axp__out_char(m->o, '\n');
}

static void put_path(struct markdown *m, const axp_view *v)
{
    static const char *const heads[] = {"what", "of the run", "time"};
    struct axp__path_parts p;
    axp__cell cell;
    if (axp__path_parts(v, &p)) m->has_failed = true;
    if (!p.n) return;
    axp__out_text(m->o, "## Critical path\n\n");
    put_heads(m, heads, sizeof heads / sizeof *heads, 1);
    for (size_t i = 0; i < p.n && i < AXP__PATH_SHOWN; i++) {
        begin_row(m, p.at[i].name);
        put_cell(m, axp__short_percent(cell, p.at[i].share));
        put_cell(m, axp__short_ns(cell, p.at[i].ns));
        end_row(m);
    }
    const char *doubt = axp__path_doubt(&p);
    if (doubt) axp__out_format(m->o, "\n%s\n", doubt);
    axp__out_char(m->o, '\n');
    free(p.at);
}

struct waits {
    struct markdown *m;
    size_t n;
};

static void put_who(struct markdown *m, const char *name, uint64_t id)
{
    put_name(m, *name ? name : "(thread)");
    axp__out_format(m->o, "/%llu", (unsigned long long)id);
}

static int put_wait(const axp_waits *w, void *ctx)
{
    struct waits *waits = ctx;
    struct markdown *m = waits->m;
    axp__cell cell;
    if (waits->n++ >= SHOWN_WAITS) return 0;
    begin_row(m, w->name);
    axp__out_text(m->o, " | ");
    put_who(m, w->thread, w->thread_id);
    axp__out_text(m->o, " | ");
    if (w->by_thread) put_who(m, w->by_thread, w->by_thread_id);
    put_cell(m, axp__short_count(cell, w->count));
    put_cell(m, axp__short_ns(cell, w->total_ns));
    put_cell(m, axp__short_ns(cell, w->max_ns));
    end_row(m);
    return 0;
}

static void put_waits(struct markdown *m, const axp_view *v)
{
    static const char *const heads[] = {"wait",  "of",       "ended by",
                                        "times", "together", "longest"};
    struct waits waits = {m, 0};
    if (!axp__view_has_waits(v)) return;
    axp__out_text(m->o, "## Waits\n\n");
    put_heads(m, heads, sizeof heads / sizeof *heads, 3);
    if (axp_view_waits(v, put_wait, &waits)) m->has_failed = true;
    if (waits.n > SHOWN_WAITS)
        axp__out_format(m->o, "\nand %zu more\n", waits.n - SHOWN_WAITS);
    axp__out_char(m->o, '\n');
}

static void put_applied(struct markdown *m, const axp_findings *f)
{
    char *text = axp__applied(f);
    if (text) {
        axp__out_text(m->o, "<sub>axprof " AXP_VERSION ", ");
        put_name(m, text);
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
    struct markdown m = {.o = o};
    axp__out_text(o, "> ");
    put_sentence(&m, f->verdict);
    axp__out_text(o, "\n\n");
    put_run(&m, v);
    put_warnings(&m, v);
    put_findings(&m, f, axp__shown_findings(f, options));
    put_path(&m, v);
    put_ops(&m, v);
    put_roofline(&m, v, f->roofs);
    put_functions(&m, v);
    put_heap(&m, v);
    put_memory(&m, v);
    put_threads(&m, v);
    put_waits(&m, v);
    put_applied(&m, f);
    if (!m.has_failed) return AXP_OK;
    return axp__fail(AXP_E_NO_MEMORY, "no memory for a report");
}
