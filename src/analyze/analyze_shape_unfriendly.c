/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* ShapeUnfriendly: a product whose sides fill no vector or tile of the machine,
 * and which is slower than products of the same size that do.
 * docs/rules/shape_unfriendly.md
 *
 * "The same size" is a call with as much work, within a factor of 4: the same
 * operation's other shapes, or what the machine's BLAS was measured with. What
 * waits for memory is not slow for its shape. The saving counts what padding
 * adds to the work. */
#include <math.h>

#include "analyze/analyze_roof_advice.h"
#include "analyze/analyze_wall.h"
#include "base/base_number.h"

#define LIKE 4.0 /* times the work: still the same size */

struct better {
    double rate; /* FLOP/s; 0: none is known */
    uint32_t dims[3];
    bool is_blas; /* of the machine, else a shape of the operation */
};

static double per_call(const axp_shape *s)
{
    return s->flops / (double)s->n_flops_calls;
}

static bool is_product(const axp_shape *s)
{
    if (!s->n_flops_calls || !s->flops_ns || !s->calls) return false;
    struct axp__call_work w = {s->dims, s->n_dims, s->dtype, per_call(s), 0};
    if (s->n_bytes_calls) w.bytes = s->bytes / (double)s->n_bytes_calls;
    return axp__narrowest(&w) > 0;
}

static double padded(uint32_t side, double to)
{
    return ceil(side / to) * to;
}

/* How much more the work is when all sides are made multiples; 1: they are. */
static double padding(const axp_shape *s, double to)
{
    double more = 1;
    for (int i = 0; i < 3; i++)
        more *= padded(s->dims[i], to) / s->dims[i];
    return more;
}

static bool is_like(double a, double b)
{
    return a <= LIKE * b && b <= LIKE * a;
}

/* Among the operation's shapes that fit, and then the machine's BLAS. */
static struct better find_better(const struct axp__analysis *a,
                                 const struct axp__view_shape *all, size_t n,
                                 const axp_shape *s, const struct axp__roof *r)
{
    double to = a->threshold[AXP__T_shape_unfriendly_multiple], rate = 0;
    struct better best = {0};
    for (size_t i = 0; i < n; i++) {
        const axp_shape *o = &all[i].shape;
        if (!is_product(o) || padding(o, to) > 1 || o->dtype != s->dtype ||
            !is_like(per_call(o), per_call(s)))
            continue;
        rate = o->flops / (double)o->flops_ns * 1e9;
        if (rate > best.rate)
            best =
                (struct better){rate, {o->dims[0], o->dims[1], o->dims[2]}, 0};
    }
    if (best.rate > 0 || (s->dtype && s->dtype != AXP_F32) || !r->threads)
        return best;
    const struct axp__machine_blas *b =
        axp__blas_near(a->v->machine, s->dims, r->threads, &rate);
    if (!b || !is_like(2.0 * b->m * b->n * b->k, per_call(s))) return best;
    /* A rate of all threads together, with processors of their own; a shape's is
     * of one call, on those that it got. */
    return (struct better){rate * r->ran / (r->at_once ? r->at_once : 1),
                           {b->m, b->n, b->k},
                           true};
}

/* What memory allows it, whatever its shape. */
static double bandwidth_allows(const axp_shape *s, const struct axp__roof *r)
{
    if (!s->n_bytes_calls || !(s->bytes > 0) || !(r->roof_bytes > 0))
        return INFINITY;
    return s->flops / s->bytes * r->roof_bytes / (r->at_once ? r->at_once : 1);
}

/* "its sides 501 and 333 are no multiples" */
static void put_sides(char *text, size_t size, const axp_shape *s, double to)
{
    uint32_t odd[3];
    int n = 0;
    for (int i = 0; i < 3; i++) {
        bool is_odd = padded(s->dims[i], to) > s->dims[i];
        for (int k = 0; k < n; k++)
            is_odd &= odd[k] != s->dims[i];
        if (is_odd) odd[n++] = s->dims[i];
    }
    if (n == 1)
        snprintf(text, size, "its side %u is no multiple", odd[0]);
    else if (n == 2)
        snprintf(text, size, "its sides %u and %u are no multiples", odd[0],
                 odd[1]);
    else
        snprintf(text, size, "its sides are no multiples");
}

static void say(struct axp__analysis *a, struct axp__draft *d,
                const axp_shape *s, const struct better *b)
{
    char reached[32], rate[32], pad[64], sides[80];
    double to = a->threshold[AXP__T_shape_unfriendly_multiple];
    put_sides(sides, sizeof sides, s, to);
    axp__draft_say(
        a, d,
        "a product of %u x %u x %u reaches %s GFLOP/s, one of %u x %u x %u %s %s; "
        "%s of %.0f",
        s->dims[0], s->dims[1], s->dims[2],
        axp__digits3(reached, sizeof reached, s->flops / (double)s->flops_ns),
        b->dims[0], b->dims[1], b->dims[2],
        b->is_blas ? "with the machine's BLAS" : "of the same operation",
        axp__digits3(rate, sizeof rate, b->rate / 1e9), sides, to);
    snprintf(pad, sizeof pad, "%.0f x %.0f x %.0f", padded(s->dims[0], to),
             padded(s->dims[1], to), padded(s->dims[2], to));
    axp__draft_advise(
        a, d,
        "pad the operands of %s to %s once, where they are made, or choose "
        "sizes that are multiples of %.0f: that is %.0f %% more work at the "
        "rate of shapes that fit",
        axp__spoken(d->name, "it"), pad, to, 100 * (padding(s, to) - 1));
}

/* The worst of its shapes by the time that could be regained. */
static void look_at(struct axp__analysis *a, const axp_op *op,
                    const struct axp__roof *r)
{
    const double *t = a->threshold;
    double to = t[AXP__T_shape_unfriendly_multiple], most = 0;
    size_t n, worst = 0;
    struct better best = {0};
    const struct axp__view_shape *all = axp__view_shapes_of(a->v, op, &n);
    for (size_t i = 0; i < n; i++) {
        const axp_shape *s = &all[i].shape;
        if (!is_product(s) || padding(s, to) <= 1) continue;
        struct better b = find_better(a, all, n, s, r);
        double could = fmin(b.rate, bandwidth_allows(s, r)) / padding(s, to);
        double is = s->flops / (double)s->flops_ns * 1e9;
        if (100 * is > could * t[AXP__T_shape_unfriendly_rate_percent])
            continue;
        double regained = (double)s->total_ns * (1 - is / could);
        if (regained <= most) continue;
        most = regained;
        worst = i;
        best = b;
    }
    double part = op->total_ns ? most / (double)op->total_ns : 0;
    if (100 * part * (double)axp__wall_ns(a->wall, op) <
            t[AXP__T_shape_unfriendly_wall_percent] *
                (double)a->v->duration_ns ||
        !(part > 0))
        return;
    struct axp__draft *d =
        axp__draft_add(a, AXP__RULE_shape_unfriendly, op->name);
    if (!d) return;
    d->op = op;
    d->specificity = 3;
    d->fraction = fmin(1, part);
    d->confidence = best.is_blas ? 0.5 : 0.7;
    say(a, d, &all[worst].shape, &best);
    axp__draft_metric(d, "gflops_per_sec", all[worst].shape.gflops);
    axp__draft_metric(d, "friendly_gflops", best.rate / 1e9);
}

void axp__rule_shape_unfriendly(struct axp__analysis *a)
{
    const double *t = a->threshold;
    double least = (double)a->v->duration_ns *
                   t[AXP__T_shape_unfriendly_wall_percent] / 100;
    struct axp__roof none = {.ran = 1};
    if (!(t[AXP__T_shape_unfriendly_multiple] >= 1)) return;
    for (size_t i = 0; i < a->v->n_ops; i++) {
        const axp_op *op = &a->v->ops[i];
        const struct axp__roof *r = axp__roof_of(a, op);
        if (op->device || (double)op->self_ns < least) continue;
        if (!r || !r->is_impossible) look_at(a, op, r ? r : &none);
    }
}
