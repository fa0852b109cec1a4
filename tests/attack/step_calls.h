/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Recording calls of every kind, one after the other, as a program makes them:
 * what attack_step.c and attack_handlers.c walk through. Each leaves at least one
 * event in the timeline.
 *
 * The caller makes step_track first, and has another thread start "x:cross" once
 * for each time that all are called. */
#ifndef AXP_STEP_CALLS_H
#define AXP_STEP_CALLS_H
#include "axprof/axprof.h"

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

#endif
