/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Operations by shape: the nodes of each name of kind SHAPE (wire_shape.h), over
 * all threads, added up; of each operation the heaviest, and the rest together.
 */
#include <math.h>
#include <stdlib.h>

#include "base/base_sized.h"
#include "model/model_view.h"
#include "tally/tally_scope.h"

struct sums { /* index 0: ticks; 1: ns of tracks */
    uint64_t total[2], flops_time[2], bytes_time[2];
};

/* ---- which names are shapes ------------------------------------------------------ */

bool axp__view_find_shapes(axp_view *v)
{
    const struct axp__capture *c = v->capture;
    for (uint32_t id = AXP__CAP_SPECIALS; id < c->n_names; id++) {
        uint32_t op = axp__cap_op_of(c, id);
        if (op == id) continue;
        if (!v->op_of) {
            v->op_of = malloc(c->n_names * sizeof *v->op_of);
            for (uint32_t i = 0; v->op_of && i < c->n_names; i++)
                v->op_of[i] = i;
        }
        if (!v->op_of) return false;
        v->op_of[id] = op;
        v->n_shape_names++;
    }
    return true;
}

/* ---- adding up ------------------------------------------------------------------- */

struct adding {
    axp_view *v;
    struct sums *sums; /* of v->shapes */
    uint32_t *at;      /* by name: 1 + index */
};

/* NULL: a node without a shape, or with one that is not its operation's. */
static struct axp__view_shape *get(struct adding *a,
                                   const struct axp__cap_node *n,
                                   struct sums **sums)
{
    axp_view *v = a->v;
    struct axp__shape shape;
    if (!n->shape || n->shape >= v->capture->n_names ||
        v->op_of[n->shape] != n->name || n->shape == n->name)
        return NULL;
    uint32_t *at = &a->at[axp__cap_shape_of(v->capture, n->shape)];
    if (!*at && axp__cap_shape(v->capture, n->shape, &shape)) {
        struct axp__view_shape *s = &v->shapes[v->n_shapes];
        s->op = n->name;
        s->name = axp__view_name(v, n->name);
        s->device = axp__view_device(v, n->name);
        s->is_wait = axp__view_kind(v, n->name) == AXP__KIND_WAIT;
        s->shape.n_dims = shape.n_dims;
        s->shape.n_shapes = 1;
        memcpy(s->shape.dims, shape.dims, shape.n_dims * sizeof *shape.dims);
        *at = (uint32_t)++v->n_shapes;
    }
    if (!*at) return NULL;
    *sums = &a->sums[*at - 1];
    return &v->shapes[*at - 1];
}

static void add_nodes(struct adding *a, const struct axp__cap_lane *lane)
{
    int u = lane->is_track;
    struct sums *sums;
    for (uint32_t i = 1; i < lane->n_nodes; i++) {
        const struct axp__cap_node *n = &lane->nodes[i];
        struct axp__view_shape *s = get(a, n, &sums);
        if (!s) continue;
        s->shape.calls += n->calls;
        s->shape.flops += n->flops;
        s->shape.bytes += n->bytes;
        s->shape.n_flops_calls += n->n_flops_calls;
        s->shape.n_bytes_calls += n->n_bytes_calls;
        if (n->dtype) s->shape.dtype = (axp_dtype)n->dtype;
        sums->total[u] += n->total_ticks;
        sums->flops_time[u] += n->flops_ticks;
        sums->bytes_time[u] += n->bytes_ticks;
    }
    for (uint32_t i = 0; i < lane->n_frames; i++) {
        const struct axp__cap_frame *f = &lane->frames[i];
        struct axp__view_shape *s =
            f->node > 0 ? get(a, &lane->nodes[f->node], &sums) : NULL;
        if (!s) continue;
        uint64_t total = axp__frame_total(a->v, lane, i);
        s->shape.calls++;
        sums->total[0] += total;
        if (f->flags & AXP__F_FLOPS) sums->flops_time[0] += total;
        if (f->flags & AXP__F_BYTES) sums->bytes_time[0] += total;
    }
}

static int by_name(const struct axp__view_shape *s, const axp_op *op)
{
    axp_op of = {.name = s->name, .device = s->device, .is_wait = s->is_wait};
    return axp__view_by_name(&of, op);
}

/* By operation; in each the longest first, and what has no dims last. */
static int by_op(const void *a, const void *b)
{
    const struct axp__view_shape *x = a, *y = b;
    axp_op of = {.name = y->name, .device = y->device, .is_wait = y->is_wait};
    int order = x->op == y->op ? 0 : by_name(x, &of);
    if (order) return order;
    if (x->op != y->op) return x->op < y->op ? -1 : 1;
    if (!x->shape.n_dims != !y->shape.n_dims) return x->shape.n_dims ? -1 : 1;
    if (x->shape.total_ns != y->shape.total_ns)
        return x->shape.total_ns < y->shape.total_ns ? 1 : -1;
    return memcmp(x->shape.dims, y->shape.dims, sizeof x->shape.dims);
}

static void add_rest(axp_shape *to, const axp_shape *s)
{
    to->n_shapes += s->n_shapes;
    to->calls += s->calls;
    to->total_ns += s->total_ns;
    to->flops += s->flops;
    to->bytes += s->bytes;
    to->n_flops_calls += s->n_flops_calls;
    to->n_bytes_calls += s->n_bytes_calls;
    to->flops_ns += s->flops_ns;
    to->bytes_ns += s->bytes_ns;
    if (s->dtype) to->dtype = s->dtype;
}

static void set_rates(axp_shape *s)
{
    s->gflops = s->flops_ns ? s->flops / (double)s->flops_ns : NAN;
    s->gbps = s->bytes_ns ? s->bytes / (double)s->bytes_ns : NAN;
}

/* Of each operation the first, and one that has no dims for all the others. */
static void keep_heaviest(axp_view *v)
{
    size_t n = 0, of_op = 0;
    for (size_t i = 0; i < v->n_shapes; i++) {
        struct axp__view_shape s = v->shapes[i];
        of_op = n && v->shapes[n - 1].op == s.op ? of_op + 1 : 0;
        if (of_op > AXP_SHAPES) {
            add_rest(&v->shapes[n - 1].shape, &s.shape);
            continue;
        }
        if (of_op == AXP_SHAPES) {
            s.shape.n_dims = 0;
            memset(s.shape.dims, 0, sizeof s.shape.dims);
        }
        v->shapes[n++] = s;
    }
    v->n_shapes = n;
    for (size_t i = 0; i < n; i++)
        set_rates(&v->shapes[i].shape);
}

bool axp__view_make_shapes(axp_view *v)
{
    const struct axp__capture *c = v->capture;
    struct adding a = {.v = v};
    if (!v->op_of) return true;
    v->shapes = calloc(v->n_shape_names, sizeof *v->shapes);
    a.sums = calloc(v->n_shape_names, sizeof *a.sums);
    a.at = calloc(c->n_names, sizeof *a.at);
    bool ok = v->shapes && a.sums && a.at;
    for (size_t i = 0; ok && i < c->n_lanes; i++)
        add_nodes(&a, &c->lanes[i]);
    for (size_t i = 0; ok && i < v->n_shapes; i++) {
        axp_shape *s = &v->shapes[i].shape;
        s->total_ns = axp__view_sum_ns(v, a.sums[i].total);
        s->flops_ns = axp__view_sum_ns(v, a.sums[i].flops_time);
        s->bytes_ns = axp__view_sum_ns(v, a.sums[i].bytes_time);
    }
    if (ok && v->n_shapes)
        qsort(v->shapes, v->n_shapes, sizeof *v->shapes, by_op);
    if (ok) keep_heaviest(v);
    free(a.sums);
    free(a.at);
    return ok;
}

/* ---- the public call ---------------------------------------------------------------- */

const struct axp__view_shape *axp__view_shapes_of(const axp_view *v,
                                                  const axp_op *op, size_t *n)
{
    size_t low = 0, high = v->n_shapes;
    *n = 0;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (by_name(&v->shapes[mid], op) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == v->n_shapes || by_name(&v->shapes[low], op)) return NULL;
    while (low + *n < v->n_shapes &&
           v->shapes[low + *n].op == v->shapes[low].op)
        ++*n;
    return &v->shapes[low];
}

size_t axp_view_shapes_sized(const axp_view *v, const axp_op *op,
                             size_t op_size, axp_shape *out, size_t cap,
                             size_t size)
{
    const struct axp__view_shape *s = NULL;
    size_t n = 0;
    axp_op same;
    if (!v || !op) return 0;
    axp__sized_copy(&same, sizeof same, op, op_size);
    if (same.name) s = axp__view_shapes_of(v, &same, &n);
    for (size_t i = 0; out && i < n && i < cap; i++)
        axp__sized_copy((char *)out + i * size, size, &s[i].shape,
                        sizeof s[i].shape);
    return n;
}
