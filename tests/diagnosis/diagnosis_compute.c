/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Causes in how one operation computes: in the wrong order, with the wrong
 * functions, too often over the same data, beside another thread's data; and
 * work that is declared wrongly. And a triad that is as fast as memory. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "diagnosis_cause.h"

#define STEPS 40

/* Of all steps the part of k/2 is done the slow way. */
static bool is_slow(int step)
{
    return step % 8 < 4 * cause_k;
}

static axp_work elements(double n, double flops, double moved)
{
    return (axp_work){
        .flops = n * flops, .bytes = n * moved * 4, .dtype = AXP_F32};
}

/* ---- a matrix, along its rows or across them ---------------------------------------- */

#define SIDE 2000

static __attribute__((noinline)) void sum_columns(const float *m, float *sums,
                                                  bool is_across)
{
    uint64_t scope =
        cause_begin_work("sum_columns", elements(SIDE * SIDE, 1, 1));
    for (int c = 0; c < SIDE; c++)
        sums[c] = 0;
    if (is_across) {
        for (int c = 0; c < SIDE; c++)
            for (int r = 0; r < SIDE; r++)
                sums[c] += m[r * SIDE + c];
    } else {
        for (const float *r = m; r < m + SIDE * SIDE; r += 4 * SIDE)
            for (int c = 0; c < SIDE; c++)
                sums[c] +=
                    r[c] + r[c + SIDE] + r[c + 2 * SIDE] + r[c + 3 * SIDE];
    }
    CAUSE_USE(sums);
    axp_end(scope);
}

static void run_columns(void)
{
    float *m = cause_memory(sizeof *m * SIDE * SIDE);
    float *sums = cause_memory(sizeof *sums * SIDE);
    for (int i = 0; i < STEPS; i++) {
        cause_compute(20);
        sum_columns(m, sums, is_slow(i));
        cause_step();
    }
    free(sums);
    free(m);
}

/* ---- a function of libm for each element --------------------------------------------- */

#define WIDTH (48 << 10)

/* tanh by libm, or by a fraction that the compiler computes four at a time. */
static __attribute__((noinline)) void gelu(float *restrict out,
                                           const float *restrict in,
                                           bool is_libm)
{
    uint64_t scope = cause_begin_work("gelu", elements(WIDTH, 12, 2));
    if (is_libm) {
        for (int i = 0; i < WIDTH; i++) {
            float x = in[i], u = 0.8f * (x + 0.045f * x * x * x);
            out[i] = 0.5f * x * (1 + tanhf(u));
        }
    } else {
        for (int i = 0; i < WIDTH; i++) {
            float x = in[i], u = 0.8f * (x + 0.045f * x * x * x);
            out[i] = 0.5f * x * (1 + u * (27 + u * u) / (27 + 9 * u * u));
        }
    }
    CAUSE_USE(out);
    axp_end(scope);
}

static void run_libm(void)
{
    float *in = cause_memory(sizeof *in * WIDTH);
    float *out = cause_memory(sizeof *out * WIDTH);
    for (int i = 0; i < WIDTH; i++)
        in[i] = (float)(2 * cause_random() - 1);
    for (int i = 0; i < STEPS; i++) {
        cause_compute(20);
        for (int k = 0; k < 5; k++)
            gelu(out, in, is_slow(i));
        cause_step();
    }
    free(out);
    free(in);
}

/* ---- rows of a table, in order or not -------------------------------------------------- */

/* Far more than a cache holds: what nearly fits one is as fast as the neighbours
 * let it be. */
#define ROWS (1 << 20)
#define ROW 16

static __attribute__((noinline)) void gather_rows(float *restrict out,
                                                  const float *restrict table,
                                                  const uint32_t *restrict at)
{
    uint64_t scope =
        cause_begin_work("gather_rows", elements(ROWS * ROW, 1, 2));
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < ROW; c++)
            out[r * ROW + c] = 2 * table[at[r] * ROW + (uint32_t)c];
    CAUSE_USE(out);
    axp_end(scope);
}

static void run_gather(void)
{
    float *table = cause_memory(sizeof *table * ROWS * ROW);
    float *out = cause_memory(sizeof *out * ROWS * ROW);
    uint32_t *in_order = cause_memory(sizeof *in_order * ROWS);
    uint32_t *mixed = cause_memory(sizeof *mixed * ROWS);
    for (uint32_t r = 0; r < ROWS; r++) {
        in_order[r] = r;
        mixed[r] = (uint32_t)(cause_random() * ROWS);
    }
    for (int i = 0; i < 16; i++) {
        cause_compute(64);
        gather_rows(out, table, is_slow(i) ? mixed : in_order);
        cause_step();
    }
    free(mixed);
    free(in_order);
    free(out);
    free(table);
}

/* ---- several passes over what does not fit a cache -------------------------------------- */

#define LARGE (6 << 20)

static __attribute__((noinline)) void apply(float *x, float factor, float more)
{
    uint64_t scope = cause_begin_work("apply", elements(LARGE, 2, 2));
    for (int i = 0; i < LARGE; i++)
        x[i] = x[i] * factor + more;
    CAUSE_USE(x);
    axp_end(scope);
}

/* One factor after the other, or all that they come to at once. */
static void run_passes(void)
{
    float *x = cause_memory(sizeof *x * LARGE);
    for (int i = 0; i < STEPS / 2; i++) {
        cause_compute(64);
        for (int p = 0; p <= (int)(2 * cause_k); p++)
            apply(x, 0.5f, 0.25f);
        cause_step();
    }
    free(x);
}

/* ---- work that nobody can have done ------------------------------------------------------- */

#define SMALL 4096

static __attribute__((noinline)) void project(float *x, double times)
{
    uint64_t scope =
        cause_begin_work("project", elements(SMALL, 2 * 400 * times, 2));
    for (int n = 0; n < 400; n++) {
        for (int i = 0; i < SMALL; i++)
            x[i] = x[i] * 0.99f + 0.01f;
        CAUSE_USE(x);
    }
    axp_end(scope);
}

static void run_declared(void)
{
    float *x = cause_memory(sizeof *x * SMALL);
    for (int i = 0; i < STEPS; i++) {
        cause_compute(16);
        for (int p = 0; p < 8; p++)
            project(x, 1 + 200 * cause_k);
        cause_step();
    }
    free(x);
}

/* ---- two threads in one line of memory ---------------------------------------------------- */

static _Atomic uint64_t counters[1024];

static __attribute__((noinline)) void count_words(int me, bool is_shared)
{
    uint64_t scope = cause_begin("count_words");
    _Atomic uint64_t *at = &counters[256 + (is_shared ? me : 256 * me)];
    for (int i = 0; i < 130000; i++)
        atomic_fetch_add_explicit(at, 1, memory_order_relaxed);
    axp_end(scope);
}

static void count(int me)
{
    for (int i = 0; i < STEPS; i++) {
        cause_compute(16);
        count_words(me, is_slow(i));
        pthread_barrier_wait(&cause_barrier);
    }
}

static void run_sharing(void)
{
    cause_pair(count);
}

/* ---- a search through all instead of one by halves ---------------------------------------- */

#define VOCABULARY 8192

static int by_value(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static __attribute__((noinline)) void find_tokens(const int *words, bool is_all)
{
    uint64_t scope = cause_begin("find_tokens");
    for (int i = 0; i < 1000; i++) {
        int wanted = (int)(cause_random() * VOCABULARY), at = 0;
        const int *found = is_all ? NULL
                                  : bsearch(&wanted, words, VOCABULARY,
                                            sizeof *words, by_value);
        for (; is_all && words[at] != wanted; at++) {
            CAUSE_USE(at);
        }
        CAUSE_USE(found);
    }
    axp_end(scope);
}

static void run_search(void)
{
    int *words = cause_memory(sizeof *words * VOCABULARY);
    for (int i = 0; i < VOCABULARY; i++)
        words[i] = i;
    for (int i = 0; i < 2 * STEPS; i++) {
        cause_compute(8);
        find_tokens(words, is_slow(i));
        cause_step();
    }
    free(words);
}

/* ---- healthy: as fast as memory ------------------------------------------------------------ */

static __attribute__((noinline)) void triad(float *restrict a,
                                            const float *restrict b,
                                            const float *restrict c)
{
    uint64_t scope = cause_begin_work("triad", elements(LARGE, 2, 3));
    for (int i = 0; i < LARGE; i++)
        a[i] = b[i] + 3 * c[i];
    CAUSE_USE(a);
    axp_end(scope);
}

static void run_triad(void)
{
    float *a = cause_memory(sizeof *a * LARGE);
    float *b = cause_memory(sizeof *b * LARGE);
    float *c = cause_memory(sizeof *c * LARGE);
    for (int i = 0; i < STEPS; i++)
        triad(a, b, c);
    free(c);
    free(b);
    free(a);
}

const struct cause causes[] = {
    {"columns", "LowThroughput", "sum_columns", "SlowOperation=sum_columns",
     run_columns, 0},
    {"libm", "LowThroughput", "gelu", "SlowOperation=tanhf|gelu", run_libm, 0},
    {"gather", "LowThroughput", "gather_rows", "SlowOperation=gather_rows",
     run_gather, 0},
    {"passes", "MemoryBound", "apply", NULL, run_passes, 0},
    {"declared", "ImplausibleWork", "project", NULL, run_declared, 0},
    {"sharing", "SlowOperation", "count_words",
     "count_words|__aarch64_ldadd8_relax", run_sharing, 0},
    {"search", "SlowOperation", "find_tokens", "find_tokens", run_search, 0},
    {"healthy_triad", NULL, NULL, NULL, run_triad, 0},
    {0}};
