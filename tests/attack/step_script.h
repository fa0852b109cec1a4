/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What attack_step.c watches: recording calls one after the other, each once
 * the slow way (first use, new chunk, out of order) and once the hot way.
 *
 * Between calls the child stops itself. Whoever traces it lets it go on
 * instruction by instruction until `n_done` says that the call has returned. */
#ifndef AXP_STEP_SCRIPT_H
#define AXP_STEP_SCRIPT_H
#include <pthread.h>
#include <time.h>

#include "record/record_lane.h"
#include "step_calls.h"
#include "stress_check.h"

struct step_shared { /* a file that both have mapped */
    uint64_t n_done; /* calls that have returned */
    uint64_t is_over;
    uint64_t name_is_ready;
};

static struct step_shared *step_shared;

#define STEP_ROUNDS 3 /* first use; hot; across the end of a chunk */

/* ---- the child -------------------------------------------------------------------- */

/* Another thread's scope for each round, for a stop from here. */
static void *step_other(void *arg)
{
    for (int i = 0; i < STEP_ROUNDS; i++)
        axp_start(P, "x:cross");
    __atomic_store_n(&step_shared->name_is_ready, 1, __ATOMIC_RELEASE);
    for (;;)
        pause();
    return arg;
}

static void step_busy(uint64_t ticks)
{
    uint64_t until = axp__clock_ticks() + ticks;
    while (axp__clock_ticks() < until)
        continue;
}

/* Every duration up to seconds has its bucket then, so that a scope that is
 * stepped through ends the hot way. */
static void step_warm(void)
{
    for (uint64_t ticks = 512; ticks < (uint64_t)1 << 31; ticks *= 2) {
        for (int round = 0; round < 2; round++) {
            begin_outer();
            begin_inner();
            begin_flops();
            begin_dims();
            begin_in();
            start_a();
            if (round) step_busy(ticks);
            stop_a();
            end_in();
            end_dims();
            end_flops();
            end_inner();
            end_outer();
        }
        start_b();
        alloc_name();
        free_name();
        count();
        alloc_block();
        free_block();
        stop_b();
    }
}

/* Leaves room for a few words in the chunk. */
static void step_fill(void)
{
    const struct axp__lane *lane = axp__tls->global;
    while (lane->end - lane->cur > 5)
        axp_instant(P, "fill");
}

/* As in a chunk that was used before: events, behind the words that are new. */
static void step_stale(void)
{
    const struct axp__lane *lane = axp__tls->global;
    for (uint64_t *w = lane->cur + 1; w < lane->end; w++)
        *w = lane->words[0];
}

static void step_child(void)
{
    pthread_t other;
    CHECK(!pthread_create(&other, NULL, step_other, NULL));
    while (!__atomic_load_n(&step_shared->name_is_ready, __ATOMIC_ACQUIRE))
        sched_yield();
    axp_instant(P, "first"); /* opens the files */
    step_track = axp_track_create(P, "device");
    CHECK(step_track != NULL);
    for (int round = 0; round < STEP_ROUNDS; round++) {
        if (round == 1) step_warm();
        if (round == 2) step_fill();
        step_stale();
        for (size_t i = 0; i < STEP_CALLS; i++) {
            raise(SIGSTOP);
            step_calls[i]();
            __atomic_store_n(&step_shared->n_done, step_shared->n_done + 1,
                             __ATOMIC_RELEASE);
        }
    }
    step_shared->is_over = 1;
    raise(SIGSTOP);
    _exit(0);
}

#endif
