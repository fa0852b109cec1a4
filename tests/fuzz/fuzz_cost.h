/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What an input costs for its length: the worst ratio of CPU time to size is
 * kept and said, and one over the bound is a failure like a crash.
 *
 *   struct fuzz_cost cost = fuzz_cost_begin();
 *   …
 *   fuzz_cost_end(&cost, size);
 */
#ifndef FUZZ_COST_H
#define FUZZ_COST_H
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Seconds for any input, and for each MB of it; sanitizers take some ten times
 * as long. */
#define FUZZ_SECONDS 10.0
#define FUZZ_SECONDS_A_MB 10.0

struct fuzz_cost {
    double begin;
};

static inline double fuzz_cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline struct fuzz_cost fuzz_cost_begin(void)
{
    return (struct fuzz_cost){fuzz_cpu()};
}

static inline void fuzz_cost_end(const struct fuzz_cost *c, size_t size)
{
    static double worst;
    double took = fuzz_cpu() - c->begin;
    double ratio = took / ((double)size + 4096);
    if (ratio > 1.5 * worst) {
        worst = ratio;
        fprintf(stderr, "worst so far: %.3f s for %zu bytes\n", took, size);
    }
    if (took > FUZZ_SECONDS + FUZZ_SECONDS_A_MB * (double)size / 1e6) abort();
}

#endif
