/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* LowThroughput: declared work done slowly. docs/rules/low_throughput.md
 *
 * With the machine's peaks the roofline says what could be reached and what
 * binds it, and the difference is the saving. Without them an operation is slow
 * below a fixed rate, and its time is the bound. */
#include <math.h>

#include "analyze/analyze.h"
#include "analyze/analyze_above.h"
#include "analyze/analyze_wall.h"
#include "base/base_number.h"

#define NARROW 8    /* a product with a side below it is mostly moved */
#define FAR 0.2     /* of the roof: it is not what makes it slow */
#define BESIDE 20.0 /* times what handing out work takes: a call is short */

static struct axp__draft *add(struct axp__analysis *a, const axp_op *op)
{
    double gflops = axp_op_gflops(op);
    struct axp__draft *d =
        axp__draft_add(a, AXP__RULE_low_throughput, op->name);
    if (!d) return NULL;
    d->op = op;
    d->specificity = 2;
    d->band = AXP_MEDIUM;
    d->is_capped = true;
    axp__draft_metric(d, "gflops_per_sec", gflops);
    axp__draft_metric(d, "total_gflops", op->flops / 1e9);
    return d;
}

/* ---- below the roof ------------------------------------------------------------ */

/* The least of M, N and K; 0: it has no such shape. */
static uint32_t narrowest(const struct axp__roof *r)
{
    uint32_t least = 0;
    for (uint32_t i = 0; r->n_dims == 3 && i < 3; i++)
        if (!least || r->dims[i] < least) least = r->dims[i];
    return least;
}

/* Where no roof is near: what else may be. */
static const char *advice_from_afar(const struct axp__analysis *a,
                                    const axp_op *op, const struct axp__roof *r)
{
    const struct axp__machine *m = a->v->machine;
    if (m && r->threads > 1 && m->fork_join_ns > 0 &&
        (double)op->avg_ns < BESIDE * m->fork_join_ns)
        return "its calls are short beside what handing work to threads takes: "
               "join several in one region, or leave them to one thread";
    return "neither arithmetic nor bandwidth makes it slow: look for work that "
           "is not vectorised, operations that wait for each other, calls of "
           "libm, strides, and data that is far away";
}

/* Of a product. */
static const char *advice_for_product(uint32_t side, bool has_more)
{
    if (side < NARROW)
        return "a product with so narrow a side is mostly moved, and no library "
               "makes it fast: join several of them into one, or do it where "
               "its operands are made";
    return has_more ? "a BLAS tuned for this machine, and more of its threads"
                    : "a BLAS tuned for this machine, larger operands in a "
                      "call, or a type that it computes faster";
}

/* By what binds it: who waits for memory is not told to use BLAS. */
static const char *advice(const struct axp__analysis *a, const axp_op *op,
                          const struct axp__roof *r)
{
    const struct axp__machine *m = a->v->machine;
    uint32_t side = narrowest(r);
    bool has_more = r->threads && m && r->threads < m->n_threads;
    if (r->level == AXP_LEVEL_MEMORY)
        return "memory binds it: move fewer bytes (fuse it with what comes "
               "before or after, a smaller type, one pass instead of several), "
               "in order, and with more threads until memory is busy";
    if (side && r->level == AXP_LEVEL_NONE)
        return advice_for_product(side, has_more);
    if (r->share < FAR) return advice_from_afar(a, op, r);
    if (r->level != AXP_LEVEL_NONE)
        return "its data fits a cache, which binds it: use what is loaded more "
               "often (blocks that stay in registers), and wide loads and "
               "stores";
    return has_more ? "arithmetic binds it: vectorised code with several "
                      "independent sums, and more of the machine's threads"
                    : "arithmetic binds it: vectorised code with several "
                      "independent sums, or a type that is computed faster";
}

/* What the machine's BLAS was seen to reach at best, where that is more. */
static void say_blas(struct axp__analysis *a, struct axp__draft *d,
                     const struct axp__roof *r)
{
    const struct axp__machine *m = a->v->machine;
    const struct axp__machine_blas *at = NULL;
    double best = r->flops;
    char rate[32];
    if (!m || !r->threads || narrowest(r) < NARROW ||
        (r->dtype != AXP_F32 && r->dtype != AXP_DTYPE_UNKNOWN))
        return;
    for (size_t i = 0; i < m->n_blas; i++) {
        const struct axp__machine_blas *b = &m->blas[i];
        double reached = r->threads > 1 ? b->all.best : b->one.best;
        if (reached <= best) continue;
        best = reached;
        at = b;
    }
    if (at)
        axp__draft_say(a, d,
                       "the BLAS that is installed there reaches %s with a "
                       "product of %u x %u x %u",
                       axp__digits3(rate, sizeof rate, best / 1e9), at->m,
                       at->n, at->k);
}

static void say_roof(struct axp__analysis *a, struct axp__draft *d,
                     const struct axp__roof *r)
{
    char reached[32], allowed[32], part[32], threads[48] = "";
    if (r->threads)
        snprintf(threads, sizeof threads, " on %u thread%s", r->threads,
                 r->threads == 1 ? "" : "s");
    axp__draft_say(
        a, d, "reaches %s GFLOP/s, %s %% of the %s that %s%s%s allows",
        axp__digits3(reached, sizeof reached, r->flops / 1e9),
        axp__fixed(part, sizeof part, 100 * r->share, r->share < 0.1 ? 1 : 0),
        axp__digits3(allowed, sizeof allowed, r->roof_flops / 1e9),
        r->level ? "the bandwidth of " : "", axp__roof_bound(r), threads);
    say_blas(a, d, r);
    axp__draft_metric(d, "roof_gflops", r->roof_flops / 1e9);
    axp__draft_metric(d, "roof_share", r->share);
}

static struct axp__draft *add_below_roof(struct axp__analysis *a,
                                         const axp_op *op,
                                         const struct axp__roof *r)
{
    struct axp__draft *d = add(a, op);
    if (!d) return NULL;
    d->fraction = fmax(0, 1 - r->share);
    d->confidence = 0.7;
    d->suggestion = advice(a, op, r);
    say_roof(a, d, r);
    return d;
}

/* ---- without peaks ------------------------------------------------------------- */

static void add_below_rate(struct axp__analysis *a, const axp_op *op)
{
    char rate[32], work[32];
    struct axp__draft *d = add(a, op);
    if (!d) return;
    d->fraction = 1;
    d->is_bound = true;
    d->confidence = 0.6;
    d->suggestion = "use an optimised library (BLAS) or another device, "
                    "larger operands, and fewer passes over memory";
    axp__draft_say(a, d, "reaches %s GFLOP/s, with %s GFLOP declared",
                   axp__digits3(rate, sizeof rate, axp_op_gflops(op)),
                   axp__digits3(work, sizeof work, op->flops / 1e9));
}

/* ---- all of them --------------------------------------------------------------- */

static bool is_said(const struct axp__analysis *a, const axp_op *op)
{
    for (size_t i = 0; i < a->n_drafts; i++)
        if (a->drafts[i].rule == AXP__RULE_low_throughput &&
            a->drafts[i].name == op->name)
            return true;
    return false;
}

/* Work that a scope declared and that is done below it, in a region of OpenMP or
 * in a scope that declares none: that one has the time. Only what is a large part
 * of the run is looked at, which is few. */
static void look_below(struct axp__analysis *a, double part, double wall)
{
    for (size_t i = 0; i < a->v->n_ops; i++) {
        const axp_op *op = &a->v->ops[i];
        struct axp__above above;
        if (op->is_wait || op->n_flops_calls ||
            (double)axp__wall_ns(a->wall, op) < wall ||
            !axp__above_find(a, op, &above) || above.n_more ||
            !(above.roof->roof_flops > 0) || above.roof->share >= part ||
            (double)axp__wall_ns(a->wall, above.op) >= wall ||
            is_said(a, above.op))
            continue;
        struct axp__draft *d = add_below_roof(a, above.op, above.roof);
        if (d) d->op = op;
    }
}

void axp__rule_low_throughput(struct axp__analysis *a)
{
    double least = a->threshold[AXP__T_low_throughput_gflops];
    double part = a->threshold[AXP__T_low_throughput_roof_percent] / 100;
    double wall = (double)a->v->duration_ns *
                  a->threshold[AXP__T_low_throughput_wall_percent] / 100;
    look_below(a, part, wall);
    for (size_t i = 0; i < a->v->n_ops; i++) {
        const axp_op *op = &a->v->ops[i];
        const struct axp__roof *r = axp__roof_of(a, op);
        double gflops = axp_op_gflops(op);
        if (!(op->flops > 0) || isnan(gflops) || is_said(a, op)) continue;
        if (r && r->roof_flops > 0) {
            if (r->share < part &&
                (gflops < least || (double)axp__wall_ns(a->wall, op) >= wall))
                add_below_roof(a, op, r);
        } else if (gflops < least) {
            add_below_rate(a, op);
        }
    }
}
