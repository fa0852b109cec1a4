/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sampling other processes, as axprof_file.h has it:
 *
 *   kernel's rings ─► records by time ─┬─► what code is where
 *   sampling_perf                      │   sampling_layout, sampling_module
 *                                      └─► stacks ─► a recording
 *                                          sampling_unwind, sampling_file
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "axprof/axprof_file.h"
#include "base/base_sized.h"
#include "os/os_clock.h"
#include "record/record_thread.h"
#include "sampling/sampling_file.h"
#include "sampling/sampling_perf.h"
#include "sampling/sampling_states.h"
#include "sampling/sampling_unwind.h"
#include "wire/wire_stack.h"

#define DEFAULT_HZ 997
#define LEAST_HZ 1
#define MOST_HZ 20000
#define MS 1000000u
#define SOONEST (5 * MS)
#define LATEST (200 * MS)

struct axp_sampling {
    struct axp__perf *perf;
    struct axp__mods mods;
    struct axp__layouts layouts;
    struct axp__sampled *file;
    struct axp__states *states;
    axp_ns interval;
    axp_sampling_info info;
    uint64_t frames[AXP__STACK_MOST];
};

/* ---- records ------------------------------------------------------------ */

static void take_sample(axp_sampling *s, const struct axp__perf_record *r)
{
    struct axp__layout *layout = axp__layouts_get(&s->layouts, r->pid);
    if (!layout) return;
    struct axp__unwind u = {&s->mods, layout, &r->sample};
    struct axp__sample out = {.ticks = axp__sampled_ticks(s->file, r->time_ns),
                              .pid = r->pid,
                              .tid = r->tid,
                              .weight = r->sample.weight_ns,
                              .frames = s->frames,
                              .n_frames =
                                  axp__unwind(&u, s->frames, AXP__STACK_MOST)};
    s->info.samples++;
    if (!out.n_frames) s->info.unknown++;
    axp__sampled_put(s->file, &out);
}

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

static void give_states(void *ctx, const struct axp__thread_states *of)
{
    axp_sampling *s = ctx;
    s->info.threads++;
    axp__sampled_states(s->file, of);
}

static void take(axp_sampling *s, const struct axp__perf_record *r)
{
    axp__states_take(s->states, r);
    switch (r->type) {
    case PERF_RECORD_SAMPLE: take_sample(s, r); break;
    case PERF_RECORD_MMAP2: take_mapping(s, r); break;
    case PERF_RECORD_FORK:
        if (r->pid != r->fork.parent)
            axp__layouts_fork(&s->layouts, r->pid, r->fork.parent);
        break;
    case PERF_RECORD_COMM:
        if (r->comm.is_exec) {
            struct axp__layout *layout = axp__layouts_get(&s->layouts, r->pid);
            if (layout) axp__layout_clear(layout);
        }
        break;
    case PERF_RECORD_EXIT:
        if (r->pid == r->tid) axp__layouts_end(&s->layouts, r->pid);
        break;
    case PERF_RECORD_LOST: s->info.lost += r->lost.count; break;
    default: break;
    }
}

static void take_all(axp_sampling *s, bool is_end)
{
    struct axp__perf_record r;
    while (axp__perf_next(s->perf, is_end, &r))
        take(s, &r);
    axp__sampled_modules(s->file, &s->mods);
    axp__sampled_flush(s->file, is_end);
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

axp_sampling *axp_sampling_start(const axp_sampling_options *options,
                                 axp_status *status)
{
    axp_sampling_options o;
    int error;
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
    struct axp__perf_options how = {(pid_t)o.process_id, hz};
    s->perf = axp__perf_open(&how, &error);
    if (!s->perf) {
        free(s);
        return fail_perf(status, error);
    }
    s->info.has_kernel = axp__perf_has_kernel(s->perf);
    axp__mods_init(&s->mods);
    axp__layouts_init(&s->layouts);
    s->interval = SOONEST;
    s->states = axp__states_create(give_states, s);
    bool ok = s->states && axp__mods_set_own(&s->mods, o.own, o.n_own);
    s->file = ok ? axp__sampled_create(o.path, o.title) : NULL;
    if (s->file) return s;
    axp__mods_fini(&s->mods);
    axp__states_destroy(s->states);
    axp__perf_close(s->perf);
    free(s);
    return fail(status, AXP_E_IO);
}

/* As seldom as the rings allow: each time costs a look at all of them. */
axp_ns axp_sampling_step(axp_sampling *s)
{
    double fill = axp__perf_fill(s->perf);
    take_all(s, false);
    if (fill > 0.25)
        s->interval /= 2;
    else if (fill < 0.1)
        s->interval += s->interval / 4;
    if (s->interval < SOONEST) s->interval = SOONEST;
    if (s->interval > LATEST) s->interval = LATEST;
    return s->interval;
}

axp_status axp_sampling_stop_sized(axp_sampling *s, axp_sampling_info *seen,
                                   size_t size)
{
    if (!s) return AXP_OK;
    take_all(s, true);
    axp__states_end(s->states, axp__clock_of(CLOCK_MONOTONIC_RAW));
    axp__states_destroy(s->states);
    if (seen) axp__sized_copy(seen, size, &s->info, sizeof s->info);
    axp_status status = axp__sampled_close(s->file);
    axp__perf_close(s->perf);
    axp__layouts_fini(&s->layouts);
    axp__mods_fini(&s->mods);
    free(s);
    return status;
}
