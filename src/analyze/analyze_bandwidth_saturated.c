/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* BandwidthSaturated: threads that together have all that memory gives, so that
 * more of them gain nothing. docs/rules/bandwidth_saturated.md
 *
 * Each of them could move more if it were alone: fewer threads may be as fast, if
 * each then moves what one can. */
#include <math.h>

#include "analyze/analyze_near.h"
#include "analyze/analyze_roof_advice.h"
#include "base/base_number.h"

/* A thread that would bring less than this part of what one can is none. */
#define LEAST_PART 0.1

static void advise(struct axp__analysis *a, struct axp__draft *d,
                   const axp_op *op, const struct axp__roof *r, double one)
{
    char before[96] = "more threads gain nothing: ";
    uint32_t fill = (uint32_t)fmax(1, ceil(r->roof_bytes / one - LEAST_PART));
    if (fill < r->threads)
        snprintf(before, sizeof before,
                 "more threads gain nothing, and %u may be as fast: ", fill);
    axp__near_advise_bytes(a, d, op, r, before, "");
    axp__draft_metric(d, "threads_that_fill", fill);
}

static void say(struct axp__analysis *a, struct axp__draft *d, const axp_op *op,
                const struct axp__roof *r)
{
    char reached[32], allowed[32], part[32], alone[32];
    double one = 0, all = 0;
    if (!axp__near_bandwidth(a, r, &one, &all)) return;
    axp__draft_say(
        a, d,
        "%u threads at once move %s GB/s, %s %% of the %s that memory gives to "
        "however many; one alone has up to %s",
        r->threads, axp__digits3(reached, sizeof reached, r->bytes / 1e9),
        axp__fixed(part, sizeof part, 100 * r->bytes / r->roof_bytes, 0),
        axp__digits3(allowed, sizeof allowed, r->roof_bytes / 1e9),
        axp__digits3(alone, sizeof alone, one / 1e9));
    axp__roof_say_starved(a, d, r);
    advise(a, d, op, r, one);
    axp__draft_metric(d, "gb_per_sec", r->bytes / 1e9);
}

void axp__rule_bandwidth_saturated(struct axp__analysis *a)
{
    axp__near_look(a,
                   &(struct axp__near_rule){
                       .rule = AXP__RULE_bandwidth_saturated,
                       .is_memory = true,
                       .fits = axp__near_is_full,
                       .roof_percent = AXP__T_bandwidth_saturated_roof_percent,
                       .wall_percent = AXP__T_bandwidth_saturated_wall_percent,
                       .say = say});
}
