/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Measured peaks against what is known otherwise: FLOPs a cycle as processors
 * are built, bandwidth by four other loops, a product of OpenBLAS, and the same
 * measurement once more. Each line is a ratio and the bounds that it must keep;
 * status 1: one is missed. It means something on a machine where nothing else
 * runs. */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <axprof/axprof_machine.h>

#define BYTES (96u << 20) /* of a thread's array: far beyond most caches */
#define TRIALS 60
#define SIDE 2048
#define PRODUCTS 24 /* some 6 s on one thread: beside them others may run */

static int n_missed;

static void say(const char *what, double value, double least, double most)
{
    int is_good = value >= least && value <= most;
    printf("%-56s %6.3f  (%.2f to %.2f)%s\n", what, value, least, most,
           is_good ? "" : "  MISSED");
    n_missed += !is_good;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- other loops ---------------------------------------------------------------- */

static double sink;

static double sum(double *restrict a, double *restrict b, size_t n)
{
    double s[8] = {0};
    (void)b;
    for (size_t i = 0; i < n; i += 8)
        for (int k = 0; k < 8; k++)
            s[k] += a[i + (size_t)k];
    for (int k = 1; k < 8; k++)
        s[0] += s[k];
    sink += s[0];
    return (double)n * 8;
}

static double copy(double *restrict a, double *restrict b, size_t n)
{
    memcpy(b, a, n * sizeof *a);
    return (double)n * 16;
}

static double scale(double *restrict a, double *restrict b, size_t n)
{
    (void)b;
    for (size_t i = 0; i < n; i++)
        a[i] *= 1.0000001;
    return (double)n * 16;
}

static double add(double *restrict a, double *restrict b, size_t n)
{
    double *restrict c = b + n / 2;
    for (size_t i = 0; i < n / 2; i++)
        c[i] = a[i] + 2.5 * b[i];
    return (double)n / 2 * 24;
}

struct team {
    double (*loop)(double *, double *, size_t);
    unsigned n;
    atomic_uint here;
    double begin, end, bytes;
    pthread_mutex_t mutex;
};

struct member {
    struct team *team;
    double *a, *b;
};

static void *work(void *ctx)
{
    struct member *m = ctx;
    struct team *t = m->team;
    atomic_fetch_add(&t->here, 1);
    while (atomic_load(&t->here) < t->n)
        continue;
    double begin = now(), bytes = t->loop(m->a, m->b, BYTES / sizeof *m->a);
    double end = now();
    pthread_mutex_lock(&t->mutex);
    if (!t->bytes || begin < t->begin) t->begin = begin;
    if (end > t->end) t->end = end;
    t->bytes += bytes;
    pthread_mutex_unlock(&t->mutex);
    return NULL;
}

static double run_loop(double (*loop)(double *, double *, size_t),
                       struct member *members, unsigned n)
{
    double best = 0;
    pthread_t threads[1024];
    for (int i = 0; i < TRIALS; i++) {
        struct team t = {
            .loop = loop, .n = n, .mutex = PTHREAD_MUTEX_INITIALIZER};
        for (unsigned k = 0; k < n; k++) {
            members[k].team = &t;
            if (pthread_create(&threads[k], NULL, work, &members[k])) exit(2);
        }
        for (unsigned k = 0; k < n; k++)
            pthread_join(threads[k], NULL);
        best = fmax(best, t.bytes / (t.end - t.begin));
    }
    return best;
}

/* In large pages where they can be had, as whoever wants all of the bandwidth
 * takes them: of 4 KiB a thread of a Neoverse V1 copies 49.7 GB/s, of 2 MiB
 * 56.1. */
static void *array(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) exit(2);
    (void)madvise(at, bytes, MADV_HUGEPAGE);
    memset(at, 0, bytes);
    return at;
}

static double best_loop(unsigned n)
{
    double (*const loops[])(double *, double *, size_t) = {sum, copy, scale,
                                                           add};
    static const char *const names[] = {"sum", "copy", "scale", "add"};
    struct member *members = calloc(n, sizeof *members);
    double best = 0;
    for (unsigned i = 0; i < n; i++) {
        members[i].a = array(BYTES);
        members[i].b = array(BYTES);
    }
    for (int i = 0; i < 4; i++) {
        double rate = run_loop(loops[i], members, n);
        printf("  %u %-7s %-5s %7.1f GB/s\n", n, n == 1 ? "thread" : "threads",
               names[i], rate / 1e9);
        best = fmax(best, rate);
    }
    for (unsigned i = 0; i < n; i++) {
        munmap(members[i].a, BYTES);
        munmap(members[i].b, BYTES);
    }
    free(members);
    return best;
}

/* ---- BLAS ----------------------------------------------------------------------- */

/* Of one thread its processor time: something else may run beside a product
 * that takes long. */
static double cpu_now(int threads)
{
    struct timespec t;
    clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* On so many threads; 0: there is none. */
static double product(int threads)
{
    void (*sgemm)(const char *, const char *, const int *, const int *,
                  const int *, const float *, const float *, const int *,
                  const float *, const int *, const float *, float *,
                  const int *);
    void (*set_threads)(int);
    void *library = dlopen("libopenblas.so.0", RTLD_NOW);
    void *found = library ? dlsym(library, "sgemm_") : NULL;
    void *set = library ? dlsym(library, "openblas_set_num_threads") : NULL;
    if (!found || !set) return 0;
    memcpy(&sgemm, &found, sizeof found);
    memcpy(&set_threads, &set, sizeof set);
    set_threads(threads);
    int n = SIDE;
    /* in large pages too: 0.74 of the roof of a Neoverse V1, not 0.72 */
    float one = 1, zero = 0, *m = array(3u * SIDE * SIDE * sizeof *m);
    double best = 0;
    for (int i = 0; i < 2 * SIDE * SIDE; i++)
        m[i] = (float)(i % 7) * 0.25f;
    for (int i = 0; i < PRODUCTS; i++) {
        double began = cpu_now(threads);
        sgemm("N", "N", &n, &n, &n, &one, m, &n, m + SIDE * SIDE, &n, &zero,
              m + 2 * SIDE * SIDE, &n);
        best =
            fmax(best, 2.0 * SIDE * SIDE * SIDE / (cpu_now(threads) - began));
    }
    munmap(m, 3u * SIDE * SIDE * sizeof *m);
    return best;
}

/* ---- all ------------------------------------------------------------------------ */

static axp_peak f32_of(const axp_machine *m)
{
    axp_peak peaks[64], best = {0};
    size_t n = axp_machine_peaks(m, peaks, 64);
    for (size_t i = 0; i < n && i < 64; i++)
        if (peaks[i].dtype == AXP_F32 && peaks[i].all_flops > best.all_flops)
            best = peaks[i];
    return best;
}

static axp_bandwidth memory_of(const axp_machine *m)
{
    axp_bandwidth all[8], memory = {0};
    size_t n = axp_machine_bandwidths(m, all, 8);
    for (size_t i = 0; i < n && i < 8; i++)
        if (all[i].level == AXP_LEVEL_MEMORY) memory = all[i];
    return memory;
}

int main(void)
{
    axp_machine *m = axp_machine_measure(NULL), *again;
    again = axp_machine_measure(NULL);
    if (!m || !again) return 2;
    axp_machine_write(m, AXP_FORMAT_TEXT, stdout);
    axp_peak peak = f32_of(m), second = f32_of(again);
    axp_bandwidth memory = memory_of(m), twice = memory_of(again);
    double hz = axp_machine_hz(m);
    unsigned threads = axp_machine_threads(m);
    /* Units times lanes times 2 is a power of two in every processor yet. */
    double cycle = exp2(round(log2(peak.one_flops / hz)));
    printf("\nf32: %.0f FLOP a cycle\n", cycle);
    say("f32 of one thread, of frequency x FLOP a cycle",
        peak.one_flops / hz / cycle, 0.9, 1.02);
    say("f32 of all threads, of threads x that",
        peak.all_flops / hz / cycle / threads, 0.9, 1.02);
    say("f32 of all threads, again", second.all_flops / peak.all_flops, 0.95,
        1.05);
    say("memory of all threads, again", twice.all_bytes / memory.all_bytes,
        0.95, 1.05);
    say("memory of one thread, of the best of four other loops",
        memory.one_bytes / best_loop(1), 0.95, 1.1);
    if (threads > 1)
        say("memory of all threads, of the best of four other loops",
            memory.all_bytes / best_loop(threads), 0.95, 1.1);
    double one = product(1), all = product((int)threads);
    if (one > 0)
        say("OpenBLAS, 2048 x 2048 x 2048, of the roof of one thread",
            one / peak.one_flops, 0.7, 1.0);
    if (all > 0)
        say("OpenBLAS, 2048 x 2048 x 2048, of the roof of all",
            all / peak.all_flops, 0.7, 1.0);
    axp_machine_destroy(m);
    axp_machine_destroy(again);
    return n_missed > 0;
}
