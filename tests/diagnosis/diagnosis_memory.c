/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Causes in memory: not given back, ever more of it, taken anew and again, held
 * by one name. And a cache that fills up and stops. */
#include <stdlib.h>
#include <string.h>

#include "diagnosis_cause.h"

#define STEPS 60
#define MB ((size_t)1 << 20)

/* A name that is allocated in each round; of four rounds 2k keep theirs. */
static void run_leak(void)
{
    for (int i = 0; i < STEPS; i++) {
        void *batch = cause_memory(MB / 4), *other = cause_memory(MB / 4);
        cause_alloc("batch_buffer", batch, MB / 4);
        cause_alloc("other", other, MB / 4);
        cause_compute(8);
        cause_free(other);
        if (i % 4 >= 2 * cause_k) cause_free(batch);
    }
}

/* A log that every step adds to, or that is written over. */
static __attribute__((noinline)) void append_log(void)
{
    static char *log;
    static size_t size;
    size_t more = (size_t)(cause_k ? cause_k * (64 << 10) : 64 << 10);
    if (!log || cause_k) log = realloc(log, size + more);
    if (!log) abort();
    memset(log + size, 1, more);
    if (cause_k) size += more;
}

static void run_append(void)
{
    for (int i = 0; i < STEPS; i++) {
        cause_compute(8);
        append_log();
        cause_step();
    }
}

/* A graph of small nodes: made anew in each step, or kept. */
static __attribute__((noinline)) void build_graph(int n)
{
    static void *nodes[4000];
    uint64_t scope = cause_begin("build_graph");
    for (int i = 0; i < n; i++) {
        void *node = nodes[i] ? nodes[i] : malloc(64 + 16 * (size_t)(i % 40));
        if (!node) abort();
        memset(node, i, 64);
        CAUSE_USE(node);
        nodes[i] = cause_k ? NULL : node;
        if (cause_k) free(node);
    }
    axp_end(scope);
}

static void run_nodes(void)
{
    for (int i = 0; i < STEPS; i++) {
        cause_compute(8);
        build_graph(cause_k ? (int)(2000 * cause_k) : 2000);
        cause_step();
    }
}

/* Room for a result, from the system in each call, or kept. */
static __attribute__((noinline)) void pad_batch(void)
{
    static char *kept;
    size_t size = (size_t)((cause_k ? cause_k : 1) * (double)(3 * MB));
    uint64_t scope = cause_begin("pad_batch");
    char *room = kept ? kept : malloc(size);
    if (!room) abort();
    memset(room, 1, size);
    CAUSE_USE(room);
    kept = cause_k ? NULL : room;
    if (cause_k) free(room);
    axp_end(scope);
}

static void run_pages(void)
{
    for (int i = 0; i < STEPS; i++) {
        cause_compute(8);
        pad_batch();
        cause_step();
    }
}

/* Activations of all layers at once, or of one at a time. */
static void run_peak(void)
{
    size_t size = (size_t)((10 + 300 * cause_k) * (double)MB);
    void *weights = cause_memory(40 * MB);
    cause_alloc("weights", weights, 40 * MB);
    void *activations = cause_memory(size);
    cause_alloc("activations", activations, size);
    for (int i = 0; i < STEPS; i++) {
        cause_compute(8);
        cause_step();
    }
    cause_free(activations);
    cause_free(weights);
}

/* Healthy: what is asked for a second time is there. */
static __attribute__((noinline)) void look_up(int key)
{
    static void *cache[16];
    if (!cache[key % 16]) cache[key % 16] = cause_memory(MB / 2);
}

static void run_cache(void)
{
    for (int i = 0; i < STEPS; i++) {
        cause_compute(8);
        if (i < 8)
            look_up(i);
        else
            look_up((int)(cause_random() * 16));
        cause_step();
    }
}

const struct cause causes[] = {
    {"leak", "MemoryLeak", "batch_buffer", NULL, run_leak, 0},
    {"append", "MemoryGrowth", "append_log", NULL, run_append, 0},
    {"nodes", "AllocationChurn|TemporaryAllocations", "build_graph", NULL,
     run_nodes, 0},
    {"pages", "AllocationChurn|TemporaryAllocations", "pad_batch", NULL,
     run_pages, 0},
    {"peak", "MemoryHotspot", "activations", NULL, run_peak, 0},
    {"healthy_cache", NULL, NULL, NULL, run_cache, 0},
    {0}};
