/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* States of threads added up; see sampling_states.h. */
#include "sampling/sampling_states.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/os_apart.h"
#include "sampling/sampling_tasks.h"
#include "sampling/sampling_woken.h"
#include "wire/wire_states.h"

#define LIMIT 65536u /* threads that have a record of their own */
#define WORTH_NS 10000u
#define MANY 262144u

struct thread {
    struct thread *next;            /* of its slot */
    struct axp__thread_states sums; /* begin and end in ns */
    enum axp__thread_state state;
    uint64_t since_ns;
    bool is_apart; /* none of the program's (os_apart.h) */
    bool is_ours;  /* it waits for one of those, until it runs again */
    uint32_t by;   /* who made it; 0: not known */
    bool is_fresh; /* a process that has not run long enough to say so */
    struct axp__off first; /* … its first time off; end 0: none */
    struct axp__woken woken;
    uint64_t *frames; /* that it left its processor with, if n_frames */
    size_t n_frames;
};

struct axp__states {
    struct axp__states_to to;
    struct thread *slot[4096];
    uint32_t n_given;
    uint64_t worth_ns; /* a time off that is told */
    size_t n_kept;     /* times off that are told later */
    uint32_t n_off;    /* that were told since it was doubled */
    uint64_t last_ns;  /* of all records */
    bool has_lost;     /* some of them */
    struct axp__thread_states rest;
};

struct axp__states *axp__states_create(const struct axp__states_to *to)
{
    struct axp__states *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->to = *to;
    s->worth_ns = WORTH_NS;
    return s;
}

static void drop(struct thread *t)
{
    axp__woken_drop(&t->woken);
    free(t->frames);
    free(t);
}

void axp__states_destroy(struct axp__states *s)
{
    if (!s) return;
    for (size_t i = 0; i < sizeof s->slot / sizeof *s->slot; i++)
        for (struct thread *t = s->slot[i], *next; t; t = next) {
            next = t->next;
            drop(t);
        }
    free(s);
}

static struct thread **place_of(struct axp__states *s, uint32_t tid)
{
    struct thread **at = &s->slot[tid & 4095];
    while (*at && (*at)->sums.tid != tid)
        at = &(*at)->next;
    return at;
}

static void give_off(void *ctx, const struct axp__off *off)
{
    struct axp__states *s = ctx;
    if (++s->n_off == MANY) {
        s->n_off = 0;
        s->worth_ns *= 2;
    }
    s->to.off(s->to.ctx, off);
}

static struct axp__woken_to worth_of(struct axp__states *s)
{
    return (struct axp__woken_to){s->worth_ns, &s->n_kept, give_off, s};
}

static void keep_off(struct axp__states *s, struct thread *t,
                     const struct axp__off *off)
{
    struct axp__woken_to to = worth_of(s);
    axp__woken_off(&t->woken, off, &to);
}

static void tell_off(struct axp__states *s, struct thread *t, uint64_t now_ns)
{
    struct axp__off off = {.process = t->sums.process,
                           .tid = t->sums.tid,
                           .begin_ns = t->since_ns,
                           .end_ns = now_ns,
                           .is_ready = t->state == AXP__THREAD_READY,
                           .frames = t->frames,
                           .n_frames = t->n_frames};
    if (t->is_apart || t->is_ours || now_ns < t->since_ns) return;
    if (!t->is_fresh) {
        keep_off(s, t, &off);
        return;
    }
    t->first = off;
    t->first.n_frames = 0; /* they are gone when it is told */
}

/* It is known now whose it is. */
static void settle(struct axp__states *s, struct thread *t)
{
    if (t->is_fresh && t->first.end_ns && !t->is_apart)
        keep_off(s, t, &t->first);
    t->is_fresh = false;
}

/* What it did until now is added to what it was in. */
static void enter(struct axp__states *s, struct thread *t,
                  enum axp__thread_state state, uint64_t now_ns)
{
    bool is_off =
        t->state == AXP__THREAD_READY || t->state == AXP__THREAD_WAITS;
    if (is_off && state != t->state) {
        tell_off(s, t, now_ns);
        t->n_frames = 0;
        t->is_ours = false;
    }
    uint64_t ns = now_ns > t->since_ns ? now_ns - t->since_ns : 0;
    switch (t->state) {
    case AXP__THREAD_RUNS: t->sums.ran_ns += ns; break;
    case AXP__THREAD_READY: t->sums.ready_ns += ns; break;
    case AXP__THREAD_WAITS: t->sums.waited_ns += ns; break;
    default: break;
    }
    t->state = state;
    t->since_ns = now_ns;
}

static void add_rest(struct axp__states *s, const struct axp__thread_states *of)
{
    struct axp__thread_states *to = &s->rest;
    if (!to->end_ticks || of->begin_ticks < to->begin_ticks)
        to->begin_ticks = of->begin_ticks;
    if (of->end_ticks > to->end_ticks) to->end_ticks = of->end_ticks;
    to->ran_ns += of->ran_ns;
    to->ready_ns += of->ready_ns;
    to->waited_ns += of->waited_ns;
}

static void end(struct axp__states *s, struct thread **at, uint64_t now_ns)
{
    struct thread *t = *at;
    struct axp__woken_to to = worth_of(s);
    settle(s, t);
    enter(s, t, AXP__THREAD_UNKNOWN, now_ns);
    axp__woken_end(&t->woken, &to);
    t->sums.end_ticks = now_ns;
    if (t->is_apart) {
        /* nobody is told */
    } else if (s->n_given < LIMIT) {
        s->n_given++;
        s->to.end(s->to.ctx, &t->sums);
    } else {
        add_rest(s, &t->sums);
    }
    *at = t->next;
    drop(t);
}

/* Whoever made one that is ours waits for it. */
static void set_apart(struct axp__states *s, struct thread *t, bool is_apart)
{
    struct thread *by = *place_of(s, t->by);
    t->is_apart = is_apart;
    if (is_apart && by && by != t) by->is_ours = true;
}

static void set_name(struct thread *t, const char *name)
{
    snprintf(t->sums.name, sizeof t->sums.name, "%s", name);
}

/* One that is new is called as the first thread of its process. Who was there
 * before has wanted to run before, nobody knows how long: not the first program of
 * all either, which has become one and waited for that. */
static struct thread *get(struct axp__states *s,
                          const struct axp__perf_record *r)
{
    struct thread **at = place_of(s, r->tid);
    if (*at) return *at;
    struct thread *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    const struct thread *of = *place_of(s, r->pid);
    if (of) set_name(t, of->sums.name);
    t->sums.process = r->pid;
    t->sums.tid = r->tid;
    t->sums.begin_ticks = r->time_ns;
    t->since_ns = r->time_ns;
    t->woken.is_unknown = r->type != PERF_RECORD_FORK;
    return *at = t;
}

/* A process is what made it until it becomes another program, if it does. */
static void inherit(struct axp__states *s, struct thread *t,
                    const struct axp__perf_record *r)
{
    const struct thread *by = *place_of(s, r->fork.by);
    t->by = r->fork.by;
    if (!by || by == t) by = *place_of(s, r->fork.parent);
    if (by && by != t && !t->sums.name[0]) set_name(t, by->sums.name);
}

/* A thread that calls exec takes the place of the first, and all others are
 * gone without a word. */
static void end_others(struct axp__states *s, const struct axp__perf_record *r)
{
    for (size_t i = 0; i < sizeof s->slot / sizeof *s->slot; i++)
        for (struct thread **at = &s->slot[i]; *at;)
            if ((*at)->sums.process == r->pid && (*at)->sums.tid != r->tid)
                end(s, at, r->time_ns);
            else
                at = &(*at)->next;
}

/* Records are missing: what threads did since their last one is not known, nor
 * what they do until the next. */
static void forget(struct axp__states *s, uint64_t now_ns)
{
    struct axp__woken_to to = worth_of(s);
    s->has_lost = true;
    for (size_t i = 0; i < sizeof s->slot / sizeof *s->slot; i++)
        for (struct thread *t = s->slot[i]; t; t = t->next) {
            t->state = AXP__THREAD_UNKNOWN;
            t->since_ns = now_ns;
            t->n_frames = 0;
            t->is_ours = false;
            axp__woken_forget(&t->woken, &to);
        }
}

void axp__states_look(struct axp__states *s, const struct axp__tasks *tasks)
{
    struct axp__woken_to to = worth_of(s);
    for (size_t i = 0; i < sizeof s->slot / sizeof *s->slot; i++)
        for (struct thread *t = s->slot[i]; t; t = t->next) {
            struct axp__task_look look =
                axp__tasks_look_of(tasks, t->sums.process, t->sums.tid);
            if (look.at_ns > t->sums.begin_ticks)
                axp__woken_look(&t->woken, look.at_ns, look.ready_ns, &to);
        }
}

void axp__states_leaves(struct axp__states *s, uint64_t tid,
                        const uint64_t *frames, size_t n)
{
    struct thread *t = *place_of(s, (uint32_t)tid);
    uint64_t *kept = t && n ? realloc(t->frames, n * sizeof *kept) : NULL;
    if (!kept) return;
    memcpy(kept, frames, n * sizeof *kept);
    t->frames = kept;
    t->n_frames = n;
}

/* One that was met at work has run until then. */
static void meet(struct axp__states *s, const struct axp__perf_record *r)
{
    struct thread *t = *place_of(s, r->tid);
    if (t && t->state == AXP__THREAD_RUNS && r->time_ns > t->since_ns)
        enter(s, t, AXP__THREAD_RUNS, r->time_ns);
}

void axp__states_take(struct axp__states *s, const struct axp__perf_record *r)
{
    struct thread *t;
    struct thread **at;
    if (r->time_ns > s->last_ns) s->last_ns = r->time_ns;
    switch (r->type) {
    case PERF_RECORD_SAMPLE: meet(s, r); break;
    case PERF_RECORD_FORK:
        at = place_of(s, r->tid);
        if (*at) end(s, at, r->time_ns); /* the end of another was missed */
        t = get(s, r);
        if (t) inherit(s, t, r);
        if (t) t->state = AXP__THREAD_READY;
        if (t) t->is_fresh = r->pid == r->tid;
        break;
    case PERF_RECORD_EXIT:
        at = place_of(s, r->tid);
        if (*at) end(s, at, r->time_ns);
        break;
    case PERF_RECORD_COMM:
        if (r->comm.is_exec) end_others(s, r);
        t = get(s, r);
        if (t) set_name(t, r->comm.name);
        if (t) set_apart(s, t, axp__apart_is(r->comm.name));
        if (t) settle(s, t);
        if (t && r->comm.is_exec && !t->state) t->state = AXP__THREAD_RUNS;
        break;
    case PERF_RECORD_SWITCH:
        t = get(s, r);
        if (t && r->turn.is_out) settle(s, t);
        if (t)
            enter(s, t,
                  !r->turn.is_out        ? AXP__THREAD_RUNS
                  : r->turn.is_preempted ? AXP__THREAD_READY
                                         : AXP__THREAD_WAITS,
                  r->time_ns);
        break;
    case PERF_RECORD_LOST: forget(s, r->time_ns); break;
    default: break;
    }
}

/* Where records were lost, ends of threads may be among them. */
void axp__states_end(struct axp__states *s, uint64_t now_ns)
{
    if (s->has_lost && s->last_ns < now_ns) now_ns = s->last_ns;
    for (size_t i = 0; i < sizeof s->slot / sizeof *s->slot; i++)
        while (s->slot[i])
            end(s, &s->slot[i], now_ns);
    if (s->rest.end_ticks) s->to.end(s->to.ctx, &s->rest);
}
