/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Precision: products in a type that the machine was measured to compute slower
 * than a narrower one. docs/rules/precision.md
 *
 * Only where arithmetic binds them and they are near its roof: else code, not
 * type, is what makes them slow. Whether the program bears fewer bits is its
 * author's to know: the saving is a bound, and the severity Low. */
#include "analyze/analyze_roof_advice.h"
#include "analyze/analyze_wall.h"
#include "base/base_number.h"

#define NEAR 0.5 /* of the roof; below it LowThroughput speaks */

/* What products of a type may be computed in instead. */
struct wide {
    axp_dtype dtype, narrow[2];
    const char *metric; /* the share of their time in the run */
};
static const struct wide wides[] = {
    {AXP_F32, {AXP_BF16, AXP_F16}, "f32_percentage"},
    {AXP_F64, {AXP_F32}, "f64_percentage"}};

struct narrow {
    const struct axp__machine_compute *as;
    double times; /* as fast */
};

/* The faster of the narrower types, for so many threads. */
static struct narrow narrow_of(const struct axp__analysis *a,
                               const struct wide *wide,
                               const struct axp__roof *r)
{
    const struct axp__machine *m = a->v->machine;
    struct narrow best = {0};
    for (int i = 0; m && r->threads && r->peak_flops > 0 && i < 2; i++) {
        const struct axp__machine_compute *c =
            axp__machine_compute_of(m, wide->narrow[i]);
        if (!c || c->dtype != wide->narrow[i]) continue;
        double times =
            axp__machine_scaled(m, c->one.best, c->all.best, r->threads) /
            r->peak_flops;
        if (times > best.times) best = (struct narrow){c, times};
    }
    return best;
}

static bool is_product(const struct axp__roof *r)
{
    struct axp__call_work w = axp__roof_call(r);
    return axp__narrowest(&w) > 0;
}

static bool is_meant(const struct axp__analysis *a, const struct wide *wide,
                     const axp_op *op, struct narrow *as)
{
    const struct axp__roof *r = axp__roof_of(a, op);
    if (!r || op->dtype != wide->dtype || r->level != AXP_LEVEL_NONE ||
        r->ran_share < NEAR || r->is_impossible || !is_product(r))
        return false;
    *as = narrow_of(a, wide, r);
    return as->as && as->times >= a->threshold[AXP__T_precision_times];
}

static void advise(struct axp__analysis *a, struct axp__draft *d,
                   const struct narrow *as)
{
    char times[32];
    const uint32_t *dims = axp__roof_of(a, d->op)->dims;
    const char *type = axp__machine_dtype_word(as->as->dtype);
    const char *sums = as->as->dtype == AXP_F32 ? "" : ", with sums in f32,";
    axp__draft_advise(
        a, d,
        "try the operands of %s in %s%s and compare the loss: the "
        "product of %u x %u x %u can then take 1/%s of its time at "
        "best",
        axp__spoken(d->op->name, "it"), type, sums, dims[0], dims[1], dims[2],
        axp__digits3(times, sizeof times, as->times));
}

static void add(struct axp__analysis *a, const struct wide *wide,
                const axp_op *op, const struct narrow *as, double percent)
{
    char times[32], part[32], all[32], reached[32];
    const struct axp__roof *r = axp__roof_of(a, op);
    const char *type = axp__machine_dtype_word(as->as->dtype);
    struct axp__draft *d = axp__draft_add(a, AXP__RULE_precision, op->name);
    if (!d) return;
    d->op = op;
    d->specificity = 3; /* before ComputeBound: it says which type */
    d->fraction = 1 - 1 / as->times;
    d->is_bound = d->is_capped = true;
    d->band = AXP_LOW;
    d->confidence = 0.4;
    axp__draft_say(
        a, d,
        "multiplies %s matrices at %s %% of the roof of %s GFLOP/s; such "
        "products take %s %% of the run, and the machine was "
        "measured to compute %s %s times as fast (%s)",
        axp__machine_dtype_word(wide->dtype),
        axp__fixed(reached, sizeof reached, 100 * r->share, 0),
        axp__digits3(all, sizeof all, r->roof_flops / 1e9),
        axp__fixed(part, sizeof part, percent, 0), type,
        axp__digits3(times, sizeof times, as->times),
        axp__spoken(as->as->isa, type));
    advise(a, d, as);
    axp__draft_metric(d, wide->metric, percent);
    axp__draft_metric(d, "faster_times", as->times);
}

static void look_at(struct axp__analysis *a, const struct wide *wide)
{
    struct narrow as;
    double wall = (double)a->v->duration_ns, all = 0;
    for (size_t i = 0; i < a->v->n_ops; i++)
        if (is_meant(a, wide, &a->v->ops[i], &as))
            all += (double)axp__wall_ns(a->wall, &a->v->ops[i]);
    double percent = wall > 0 ? 100 * all / wall : 0;
    if (percent < a->threshold[AXP__T_precision_wall_percent]) return;
    for (size_t i = 0; i < a->v->n_ops; i++)
        if (is_meant(a, wide, &a->v->ops[i], &as) &&
            10 * (double)axp__wall_ns(a->wall, &a->v->ops[i]) >= all)
            add(a, wide, &a->v->ops[i], &as, percent > 100 ? 100 : percent);
}

void axp__rule_precision(struct axp__analysis *a)
{
    for (size_t i = 0; i < sizeof wides / sizeof *wides; i++)
        look_at(a, &wides[i]);
}
