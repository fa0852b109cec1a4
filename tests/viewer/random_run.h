/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A random run, and what it did: kept beside the calls, so that what comes out
 * of the profiler can be compared with it.
 *
 * Three threads, one after the other, on a clock that is moved by hand: scopes
 * in scopes up to 90 deep, many without duration, many that begin at the tick
 * at which another ends, times far past 32 bits, marks, and named scopes that
 * overlap.
 */
#ifndef AXP_RANDOM_RUN_H
#define AXP_RANDOM_RUN_H
#include "test_support.h"

#define MOST_DEPTH 90 /* and one for what overlaps */
#define THREADS 3

struct kept {
    uint64_t start, dur;
    uint32_t name, depth; /* depth UINT32_MAX: overlaps; - 1: a mark */
    uint32_t thread;
};
#define LOOSE UINT32_MAX
#define MARK (UINT32_MAX - 1)
#define OVER (1u << 30)

struct run {
    axp_profiler *p;
    uint64_t seed, created_ns;
    struct kept *all;
    size_t n, cap;
    uint32_t thread;
    size_t n_wanted, end;
    unsigned n_names;
    bool is_deep;
};

static uint64_t roll(struct run *r, uint64_t n)
{
    return ts_random(&r->seed) % n;
}

static uint64_t now(const struct run *r)
{
    return ts_read_fake() - r->created_ns;
}

static size_t keep(struct run *r, uint32_t name, uint32_t depth)
{
    if (r->n == r->cap) {
        r->cap = r->cap ? r->cap * 2 : 4096;
        r->all = realloc(r->all, r->cap * sizeof *r->all);
        if (!r->all) abort();
    }
    r->all[r->n] = (struct kept){now(r), 0, name, depth, r->thread};
    return r->n++;
}

static const char *name_of(uint32_t i)
{
    static char text[32];
    snprintf(text, sizeof text, i >= OVER ? "over_%u" : "op_%u",
             i & (OVER - 1));
    return text;
}

/* Often nothing, rarely far past 32 bits of nanoseconds. */
static void pass_time(struct run *r)
{
    uint64_t kind = roll(r, 100);
    if (kind < 30) return;
    ts_tick(kind < 97   ? roll(r, 1 << (roll(r, 20) + 1))
            : kind < 99 ? roll(r, 50000000)
                        : roll(r, (uint64_t)1 << 34));
}

/* Two named scopes of which neither lies in the other: the one that is stopped
 * while the other is open overlaps. */
static void overlap(struct run *r, uint32_t depth)
{
    size_t a = keep(r, OVER + r->thread, LOOSE);
    axp_start(r->p, name_of(r->all[a].name));
    pass_time(r);
    size_t b = keep(r, r->n_names - 1, depth); /* stops last: it nests */
    axp_start(r->p, name_of(r->all[b].name));
    pass_time(r);
    axp_stop(r->p, name_of(r->all[a].name));
    r->all[a].dur = now(r) - r->all[a].start;
    pass_time(r);
    axp_stop(r->p, name_of(r->all[b].name));
    r->all[b].dur = now(r) - r->all[b].start;
}

/* A scope and what is in it; real nesting, since the recorder knows where on
 * the stack a scope began. */
__attribute__((noinline)) static void nest(struct run *r, uint32_t depth)
{
    uint32_t op = (uint32_t)roll(r, r->n_names - 1);
    size_t event = keep(r, op, depth);
    AXP_SCOPE_IN(r->p, name_of(op));
    while (r->n < r->end) {
        uint64_t what = roll(r, 100);
        pass_time(r);
        if (what < (r->is_deep ? 60 : 46) && depth + 1 < MOST_DEPTH)
            nest(r, depth + 1);
        else if (what < 96)
            break;
        else if (what < 98) {
            axp_instant(r->p, "mark");
            keep(r, 0, MARK);
        } else
            overlap(r, depth + 1);
    }
    pass_time(r);
    r->all[event].dur = now(r) - r->all[event].start;
}

static void *run_thread(void *arg)
{
    struct run *r = arg;
    char name[32];
    r->end = r->n + r->n_wanted / THREADS;
    r->is_deep = r->thread == 1;
    snprintf(name, sizeof name, "thread %u", r->thread);
    axp_thread_name(r->p, name);
    while (r->n < r->end) {
        nest(r, 0);
        pass_time(r);
    }
    return NULL;
}

/* All of it into a profiler of its own; the caller destroys r->p and frees
 * r->all. After ts_use_fake_clock. */
static void random_run(struct run *r, uint64_t seed, size_t n)
{
    axp_options o = {.title = "random", .memory_limit = (uint64_t)1 << 30};
    *r = (struct run){.seed = seed * 2654435761u + 1,
                      .created_ns = ts_read_fake(),
                      .n_wanted = n,
                      .n_names = n >= 100000 ? 70000 : 40};
    r->p = axp_profiler_create(&o);
    if (!r->p) abort();
    ts_tick(roll(r, (uint64_t)1 << (roll(r, 3) * 16))); /* before the first */
    for (r->thread = 0; r->thread < THREADS; r->thread++)
        ts_run(run_thread, r);
}

#endif
