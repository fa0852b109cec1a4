/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Handlers that do what hurts most, wherever they come: attack_handlers.c.
 *
 * Each tells how many scopes it began; all of them have names with "h:". What a
 * handler records is there or, where it found its thread inside a recording call,
 * dropped and counted. */
#ifndef AXP_TEST_HANDLER_KINDS_H
#define AXP_TEST_HANDLER_KINDS_H
#include <setjmp.h>

#include "stress_check.h"

#define HANDLER_DEPTH 40u /* more than the frames that a lane begins with … */
#define HANDLER_DEEPER 300u /* … and than those that follow */
#define HANDLER_NAMES 200u
#define HANDLER_FILLS 2100u /* more than the words of a chunk */

struct handler {
    const char *name;
    void (*run)(void);
    bool is_grown; /* the frames have moved before, once */
    bool leaves_open;
    bool jumps;
};

static sigjmp_buf handler_back;
static volatile uint64_t handler_scopes;
static pid_t handler_child;

static void handle_one(void)
{
    static uint32_t site;
    handler_scopes++;
    axp_end(axp_begin_site(&site, "h:one\0handler.c\0001"));
}

/* In line with itself it would seem to have been left by a jump. */
__attribute__((noinline)) static void nest(unsigned depth)
{
    static uint32_t site;
    if (!depth) return;
    handler_scopes++;
    uint64_t token = axp_begin_site(&site, "h:deep\0handler.c\0001");
    nest(depth - 1);
    if (token) axp_end(token); /* as AXP_SCOPE does; others do not ask */
}

/* All frames move to a larger memory, and the hash may. */
static void handle_deep(void)
{
    nest(HANDLER_DEPTH);
}

/* What they move from was mapped, too. */
static void handle_deeper(void)
{
    nest(HANDLER_DEEPER);
}

/* The hash moves, and the thread's cache of names has others. */
static void handle_names(void)
{
    static char names[HANDLER_NAMES][16];
    for (unsigned i = 0; i < HANDLER_NAMES; i++) {
        snprintf(names[i], sizeof names[i], "h:name %u", i);
        handler_scopes++;
        axp_end(axp_begin(axp_global(), names[i]));
    }
}

/* The lane gets another chunk. */
static void handle_fill(void)
{
    for (unsigned i = 0; i < HANDLER_FILLS; i++)
        axp_instant(axp_global(), "h:fill");
}

/* A little of everything that changes what others look at. */
static void handle_all(void)
{
    static char block[64];
    axp_profiler *p = axp_global();
    const axp_work work = {.flops = 3, .dims = {5, 6}};
    static uint32_t site;
    handler_scopes += 2;
    axp_start(p, "h:named");
    axp_record_alloc(p, "h:memory", 100);
    axp_track_alloc(p, "h:block", block, sizeof block);
    axp_end(axp_begin_site_work(&site, "h:dims\0handler.c\0001", &work,
                                sizeof work));
    axp_counter(p, "h:counter", 1);
    axp_track_free(p, block);
    axp_record_free(p, "h:memory", 100);
    axp_stop(p, "h:named");
}

/* The innermost scope is another from now on. */
static void handle_open(void)
{
    handler_scopes++;
    axp_start(axp_global(), "h:open");
}

/* A child that records and ends. */
static void handle_fork(void)
{
    int status, keep = errno;
    pid_t pid = fork();
    if (!pid) {
        handle_one();
        _exit(0);
    }
    if (waitpid(pid, &status, 0) != pid || status) handler_child = pid;
    errno = keep;
}

static void handle_jump(void)
{
    siglongjmp(handler_back, 1);
}

static void handle_deep_jump(void)
{
    nest(HANDLER_DEPTH);
    siglongjmp(handler_back, 1);
}

static const struct handler handlers[] = {
    {.name = "one", .run = handle_one},
    {.name = "deep", .run = handle_deep},
    {.name = "deeper", .run = handle_deeper, .is_grown = true},
    {.name = "names", .run = handle_names},
    {.name = "fill", .run = handle_fill},
    {.name = "all", .run = handle_all},
    {.name = "open", .run = handle_open, .leaves_open = true},
    {.name = "fork", .run = handle_fork},
    {.name = "jump", .run = handle_jump, .jumps = true},
    {.name = "deep_jump", .run = handle_deep_jump, .jumps = true},
};
#define N_HANDLERS (sizeof handlers / sizeof *handlers)

#endif
