/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Advice by the roof; see analyze_roof_advice.h. Who waits for memory is not told
 * to use BLAS, nor is a product that no library makes fast. */
#include "analyze/analyze_roof_advice.h"

#include <math.h>
#include <stdio.h>

#include "base/base_number.h"

#define NARROW 8u   /* a product with a side below it is mostly moved */
#define FAR 0.2     /* of the roof: it is not what makes it slow */
#define SMALL 0.01  /* of the run: nobody reads on */
#define INSIDE 0.25 /* of its work, that a scope inside it declares */
#define MOST_UP 256 /* levels of a tree that are looked at from below */
#define STARVED 0.9 /* of the time that it wanted: less is said */
#define CLOSE 0.1   /* a bias and a sum come to 2 M N K */
#define MOVED 1.5   /* times the bytes of its matrices, at most */
#define BESIDE 4.0  /* times what handing out work takes: a call is short */

struct about {
    const axp_op *op;
    const struct axp__roof *r;
    const struct axp__machine *m; /* NULL: not known */
    char more[64];                /* "", or with which threads */
    char call[32];                /* how long one takes */
    char part[32];                /* … and what the roof allows */
};

static double size_of(axp_dtype dtype)
{
    switch (dtype) {
    case AXP_F64:
    case AXP_C64: return 8;
    case AXP_F16:
    case AXP_BF16: return 2;
    case AXP_F8:
    case AXP_I8: return 1;
    case AXP_C128: return 16;
    default: return 4;
    }
}

uint32_t axp__narrowest(const struct axp__call_work *w)
{
    if (w->n_dims != 3) return 0;
    double m = w->dims[0], n = w->dims[1], k = w->dims[2];
    double times = w->flops / (2 * m * n * k), whole = floor(times + 0.5);
    double moved = size_of(w->dtype) * (m * k + k * n + 2 * m * n);
    if (!(whole >= 1 && whole <= 4 && fabs(times / whole - 1) < CLOSE) ||
        w->bytes > MOVED * moved)
        return 0;
    return (uint32_t)fmin(m, fmin(n, k));
}

struct axp__call_work axp__roof_call(const struct axp__roof *r)
{
    return (struct axp__call_work){r->dims, r->n_dims, r->dtype, r->call_flops,
                                   r->call_bytes};
}

const char *axp__roof_on_threads(const struct axp__roof *r, char out[48])
{
    out[0] = 0;
    if (r->threads)
        snprintf(out, 48, " on %u thread%s", r->threads,
                 r->threads == 1 ? "" : "s");
    return out;
}

void axp__roof_say_starved(struct axp__analysis *a, struct axp__draft *d,
                           const struct axp__roof *r)
{
    char part[32];
    if (r->ran < STARVED)
        axp__draft_say(a, d,
                       "its threads had a processor for only %s %% of the time "
                       "that they wanted one, by which it is judged",
                       axp__fixed(part, sizeof part, 100 * r->ran, 0));
}

static void sort3(double x[3])
{
    for (int i = 0; i < 3; i++)
        for (int k = i + 1; k < 3; k++)
            if (x[k] < x[i]) {
                double other = x[i];
                x[i] = x[k];
                x[k] = other;
            }
}

/* How many times the sides of one are those of the other, as logarithms. */
static double distance(const struct axp__machine_blas *b,
                       const uint32_t dims[3])
{
    double x[3] = {b->m, b->n, b->k}, y[3] = {dims[0], dims[1], dims[2]};
    double sum = 0;
    sort3(x);
    sort3(y);
    for (int i = 0; i < 3; i++)
        sum += fabs(log(x[i] / y[i]));
    return sum;
}

const struct axp__machine_blas *axp__blas_near(const struct axp__machine *m,
                                               const uint32_t dims[3],
                                               uint32_t threads, double *rate)
{
    const struct axp__machine_blas *near = NULL;
    double least = INFINITY;
    for (size_t i = 0; m && i < m->n_blas; i++) {
        const struct axp__machine_blas *b = &m->blas[i];
        double best =
            threads > 1 ? fmax(b->one.best, b->all.best) : b->one.best;
        double far = distance(b, dims);
        if (!(best > 0) || !(far < least)) continue;
        least = far;
        near = b;
        *rate = best;
    }
    return near;
}

/* ---- a product ------------------------------------------------------------------- */

/* Of single precision, as it was measured: others are taken to be as good. */
static double blas_share(const struct axp__machine *m, uint32_t threads)
{
    const struct axp__machine_compute *c = axp__machine_compute_of(m, AXP_F32);
    double best = 0, peak;
    for (size_t i = 0; i < m->n_blas; i++)
        best = fmax(best, axp__machine_scaled(m, m->blas[i].one.best,
                                              m->blas[i].all.best, threads));
    peak = c ? axp__machine_scaled(m, c->one.best, c->all.best, threads) : 0;
    return best > 0 && peak > 0 ? fmin(1, best / peak) : 1;
}

double axp__roof_room(const struct axp__analysis *a, const struct axp__roof *r)
{
    struct axp__call_work w = axp__roof_call(r);
    double roof = r->roof_flops, most = roof;
    if (r->threads && a->v->machine && axp__narrowest(&w) > 0)
        most =
            fmin(roof, r->peak_flops * blas_share(a->v->machine, r->threads));
    return most > 0 ? fmax(0, 1 - r->ran_share * roof / most) : 0;
}

/* "libopenblas.so.0": the name as it was loaded, without its version. */
static void name_blas(const struct axp__machine *m, char out[64])
{
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(m->blas_name, " "),
             m->blas_name);
    snprintf(out, 64, "%s", axp__spoken(word, "the BLAS that is installed"));
}

/* False: none was measured that is faster, or it is of another type. */
static bool advise_blas(struct axp__analysis *a, struct axp__draft *d,
                        const struct about *x)
{
    char rate[32], takes[32], now[32], soon[32], library[64];
    double each = x->r->call_flops, best = 0;
    char threads[48];
    if (x->r->dtype != AXP_F32 && x->r->dtype != AXP_DTYPE_UNKNOWN)
        return false;
    if (!x->r->threads) return false; /* given peaks are of another machine */
    const struct axp__machine_blas *b =
        axp__blas_near(x->m, x->r->dims, x->r->threads, &best);
    if (!b || best <= x->r->flops) return false;
    const uint32_t *dims = x->r->dims;
    double of = 2.0 * b->m * b->n * b->k;
    name_blas(x->m, library);
    axp__draft_advise(
        a, d,
        "a BLAS is faster: sgemm of %s does %u x %u x %u in %s%s of that "
        "machine, %s GFLOP/s, and would do a call of %u x %u x %u, now %s, in "
        "about %s%s%s",
        library, b->m, b->n, b->k,
        axp_format_ns(takes, sizeof takes, axp__whole(of / best * 1e9)),
        axp__roof_on_threads(x->r, threads),
        axp__digits3(rate, sizeof rate, best / 1e9), dims[0], dims[1], dims[2],
        axp_format_ns(now, sizeof now, axp__whole(x->r->call_ns)),
        axp_format_ns(soon, sizeof soon,
                      axp__whole(each * x->r->at_once / best * 1e9)),
        x->more,
        x->op->file ? ""
                    : "; if it is that already, other programs or too many "
                      "threads had its processors");
    return true;
}

/* ---- work that is done further in ------------------------------------------------- */

static bool is_below(const axp_view *v, const axp_tree_node *n,
                     const axp_op *op)
{
    int k = 0;
    for (int32_t up = n->parent; up > 0 && k < MOST_UP; k++) {
        if (axp__is_node_of(&v->tree[up], op)) return true;
        up = v->tree[up].parent;
    }
    return false;
}

/* The scope inside it that declares most of its work; NULL: it does it itself.
 * Other threads of a region have their parts elsewhere in the tree. */
static const axp_tree_node *done_inside(const axp_view *v, const axp_op *op)
{
    const axp_tree_node *most = NULL;
    if ((double)op->self_ns < SMALL * (double)v->duration_ns) return NULL;
    for (size_t i = 1; i < v->n_tree; i++) {
        const axp_tree_node *n = &v->tree[i];
        if (n->flops > INSIDE * op->flops && !axp__is_node_of(n, op) &&
            (!most || n->flops > most->flops) && is_below(v, n, op))
            most = n;
    }
    return most;
}

static bool advise_inside(struct axp__analysis *a, struct axp__draft *d,
                          const struct about *x)
{
    char around[32], rate[64] = "", digits[32];
    const axp_tree_node *n = done_inside(a->v, x->op);
    if (!n || !x->op->calls) return false;
    for (size_t i = 0; i < a->v->n_ops; i++)
        if (axp__is_node_of(n, &a->v->ops[i]))
            snprintf(rate, sizeof rate, " at %s GFLOP/s",
                     axp__digits3(digits, sizeof digits,
                                  axp_op_gflops(&a->v->ops[i])));
    axp__draft_advise(
        a, d,
        "%s inside it does the work%s; what %s does itself beside that is %s "
        "of the %s of a call: hand over larger pieces, begin threads less "
        "often, and let all of them have a part",
        axp__spoken(n->name, "a scope"), rate, axp__spoken(x->op->name, "it"),
        axp_format_ns(around, sizeof around, x->op->self_ns / x->op->calls),
        x->call);
    return true;
}

static void advise_product(struct axp__analysis *a, struct axp__draft *d,
                           const struct about *x, uint32_t side)
{
    const uint32_t *dims = x->r->dims;
    if (side < NARROW)
        axp__draft_advise(
            a, d,
            "a product of %u x %u x %u is mostly moved, for a side of it is "
            "narrow, and no library makes it fast: join several of them into "
            "one, or do it where its operands are made",
            dims[0], dims[1], dims[2]);
    else if (!advise_blas(a, d, x))
        axp__draft_advise(
            a, d,
            "a call of %u x %u x %u takes %s, of which the roof needs %s: use "
            "a BLAS tuned for this machine%s",
            dims[0], dims[1], dims[2], x->call, x->part, x->more);
}

/* ---- others ---------------------------------------------------------------------- */

/* Where no roof is near: what else may be. */
static void advise_from_afar(struct axp__analysis *a, struct axp__draft *d,
                             const struct about *x)
{
    char fork[32];
    double join = x->m && x->r->threads > 1 ? x->m->fork_join_ns : 0;
    if (join > 0 && (double)x->op->avg_ns < BESIDE * join)
        axp__draft_advise(
            a, d,
            "a call takes %s, which is short beside the %s that handing work "
            "to threads takes: join several in one region, or leave them to "
            "one thread",
            x->call, axp_format_ns(fork, sizeof fork, axp__whole(join)));
    else
        axp__draft_advise(
            a, d,
            "neither arithmetic nor bandwidth makes it slow, for which %s of "
            "the %s of a call would do: look for work that is not vectorised, "
            "operations that wait for each other, calls of libm, strides, and "
            "data that is far away",
            x->part, x->call);
}

static void advise_memory(struct axp__analysis *a, struct axp__draft *d,
                          const struct about *x)
{
    char moved[32], reached[32], allowed[32];
    double each =
        x->op->n_bytes_calls ? x->op->bytes / (double)x->op->n_bytes_calls : 0;
    axp__draft_advise(
        a, d,
        "memory binds it: a call moves %s at %s of %s GB/s; fuse it with what "
        "comes before or after, use a smaller type, one pass instead of "
        "several, and go through memory in order%s",
        axp_format_bytes(moved, sizeof moved, axp__whole(each)),
        axp__digits3(reached, sizeof reached, x->r->bytes / 1e9),
        axp__digits3(allowed, sizeof allowed, x->r->roof_bytes / 1e9), x->more);
}

static void advise_cache(struct axp__analysis *a, struct axp__draft *d,
                         const struct about *x)
{
    char reached[32], allowed[32];
    axp__draft_advise(
        a, d,
        "its data fits %s, which binds it at %s of %s GB/s: use what is loaded "
        "more often (blocks that stay in registers), and wide loads and "
        "stores%s",
        axp__roof_bound(x->r),
        axp__digits3(reached, sizeof reached, x->r->bytes / 1e9),
        axp__digits3(allowed, sizeof allowed, x->r->roof_bytes / 1e9), x->more);
}

void axp__roof_advise(struct axp__analysis *a, struct axp__draft *d,
                      const axp_op *op, const struct axp__roof *r)
{
    struct about x = {.op = op, .r = r, .m = a->v->machine};
    struct axp__call_work call = axp__roof_call(r);
    uint32_t side = axp__narrowest(&call);
    if (r->threads && x.m && r->threads < x.m->n_threads)
        snprintf(x.more, sizeof x.more,
                 "; it has %u of the machine's %u threads", r->threads,
                 x.m->n_threads);
    axp_format_ns(x.call, sizeof x.call, op->avg_ns);
    axp_format_ns(x.part, sizeof x.part,
                  axp__whole((double)op->avg_ns * r->ran_share));
    if (advise_inside(a, d, &x)) return;
    if (side && (side < NARROW || r->level == AXP_LEVEL_NONE))
        advise_product(a, d, &x, side);
    else if (r->ran_share < AXP__ROOF_FAR)
        advise_from_afar(a, d, &x);
    else if (r->level == AXP_LEVEL_MEMORY)
        advise_memory(a, d, &x);
    else if (r->level != AXP_LEVEL_NONE)
        advise_cache(a, d, &x);
    else
        axp__draft_advise(
            a, d,
            "arithmetic binds it, and needs %s of the %s of a call: vectorised "
            "code with several independent sums, or a type that is computed "
            "faster%s",
            x.part, x.call, x.more);
}
