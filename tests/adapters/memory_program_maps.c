/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory that is mapped, in ways that make counting it hard; the program knows
 * what must come out. */
#include "memory_program.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memory_truth.h"

enum { MB = 1 << 20, FIRST = 10 };

static int64_t now, peak;
static uint64_t n_mapped;

static void count(int64_t bytes)
{
    now += bytes;
    if (now > peak) peak = now;
    n_mapped += bytes > 0;
}

static char *map(void *at, size_t bytes, int prot, int flags)
{
    char *p = mmap(at, bytes, prot, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    REQUIRE(p != MAP_FAILED);
    return p;
}

static char *map_counted(size_t bytes)
{
    count((int64_t)bytes);
    return map(NULL, bytes, PROT_READ | PROT_WRITE, 0);
}

static void unmap(char *at, size_t bytes, int64_t counted)
{
    count(-counted);
    REQUIRE(!munmap(at, bytes));
}

/* Holes, ends, and what was never mapped. */
static void cut(void)
{
    char *p = map_counted((size_t)FIRST * MB);
    unmap(p + 2 * MB, MB, MB);
    unmap(p + 5 * MB, MB, MB);
    unmap(p, (size_t)3 * MB, 2 * MB); /* with the first hole */
    unmap(p + 4 * MB, (size_t)3 * MB, 2 * MB);
    unmap(p, (size_t)2 * MB, 0);
    p = map_counted(100); /* a page */
    count((int64_t)sysconf(_SC_PAGESIZE) - 100);
    n_mapped--; /* one call */
    unmap(p, 1, (int64_t)sysconf(_SC_PAGESIZE));
}

/* Mapped over, by memory and by what is none. */
static void map_over(void)
{
    char *p = map_counted((size_t)8 * MB);
    count(0);
    map(p + MB, MB, PROT_READ | PROT_WRITE, MAP_FIXED);
    count(-(int64_t)MB);
    map(p + 3 * MB, MB, PROT_NONE, MAP_FIXED);
    char *reserved = map(NULL, (size_t)1024 * MB, PROT_NONE, MAP_NORESERVE);
    unmap(reserved, (size_t)1024 * MB, 0);
}

/* Wider and narrower, here and elsewhere. */
static void move(void)
{
    char *p = map_counted((size_t)2 * MB), *wall = map_counted(MB);
    char *q = mremap(p, (size_t)2 * MB, (size_t)16 * MB, MREMAP_MAYMOVE);
    REQUIRE(q != MAP_FAILED);
    count((int64_t)14 * MB);
    q = mremap(q, (size_t)16 * MB, (size_t)3 * MB, 0);
    REQUIRE(q != MAP_FAILED);
    count(-(int64_t)13 * MB);
    REQUIRE(mremap(wall, MB, SIZE_MAX / 2, MREMAP_MAYMOVE) == MAP_FAILED);
    unmap(wall, MB, MB);
}

/* A child's are its own. */
static void part(void)
{
    char *p = map_counted((size_t)4 * MB);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (!child) _exit(munmap(p, (size_t)4 * MB) != 0);
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && !status);
}

int run_maps(int argc, char **argv)
{
    (void)argc, (void)argv;
    cut();
    map_over();
    move();
    part();
    printf("{\"mapped_bytes\": %" PRId64 ", \"mapped_peak_bytes\": %" PRId64
           ", \"n_mapped\": %" PRIu64 "}\n",
           now, peak, n_mapped);
    return 0;
}

/* ---- many threads ------------------------------------------------------- */

enum { MAPPERS = 8, MAPS = 5000, PART = 65536 };

static void *map_often(void *unused)
{
    for (int i = 0; i < MAPS; i++) {
        char *p = map(NULL, PART, PROT_READ | PROT_WRITE, 0);
        REQUIRE(!munmap(p, PART));
    }
    return unused;
}

/* More than there are processors, so that one is stopped at any point. */
int run_mapthreads(int argc, char **argv)
{
    pthread_t threads[MAPPERS];
    (void)argc, (void)argv;
    for (int i = 0; i < MAPPERS; i++)
        REQUIRE(!pthread_create(&threads[i], NULL, map_often, NULL));
    for (int i = 0; i < MAPPERS; i++)
        REQUIRE(!pthread_join(threads[i], NULL));
    map_counted(MB);
    printf("{\"mapped_bytes\": %" PRId64 ", \"n_mapped\": %" PRIu64 "}\n", now,
           n_mapped + MAPPERS * MAPS);
    return 0;
}

/* ---- until there is no more --------------------------------------------- */

APART static void *truth_map_hog(void)
{
    void *at = mmap(NULL, MB, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(at != MAP_FAILED || errno == ENOMEM);
    return at == MAP_FAILED ? NULL : at;
}

int run_oommap(int argc, char **argv)
{
    int n = 0;
    (void)argc, (void)argv;
    truth_free(truth_malloc(100), 100); /* as every program has before */
    while (truth_map_hog())
        if (++n == 8192) return 4; /* no limit is set */
    printf("{\"n_maps\": %d}\n", n);
    return 3;
}
