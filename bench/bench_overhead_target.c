/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Programs of which bench_overhead.py measures what recording them takes:
 *
 *   bench_overhead_target tiny|medium|named|allocs|deep TIMES
 * Prints the processor time of its thread, in seconds.
 *
 * Built a second time without recording (AXP_DISABLE): calls that are no macros
 * are made only where there is something to record. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <axprof/axprof.h>

#ifdef AXP_DISABLE
#define CALL(call) ((void)0)
#else
#define CALL(call) call
#endif

static volatile unsigned sink;
static float block[4096];

__attribute__((noinline)) static void tiny(void)
{
    AXP_SCOPE("tiny");
    sink++;
}

/* About 2 us that use the cache. */
__attribute__((noinline)) static void medium(unsigned i)
{
    AXP_SCOPE("medium");
    for (unsigned k = 0; k < 4096; k++)
        block[(k * 61 + i) % 4096] += 1.5f * block[k];
}

__attribute__((noinline)) static void deep(unsigned n)
{
    AXP_SCOPE("deep");
    if (n) deep(n - 1);
    sink++;
}

__attribute__((noinline)) static void named(void)
{
    CALL(axp_start(axp_global(), "named"));
    sink++;
    CALL(axp_stop(axp_global(), "named"));
}

__attribute__((noinline)) static void allocate(void)
{
    void *p = malloc(64);
    CALL(axp_track_alloc(axp_global(), "block", p, 64));
    sink += (unsigned)(p != NULL);
    CALL(axp_track_free(axp_global(), p));
    free(p);
}

static void run(const char *what, unsigned long n)
{
    AXP_SCOPE("program");
    for (unsigned long i = 0; i < n; i++) {
        if (what[0] == 't') tiny();
        if (what[0] == 'm') medium((unsigned)i);
        if (what[0] == 'n') named();
        if (what[0] == 'a') allocate();
        if (what[0] == 'd') deep(15);
    }
}

int main(int argc, char **argv)
{
    struct timespec begin, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    run(argc > 1 ? argv[1] : "", argc > 2 ? strtoul(argv[2], NULL, 10) : 0);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    printf("%.6f\n", (double)(end.tv_sec - begin.tv_sec) +
                         (double)(end.tv_nsec - begin.tv_nsec) * 1e-9);
    return 0;
}
