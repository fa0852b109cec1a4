/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* MemoryBound: an operation that moves its data nearly as fast as the machine
 * can. docs/rules/memory_bound.md
 *
 * Tuning gains nothing here: fewer bytes do. Where LowThroughput speaks it is
 * evidence: of equal ones the first in rules.def speaks. */
#include <math.h>

#include "analyze/analyze_near.h"
#include "analyze/analyze_roof_advice.h"
#include "base/base_number.h"

/* What all threads would bring, if that is more; 0: nothing. */
static double of_all_threads(const struct axp__analysis *a,
                             const struct axp__roof *r)
{
    const struct axp__machine *m = a->v->machine;
    for (size_t i = 0; m && r->threads && i < m->n_memory; i++) {
        const struct axp__machine_memory *is = &m->memory[i];
        double all = fmax(is->read_all.best, is->triad_all.best);
        if (is->level == r->level && r->threads < m->n_threads &&
            all > 1.2 * r->roof_bytes)
            return all;
    }
    return 0;
}

static void advise(struct axp__analysis *a, struct axp__draft *d,
                   const axp_op *op, const struct axp__roof *r)
{
    char moved[32], all[32], more[96] = "";
    double each = op->bytes / (double)op->n_bytes_calls;
    double others = of_all_threads(a, r);
    const char *smaller = op->dtype == AXP_F64 ? "; as f32 it has half of them"
                          : op->dtype == AXP_F32
                              ? "; as bf16 it has half of them"
                              : "";
    if (others > 0)
        snprintf(more, sizeof more,
                 "; the machine's other threads bring it to "
                 "%s GB/s",
                 axp__digits3(all, sizeof all, others / 1e9));
    axp__draft_advise(
        a, d,
        "only fewer bytes make it faster: a call moves %s, so fuse %s with what "
        "comes before or after%s%s%s",
        axp_format_bytes(moved, sizeof moved, axp__whole(each)),
        axp__spoken(op->name, "it"),
        r->flops > 0 ? ", or work in blocks that stay in a cache" : "", smaller,
        more);
}

static void say(struct axp__analysis *a, struct axp__draft *d, const axp_op *op,
                const struct axp__roof *r)
{
    char reached[32], allowed[32], part[32], ratio[32], ridge[32], threads[48];
    axp__draft_say(
        a, d, "moves %s GB/s, %s %% of the %s that %s gives%s",
        axp__digits3(reached, sizeof reached, r->bytes / 1e9),
        axp__fixed(part, sizeof part, 100 * r->bytes / r->roof_bytes, 0),
        axp__digits3(allowed, sizeof allowed, r->roof_bytes / 1e9),
        axp__roof_bound(r), axp__roof_on_threads(r, threads));
    if (r->flops > 0 && r->peak_flops > 0)
        axp__draft_say(
            a, d,
            "computes %s FLOP a byte, where %s are needed to keep "
            "arithmetic busy",
            axp__digits3(ratio, sizeof ratio, r->flops / r->bytes),
            axp__digits3(ridge, sizeof ridge, r->peak_flops / r->roof_bytes));
    axp__roof_say_starved(a, d, r);
    advise(a, d, op, r);
    axp__draft_metric(d, "gb_per_sec", r->bytes / 1e9);
}

void axp__rule_memory_bound(struct axp__analysis *a)
{
    axp__near_look(a, &(struct axp__near_rule){
                          .rule = AXP__RULE_memory_bound,
                          .is_memory = true,
                          .roof_percent = AXP__T_memory_bound_roof_percent,
                          .wall_percent = AXP__T_memory_bound_wall_percent,
                          .say = say});
}
