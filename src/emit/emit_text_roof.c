/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The roofline: operations that declared their work against what the machine
 * allows; see emit_text.h. */
#include <stdlib.h>

#include "emit/emit_roof.h"
#include "emit/emit_text.h"
#include "emit/emit_words.h"

#define SHOWN_OPS 12
#define SHOWN_RATES 3

char *axp__roof_about_run(const struct axp__roof_run *r, char *out, size_t size)
{
    char rate[32], share[32], peak[32], of[96] = "";
    *out = 0;
    if (!(r->flops_per_s > 0)) return out;
    if (r->peak > 0) {
        const char *dtype = axp__word_dtype(r->dtype);
        snprintf(
            of, sizeof of, ", %s %% of %s (%s",
            axp__fixed(share, sizeof share, 100 * r->flops_per_s / r->peak, 1),
            axp__digits3(peak, sizeof peak, r->peak / 1e9),
            dtype ? dtype : "as f32");
        size_t len = strlen(of);
        if (r->threads)
            snprintf(of + len, sizeof of - len, " %s, %u thread%s)",
                     r->isa ? r->isa : "", r->threads,
                     r->threads == 1 ? "" : "s");
        else
            snprintf(of + len, sizeof of - len, ", as given)");
    }
    bool is_wrong = r->peak > 0 && r->flops_per_s > AXP__ROOF_MOST * r->peak;
    snprintf(out, size, "%s GFLOP/s over the run%s%s",
             axp__digits3(rate, sizeof rate, r->flops_per_s / 1e9), of,
             is_wrong ? ": wrong" : "");
    return out;
}

/* ---- which ---------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
    const struct axp__roof_row *x = a, *y = b;
    if (x->total_ns != y->total_ns) return x->total_ns < y->total_ns ? 1 : -1;
    return (x->op > y->op) - (x->op < y->op);
}

struct axp__roof_row *axp__roof_rows(const axp_view *v,
                                     const struct axp__roofs *roofs, size_t *n)
{
    struct axp__roof_row *rows = malloc((v->n_ops + 1) * sizeof *rows);
    *n = 0;
    for (size_t i = 0; rows && i < roofs->n && i < v->n_ops; i++)
        if (roofs->at[i].is_known)
            rows[(*n)++] = (struct axp__roof_row){v->ops[i].total_ns, i};
    if (*n) qsort(rows, *n, sizeof *rows, by_time);
    return rows;
}

/* ---- the table -------------------------------------------------------------------- */

static void put_op(struct axp__table *table, const axp_op *op,
                   const struct axp__roof *r)
{
    axp__cell *cells = axp__table_row_on(table, op->name, op->device);
    bool has_flops = r->flops > 0;
    if (has_flops) axp__short_rate(cells[0], r->flops / 1e9);
    if (r->bytes > 0) axp__short_rate(cells[1], r->bytes / 1e9);
    axp__short_rate(cells[2],
                    (has_flops ? r->roof_flops : r->roof_bytes) / 1e9);
    axp__short_percent(cells[3], r->share);
    if (r->is_impossible) strcat(cells[3], " !");
    snprintf(cells[4], AXP__CELL, "%s", axp__roof_bound(r));
    if (r->threads)
        snprintf(cells[5], AXP__CELL, "%u%s", r->threads,
                 r->is_raised ? " ?" : "");
    if (has_flops && r->bytes > 0)
        axp__digits3(cells[6], AXP__CELL, r->flops / r->bytes);
    axp__short_ns(cells[7], op->total_ns);
}

static void put_table(struct axp__text *t, const axp_view *v,
                      const struct axp__roofs *roofs,
                      const struct axp__roof_row *rows, size_t n)
{
    static const struct axp__column columns[] = {
        {"operation", true, 0}, {"GFLOP/s", false, 0}, {"GB/s", false, 2},
        {"roof", false, 0},     {"reached", false, 0}, {"bound by", true, 0},
        {"threads", false, 1},  {"FLOP/B", false, 3},  {"total", false, 4}};
    struct axp__table *table = axp__table_create(
        t, columns, sizeof columns / sizeof *columns, SHOWN_OPS);
    for (size_t i = 0; i < n && i < SHOWN_OPS; i++)
        put_op(table, &v->ops[rows[i].op], &roofs->at[rows[i].op]);
    axp__table_print(t, table);
    if (n > SHOWN_OPS) axp__text_say(t, "and %zu more", n - SHOWN_OPS);
}

/* Which machine, and how far to believe its peaks. */
static void put_machine(struct axp__text *t, const axp_view *v,
                        const struct axp__roof_run *run)
{
    const struct axp__machine *m = v->machine;
    if (!m || !run->threads) return;
    const struct axp__machine_compute *c =
        axp__machine_compute_of(m, run->dtype);
    bool is_doubtful = m->is_partial || (m->quota > 0 && m->quota < 1) || !c ||
                       c->all.spread > AXP__DOUBTFUL;
    for (size_t i = 0; i < m->n_memory; i++)
        if (m->memory[i].level == AXP_LEVEL_MEMORY &&
            m->memory[i].move_all.spread > AXP__DOUBTFUL)
            is_doubtful = true;
    axp__text_say(t, "peaks of %s%s", m->cpu,
                  is_doubtful ? ", which are doubtful: something else ran when "
                                "they were measured, or it has less than a CPU"
                              : "");
}

/* Steps, and what the program counts up: tokens, samples. */
static void put_rates(struct axp__text *t, const axp_view *v)
{
    char rate[32];
    double seconds = (double)v->duration_ns / 1e9;
    if (v->steps.count && seconds > 0)
        axp__text_say(
            t, "%s steps a second",
            axp__digits3(rate, sizeof rate, (double)v->steps.count / seconds));
    for (size_t i = 0, n = 0; i < v->n_counters && n < SHOWN_RATES; i++) {
        const struct axp__view_counter *k = &v->counters[i];
        if (!(k->rate > 0)) continue;
        axp__text_say(t, "%.60s: %s a second, by its counter", k->name,
                      axp__digits3(rate, sizeof rate, k->rate));
        n++;
    }
}

static void put_remarks(struct axp__text *t, const struct axp__roofs *roofs)
{
    size_t n_wrong = 0, n_raised = 0;
    for (size_t i = 0; i < roofs->n; i++) {
        n_wrong += roofs->at[i].is_impossible;
        n_raised += roofs->at[i].is_raised;
    }
    if (n_wrong)
        axp__text_say(t,
                      "! %zu %s more than the machine can: the declared work "
                      "is wrong",
                      n_wrong,
                      n_wrong == 1 ? "operation reaches" : "operations reach");
    if (n_raised)
        axp__text_say(t, "? more threads than were seen: fewer could not reach "
                         "that");
}

void axp__text_roof(struct axp__text *t, const axp_view *v,
                    const struct axp__roofs *roofs)
{
    char about[200];
    size_t n;
    struct axp__roof_row *rows = axp__roof_rows(v, roofs, &n);
    if (!rows) t->has_failed = true;
    if (rows && n) {
        axp__text_heading(
            t, "Roofline", "%s",
            axp__roof_about_run(&roofs->run, about, sizeof about));
        put_table(t, v, roofs, rows, n);
        put_remarks(t, roofs);
        put_machine(t, v, &roofs->run);
        put_rates(t, v);
    }
    free(rows);
}
