/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What telling of blocks takes; see memory_cost.h. */
#include "memory_cost.h"

#include <errno.h>

#define TIMED 64u /* events that are told of together */
#define MOST_NS 5000u
#define WRAPPER_NS 6u /* what comes before and after: bench_overhead */

__thread uint32_t memory_cost_n;
static __thread uint64_t sum __attribute__((tls_model("initial-exec")));
static __thread uint64_t clock_took __attribute__((tls_model("initial-exec")));
static __thread uint32_t n_timed __attribute__((tls_model("initial-exec")));

uint64_t memory_cost_first(void)
{
    uint64_t before = axp_wait_begin(), now = axp_wait_begin();
    memory_cost_n = 0;
    clock_took = now - before;
    return now;
}

void memory_cost_add(uint64_t began)
{
    uint64_t took = axp_wait_begin() - began, most = axp_ticks(MOST_NS);
    took = took > clock_took ? took - clock_took : 0;
    sum += (took < most ? took : most) + axp_ticks(WRAPPER_NS);
    if (++n_timed < TIMED) return;
    int error = errno;
    axp_took("axprof.memory_ns", sum * MEMORY_COST_EVERY);
    sum = n_timed = 0;
    errno = error;
}
