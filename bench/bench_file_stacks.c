/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What stacks take in a file: 10 M allocations, each with one of 100,000 stacks
 * of some 30 frames, against the same 10 M without. All of it counts, the
 * stacks themselves too. Which stack comes next is random, and so is the module
 * that a frame is in: the worst there is for packing. The clock is one that is
 * moved by hand: times take as much in both.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "axprof/axprof_file.h"
#include "bench_file.h"
#include "os/os_clock.h"

#define STACKS 100000u
#define REFERENCES 10000000u
#define SITES 20000u /* places that call */
#define DEPTH 30u
#define PAUSE_EVERY 100000u

static const char *const path = "/dev/shm/axp-bench-stacks.axp";

static uint64_t random64(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

/* A call site in a program, or in one of two libraries. */
static uint64_t site(uint64_t n)
{
    static const uint64_t modules[] = {0x555555554000u, 0x7f6a10000000u,
                                       0x7f6a3c000000u};
    return modules[n % 3] + n * 0x2b7 % 0x1400000;
}

/* Stacks that share their outer frames with others, as those of a program. */
static void make_stacks(void *(*stacks)[DEPTH])
{
    uint64_t rng = 42;
    for (uint32_t i = 0; i < STACKS; i++) {
        uint32_t shared = i ? (uint32_t)(random64(&rng) % DEPTH) : 0;
        for (uint32_t k = 0; k < DEPTH; k++)
            stacks[i][k] = k >= DEPTH - shared
                               ? stacks[i - 1][k]
                               : (void *)site(random64(&rng) % SITES);
    }
}

static uint64_t now = 1000000000u;

static uint64_t read_clock(void)
{
    return now;
}

static uint64_t record(void *(*stacks)[DEPTH])
{
    axp_profiler *p =
        axp_profiler_create(&(axp_options){.path = path,
                                           .memory_limit = (uint64_t)1 << 30,
                                           .spool_limit = (uint64_t)4 << 30,
                                           .flags = AXP_OVERWRITE});
    uint64_t rng = 7;
    struct stat st;
    if (!p) exit(1);
    for (uint32_t i = 0; i < REFERENCES; i++) {
        uint64_t which = random64(&rng) % STACKS;
        axp_record_alloc_ex(p,
                            &(axp_alloc){.name = "tensor",
                                         .bytes = 4096,
                                         .stack = stacks ? stacks[which] : NULL,
                                         .n_frames = DEPTH});
        now += 80 + random64(&rng) % 40;
        axp_record_free(p, "tensor", 4096);
        now += 50;
        if (i % PAUSE_EVERY == 0) /* the drain keeps up */
            nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    if (axp_finish(p) || axp_file_pack(path, NULL) || stat(path, &st)) exit(1);
    axp_profiler_destroy(p);
    unlink(path);
    return (uint64_t)st.st_size;
}

void bench_stacks(void)
{
    void *(*stacks)[DEPTH] = malloc(STACKS * sizeof *stacks);
    if (!stacks) exit(1);
    make_stacks(stacks);
    axp__clock_set_test(read_clock);
    double bytes = (double)record(stacks) - (double)record(NULL);
    axp__clock_set_test(NULL);
    free(stacks);
    bench_show("a reference to a stack", "10 M to 100,000", bytes / REFERENCES,
               "bytes", 4);
}
