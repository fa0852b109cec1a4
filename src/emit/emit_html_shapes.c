/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Operations by shape, in meta; see docs/html-data.md. */
#include "emit/emit_html.h"

static void put_number(struct axp__json *j, bool is_known, double value)
{
    axp__json_next(j);
    if (is_known)
        axp__out_f64(j->o, value);
    else
        axp__out_text(j->o, "null");
}

/* What a call is allowed, the share of it, and what binds it. */
static void put_roof(struct axp__json *j, const struct axp__roof *r)
{
    put_number(j, r->is_known && r->flops > 0 && r->at_once,
               r->roof_flops / 1e9 / (r->at_once ? r->at_once : 1));
    put_number(j, r->is_known, r->share);
    axp__json_next(j);
    if (r->is_known)
        axp__out_json(j->o, axp__roof_bound(r));
    else
        axp__out_text(j->o, "null");
}

static void put_shape(struct axp__json *j, size_t op, const axp_shape *s,
                      const struct axp__roof *r)
{
    bool has_flops = s->n_flops_calls > 0, has_bytes = s->n_bytes_calls > 0;
    axp__json_next(j);
    axp__json_begin(j, '[');
    put_number(j, true, (double)op);
    axp__json_next(j);
    axp__json_begin(j, '[');
    for (uint32_t i = 0; i < s->n_dims; i++)
        put_number(j, true, s->dims[i]);
    axp__json_end(j, ']');
    put_number(j, true, (double)s->n_shapes);
    put_number(j, true, (double)s->calls);
    put_number(j, true, (double)s->total_ns);
    put_number(j, has_flops, s->flops);
    put_number(j, has_bytes, s->bytes);
    put_number(j, has_flops, (double)s->flops_ns);
    put_number(j, has_bytes, (double)s->bytes_ns);
    put_roof(j, r);
    axp__json_end(j, ']');
}

void axp__html_shapes_put(struct axp__html_job *job)
{
    const axp_view *v = job->v;
    struct axp__json *j = &job->json;
    size_t n;
    if (!v->n_shapes) return;
    axp__json_list(j, "shapes");
    for (size_t i = 0; i < v->n_ops; i++) {
        const struct axp__view_shape *s =
            axp__view_shapes_of(v, &v->ops[i], &n);
        for (size_t k = 0; k < n; k++) {
            struct axp__roof r =
                axp__roof_of_shape(job->f->roofs, v, i, &s[k].shape);
            put_shape(j, i, &s[k].shape, &r);
        }
    }
    axp__json_end(j, ']');
}
