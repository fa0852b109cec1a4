/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* CallOverhead: an operation whose calls are short, and of which much is there
 * whatever they do. docs/rules/call_overhead.md
 *
 * The fixed cost of a call is known in one of these ways, tried in this order:
 * the operation's shapes lie on a line, time = fixed + work × rate, whose fixed
 * part it is; a team of threads is begun in each, which was measured; its work
 * and the machine's peaks say what of a call is not work. There, and where nothing
 * is known, all of it is the bound: joined calls may have less to do, too, such as
 * reading a matrix once for all. Who does its work near the roof has no overhead.
 * Threads that are started for next to nothing are calls too
 * (analyze_short_threads.h). */
#include <math.h>

#include "analyze/analyze_caller.h"
#include "analyze/analyze_short_threads.h"
#include "analyze/analyze_wall.h"
#include "base/base_number.h"

#define SHAPES 3u   /* that a line needs: two always lie on one */
#define REACH 4.0   /* times the least work, that the most has */
#define BESIDE 0.25 /* of its time: no further is any from the line */
#define NEAR 0.5    /* of the roof: what it does is work */
#define MATTERS 0.2 /* of a call; less fixed cost is no cause */

struct fixed {
    double ns; /* of a call */
    enum { BY_LINE, BY_TEAM, BY_ROOF, BY_TIME } how;
    size_t n_shapes;
};

/* ---- a line through the shapes ---------------------------------------------------- */

struct line {
    double w, x, y, xx, xy; /* sums */
    double least, most;     /* work of a call */
    size_t n;
};

/* Work and time of a call; false: it tells no work. */
static bool point_of(const axp_shape *s, double ours, double *x, double *y)
{
    bool has_flops = s->n_flops_calls == s->calls && s->flops > 0;
    if (!s->n_dims || !s->calls) return false;
    if (!has_flops && !(s->n_bytes_calls == s->calls && s->bytes > 0))
        return false;
    *x = (has_flops ? s->flops : s->bytes) / (double)s->calls;
    *y = (double)s->total_ns / (double)s->calls - ours;
    return isfinite(*x) && *y > 0;
}

/* Each point as heavy as its calls, by its distance as a part of its time. */
static void add_point(struct line *l, double x, double y, double calls)
{
    double w = calls / (y * y);
    l->w += w;
    l->x += w * x;
    l->y += w * y;
    l->xx += w * x * x;
    l->xy += w * x * y;
    l->least = l->n ? fmin(l->least, x) : x;
    l->most = fmax(l->most, x);
    l->n++;
}

/* The fixed part; 0: the shapes lie on no line, or on one without it. */
static double line_fixed(const struct axp__analysis *a, const axp_op *op,
                         size_t *n_shapes)
{
    struct line l = {0};
    double x, y, ours = (double)op->avg_ns - axp__call_ns(a->v, op);
    size_t n;
    const struct axp__view_shape *all = axp__view_shapes_of(a->v, op, &n);
    for (size_t i = 0; i < n; i++)
        if (point_of(&all[i].shape, ours, &x, &y))
            add_point(&l, x, y, (double)all[i].shape.calls);
    double by = l.w * l.xx - l.x * l.x;
    if (l.n < SHAPES || l.most < REACH * l.least || !(by > 0)) return 0;
    double slope = (l.w * l.xy - l.x * l.y) / by;
    double fixed = (l.y - slope * l.x) / l.w;
    if (!(slope >= 0) || !(fixed > 0)) return 0;
    for (size_t i = 0; i < n; i++)
        if (point_of(&all[i].shape, ours, &x, &y) &&
            fabs(fixed + slope * x - y) > BESIDE * y)
            return 0;
    *n_shapes = l.n;
    return fixed;
}

/* ---- what is known ------------------------------------------------------------------ */

static struct fixed fixed_of(const struct axp__analysis *a, const axp_op *op,
                             double each)
{
    const struct axp__roof *r = axp__roof_of(a, op);
    const struct axp__machine *m = a->v->machine;
    struct fixed f = {.how = BY_LINE};
    f.ns = line_fixed(a, op, &f.n_shapes);
    if (f.ns > 0) return f;
    if (r && m && r->at_once && r->threads > r->at_once && !r->is_raised &&
        m->fork_join_ns > MATTERS * each)
        return (struct fixed){fmin(m->fork_join_ns, each), BY_TEAM, 0};
    if (r && r->ran_share >= NEAR) return (struct fixed){0, BY_ROOF, 0};
    if (r) return (struct fixed){each * (1 - r->ran_share), BY_ROOF, 0};
    return (struct fixed){each, BY_TIME, 0};
}

static void say(struct axp__analysis *a, struct axp__draft *d, const axp_op *op,
                const struct fixed *f, double each)
{
    char time[32], fixed[32], part[32];
    axp_format_ns(fixed, sizeof fixed, axp__whole(f->ns));
    axp__draft_say(a, d, "%llu calls of %s each take %s %% of the run",
                   (unsigned long long)op->calls,
                   axp_format_ns(time, sizeof time, axp__whole(each)),
                   axp__fixed(part, sizeof part,
                              100 * (double)axp__wall_ns(a->wall, op) /
                                  (double)a->v->duration_ns,
                              1));
    if (f->how == BY_LINE)
        axp__draft_say(a, d,
                       "%s of a call is there whatever its work, by the times "
                       "of its %zu shapes",
                       fixed, f->n_shapes);
    else if (f->how == BY_TEAM)
        axp__draft_say(a, d,
                       "%s of a call is handing work to threads, as measured "
                       "on that machine",
                       fixed);
    else if (f->how == BY_ROOF)
        axp__draft_say(a, d, "at the roof its work would take %s less a call",
                       fixed);
}

static void look_at(struct axp__analysis *a, const axp_op *op, double each)
{
    static const double many[3] = {1, 100000, 0};
    struct fixed f = fixed_of(a, op, each);
    if (f.ns < MATTERS * each) return;
    struct axp__draft *d = axp__draft_add(a, AXP__RULE_call_overhead, op->name);
    if (!d) return;
    d->op = op;
    /* Who knows no more than the calls' number leaves it to HighCallCount. */
    d->specificity = f.how == BY_TIME ? 2 : 3;
    d->is_bound = f.how == BY_ROOF || f.how == BY_TIME;
    d->fraction = d->is_bound ? 1 : fmin(1, f.ns / each);
    d->is_capped = true;
    d->band = f.how == BY_TIME ? axp__band((double)op->calls, many) : AXP_HIGH;
    d->confidence = d->is_bound ? 0.5 : 0.7;
    say(a, d, op, &f, each);
    axp__caller_advise(a, d, op);
    axp__draft_metric(d, "call_count", (double)op->calls);
    axp__draft_metric(d, "avg_time_ns", each);
    if (!d->is_bound) axp__draft_metric(d, "fixed_time_ns", f.ns);
}

void axp__rule_call_overhead(struct axp__analysis *a)
{
    const double *t = a->threshold;
    double is_short = t[AXP__T_call_overhead_short_call_us] * 1e3;
    double wall =
        (double)a->v->duration_ns * t[AXP__T_call_overhead_wall_percent] / 100;
    for (size_t i = 0; i < a->v->n_ops; i++) {
        const axp_op *op = &a->v->ops[i];
        double each = axp__call_ns(a->v, op);
        if (op->is_wait || op->device || !(each > 0) || each >= is_short ||
            (double)op->calls < t[AXP__T_call_overhead_calls])
            continue;
        if (axp__wall_reaches(a->wall, op, wall)) look_at(a, op, each);
    }
    axp__short_threads_look(a);
}
