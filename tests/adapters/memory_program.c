/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Programs that allocate, and print as their last line what they did, counted
 * by themselves as memory_truth.h says:
 *
 *   memory_program leak37        37 blocks lost at one line, which it prints
 *   memory_program grow          two things that grow in each of 50 steps
 *   memory_program cache         one that is full after 10 steps of 30
 *   memory_program peak3         a peak of which truth_a, truth_b and truth_c
 *                                hold 50, 30 and 20 %
 *   memory_program churn         1,000 steps with the same 100 blocks
 *   memory_program realloc       chains of realloc and reallocarray
 *   memory_program align         every call that takes an alignment; what
 *                                calls promise of zeroes, sizes and errno
 *   memory_program usable        blocks used as far as malloc_usable_size says
 *   memory_program threads3000   3,000 short threads, 100 at a time
 *   memory_program foreign N     blocks of N threads, freed by N others
 *   memory_program mixed N [serial]
 *                                random sizes on N threads; one call at a time
 *   memory_program signal        a handler that allocates, often
 *   memory_program altstack      a handler that allocates on a small stack
 *   memory_program maps          memory that is mapped, cut and moved
 *   memory_program mapthreads    mapped and unmapped by many threads
 *   memory_program exitthread    blocks freed while threads end
 *   memory_program exitbusy      threads that allocate while the program ends
 *   memory_program fork          children of several kinds
 *   memory_program dl LIBRARY    a library that is opened and closed
 *   memory_program waves         eight waves of other heights, one after another
 *   memory_program ages          blocks that live for as long as they say
 *   memory_program oom           until malloc fails; status 3
 *   memory_program oommap        the same with mmap
 *   memory_program cgroup        until it is killed; prints how many MiB it has
 *
 * Those that need more than a page are in memory_program_calls.c, _threads.c,
 * _processes.c and _time.c. It knows nothing of axprof: steps are marked if the process
 * has the calls. Standard output has a buffer of its own, so that printing
 * allocates nothing. */
#include "memory_program.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

static char output[1 << 16], more[256];
static void *volatile lost; /* the compiler must take it for used */

/* axp_step(axp_global()), if they are there. */
static void step(void)
{
    static void *(*global)(void);
    static void (*mark)(void *);
    static int is_sought;
    if (!is_sought) {
        *(void **)&global = dlsym(RTLD_DEFAULT, "axp_global");
        *(void **)&mark = dlsym(RTLD_DEFAULT, "axp_step");
        is_sought = 1;
    }
    if (global && mark) mark(global());
}

/* ---- leaks and growth --------------------------------------------------- */

static int leak_line;

APART static void *truth_leak(size_t n)
{
    leak_line = __LINE__ + 1;
    void *block = malloc(n);
    if (block) truth_did_alloc(n);
    return block;
}

/* Among as many that are freed, at another line. */
static int run_leak37(int argc, char **argv)
{
    (void)argc, (void)argv;
    for (size_t i = 0; i < 37; i++) {
        void *kept_for_now = truth_malloc(500 + i);
        lost = truth_leak(1000 + i);
        truth_free(kept_for_now, 500 + i);
    }
    lost = NULL;
    snprintf(more, sizeof more, ", \"line\": %d", leak_line);
    truth_print(TRUTH_ONE_AT_A_TIME, more);
    return 0;
}

#define GROWTH ((size_t)64 << 10) /* bytes a step */

APART static void *truth_grow_buffer(void *buffer, size_t old)
{
    void *is = realloc(buffer, old + GROWTH);
    REQUIRE(is);
    if (old) truth_did_free(old);
    truth_did_alloc(old + GROWTH);
    return is;
}

APART static void *truth_grow_list(void *next)
{
    void **node = malloc(1024);
    REQUIRE(node);
    truth_did_alloc(1024);
    *node = next;
    return node;
}

static int run_grow(int argc, char **argv)
{
    void *buffer = NULL, *list = NULL;
    (void)argc, (void)argv;
    for (size_t i = 0; i < 50; i++) {
        void *scratch = truth_malloc(100000);
        buffer = truth_grow_buffer(buffer, i * GROWTH);
        memset((char *)buffer + i * GROWTH, 1, GROWTH);
        for (int k = 0; k < 10; k++)
            list = truth_grow_list(list);
        truth_free(scratch, 100000);
        step();
    }
    lost = buffer;
    lost = list;
    truth_print(TRUTH_ONE_AT_A_TIME, ", \"steps\": 50");
    return 0;
}

#define CACHED 1000

/* Full after 10 steps; then the oldest gives way, so that steps allocate as
 * before and nothing grows. */
static int run_cache(int argc, char **argv)
{
    static void *cached[CACHED];
    size_t at = 0;
    (void)argc, (void)argv;
    for (int i = 0; i < 30; i++) {
        for (int k = 0; k < CACHED / 10; k++, at = (at + 1) % CACHED) {
            truth_free(cached[at], 2048);
            cached[at] = truth_calloc(1, 2048);
        }
        step();
    }
    truth_print(TRUTH_ONE_AT_A_TIME, ", \"steps\": 30");
    return 0;
}

/* ---- a peak ------------------------------------------------------------- */

struct blocks {
    void *block[2000];
    size_t n, size;
};

static void free_blocks(struct blocks *b)
{
    for (size_t i = 0; i < b->n; i++)
        truth_free(b->block[i], b->size);
}

#define TAKE(name)                                                             \
    APART static void name(struct blocks *b, size_t n, size_t size)            \
    {                                                                          \
        *b = (struct blocks){.n = n, .size = size};                            \
        for (size_t i = 0; i < n; i++) {                                       \
            b->block[i] = malloc(size);                                        \
            REQUIRE(b->block[i]);                                              \
            truth_did_alloc(size);                                             \
        }                                                                      \
    }
TAKE(truth_a)
TAKE(truth_b)
TAKE(truth_c)
TAKE(truth_before)
TAKE(truth_after)

static struct blocks a, b, c, other;

APART static void peak_forward(void)
{
    truth_b(&b, 30, 100000);
    truth_c(&c, 2000, 1000);
    lost = NULL; /* the call above is no jump */
}

APART static void peak_step(void)
{
    truth_a(&a, 5, 1000000);
    peak_forward();
    free_blocks(&c);
}

static int run_peak3(int argc, char **argv)
{
    (void)argc, (void)argv;
    truth_before(&other, 400, 20000);
    free_blocks(&other);
    peak_step();
    free_blocks(&a);
    truth_after(&other, 60, 100000);
    free_blocks(&other);
    free_blocks(&b);
    truth_print(TRUTH_ONE_AT_A_TIME, "");
    return 0;
}

static int run_churn(int argc, char **argv)
{
    void *block[100];
    (void)argc, (void)argv;
    for (int i = 0; i < 1000; i++) {
        for (size_t k = 0; k < 100; k++)
            block[k] = truth_malloc(16 + 24 * k);
        for (size_t k = 0; k < 100; k++)
            truth_free(block[k], 16 + 24 * k);
        step();
    }
    truth_print(TRUTH_ONE_AT_A_TIME, ", \"steps\": 1000");
    return 0;
}

/* ---- until there is no more --------------------------------------------- */

APART static void **truth_hog(void)
{
    void **block = malloc(MIB);
    if (block) truth_did_alloc(MIB);
    return block;
}

static int run_oom(int argc, char **argv)
{
    void **list = NULL, **block;
    (void)argc, (void)argv;
    for (int n = 0; (block = truth_hog()); n++) {
        *block = list;
        list = block;
        if (n == 8192) return 4; /* no limit is set */
    }
    lost = list;
    truth_print(TRUTH_ONE_AT_A_TIME, "");
    return 3;
}

/* The number is written when the block is there, and before it is filled. */
static int run_cgroup(int argc, char **argv)
{
    long most = argc > 2 ? atol(argv[2]) : 2048;
    for (long n = 1; n <= most; n++) {
        void **block = truth_hog();
        char text[24];
        if (!block) return 3;
        int length = snprintf(text, sizeof text, "%ld\n", n);
        if (write(1, text, (size_t)length) != length) return 5;
        memset(block, 1, MIB);
        lost = block;
    }
    while (argc > 2) /* as much as was asked for; now wait to be killed */
        pause();
    return 4;
}

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} parts[] = {
    {"leak37", run_leak37},
    {"grow", run_grow},
    {"cache", run_cache},
    {"peak3", run_peak3},
    {"churn", run_churn},
    {"realloc", run_realloc},
    {"align", run_align},
    {"maps", run_maps},
    {"mapthreads", run_mapthreads},
    {"usable", run_usable},
    {"threads3000", run_threads3000},
    {"foreign", run_foreign},
    {"mixed", run_mixed},
    {"signal", run_signal},
    {"altstack", run_altstack},
    {"exitthread", run_exitthread},
    {"exitbusy", run_exitbusy},
    {"fork", run_fork},
    {"dl", run_dl},
    {"waves", run_waves},
    {"ages", run_ages},
    {"oom", run_oom},
    {"oommap", run_oommap},
    {"cgroup", run_cgroup},
};

int main(int argc, char **argv)
{
    setvbuf(stdout, output, _IOFBF, sizeof output);
    for (size_t i = 0; argc > 1 && i < sizeof parts / sizeof *parts; i++) {
        if (strcmp(argv[1], parts[i].name)) continue;
        int status = parts[i].run(argc, argv);
        fflush(stdout);
        return status;
    }
    fprintf(stderr, "usage: memory_program PART [argument ...]\n");
    return 2;
}
