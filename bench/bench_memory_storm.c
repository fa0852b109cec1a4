/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Programs that `make bench-memory` profiles: nothing but malloc and free.
 *
 *   bench_memory_storm storm [MILLIONS]   10 million pairs on 2 threads, with 64
 *                                         live blocks on each
 *   bench_memory_storm live [MILLIONS]    a million live blocks on 2 threads, of
 *                                         which so many million (5) are
 *                                         replaced at random; they stay live
 *   bench_memory_storm chain [MILLIONS]   one thread allocates, another frees
 *
 * Sizes are 16 to 2048 bytes (16 to 144 in `live`), from a generator; malloc is
 * called six functions deep and from sixteen call paths. The first word of each
 * block is written, as any program would, and read when it is freed: no compiler
 * can leave the calls out. Prints the seconds that the calls took, without the
 * start, and a sum that depends on each block; built with frame pointers and
 * without. */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define APART __attribute__((noinline))
enum { N_THREADS = 2, BATCH = 256, WINDOW = 64, LIVE = 1000000, RING = 4096 };

struct worker {
    uint64_t random, sum;
    long n_rounds;
    uint64_t **block; /* n_blocks of them */
    size_t n_blocks, at, span;
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint32_t next(struct worker *w)
{
    w->random = w->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(w->random >> 33);
}

/* ---- six deep ----------------------------------------------------------- */

/* Four functions that call malloc, each below four others. Work after each call
 * keeps it a call: a jump would leave no frame. */
#define TAKE(name, salt)                                                       \
    APART static uint64_t *name(struct worker *w, size_t n)                    \
    {                                                                          \
        uint64_t *block = malloc(n);                                           \
        if (!block) abort();                                                   \
        *block = w->random + (salt);                                           \
        return block;                                                          \
    }
TAKE(take_weights, 1)
TAKE(take_gradients, 2)
TAKE(take_activations, 3)
TAKE(take_buffers, 4)

APART static void replace(struct worker *w, size_t at)
{
    uint32_t random = next(w);
    size_t n = 16 + (random >> 4) % w->span;
    uint64_t *old = w->block[at];
    if (old) {
        w->sum += *old;
        free(old);
    }
    switch (random & 3) {
    case 0: w->block[at] = take_weights(w, n); break;
    case 1: w->block[at] = take_gradients(w, n); break;
    case 2: w->block[at] = take_activations(w, n); break;
    default: w->block[at] = take_buffers(w, n); break;
    }
}

/* In turn where there are few, at random where there are many. */
APART static void run_batch(struct worker *w, int n)
{
    for (int i = 0; i < n; i++) {
        if (w->n_blocks == WINDOW)
            w->at = (w->at + 1) % WINDOW;
        else
            w->at = next(w) % w->n_blocks;
        replace(w, w->at);
    }
    w->sum++;
}

#define LAYER(name, salt)                                                      \
    APART static void name(struct worker *w, int n)                            \
    {                                                                          \
        run_batch(w, n);                                                       \
        w->sum ^= (salt);                                                      \
    }
LAYER(embed, 1)
LAYER(attend, 2)
LAYER(project, 3)
LAYER(normalize, 4)

APART static void run_step(struct worker *w, long first, int n)
{
    static void (*const layers[])(struct worker *, int) = {embed, attend,
                                                           project, normalize};
    layers[first / BATCH % 4](w, n);
    w->sum++;
}

APART static void run_epoch(struct worker *w)
{
    for (long i = 0; i < w->n_rounds; i += BATCH) {
        long left = w->n_rounds - i;
        run_step(w, i, left < BATCH ? (int)left : BATCH);
    }
    w->sum++;
}

static void *work(void *arg)
{
    run_epoch(arg);
    return NULL;
}

/* ---- modes -------------------------------------------------------------- */

static pthread_t start(void *(*function)(void *), void *arg)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, function, arg)) abort();
    return thread;
}

static uint64_t run_all(struct worker *w, long n_rounds)
{
    pthread_t threads[N_THREADS];
    uint64_t sum = 0;
    for (int i = 0; i < N_THREADS; i++) {
        w[i].n_rounds = n_rounds / N_THREADS;
        threads[i] = start(work, &w[i]);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += w[i].sum;
    }
    return sum;
}

static uint64_t storm(long n_rounds)
{
    static uint64_t *block[N_THREADS][WINDOW];
    struct worker w[N_THREADS];
    for (size_t i = 0; i < N_THREADS; i++)
        w[i] = (struct worker){.random = i + 1,
                               .block = block[i],
                               .n_blocks = WINDOW,
                               .span = 2048 - 16 + 1};
    uint64_t sum = run_all(w, n_rounds);
    for (size_t i = 0; i < N_THREADS; i++)
        for (size_t k = 0; k < WINDOW; k++)
            free(block[i][k]);
    return sum;
}

/* Filled first, so that each replacement has a victim. */
static uint64_t live(long n_rounds)
{
    static uint64_t *block[N_THREADS][LIVE / N_THREADS];
    struct worker w[N_THREADS];
    for (size_t i = 0; i < N_THREADS; i++) {
        w[i] = (struct worker){.random = i + 1,
                               .block = block[i],
                               .n_blocks = LIVE / N_THREADS,
                               .span = 144 - 16 + 1};
        for (size_t k = 0; k < w[i].n_blocks; k++)
            replace(&w[i], k);
    }
    return run_all(w, n_rounds);
}

static struct {
    _Alignas(64) uint64_t n_put;
    _Alignas(64) uint64_t n_got;
    uint64_t *block[RING];
} ring;

static void *consume(void *arg)
{
    struct worker *w = arg;
    for (uint64_t i = 0; i < (uint64_t)w->n_rounds; i++) {
        /* pairs with the release in chain */
        while (__atomic_load_n(&ring.n_put, __ATOMIC_ACQUIRE) <= i)
            sched_yield();
        uint64_t *block = ring.block[i % RING];
        w->sum += *block;
        free(block);
        /* pairs with the acquire in chain */
        __atomic_store_n(&ring.n_got, i + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

static uint64_t chain(long n_rounds)
{
    struct worker to = {.random = 1, .span = 2048 - 16 + 1};
    struct worker from = {.n_rounds = n_rounds};
    pthread_t thread = start(consume, &from);
    for (uint64_t i = 0; i < (uint64_t)n_rounds; i++) {
        size_t n = 16 + next(&to) % to.span;
        uint64_t *block = i % 2 ? take_weights(&to, n) : take_buffers(&to, n);
        /* pairs with the release in consume */
        while (i - __atomic_load_n(&ring.n_got, __ATOMIC_ACQUIRE) >= RING)
            sched_yield();
        ring.block[i % RING] = block;
        /* pairs with the acquire in consume */
        __atomic_store_n(&ring.n_put, i + 1, __ATOMIC_RELEASE);
    }
    pthread_join(thread, NULL);
    return from.sum;
}

static const struct {
    const char *name;
    uint64_t (*run)(long n_rounds);
    double millions;
} modes[] = {{"storm", storm, 10}, {"live", live, 5}, {"chain", chain, 5}};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++) {
        if (strcmp(argv[1], modes[i].name)) continue;
        double millions = argc > 2 ? atof(argv[2]) : modes[i].millions;
        double begin = now_s();
        uint64_t sum = modes[i].run((long)(millions * 1e6));
        printf("%.6f %llx\n", now_s() - begin, (unsigned long long)sum);
        return 0;
    }
    fprintf(stderr, "usage: bench_memory_storm storm|live|chain [MILLIONS]\n");
    return 2;
}
