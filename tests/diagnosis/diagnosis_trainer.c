/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A trainer of two threads, healthy or with one fault.
 *
 *   diagnosis_trainer FAULT
 *
 * Both threads do half of each step's work and meet at its end. A fault changes
 * one thing and no other: the healthy one does the same work without it. Work is
 * a fixed number of dependent additions, so that it takes the same processor
 * time whatever goes on around it. Prints how many seconds the run took, and for
 * how many its threads wanted a processor and had none. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <axprof/axprof.h>

#define UNIT 500000 /* additions: about 0.2 ms */
#define STEPS 64
#define N_TINY 4000
#define SCRATCH ((size_t)4 << 20)

static const char *const faults[] = {"none", "lock",  "imbalance",
                                     "read", "churn", "growth",
                                     "slow", "calls", "serial"};
static const char *fault = "none";
static volatile uint64_t sink;
static pthread_barrier_t barrier;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int timer;
static _Atomic uint64_t starved_ns;

static bool is(const char *name)
{
    return !strcmp(fault, name);
}

static void spin(double units)
{
    uint64_t x = sink, n = (uint64_t)(units * UNIT);
    for (uint64_t i = 0; i < n; i++) {
        x += i;
        __asm__ volatile("" : "+r"(x)); /* it is not taken together */
    }
    sink = x;
}

static void operation(const char *name, double units)
{
    uint64_t scope = axp_begin(axp_global(), name);
    spin(units);
    axp_end(scope);
}

/* ---- what may be at fault ------------------------------------------------------- */

/* Both add to one gradient: under one lock, or each to its part. */
static void reduce(void)
{
    if (is("lock")) pthread_mutex_lock(&lock);
    operation("reduce", 2.5);
    if (is("lock")) pthread_mutex_unlock(&lock);
}

/* A batch that is not there when it is asked for. */
static void load_batch(void)
{
    AXP_SCOPE("load_batch");
    axp_category(axp_global(), AXP_CAT_DATA);
    uint64_t n;
    struct itimerspec in = {.it_value = {0, 2000000}};
    if (timerfd_settime(timer, 0, &in, NULL)) abort();
    if (read(timer, &n, sizeof n) != sizeof n) abort();
}

/* Room for what a step computes: new each time, or kept. */
static void use_scratch(void)
{
    static __thread char *kept;
    char *scratch = kept ? kept : malloc(SCRATCH);
    if (!scratch) abort();
    for (size_t i = 0; i < SCRATCH && (is("churn") || !kept); i += 4096)
        scratch[i] = 1;
    if (is("churn"))
        free(scratch);
    else
        kept = scratch;
}

struct loss {
    struct loss *before;
    char graph[(size_t)256 << 10];
};

/* Losses with all that they were computed from, of which one number is
 * wanted. */
static void keep_loss(void)
{
    static struct loss *last;
    struct loss *l = malloc(sizeof *l);
    if (!l) abort();
    memset(l->graph, 1, sizeof l->graph);
    l->before = last;
    if (is("growth"))
        last = l;
    else
        free(l);
}

/* The same sum in one call, or in thousands. */
static void activate(void)
{
    if (!is("calls")) {
        operation("activate", 1);
        return;
    }
    for (int i = 0; i < N_TINY; i++) {
        AXP_SCOPE("activate");
        spin(3.0 / N_TINY);
    }
}

/* The weights: each thread its half, or one thread all while the other waits. */
static void update(int me)
{
    if (!is("serial")) {
        operation("update", 2);
        return;
    }
    pthread_barrier_wait(&barrier);
    if (me == 0) operation("update", 4);
    pthread_barrier_wait(&barrier);
}

/* ---- the trainer ------------------------------------------------------------------ */

static void step(int me)
{
    double part = !is("imbalance") ? 1 : me ? 0.2 : 1.8;
    if (is("read") && me == 0) load_batch();
    if (is("read")) pthread_barrier_wait(&barrier);
    use_scratch();
    operation("embed", 2 * part);
    operation("attention", (is("slow") ? 12 : 2) * part);
    operation("mlp", 2 * part);
    activate();
    operation("mlp.backward", 2 * part);
    operation("attention.backward", 2 * part);
    reduce();
    update(me);
    if (me == 0) keep_loss();
    pthread_barrier_wait(&barrier);
    if (me == 0) axp_step(axp_global());
}

static void add_starved(void)
{
    unsigned long long ran, starved;
    FILE *f = fopen("/proc/thread-self/schedstat", "r");
    if (f && fscanf(f, "%llu %llu", &ran, &starved) == 2) starved_ns += starved;
    if (f) fclose(f);
}

static void *worker(void *unused)
{
    for (int i = 0; i < STEPS; i++)
        step(1);
    add_starved();
    return unused;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    size_t n = 0;
    fault = argc > 1 ? argv[1] : fault;
    while (n < sizeof faults / sizeof *faults && !is(faults[n]))
        n++;
    if (n == sizeof faults / sizeof *faults) return 2;
    timer = timerfd_create(CLOCK_MONOTONIC, 0);
    pthread_barrier_init(&barrier, NULL, 2);
    double began = now();
    if (pthread_create(&thread, NULL, worker, NULL)) return 1;
    for (int i = 0; i < STEPS; i++)
        step(0);
    pthread_join(thread, NULL);
    double took = now() - began;
    add_starved();
    printf("%.6f %.6f\n", took, 1e-9 * (double)starved_ns);
    return 0;
}
