/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a scope costs: inside, between its two looks at the clock, which its
 * own time would otherwise be charged with; and around them, which its
 * parent's would. And what an allocation or a free costs, and by how much more
 * than as many scopes calls by name and values of counters do.
 *
 * Measured with the real calls, in a profiler of its own that for the moment
 * stands where this thread's global lane stands: the lower quartile of several
 * batches, each its whole time beside what the scopes themselves recorded.
 * Once a process, about 0.3 ms: not by a recording call, but before one can
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
#define STEPS 16u /* of work beside a call: 20 ns */
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

/* ---- what is no scope --------------------------------------------------------- */

/* Calls one after the other, and so many steps of work before each. */
struct batch {
    axp_profiler *p;
    void (*call)(axp_profiler *p, unsigned k);
    unsigned n_steps;
};

static void call_nothing(axp_profiler *p, unsigned k)
{
    (void)p, (void)k;
}

static void call_by_name(axp_profiler *p, unsigned k)
{
    (void)k;
    axp_start(p, "(own cost)");
    axp_stop(p, "(own cost)");
}

static void call_counter(axp_profiler *p, unsigned k)
{
    axp_counter(p, "(own cost)", (double)k);
}

static void call_allocs(axp_profiler *p, unsigned k)
{
    static const char blocks[64 * 8]; /* none of which is one */
    axp_track_alloc(p, "(own cost)", &blocks[k % 8 * 64], 64);
    axp_track_free(p, &blocks[k % 8 * 64]);
}

/* Each step waits for the one before, as most of a program does. */
static uint64_t work(uint64_t x, unsigned n_steps)
{
    for (unsigned i = 0; i < n_steps; i++) {
        x = x * 6364136223846793005u + 1;
        __asm__ volatile("" : "+r"(x));
    }
    return x;
}

static uint64_t measure_calls(const struct batch *b)
{
    uint64_t from = axp__clock_ticks(), x = from;
    for (unsigned k = 0; k < BATCH_SCOPES; k++) {
        x = work(x, b->n_steps);
        b->call(b->p, k);
    }
    return axp__clock_ticks() - from;
}

/* A batch as it mostly is: the lower quartile of several. */
static uint64_t usual(struct batch b)
{
    uint64_t took[BATCHES];
    measure_calls(&b);
    for (int i = 0; i < BATCHES; i++)
        took[i] = measure_calls(&b);
    qsort(took, BATCHES, sizeof *took, axp__by_u64);
    return took[BATCHES / 4];
}

/* A batch takes most where each call waits for what the last one left in memory,
 * and little more than half of that (25 of 43 ns by name, of 39 a counter) where
 * the program has short work that goes on beside it. Quarters says how near to
 * most it mostly is: where work ends with a branch that was not foreseen, a pair
 * by name takes 38 to 45 ns, and a counter 32. */
static uint64_t between(axp_profiler *p,
                        void (*call)(axp_profiler *p, unsigned k),
                        unsigned quarters)
{
    uint64_t most = usual((struct batch){p, call, 0});
    uint64_t least = usual((struct batch){p, call, STEPS});
    uint64_t steps = usual((struct batch){p, call_nothing, STEPS});
    least -= steps < least ? steps : least;
    return (quarters * most + (4 - quarters) * least) / 4;
}

/* By how much a batch takes more than what views count for it. */
static void measure_more(axp_profiler *p, struct axp__own_cost scope)
{
    struct axp__process *process = axp__process();
    uint64_t scopes = (scope.around_ticks + scope.inside_ticks) * BATCH_SCOPES;
    uint64_t by_name = between(p, call_by_name, 3);
    uint64_t counters = between(p, call_counter, 2);
    axp__put(&process->by_name_ticks, by_name > scopes ? by_name - scopes : 0);
    axp__put(&process->counter_ticks,
             counters > scopes / 2 ? counters - scopes / 2 : 0);
}

/* ---- all of it ---------------------------------------------------------------- */

static int by_sum(const void *a, const void *b)
{
    const struct axp__own_cost *x = a, *y = b;
    uint64_t m = x->around_ticks + x->inside_ticks;
    uint64_t n = y->around_ticks + y->inside_ticks;
    return (m > n) - (m < n);
}

/* In a lane that stands where the global one does: calls by name go another
 * way in others, which takes half as much again. */
static struct axp__own_cost measure_in(axp_profiler *p, struct axp__lane *lane)
{
    struct axp__own_cost costs[BATCHES] = {{0, 0, 0}};
    struct axp__own_cost *usual_one = &costs[BATCHES / 4];
    uint32_t site = 0;
    for (int i = 0; i < 2; i++) /* fills the caches */
        measure_batch(lane, &site);
    for (int i = 0; i < BATCHES; i++)
        costs[i] = measure_batch(lane, &site);
    qsort(costs, BATCHES, sizeof *costs, by_sum);
    measure_more(p, *usual_one);
    return *usual_one;
}

static struct axp__own_cost measure(void)
{
    struct axp__own_cost own = {0, 0, 0};
    axp_profiler *p =
        axp_profiler_create(&(axp_options){.timeline_capacity = 1000});
    struct axp__thread *t = axp__thread_get();
    if (!p || !t) return own;
    struct axp__lane *lane = axp__enter(p), *keep = t->global;
    if (!lane) return own;
    axp__thread_set_global(t, lane);
    axp__leave(lane);
    own = measure_in(p, lane);
    axp__thread_enter(t);
    axp__thread_set_global(t, keep);
    axp__thread_leave(t);
    own.alloc_ticks =
        (usual((struct batch){p, call_allocs, 0}) + BATCH_SCOPES) /
        (2 * BATCH_SCOPES);
    axp_profiler_destroy(p);
    return own;
}

static double each_ns(uint64_t batch_ticks)
{
    return (double)axp__rate_to_ns(axp__clock_rate(), batch_ticks) /
           BATCH_SCOPES;
}

double axp__own_cost_by_name(void)
{
    return each_ns(axp__get(&axp__process()->by_name_ticks));
}

double axp__own_cost_of_counter(void)
{
    return each_ns(axp__get(&axp__process()->counter_ticks));
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

/* MULT:COST:NAME:COUNTER in base 16: the rate of the clock, what is packed, and
 * what more a batch by name takes, and one of counters. Ticks of another clock say nothing here. */
static bool take_given(struct axp__process *process)
{
    const char *text = secure_getenv("AXPROF_COST");
    uint64_t mult, cost, by_name, counter;
    if (!text || !take_hex(&text, ':', &mult) || !take_hex(&text, ':', &cost) ||
        !take_hex(&text, ':', &by_name) || !take_hex(&text, 0, &counter))
        return false;
    if (mult != axp__clock_rate().mult || !cost || cost & IS_MEASURED)
        return false;
    axp__put(&process->by_name_ticks, by_name);
    axp__put(&process->counter_ticks, counter);
    axp__put(&process->own_cost, IS_MEASURED | cost);
    return true;
}

void axp_outside_cost(char *out, size_t size)
{
    uint64_t cost = axp__own_cost_pack(axp__own_cost_get());
    snprintf(out, size, "%" PRIx64 ":%" PRIx64 ":%" PRIx64 ":%" PRIx64,
             axp__clock_rate().mult, cost,
             axp__get(&axp__process()->by_name_ticks),
             axp__get(&axp__process()->counter_ticks));
}

struct axp__own_cost axp__own_cost_get(void)
{
    struct axp__process *process = axp__process();
    if (!axp__get(&process->own_cost) && !take_given(process))
        axp__put(&process->own_cost,
                 IS_MEASURED | axp__own_cost_pack(measure()));
    return axp__own_cost_known();
}
