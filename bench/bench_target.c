/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Programs that `make bench-run` profiles:
 *
 *   bench_target lines MEGABYTES       lines of a training log on standard
 *                                      output, as printf makes them
 *   bench_target blocks MEGABYTES      bytes on standard output, 64 KiB a write
 *   bench_target scopes MILLIONS SECONDS
 *       so many million scopes a second on one thread, evenly; prints how many
 *       there were and by how much the last one was late
 *   bench_target spin THREADS DEPTH MILLIONS
 *       each thread so many million rounds of a loop, so many calls deep
 *   bench_target gaps THREADS SECONDS
 *       each thread looks at the clock all the time; prints the percentage of
 *       the time that it was kept from it, which how fast the processor is just
 *       then does not change
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <axprof/axprof.h>

#define BATCH 1000u

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int lines(long megabytes)
{
    long bytes = megabytes << 20, done = 0;
    for (long i = 0; done < bytes; i++) {
        double loss = 4.0 / (1.0 + (double)i * 1e-5);
        int n = printf("step %8ld  loss %8.5f  rate %.3e  %6.1f ms\n", i, loss,
                       3e-4 * loss, 100 + loss);
        if (n < 0) return 1;
        done += n;
    }
    return fflush(stdout) != 0;
}

static int blocks(long megabytes)
{
    static char block[1 << 16];
    unsigned x = 1;
    for (size_t i = 0; i < sizeof block; i++)
        block[i] = (char)('a' + (x = x * 1664525u + 1013904223u) % 26);
    for (long i = 0; i < megabytes * 16; i++)
        for (size_t done = 0; done < sizeof block;) {
            ssize_t n = write(1, block + done, sizeof block - done);
            if (n < 0) return 1;
            done += (size_t)n;
        }
    return 0;
}

/* A batch is due every BATCH / rate seconds. */
static int scopes(double millions, double seconds)
{
    double begin = now_s(), late = 0, each = BATCH / (millions * 1e6);
    unsigned long n_batches = (unsigned long)(seconds / each), i;
    for (i = 0; i < n_batches; i++) {
        double due = begin + (double)i * each, now;
        while ((now = now_s()) < due)
            continue;
        if (now - due > late) late = now - due;
        for (unsigned k = 0; k < BATCH / 2; k++) {
            AXP_SCOPE("outer");
            AXP_SCOPE("inner");
        }
    }
    printf("%lu scopes in %.3f s, at most %.3f s late\n", i * BATCH,
           now_s() - begin, late);
    return 0;
}

struct spin {
    int depth;
    long millions;
};

static volatile double sink;

__attribute__((noinline, noipa)) static int spin_below(int depth, long rounds)
{
    if (!depth) {
        double x = 1;
        for (long i = rounds; i > 0; i--)
            x = x * 1.0000001 + 0.1;
        sink = x;
        return 0;
    }
    int below = spin_below(depth - 1, rounds);
    sink = below;
    return below + 1;
}

static void *spin_one(void *arg)
{
    const struct spin *s = arg;
    for (long i = 0; i < 100 * s->millions; i++)
        spin_below(s->depth, 10000);
    return NULL;
}

static int spin(int n_threads, const struct spin *s)
{
    pthread_t threads[64];
    if (n_threads > 64) return 2;
    for (int i = 0; i < n_threads; i++)
        if (pthread_create(&threads[i], NULL, spin_one, (void *)s)) return 1;
    for (int i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

#define GAP 1e-6 /* seconds: far longer than one look takes */

struct gaps {
    double seconds, taken; /* of them */
};

static void *find_gaps(void *arg)
{
    struct gaps *g = arg;
    double begin = now_s(), before = begin, now;
    for (; before - begin < g->seconds; before = now) {
        now = now_s();
        if (now - before > GAP) g->taken += now - before;
    }
    return NULL;
}

static int gaps(int n_threads, double seconds)
{
    pthread_t threads[64];
    struct gaps g[64];
    double taken = 0;
    if (n_threads > 64) return 2;
    for (int i = 0; i < n_threads; i++) {
        g[i] = (struct gaps){seconds, 0};
        if (pthread_create(&threads[i], NULL, find_gaps, &g[i])) return 1;
    }
    for (int i = 0; i < n_threads; i++) {
        pthread_join(threads[i], NULL);
        taken += g[i].taken;
    }
    printf("%.4f\n", taken / seconds / n_threads * 100);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "lines")) return lines(atol(argv[2]));
    if (argc == 3 && !strcmp(argv[1], "blocks")) return blocks(atol(argv[2]));
    if (argc == 4 && !strcmp(argv[1], "scopes"))
        return scopes(atof(argv[2]), atof(argv[3]));
    if (argc == 5 && !strcmp(argv[1], "spin"))
        return spin(atoi(argv[2]),
                    &(struct spin){atoi(argv[3]), atol(argv[4])});
    if (argc == 4 && !strcmp(argv[1], "gaps"))
        return gaps(atoi(argv[2]), atof(argv[3]));
    fprintf(stderr,
            "usage: bench_target lines|blocks MB | scopes MILLIONS "
            "SECONDS | spin THREADS DEPTH MILLIONS | gaps THREADS SECONDS\n");
    return 2;
}
