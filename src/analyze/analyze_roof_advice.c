/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Advice by the roof; see analyze_roof_advice.h. Who waits for memory is not told
 * to use BLAS, nor is a product that no library makes fast. */
#include "analyze/analyze_roof_advice.h"

#include <math.h>
#include <stdio.h>

#include "base/base_number.h"

#define NARROW 8u       /* a product with a side below it is mostly moved */
#define FAR 0.2         /* of the roof: it is not what makes it slow */
#define CLOSE 0.1       /* a bias and a sum come to 2 M N K */
#define ELEMENTWISE 4.0 /* bytes for each of M N K, at least */
#define BESIDE 20.0     /* times what handing out work takes: a call is short */

struct about {
    const axp_op *op;
    const struct axp__roof *r;
    const struct axp__machine *m; /* NULL: not known */
    char more[64];                /* "", or with which threads */
    char call[32];                /* how long one takes */
    char part[32];                /* … and what the roof allows */
};

uint32_t axp__narrowest(const uint32_t *dims, uint32_t n_dims, double flops,
                        double bytes)
{
    if (n_dims != 3) return 0;
    double all = (double)dims[0] * dims[1] * dims[2];
    double times = flops / (2 * all), whole = floor(times + 0.5);
    if (!(whole >= 1 && whole <= 4 && fabs(times / whole - 1) < CLOSE))
        return 0;
    if (bytes >= ELEMENTWISE * all) return 0;
    uint32_t least = dims[0] < dims[1] ? dims[0] : dims[1];
    return dims[2] < least ? dims[2] : least;
}

const char *axp__roof_on_threads(const struct axp__roof *r, char out[48])
{
    out[0] = 0;
    if (r->threads)
        snprintf(out, 48, " on %u thread%s", r->threads,
                 r->threads == 1 ? "" : "s");
    return out;
}

const struct axp__machine_blas *axp__blas_near(const struct axp__machine *m,
                                               double flops, uint32_t threads,
                                               double *rate)
{
    const struct axp__machine_blas *near = NULL;
    double least = INFINITY;
    for (size_t i = 0; m && flops > 0 && i < m->n_blas; i++) {
        const struct axp__machine_blas *b = &m->blas[i];
        double best =
            threads > 1 ? fmax(b->one.best, b->all.best) : b->one.best;
        double far = fabs(log(2.0 * b->m * b->n * b->k / flops));
        if (b->m < NARROW || b->n < NARROW || b->k < NARROW || !(best > 0) ||
            !(far < least))
            continue;
        least = far;
        near = b;
        *rate = best;
    }
    return near;
}

/* ---- a product ------------------------------------------------------------------- */

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
        axp__blas_near(x->m, each, x->r->threads, &best);
    if (!b || best <= x->r->flops) return false;
    const uint32_t *dims = x->r->dims;
    double of = 2.0 * b->m * b->n * b->k;
    name_blas(x->m, library);
    axp__draft_advise(
        a, d,
        "hand it to a BLAS: sgemm of %s does %u x %u x %u in %s%s of that "
        "machine, %s GFLOP/s; so a call of %u x %u x %u, now %s, would take "
        "about %s%s",
        library, b->m, b->n, b->k,
        axp_format_ns(takes, sizeof takes, axp__whole(of / best * 1e9)),
        axp__roof_on_threads(x->r, threads),
        axp__digits3(rate, sizeof rate, best / 1e9), dims[0], dims[1], dims[2],
        axp_format_ns(now, sizeof now, axp__whole(x->r->call_ns)),
        axp_format_ns(soon, sizeof soon,
                      axp__whole(each * x->r->at_once / best * 1e9)),
        x->more);
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
    uint32_t side =
        axp__narrowest(r->dims, r->n_dims, r->call_flops, r->call_bytes);
    if (r->threads && x.m && r->threads < x.m->n_threads)
        snprintf(x.more, sizeof x.more,
                 "; %u of the machine's %u threads work "
                 "on it",
                 r->threads, x.m->n_threads);
    axp_format_ns(x.call, sizeof x.call, op->avg_ns);
    axp_format_ns(x.part, sizeof x.part,
                  axp__whole((double)op->avg_ns * fmin(1, r->share)));
    if (r->level == AXP_LEVEL_MEMORY)
        advise_memory(a, d, &x);
    else if (side && r->level == AXP_LEVEL_NONE)
        advise_product(a, d, &x, side);
    else if (r->share < FAR)
        advise_from_afar(a, d, &x);
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
