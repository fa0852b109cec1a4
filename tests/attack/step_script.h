/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What attack_step.c watches: recording calls one after the other, each once
 * the slow way (first use, new chunk, out of order) and once the hot way.
 *
 * Between calls the child stops itself. Whoever traces it lets it go on
 * instruction by instruction until `n_done` says that the call has returned.
 * Every call leaves at least one event in the timeline. */
#ifndef AXP_STEP_SCRIPT_H
#define AXP_STEP_SCRIPT_H
#include <pthread.h>
#include <time.h>

#include "record/record_lane.h"
#include "stress_check.h"

struct step_shared { /* a file that both have mapped */
    uint64_t n_done; /* calls that have returned */
    uint64_t is_over;
    uint64_t name_is_ready;
};

static struct step_shared *step_shared;
static uint64_t step_token[8];
static char step_block[64];
static axp_track *step_track;

#define P axp_global()
#define BEGIN(i, name)                                                         \
    static uint32_t site;                                                      \
    step_token[i] = axp_begin_site(&site, name "\0step.c\0001")

static void begin_outer(void)
{
    BEGIN(0, "s:outer");
}
static void begin_inner(void)
{
    BEGIN(1, "s:inner");
}
static void begin_skipped(void)
{
    BEGIN(2, "s:skipped");
}
static void begin_flops(void)
{
    static uint32_t site;
    step_token[3] = axp__scope_begin_flops(&site, "s:flops\0step.c\0001", 1e6,
                                           3e3, AXP_F32);
}
static void begin_dims(void)
{
    static uint32_t site;
    const axp_work work = {.flops = 7, .dims = {2, 3, 4}};
    step_token[4] =
        axp__scope_begin_work(&site, "s:dims\0step.c\0001", &work, sizeof work);
}
static void begin_in(void)
{
    step_token[5] = axp_begin(P, "s:in");
}
static void end_outer(void)
{
    axp_end(step_token[0]);
}
static void end_inner(void)
{
    axp_end(step_token[1]);
}
static void end_flops(void)
{
    axp_end(step_token[3]);
}
static void end_dims(void)
{
    axp_end(step_token[4]);
}
static void end_in(void)
{
    axp_end(step_token[5]);
}
static void start_a(void)
{
    axp_start(P, "s:a");
}
static void start_b(void)
{
    axp_start(P, "s:b");
}
static void start_work(void)
{
    axp_start_work(P, "s:w", (axp_work){.flops = 5, .bytes = 8});
}
static void stop_a(void)
{
    axp_stop(P, "s:a");
}
static void stop_b(void)
{
    axp_stop(P, "s:b");
}
static void stop_work(void)
{
    axp_stop(P, "s:w");
}
static void alloc_name(void)
{
    axp_record_alloc(P, "m:name", 1000);
}
static void free_name(void)
{
    axp_record_free(P, "m:name", 600);
}
static void alloc_block(void)
{
    axp_track_alloc(P, "m:block", step_block, sizeof step_block);
}
static void free_block(void)
{
    axp_track_free(P, step_block);
}
/* A new stack, and one that is known. */
#define STEP_FRAMES 5u
static void alloc_stack(void)
{
    static uintptr_t n;
    void *frames[STEP_FRAMES];
    for (uintptr_t i = 0; i < STEP_FRAMES; i++)
        frames[i] = (void *)(4096 * (n / 2 + 1) + i);
    n++;
    axp_record_alloc_ex(P, &(axp_alloc){.name = "m:stack",
                                        .bytes = 4096 * (n / 2 + n % 2),
                                        .stack = frames,
                                        .n_frames = STEP_FRAMES});
}
static void count(void)
{
    static double value = 0.5;
    axp_counter(P, "c:loss", value += 0.25);
}
static void mark_step(void)
{
    axp_step(P);
}
static void tell(void)
{
    axp_event(P, "text", AXP_EVENT_INSTANT, "a longer text of some words");
}
static void async_begin(void)
{
    axp_async_begin(P, "async", 7);
}
static void async_end(void)
{
    axp_async_end(P, "async", 7);
}
static void stop_cross(void)
{
    axp_stop(P, "x:cross");
}

static void span_at(void)
{
    axp_ns now = axp_now(P);
    axp_track_span(step_track, "t:span", now, now + 100,
                   &(axp_work){.flops = 3, .dtype = AXP_F64});
}
static void alloc_at(void)
{
    axp_track_alloc_at(step_track, "m:device", 4096, 300, axp_now(P));
}
static void free_at(void)
{
    axp_track_free_at(step_track, 4096, axp_now(P));
}
static void instant(void)
{
    axp_instant(P, "instant");
}

static void (*const step_calls[])(void) = {
    begin_outer, alloc_name,    begin_inner, begin_flops, count,
    end_flops,   begin_dims,    end_dims,    end_inner,   begin_in,
    end_in,      free_name,     start_a,     start_b,     stop_a,
    stop_b,      end_outer,     alloc_block, mark_step,   free_block,
    begin_outer, begin_skipped, end_outer,   tell,        start_work,
    stop_work,   async_begin,   async_end,   stop_cross,  alloc_name,
    span_at,     alloc_at,      instant,     free_at,     alloc_stack,
    alloc_stack,
};
#define STEP_CALLS (sizeof step_calls / sizeof *step_calls)
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
