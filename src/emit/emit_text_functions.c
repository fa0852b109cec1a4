/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Functions that were sampled, by their own processor time; see emit_text.h. */
#include "emit/emit_text.h"

#define SHOWN_FUNCTIONS 20

/* "± 2.1": points. */
static void put_error(axp__cell out, double error)
{
    axp__short_percent(out, error);
    out[strcspn(out, "%")] = 0;
}

static void put_function(struct axp__table *table, const axp_op *f)
{
    axp__cell *cells = axp__table_row(table, f->name);
    axp__short_ns(cells[0], f->self_ns);
    axp__short_percent(cells[1], f->time_share);
    put_error(cells[2], f->share_error);
    axp__short_ns(cells[3], f->total_ns);
    axp__short_count(cells[4], f->samples);
    axp__cell_place(cells[5], f->file, f->line);
}

/* Those that called others and did nothing themselves are in the tree. */
static size_t count_shown(const axp_view *v)
{
    size_t n = 0;
    while (n < v->n_functions && n < SHOWN_FUNCTIONS && v->functions[n].self_ns)
        n++;
    return n;
}

void axp__text_functions(struct axp__text *t, const axp_view *v)
{
    static const struct axp__column columns[] = {
        {"function", true, 0}, {"self", false, 0},  {"share", false, 0},
        {"±", false, 1},       {"total", false, 2}, {"samples", false, 4},
        {"at", true, 3}};
    size_t n = count_shown(v);
    char time[32];
    axp__cell samples;
    if (!n) return;
    axp__text_heading(t, "Functions",
                      "%s %s of %s of processor time; ± points at 95 %%",
                      axp__short_count(samples, v->n_sampled),
                      v->n_sampled == 1 ? "sample" : "samples",
                      axp_format_ns(time, sizeof time, v->sampled_ns));
    struct axp__table *table = axp__table_create(
        t, columns, sizeof columns / sizeof *columns, SHOWN_FUNCTIONS);
    axp_ns rest = v->sampled_ns;
    for (size_t i = 0; table && i < n; i++) {
        put_function(table, &v->functions[i]);
        rest -= v->functions[i].self_ns < rest ? v->functions[i].self_ns : rest;
    }
    axp__table_print(t, table);
    if (n < v->n_functions && v->functions[n].self_ns)
        axp__text_say(t, "and %zu more, %s self", v->n_functions - n,
                      axp_format_ns(time, sizeof time, rest));
    if (v->spun_ns)
        axp__text_say(t, "and %s of processor time in waits, spinning",
                      axp_format_ns(time, sizeof time, v->spun_ns));
}
