/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a scope costs: inside, between its two looks at the clock, which its
 * own time would otherwise be charged with; and around them, which its
 * parent's would. And what an allocation or a free costs.
 *
 * Measured with the real calls, in a profiler of its own that for the moment
 * stands where this thread's global lane stands: the lower quartile of several
 * batches, each its whole time beside what the scopes themselves recorded.
 * Once a process, about 0.1 ms: not by a recording call, but before one can
 * open a file, so that the file says it from the beginning. Processes of
 * `axprof run` are told by it what it measured (AXPROF_COST): of 500 short ones
 * each would pay. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "axprof/axprof_adapter.h"
#include "base/base_order.h"

#include "record/record_lane.h"
#include "record/record_profiler.h"

#define BATCHES 9
#define BATCH_SCOPES 128u
#define IS_MEASURED ((uint64_t)1 << 63)

static struct axp__own_cost measure_batch(struct axp__lane *lane,
                                          uint32_t *site)
{
    const struct axp__frame *root = lane->tally.frames;
    uint64_t recorded = root->child_ticks;
    uint64_t from = axp__clock_ticks();
    for (unsigned k = 0; k < BATCH_SCOPES; k++)
        axp_end(axp_begin_site(site, "(own cost)\0\0"));
    uint64_t all = axp__clock_ticks() - from;
    recorded = root->child_ticks - recorded;
    /* Whole ticks: a scope must not be charged with more than it took. */
    uint64_t around = all > recorded ? (all - recorded) / BATCH_SCOPES : 0;
    return (struct axp__own_cost){around, recorded / BATCH_SCOPES, 0};
}

/* The same by name: what it takes in all. */
static uint64_t measure_by_name(axp_profiler *p)
{
    uint64_t from = axp__clock_ticks();
    for (unsigned k = 0; k < BATCH_SCOPES; k++) {
        axp_start(p, "(own cost)");
        axp_stop(p, "(own cost)");
    }
    return axp__clock_ticks() - from;
}

static uint64_t measure_allocs(axp_profiler *p)
{
    static const char blocks[64 * 8]; /* none of which is one */
    uint64_t from = axp__clock_ticks();
    for (unsigned k = 0; k < BATCH_SCOPES; k++) {
        axp_track_alloc(p, "(own cost)", &blocks[k % 8 * 64], 64);
        axp_track_free(p, &blocks[k % 8 * 64]);
    }
    return axp__clock_ticks() - from;
}

/* A batch as it mostly is: the lower quartile of several. */
static uint64_t usual(uint64_t (*measure_one)(axp_profiler *), axp_profiler *p)
{
    uint64_t took[BATCHES];
    measure_one(p);
    for (int i = 0; i < BATCHES; i++)
        took[i] = measure_one(p);
    qsort(took, BATCHES, sizeof *took, axp__by_u64);
    return took[BATCHES / 4];
}

/* By how much more than as many scopes. */
static uint64_t more_by_name(axp_profiler *p, struct axp__own_cost scope)
{
    uint64_t less = (scope.around_ticks + scope.inside_ticks) * BATCH_SCOPES;
    uint64_t all = usual(measure_by_name, p);
    return all > less ? all - less : 0;
}

static int by_sum(const void *a, const void *b)
{
    const struct axp__own_cost *x = a, *y = b;
    uint64_t m = x->around_ticks + x->inside_ticks;
    uint64_t n = y->around_ticks + y->inside_ticks;
    return (m > n) - (m < n);
}

static struct axp__own_cost measure(void)
{
    struct axp__own_cost costs[BATCHES] = {{0, 0, 0}}, *usual_one;
    axp_profiler *p =
        axp_profiler_create(&(axp_options){.timeline_capacity = 1000});
    struct axp__thread *t = axp__thread_get();
    uint32_t site = 0;
    if (!p || !t) return costs[0];
    struct axp__lane *lane = axp__enter(p), *keep = t->global;
    if (!lane) return costs[0];
    axp__thread_set_global(t, lane);
    axp__leave(lane);
    for (int i = 0; i < 2; i++) /* fills the caches */
        measure_batch(lane, &site);
    for (int i = 0; i < BATCHES; i++)
        costs[i] = measure_batch(lane, &site);
    axp__thread_enter(t);
    axp__thread_set_global(t, keep);
    axp__thread_leave(t);
    qsort(costs, BATCHES, sizeof *costs, by_sum);
    usual_one = &costs[BATCHES / 4];
    axp__put(&axp__process()->by_name_ticks, more_by_name(p, *usual_one));
    usual_one->alloc_ticks =
        (usual(measure_allocs, p) + BATCH_SCOPES) / (2 * BATCH_SCOPES);
    axp_profiler_destroy(p);
    return *usual_one;
}

double axp__own_cost_by_name(void)
{
    uint64_t ticks = axp__get(&axp__process()->by_name_ticks);
    return (double)axp__rate_to_ns(axp__clock_rate(), ticks) / BATCH_SCOPES;
}

struct axp__own_cost axp__own_cost_known(void)
{
    return axp__own_cost_unpack(axp__get(&axp__process()->own_cost) &
                                ~IS_MEASURED);
}

/* A number in base 16 and what ends it. */
static bool take_hex(const char **at, char end, uint64_t *out)
{
    char *stop;
    *out = strtoull(*at, &stop, 16);
    if (stop == *at || *stop != end) return false;
    *at = stop + 1;
    return true;
}

/* MULT:COST:NAME in base 16: the rate of the clock, what is packed, and what
 * more a batch by name takes. Ticks of another clock say nothing here. */
static bool take_given(struct axp__process *process)
{
    const char *text = secure_getenv("AXPROF_COST");
    uint64_t mult, cost, by_name;
    if (!text || !take_hex(&text, ':', &mult) || !take_hex(&text, ':', &cost) ||
        !take_hex(&text, 0, &by_name))
        return false;
    if (mult != axp__clock_rate().mult || !cost || cost & IS_MEASURED)
        return false;
    axp__put(&process->by_name_ticks, by_name);
    axp__put(&process->own_cost, IS_MEASURED | cost);
    return true;
}

void axp_outside_cost(char *out, size_t size)
{
    uint64_t cost = axp__own_cost_pack(axp__own_cost_get());
    snprintf(out, size, "%" PRIx64 ":%" PRIx64 ":%" PRIx64,
             axp__clock_rate().mult, cost,
             axp__get(&axp__process()->by_name_ticks));
}

struct axp__own_cost axp__own_cost_get(void)
{
    struct axp__process *process = axp__process();
    if (!axp__get(&process->own_cost) && !take_given(process))
        axp__put(&process->own_cost,
                 IS_MEASURED | axp__own_cost_pack(measure()));
    return axp__own_cost_known();
}
