/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Operations by shape; see emit_text.h. A shape stands below its operation, so
 * that a long name takes none of its room. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze_roof.h"
#include "emit/emit_shape.h"
#include "emit/emit_text.h"
#include "emit/emit_words.h"

#define SHOWN_OPS 20

struct shapes {
    const axp_view *v;
    const struct axp__roofs *roofs;
    struct axp__table *table;
    char (*labels)[AXP__SHAPE_LABEL];
    size_t n_labels;
};

static void put_shape(struct axp__table *table, const char *label,
                      const axp_shape *s, const struct axp__roof *r)
{
    axp__cell *cells = axp__table_row(table, label);
    const char *dtype = axp__word_dtype(s->dtype);
    axp__short_count(cells[0], s->calls);
    axp__short_ns(cells[1], s->total_ns);
    axp__short_rate(cells[2], s->gflops);
    axp__short_rate(cells[3], s->gbps);
    if (dtype) snprintf(cells[7], AXP__CELL, "%s", dtype);
    if (!r->is_known) return;
    axp__short_rate(cells[4], (r->flops > 0 ? r->roof_flops : r->roof_bytes) /
                                  1e9 / r->at_once);
    axp__short_percent(cells[5], r->share);
    if (r->is_impossible) strcat(cells[5], " !");
    snprintf(cells[6], AXP__CELL, "%s", axp__roof_bound(r));
}

static void put_op(struct shapes *all, size_t op,
                   const struct axp__view_shape *s, size_t n)
{
    const axp_op *o = &all->v->ops[op];
    axp__cell *cells = axp__table_row_on(all->table, o->name, o->device);
    axp__short_count(cells[0], o->calls);
    axp__short_ns(cells[1], o->total_ns);
    for (size_t k = 0; k < n; k++) {
        const axp_shape *shape = &s[k].shape;
        char *label = axp__shape_label(shape, all->labels[all->n_labels++]);
        struct axp__roof r = axp__roof_of_shape(all->roofs, all->v, op, shape);
        put_shape(all->table, label, shape, &r);
        axp__table_branch(all->table, 1, k + 1 < n);
    }
}

void axp__text_shapes(struct axp__text *t, const axp_view *v,
                      const struct axp__roofs *roofs)
{
    static const struct axp__column columns[] = {
        {"operation", true, 0}, {"calls", false, 0},   {"total", false, 0},
        {"GFLOP/s", false, 0},  {"GB/s", false, 1},    {"roof", false, 3},
        {"reached", false, 0},  {"bound by", true, 2}, {"type", true, 4}};
    size_t n, n_ops = 0;
    if (!v->n_shapes) {
        axp__text_heading(t, "Shapes", "no operation told its shape");
        return;
    }
    axp__text_heading(t, "Shapes", "of an operation the %u that took longest",
                      AXP_SHAPES);
    struct shapes all = {v, roofs, NULL, NULL, 0};
    all.labels = calloc(v->n_shapes, sizeof *all.labels);
    all.table = axp__table_create(t, columns, sizeof columns / sizeof *columns,
                                  v->n_shapes + SHOWN_OPS);
    for (size_t i = 0; all.table && all.labels && i < v->n_ops; i++) {
        const struct axp__view_shape *s =
            axp__view_shapes_of(v, &v->ops[i], &n);
        if (n && n_ops++ < SHOWN_OPS) put_op(&all, i, s, n);
    }
    axp__table_print(t, all.table);
    if (!all.labels) t->has_failed = true;
    free(all.labels);
}
