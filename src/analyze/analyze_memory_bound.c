/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* MemoryBound: an operation that moves its data nearly as fast as the machine
 * can. docs/rules/memory_bound.md
 *
 * Tuning gains nothing here: fewer bytes do. Where LowThroughput speaks it is
 * evidence: of equal ones the first in rules.def speaks. */
#include "analyze/analyze_near.h"
#include "analyze/analyze_roof_advice.h"
#include "base/base_number.h"

static void advise(struct axp__analysis *a, struct axp__draft *d,
                   const axp_op *op, const struct axp__roof *r)
{
    char gbps[32], more[96] = "";
    double one, all;
    if (axp__near_bandwidth(a, r, &one, &all) &&
        r->threads < a->v->machine->n_threads && all > 1.2 * r->roof_bytes)
        snprintf(more, sizeof more,
                 "; the machine's other threads bring it to "
                 "%s GB/s",
                 axp__digits3(gbps, sizeof gbps, all / 1e9));
    axp__near_advise_bytes(a, d, op, r, "", more);
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

/* Else bandwidth_saturated says so. */
static bool has_room(const struct axp__analysis *a, const struct axp__roof *r)
{
    return !axp__near_is_full(a, r);
}

void axp__rule_memory_bound(struct axp__analysis *a)
{
    axp__near_look(a, &(struct axp__near_rule){
                          .rule = AXP__RULE_memory_bound,
                          .is_memory = true,
                          .fits = has_room,
                          .roof_percent = AXP__T_memory_bound_roof_percent,
                          .wall_percent = AXP__T_memory_bound_wall_percent,
                          .say = say});
}
