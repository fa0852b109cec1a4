/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory that a program names, and that is found as well: blocks that malloc
 * gave and that are then said to be weights, gradients and so on, in scopes.
 * Named and found are the same bytes: a report must hold them once, under their
 * name, below their scopes, with the stack that malloc was called from.
 *
 * Prints a line of JSON with what is held at the end, by name:
 *   {"names": {"weights": {"kind", "current_bytes", "current_blocks",
 *   "scopes"}, …}}
 * and last the sums, as memory_truth.h says. Linked with axprof_rt. */
#include "memory_truth.h"

#include <pthread.h>

#include <axprof/axprof.h>

enum { STEPS = 10 };

static char output[1 << 14];
static void *weights[4], *optimizer[8], *caches[STEPS], *unnamed[5];
static void *lookups[2];

static void name_it(const char *name, axp_mem kind, void *block, size_t n)
{
    axp_alloc alloc = {.name = name, .ptr = block, .bytes = n, .kind = kind};
    axp_record_alloc_ex(axp_global(), &alloc);
}

APART static void *truth_weight(size_t n)
{
    void *block = malloc(n);
    REQUIRE(block);
    truth_did_alloc(n);
    name_it("weights", AXP_MEM_WEIGHT, block, n);
    return block;
}

APART static void *truth_optimizer(size_t n)
{
    void *block = calloc(1, n);
    REQUIRE(block);
    truth_did_alloc(n);
    name_it("moments", AXP_MEM_OPTIMIZER, block, n);
    return block;
}

APART static void *truth_activation(size_t n)
{
    void *block = malloc(n);
    REQUIRE(block);
    truth_did_alloc(n);
    AXP_TRACK_ALLOC("activations", block, n);
    return block;
}

APART static void *truth_cache(size_t n)
{
    void *block = aligned_alloc(64, n);
    REQUIRE(block);
    truth_did_alloc(n);
    name_it("kv", AXP_MEM_CACHE, block, n);
    return block;
}

APART static void *truth_lookup(size_t n)
{
    void *block = malloc(n);
    REQUIRE(block);
    truth_did_alloc(n);
    AXP_TRACK_ALLOC("lookups", block, n);
    return block;
}

static void build(void)
{
    AXP_SCOPE("build");
    for (size_t i = 0; i < 4; i++)
        weights[i] = truth_weight(10000 * (i + 1));
    for (size_t i = 0; i < 8; i++)
        optimizer[i] = truth_optimizer(5000);
    for (size_t i = 0; i < 5; i++)
        unnamed[i] = truth_malloc(777);
}

/* Of two activations one is said to be freed, and one is only freed. */
static void forward(int step)
{
    AXP_SCOPE("forward");
    void *told = truth_activation(40000), *untold = truth_activation(4000);
    caches[step] = truth_cache(6400);
    AXP_TRACK_FREE(told);
    truth_free(told, 40000);
    truth_free(untold, 4000);
}

static void train(void)
{
    for (int i = 0; i < STEPS; i++) {
        AXP_SCOPE("step");
        forward(i);
        AXP_STEP();
    }
}

/* Half of what a name had goes, in both ways. */
static void shrink(void)
{
    AXP_SCOPE("shrink");
    for (int i = 0; i < 4; i++) {
        AXP_TRACK_FREE(optimizer[i]);
        truth_free(optimizer[i], 5000);
    }
    truth_free(unnamed[0], 777);
    truth_free(weights[0], 10000);
}

static void *free_lookup(void *arg)
{
    (void)arg;
    truth_free(lookups[0], 300);
    return NULL;
}

/* A block ends once, whoever says so first and whatever thread it is: it is
 * freed and then said to be; freed elsewhere; reallocated, of which the program
 * says nothing, the end, the beginning, or both; not reallocated after all. */
static void end_once(void)
{
    AXP_SCOPE("build");
    pthread_t thread;
    for (int i = 0; i < 2; i++)
        lookups[i] = truth_lookup(300);
    REQUIRE(!pthread_create(&thread, NULL, free_lookup, NULL));
    pthread_join(thread, NULL);
    truth_free(lookups[1], 300);
    AXP_TRACK_FREE(lookups[1]);
    for (int i = 0; i < 4; i++) {
        void *was = truth_lookup(300);
        void *block = truth_realloc(was, 300, i % 2 ? 90000 : 310);
        if (i / 2) AXP_TRACK_FREE(was);
        AXP_TRACK_ALLOC("lookups", block, i % 2 ? 90000 : 310);
        truth_free(block, i % 2 ? 90000 : 310);
    }
    truth_free(truth_realloc(truth_lookup(300), 300, 90000), 90000);
    lookups[0] = truth_lookup(300);
    volatile size_t too_much = PTRDIFF_MAX;
    REQUIRE(!realloc(lookups[0], too_much));
}

int main(void)
{
    setvbuf(stdout, output, _IOFBF, sizeof output);
    build();
    train();
    shrink();
    end_once();
    printf("{\"names\": {"
           "\"weights\": {\"kind\": \"weight\", \"current_bytes\": 90000, "
           "\"current_blocks\": 3, \"scopes\": [\"build\"]}, "
           "\"moments\": {\"kind\": \"optimizer\", \"current_bytes\": 20000, "
           "\"current_blocks\": 4, \"scopes\": [\"build\"]}, "
           "\"activations\": {\"kind\": null, \"current_bytes\": 0, "
           "\"current_blocks\": 0, \"scopes\": [\"step\", \"forward\"]}, "
           "\"lookups\": {\"kind\": null, \"current_bytes\": 300, "
           "\"current_blocks\": 1, \"scopes\": [\"build\"]}, "
           "\"kv\": {\"kind\": \"cache\", \"current_bytes\": %d, "
           "\"current_blocks\": %d, \"scopes\": [\"step\", \"forward\"]}}}\n",
           6400 * STEPS, STEPS);
    truth_print(TRUTH_ONE_AT_A_TIME, "");
    return 0;
}
