/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Operations by shape; see emit_text.h. */
#include <stdio.h>
#include <stdlib.h>

#include "analyze/analyze_roof.h"
#include "emit/emit_shape.h"
#include "emit/emit_text.h"
#include "emit/emit_words.h"

#define SHOWN_OPS 20

/* "sgemm 512x512x64", "sgemm other 8"; NULL: no memory. */
static char *label_of(const axp_op *op, const axp_shape *s)
{
    char dims[AXP__SHAPE_LABEL], *label = NULL;
    return asprintf(&label, "%s %s", op->name, axp__shape_label(s, dims)) < 0
               ? NULL
               : label;
}

static void put_shape(struct axp__table *table, const char *label,
                      const axp_op *op, const axp_shape *s,
                      const struct axp__roof *r)
{
    axp__cell *cells = axp__table_row_on(table, label, op->device);
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

void axp__text_shapes(struct axp__text *t, const axp_view *v,
                      const struct axp__roofs *roofs)
{
    static const struct axp__column columns[] = {
        {"operation", true, 0}, {"calls", false, 0},   {"total", false, 0},
        {"GFLOP/s", false, 0},  {"GB/s", false, 1},    {"roof", false, 3},
        {"reached", false, 0},  {"bound by", true, 2}, {"type", true, 4}};
    size_t n, n_ops = 0, n_labels = 0;
    if (!v->n_shapes) {
        axp__text_heading(t, "Shapes", "no operation told its shape");
        return;
    }
    axp__text_heading(t, "Shapes", "of an operation the %u that took longest",
                      AXP_SHAPES);
    char **labels = calloc(v->n_shapes, sizeof *labels);
    struct axp__table *table = axp__table_create(
        t, columns, sizeof columns / sizeof *columns, v->n_shapes);
    for (size_t i = 0; table && labels && i < v->n_ops && n_ops < SHOWN_OPS;
         i++) {
        const struct axp__view_shape *s =
            axp__view_shapes_of(v, &v->ops[i], &n);
        n_ops += n > 0;
        for (size_t k = 0; k < n; k++) {
            char *label = label_of(&v->ops[i], &s[k].shape);
            if (!label) break;
            labels[n_labels++] = label;
            struct axp__roof r = axp__roof_of_shape(roofs, v, i, &s[k].shape);
            put_shape(table, label, &v->ops[i], &s[k].shape, &r);
        }
    }
    axp__table_print(t, table);
    for (size_t i = 0; i < n_labels; i++)
        free(labels[i]);
    if (!labels) t->has_failed = true;
    free(labels);
}
