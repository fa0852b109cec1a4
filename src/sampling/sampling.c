/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sampling other processes, as axprof_file.h has it:
 *
 *   kernel's rings ─► records by time ─┬─► what code is where
 *   sampling_perf, or                  │   sampling_layout, sampling_module
 *   sampling_timer                     │
 *                                      └─► stacks ─► a recording
 *                                          sampling_unwind, sampling_file
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "axprof/axprof_file.h"
#include "axprof/axprof_read.h"
#include "base/base_sized.h"
#include "os/os_apart.h"
#include "os/os_clock.h"
#include "os/os_namespace.h"
#include "record/record_thread.h"
#include "sampling/sampling_file.h"
#include "sampling/sampling_perf.h"
#include "sampling/sampling_states.h"
#include "sampling/sampling_tasks.h"
#include "sampling/sampling_timer.h"
#include "sampling/sampling_toll.h"
#include "sampling/sampling_unwind.h"
#include "wire/wire_stack.h"
#include "wire/wire_states.h"

#define DEFAULT_HZ 997
#define LEAST_HZ 1
#define MOST_HZ 20000
#define MS 1000000u
#define SOONEST (5 * MS)
#define LATEST (200 * MS)
#define A_STEP (20 * MS) /* no step takes much longer */
#define TASKS (50 * MS)  /* what is not known of a thread's end, at most */
#define MAPS_AGAIN (100 * MS)
#define TOLL_LEAST 256u /* threads and processes that were followed */

struct axp_sampling {
    struct axp__perf *perf;
    struct axp__timer *timer; /* instead */
    struct axp__mods mods;
    struct axp__layouts layouts;
    struct axp__sampled *file;
    struct axp__states *states;
    struct axp__tasks *tasks; /* what only /proc knows of threads */
    double hz;
    uint64_t n_followed; /* since they were started by one that is */
    axp_ns interval;
    bool has_news; /* a program has begun: soon its code may be gone */
    axp_sampling_info info;
    struct axp__chains chains;
    uint64_t frames[AXP__STACK_MOST];
};

/* ---- records ------------------------------------------------------------ */

static void take_mapping(axp_sampling *s, const struct axp__perf_record *r)
{
    const struct axp__perf_mapping *m = &r->mapping;
    struct axp__layout *layout = axp__layouts_get(&s->layouts, r->pid);
    if (!layout || !m->is_code) return;
    struct axp__code code = {m->address, m->address + m->bytes, m->offset,
                             axp__mods_get(&s->mods, m)};
    /* What has no file counts by its own addresses. */
    if (code.mod && code.mod->path[0] != '/')
        code.offset = strcmp(code.mod->path, "[vdso]") ? m->address : 0;
    if (code.mod) (void)axp__layout_map(layout, code);
}

static void give_mapping(void *ctx, const struct axp__perf_record *r)
{
    take_mapping(ctx, r);
}

/* Nobody but the kernel's records tells of mappings. */
static void read_layout(axp_sampling *s, struct axp__layout *layout,
                        uint64_t now_ns)
{
    if (layout->read_ns && now_ns - layout->read_ns < MAPS_AGAIN) return;
    layout->read_ns = now_ns;
    (void)axp__maps_each(layout->pid, give_mapping, s);
}

static void take_exec(axp_sampling *s, const struct axp__perf_record *r)
{
    struct axp__layout *layout = axp__layouts_get(&s->layouts, r->pid);
    if (!layout) return;
    axp__layout_clear(layout);
    layout->read_ns = 0;
    layout->has_ended = false; /* its first thread may have */
    layout->is_heard = true;
    s->has_news = true;
    if (s->timer) read_layout(s, layout, r->time_ns);
}

static void take_fork(axp_sampling *s, const struct axp__perf_record *r)
{
    struct axp__layout *from = axp__layouts_find(&s->layouts, r->fork.parent);
    s->n_followed++;
    if (r->pid == r->fork.parent) return;
    if (s->timer && from && !from->n) read_layout(s, from, r->time_ns);
    struct axp__layout *to = axp__layouts_fork(&s->layouts, r->pid, from);
    if (!to) return;
    to->is_heard = true;
    to->is_apart = false;
    to->parent = r->fork.parent;
    to->by = r->fork.by;
}

/* A name that a thread gives itself; exec is another one. */
static void take_name(axp_sampling *s, const struct axp__perf_record *r)
{
    struct axp__layout *layout = axp__layouts_find(&s->layouts, r->pid);
    if (!layout || !layout->by || r->pid != r->tid) return;
    layout->is_apart = axp__apart_is(r->comm.name);
    const char *id = axp__apart_told(r->comm.name);
    if (id && axp__pid_namespace(layout->parent) != axp__pid_namespace(0))
        axp__sampled_recording(s->file, id, layout->parent);
}

static void take_sample(axp_sampling *s, const struct axp__perf_record *r)
{
    struct axp__layout *layout = axp__layouts_get(&s->layouts, r->pid);
    if (!layout) return;
    layout->is_heard = true;
    if (s->timer && !axp__layout_find(layout, r->sample.ip))
        read_layout(s, layout, r->time_ns);
    struct axp__unwind u = {&s->mods, layout, &r->sample, &s->chains};
    struct axp__unwound of = axp__unwind(&u, s->frames, AXP__STACK_MOST);
    if (r->sample.is_leaving) {
        axp__states_leaves(s->states, r->tid, s->frames, of.n);
        return;
    }
    if (s->perf) axp__perf_used(s->perf, of.bytes, of.copy);
    bool is_apart = layout->is_apart; /* its time is that of who made it */
    struct axp__sample out = {.ticks = axp__sampled_ticks(s->file, r->time_ns),
                              .pid = is_apart ? layout->parent : r->pid,
                              .tid = is_apart ? layout->by : r->tid,
                              .weight = r->sample.weight_ns,
                              .frames = s->frames,
                              .n_frames = of.n};
    s->info.samples++;
    if (!out.n_frames) s->info.unknown++;
    axp__sampled_put(s->file, &out);
}

static void give_states(void *ctx, const struct axp__thread_states *of)
{
    axp_sampling *s = ctx;
    s->info.threads++;
    axp__sampled_states(s->file, of);
}

/* The kernel's records tell who was taken off, but not when who waits was woken
 * and got no processor: to them that is waiting still. */
static void give_scheduled(void *ctx, const struct axp__thread_states *of)
{
    axp_sampling *s = ctx;
    struct axp__thread_states out = *of;
    uint64_t ready =
        axp__tasks_look_of(s->tasks, of->process, of->tid).ready_ns;
    uint64_t more = ready > of->ready_ns ? ready - of->ready_ns : 0;
    if (more > of->waited_ns) more = of->waited_ns;
    out.ready_ns += more;
    out.waited_ns -= more;
    give_states(s, &out);
}

static void give_off(void *ctx, const struct axp__off *off)
{
    axp_sampling *s = ctx;
    struct axp__sample out = {.ticks = axp__sampled_ticks(s->file, off->end_ns),
                              .pid = off->process,
                              .tid = off->tid,
                              .weight = off->end_ns - off->begin_ns,
                              .kind = off->is_ready ? AXP_SAMPLE_READY
                                                    : AXP_SAMPLE_WAITED,
                              .frames = off->frames,
                              .n_frames = off->n_frames};
    axp__sampled_put(s->file, &out);
}

static void take(axp_sampling *s, const struct axp__perf_record *r)
{
    if (s->perf) axp__states_take(s->states, r);
    switch (r->type) {
    case PERF_RECORD_SAMPLE: take_sample(s, r); break;
    case PERF_RECORD_MMAP2: take_mapping(s, r); break;
    case PERF_RECORD_FORK: take_fork(s, r); break;
    case PERF_RECORD_COMM:
        if (r->comm.is_exec)
            take_exec(s, r);
        else
            take_name(s, r);
        break;
    case PERF_RECORD_EXIT:
        if (r->pid == r->tid) axp__layouts_end(&s->layouts, r->pid);
        break;
    case PERF_RECORD_LOST: s->info.lost += r->lost.count; break;
    default: break;
    }
}

/* With a timer nobody but /proc tells what threads do, or that one is gone. */
static void look_at_tasks(axp_sampling *s)
{
    uint32_t gone[64];
    size_t n_gone = 0;
    if (!axp__tasks_begin(s->tasks)) return;
    for (size_t i = 0; i < sizeof s->layouts.slot / sizeof *s->layouts.slot;
         i++)
        for (const struct axp__layout *l = s->layouts.slot[i]; l; l = l->next)
            if (l->is_heard && !l->has_ended &&
                !axp__tasks_look(s->tasks, l->pid) && n_gone < 64)
                gone[n_gone++] = l->pid;
    axp__tasks_end(s->tasks);
    axp__states_look(s->states, s->tasks);
    for (size_t i = 0; s->timer && i < n_gone; i++)
        axp__layouts_end(&s->layouts, gone[i]);
}

static bool next(axp_sampling *s, bool is_end, struct axp__perf_record *r)
{
    return s->timer ? axp__timer_next(s->timer, r)
                    : axp__perf_next(s->perf, is_end, r);
}

/* A program that is faster than we are does not keep us from all else. */
static bool is_too_long(uint64_t begin_ns, uint64_t n)
{
    return n % 64 == 0 && axp__clock_of(CLOCK_MONOTONIC) - begin_ns > A_STEP;
}

/* False: more is there. */
static bool take_all(axp_sampling *s, bool is_end)
{
    struct axp__perf_record r;
    uint64_t begin_ns = axp__clock_of(CLOCK_MONOTONIC), n = 0;
    bool is_all = true;
    while (is_all && next(s, is_end, &r)) {
        take(s, &r);
        is_all = is_end || !is_too_long(begin_ns, ++n);
    }
    if (s->timer) s->info.lost += axp__timer_lost(s->timer);
    look_at_tasks(s);
    axp__sampled_modules(s->file, &s->mods);
    axp__sampled_flush(s->file, is_end);
    return is_all;
}

/* ---- the public calls --------------------------------------------------- */

static axp_sampling *fail(axp_status *status, axp_status with)
{
    if (status) *status = with;
    return NULL;
}

static axp_sampling *fail_perf(axp_status *status, int error)
{
    bool is_forbidden = error == EACCES || error == EPERM || error == ENOSYS;
    axp_status with = is_forbidden ? AXP_E_STATE : AXP_E_IO;
    axp__fail(with, "the kernel gives no samples: %s",
              is_forbidden ? "perf_event_open is not allowed here"
                           : strerror(error));
    return fail(status, with);
}

static axp_sampling *fail_ring(axp_status *status, int error, const char *path)
{
    axp__fail(AXP_E_IO, "cannot write %s: %s", path, strerror(error));
    return fail(status, AXP_E_IO);
}

/* 0, or why there is none. */
static int open_source(axp_sampling *s, const axp_sampling_options *o,
                       double hz)
{
    struct axp__perf_options how = {.pid = (pid_t)o->process_id, .hz = hz};
    int error = 0;
    if (o->ring) {
        s->timer = axp__timer_open(o->ring, hz, &error);
        return s->timer ? 0 : error;
    }
    s->hz = hz;
    s->perf = axp__perf_open(&how, &error);
    if (!s->perf) return error ? error : ENOSYS;
    s->info.has_kernel = axp__perf_has_kernel(s->perf);
    return 0;
}

axp_sampling *axp_sampling_start(const axp_sampling_options *options,
                                 axp_status *status)
{
    axp_sampling_options o;
    if (!options ||
        !axp__sized_take(&o, sizeof o, options,
                         AXP__SIZE_TO(axp_sampling_options, hz)) ||
        !o.path || !(o.hz >= 0))
        return fail(status, axp__fail(AXP_E_INVALID,
                                      "axp_sampling_start needs a path"));
    double hz = o.hz == 0 ? DEFAULT_HZ : fmin(fmax(o.hz, LEAST_HZ), MOST_HZ);
    axp_sampling *s = calloc(1, sizeof *s);
    if (!s)
        return fail(status, axp__fail(AXP_E_NO_MEMORY, "no memory to sample"));
    int error = open_source(s, &o, hz);
    if (error) {
        free(s);
        return o.ring ? fail_ring(status, error, o.ring)
                      : fail_perf(status, error);
    }
    axp__mods_init(&s->mods);
    axp__layouts_init(&s->layouts);
    s->interval = SOONEST;
    s->states = axp__states_create(
        &(struct axp__states_to){give_scheduled, give_off, s});
    s->tasks = axp__tasks_create();
    bool ok =
        s->states && s->tasks && axp__mods_set_own(&s->mods, o.own, o.n_own);
    s->file = ok ? axp__sampled_create(o.path, o.title) : NULL;
    if (s->file) return s;
    axp__mods_fini(&s->mods);
    axp__states_destroy(s->states);
    axp__tasks_destroy(s->tasks);
    axp__perf_close(s->perf);
    axp__timer_close(s->timer);
    free(s);
    return fail(status, AXP_E_IO);
}

/* As seldom as the rings allow: each time costs a look at all of them. */
axp_ns axp_sampling_step(axp_sampling *s)
{
    double fill =
        s->timer ? axp__timer_fill(s->timer) : axp__perf_fill(s->perf);
    s->has_news = false;
    bool is_all = take_all(s, false);
    if ((s->timer && s->has_news) || !is_all) s->interval = SOONEST;
    if (fill > 0.25)
        s->interval /= 2;
    else if (fill < 0.1)
        s->interval += s->interval / 4;
    if (s->interval < SOONEST) s->interval = SOONEST;
    if (s->interval > LATEST) s->interval = LATEST;
    if (s->timer && s->interval > TASKS) s->interval = TASKS;
    uint64_t stay = s->timer ? UINT64_MAX : axp__perf_stay(s->perf);
    return stay < s->interval ? stay : s->interval;
}

axp_status axp_sampling_stop_sized(axp_sampling *s, axp_sampling_info *seen,
                                   size_t size)
{
    if (!s) return AXP_OK;
    (void)take_all(s, true);
    axp__states_end(s->states, axp__clock_of(CLOCK_MONOTONIC_RAW));
    axp__states_destroy(s->states);
    if (s->timer) axp__tasks_give(s->tasks, give_states, s);
    axp__tasks_destroy(s->tasks);
    axp_status status = axp__sampled_close(s->file);
    bool is_tolled = s->perf && s->n_followed >= TOLL_LEAST;
    axp__perf_close(s->perf);
    if (is_tolled) s->info.followed_ns = s->n_followed * axp__toll_ns(s->hz);
    if (seen) axp__sized_copy(seen, size, &s->info, sizeof s->info);
    axp__timer_close(s->timer);
    axp__layouts_fini(&s->layouts);
    axp__mods_fini(&s->mods);
    free(s);
    return status;
}
