/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program with one fault, or its healthy twin, for test_run_found.py:
 *
 *   found_program work | temporary | pressure   1 | 0
 *
 * It prints nothing, and takes a fraction of a second. */
#include <axprof/axprof.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static volatile double sum;

/* 2 FLOPs a turn, or a thousand times what any machine does. */
static void multiply(double flops)
{
    AXP_SCOPE_WORK("multiply", .flops = flops, .dtype = AXP_F64);
    for (int i = 0; i < 100000; i++)
        sum = sum * 0.5 + i;
}

static char *volatile scratch;

__attribute__((noinline)) static void take_scratch(void)
{
    scratch = malloc(200);
    scratch[0] = 1;
    free(scratch);
}

/* Alone, so that no other place holds as much. */
__attribute__((noinline)) static void take_memory(size_t bytes)
{
    scratch = malloc(bytes);
    if (scratch) scratch[bytes - 1] = 1;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int is_faulty = argc > 2 && argv[2][0] == '1';
    double end = now_s() + 0.3;
    if (!strcmp(what, "work"))
        for (int i = 0; i < 100; i++)
            multiply(is_faulty ? 1e15 : 2e5);
    /* A place that allocates 20,000 times a second costs nothing. */
    while (!strcmp(what, "temporary") && now_s() < end) {
        double next = now_s() + 50e-6;
        take_scratch();
        while (!is_faulty && now_s() < next)
            ;
    }
    if (!strcmp(what, "pressure")) /* of 8 GB (ulimit -v) */
        take_memory((size_t)(is_faulty ? 7700 : 4000) << 20);
    return 0;
}
