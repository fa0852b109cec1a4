/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a scope costs outside of its own time: the part that its parent's
 * self time would otherwise be charged with.
 *
 * Measured with the real calls, in a profiler of its own that for the moment
 * stands where this thread's global lane stands: the best of several batches,
 * each its whole time less what the scopes themselves recorded. Once a
 * process, about 0.1 ms: not by a recording call, but before one can open a
 * file, so that the file says it from the beginning. */
#include "record/record_lane.h"
#include "record/record_profiler.h"

#define BATCHES 6
#define BATCH_SCOPES 200u

static uint64_t measure_batch(struct axp__lane *lane, uint32_t *site)
{
    const struct axp__frame *root = lane->tally.frames;
    uint64_t recorded = root->child_ticks;
    uint64_t from = axp__clock_ticks();
    for (unsigned k = 0; k < BATCH_SCOPES; k++)
        axp__scope_end(axp__scope_begin(site, "(own cost)\0\0"));
    uint64_t all = axp__clock_ticks() - from;
    recorded = root->child_ticks - recorded;
    return all > recorded ? (all - recorded) / BATCH_SCOPES : 0;
}

static uint64_t measure(void)
{
    axp_profiler *p =
        axp_profiler_create(&(axp_options){.timeline_capacity = 1000});
    struct axp__thread *t = axp__thread_get();
    uint32_t site = 0;
    uint64_t best = UINT64_MAX;
    if (!p || !t) return 0;
    struct axp__lane *lane = axp__enter(p), *keep = t->global;
    if (!lane) return 0;
    axp__put(&t->global, lane);
    axp__leave(lane);
    for (int i = 0; i < BATCHES; i++) { /* the first fills the caches */
        uint64_t cost = measure_batch(lane, &site);
        if (cost < best) best = cost;
    }
    axp__thread_enter(t);
    axp__put(&t->global, keep);
    axp__thread_leave(t);
    axp_profiler_destroy(p);
    return best;
}

uint64_t axp__own_cost_known(void)
{
    uint64_t known = axp__get(&axp__process()->own_cost_ticks);
    return known ? known - 1 : 0;
}

uint64_t axp__own_cost_ticks(void)
{
    struct axp__process *process = axp__process();
    if (!axp__get(&process->own_cost_ticks)) /* 0 means not measured */
        axp__put(&process->own_cost_ticks, measure() + 1);
    return axp__own_cost_known();
}
