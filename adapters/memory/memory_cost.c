/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What telling of blocks takes; see memory_cost.h. */
#include "memory_cost.h"

#include <errno.h>
#include <stdbool.h>

#define TIMED 64u /* events that are told of together */
#define MOST_NS 5000u
#define WRAPPER_NS 6u /* what comes before and after: bench_overhead */
#define SELDOM_NS 4000u
#define MOST_APART 127u
#define MOST_SPARE 16
#define EACH 7u /* of those that are frequent */

__thread uint32_t memory_cost_left, memory_cost_follows;
struct memory_cost {
    uint64_t last, sum, clock_took;
    uint32_t n_timed;
    uint32_t apart;                       /* events from one to the next */
    uint32_t since_timed, since_followed; /* events */
    int32_t spare;                        /* looks that are paid for */
    uint32_t n_looks;                     /* at the clock, while frequent */
    uint32_t weight;                      /* of this one; 0: it is not timed */
};
static __thread struct memory_cost c __attribute__((tls_model("initial-exec")));

/* Never 0: it is asked for at every look. */
static uint64_t seldom_ticks(void)
{
    static uint64_t ticks;
    uint64_t n = __atomic_load_n(&ticks, __ATOMIC_RELAXED);
    if (n) return n;
    n = axp_ticks(SELDOM_NS) + 1;
    __atomic_store_n(&ticks, n, __ATOMIC_RELAXED);
    return n;
}

/* How much time there was beyond SELDOM_NS an event is what further looks are paid
 * from, up to 16 of them; without that they are further and further apart. */
static uint32_t next_apart(uint32_t apart, uint64_t gap)
{
    int64_t more = (int64_t)(gap / seldom_ticks()) - apart;
    int64_t spare = c.spare + (more < MOST_SPARE ? more : MOST_SPARE);
    c.spare = spare < 0 ? 0 : spare < MOST_SPARE ? (int32_t)spare : MOST_SPARE;
    if (c.spare) return 1;
    return apart < MOST_APART / 4 ? 4 * apart + 1 : MOST_APART;
}

static uint32_t take(uint32_t *since)
{
    uint32_t n = *since;
    *since = 0;
    return n;
}

/* Reads the clock twice, to know what that takes itself. */
static uint64_t begin_timed(void)
{
    uint64_t before = axp_wait_begin(), now = axp_wait_begin();
    c.clock_took = now - before;
    return now;
}

uint64_t memory_cost_due(void)
{
    uint64_t now = axp_wait_begin();
    uint32_t apart = c.apart ? c.apart : 1;
    bool is_frequent = apart == MOST_APART;
    uint32_t turn = is_frequent ? ++c.n_looks % EACH : 0;
    if (apart == 1) { /* it stands for itself, not for those of another time */
        c.weight = memory_cost_follows = 1;
        c.since_followed = 0;
    } else {
        c.since_timed += apart;
        c.since_followed += apart;
        c.weight = turn == EACH / 2 ? take(&c.since_timed) : 0;
        memory_cost_follows = turn == 0 ? take(&c.since_followed) : 0;
    }
    c.apart = next_apart(apart, now - c.last);
    c.last = now;
    memory_cost_left = c.apart - 1;
    return c.weight ? begin_timed() : now;
}

void memory_cost_add(uint64_t began)
{
    if (!c.weight) return;
    uint64_t took = axp_wait_begin() - began, most = axp_ticks(MOST_NS);
    took = took > c.clock_took ? took - c.clock_took : 0;
    c.sum += ((took < most ? took : most) + axp_ticks(WRAPPER_NS)) * c.weight;
    if (++c.n_timed < TIMED) return;
    int error = errno;
    axp_took("axprof.memory_ns", c.sum);
    c.sum = c.n_timed = 0;
    errno = error;
}
