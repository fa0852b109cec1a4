/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Makes the calling thread's scopes end the hot way, whatever it takes to step
 * through them. */
#ifndef AXP_TEST_HANDLER_WARM_H
#define AXP_TEST_HANDLER_WARM_H
#include "record/record_lane.h"

#define WARM_MOST_TICKS ((uint64_t)1 << 40)

/* As if each had been as short, and as long, as can be: in the global profiler,
 * of all that were called so far. (In a file a check would miss those calls.) */
static void warm_durations(void)
{
    struct axp__tally *t = &axp__tls->global->tally;
    for (axp__ref ref = t->first.ops; ref;) {
        struct axp__op *op = axp__arena_at(&t->arena, ref);
        op->min_ticks = 0;
        op->max_ticks = WARM_MOST_TICKS;
        for (uint64_t ticks = 32; ticks < WARM_MOST_TICKS; ticks *= 2)
            (void)axp__tally_bucket(t, op, ticks);
        ref = op->next;
    }
}

#endif
