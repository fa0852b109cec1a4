/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What it costs to hand work to all threads and wait for them, and to have them
 * wait for each other, by POSIX threads. */
#include <pthread.h>

#include "machine/machine_item.h"

#define BATCHES 12
#define BATCH 50

static void do_nothing(void *ctx, uint32_t thread)
{
    (void)ctx;
    (void)thread;
}

static void pass_barrier(void *ctx, uint32_t thread)
{
    (void)thread;
    for (int i = 0; i < BATCH; i++)
        pthread_barrier_wait(ctx);
}

static void least(double *of, double ns)
{
    if (ns > 0 && (*of == 0 || ns < *of)) *of = ns;
}

void axp__threads_measure(struct axp__items *s, struct axp__machine *m)
{
    pthread_barrier_t barrier;
    uint32_t n = axp__crew_size(s->crew);
    if (n < 2 || pthread_barrier_init(&barrier, NULL, n)) return;
    for (int i = 0; i < BATCHES; i++) {
        if (axp__items_tell(s, 1, "threads")) break;
        double began = axp__crew_now();
        for (int k = 0; k < BATCH; k++)
            axp__crew_run(s->crew, n, do_nothing, NULL);
        least(&m->fork_join_ns, (axp__crew_now() - began) / BATCH * 1e9);
        least(&m->barrier_ns,
              axp__crew_run(s->crew, n, pass_barrier, &barrier) / BATCH * 1e9);
    }
    pthread_barrier_destroy(&barrier);
}
