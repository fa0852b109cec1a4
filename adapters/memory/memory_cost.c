/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What telling of blocks takes; see memory_cost.h. */
#include "memory_cost.h"

#include <errno.h>

#define TIMED 64u /* events that are told of together */
#define MOST_NS 5000u

__thread uint32_t memory_cost_n;
static __thread uint64_t sum __attribute__((tls_model("initial-exec")));
static __thread uint32_t n_timed __attribute__((tls_model("initial-exec")));

/* The clock's own part is not taken off: it is about what the wrapper takes,
 * which is outside (bench_overhead compares the whole with what is true). */
void memory_cost_add(uint64_t began)
{
    uint64_t took = axp_wait_begin() - began, most = axp_ticks(MOST_NS);
    sum += took < most ? took : most;
    if (++n_timed < TIMED) return;
    int error = errno;
    axp_took("axprof.memory_ns", sum * MEMORY_COST_EVERY);
    sum = n_timed = 0;
    errno = error;
}
