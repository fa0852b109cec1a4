/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What was seen from outside. Samples as Perfetto has those of perf: a moment, a
 * thread and a stack.
 *
 *   function ─► a name and a frame ─► stack ─► samples
 *
 * Each is interned before the first packet that refers to it. A frame is a
 * function as a whole: the lines in it would part what readers add up.
 *
 * Times off a processor are slices on a track "state" of their thread. Between
 * them it ran, or was off for so short a time that it is not in the recording.
 * Those of nobody knows which thread have no track. */
#include "emit/emit_perfetto.h"

#include <stdlib.h>
#include <string.h>

#include "model/model_stack_functions.h"

struct samples {
    struct axp__pf *p;
    struct axp__stack_functions of;
    const char **modules; /* that have been told of, as functions have them */
    size_t n_modules, cap_modules;
    size_t n_functions;  /* that have been told of … */
    uint64_t last_stack; /* … and the last stack */
    struct {             /* whose times off are being put */
        uint64_t process_id, thread_id, track;
        axp_ns end_ns; /* of the last one */
    } off;
};

/* The number of a module, from 1 on; 0: there is none, or no memory. */
static uint64_t put_module(struct samples *s, const char *path)
{
    for (size_t i = 0; i < s->n_modules; i++)
        if (!strcmp(s->modules[i], path)) return i + 1;
    if (s->n_modules == s->cap_modules) {
        size_t cap = s->cap_modules * 2 + 16;
        const char **wider = realloc(s->modules, cap * sizeof *wider);
        if (!wider) {
            s->p->has_failed = true;
            return 0;
        }
        s->modules = wider;
        s->cap_modules = cap;
    }
    s->modules[s->n_modules++] = path;
    axp__pf_intern(s->p, 17, s->n_modules, path);
    size_t mapping = axp__pb_begin(s->p->m, 19);
    axp__pb_u64(s->p->m, 1, s->n_modules);
    axp__pb_u64(s->p->m, 7, s->n_modules); /* path_string_ids */
    axp__pb_end(s->p->m, mapping);
    return s->n_modules;
}

static void put_function(struct samples *s)
{
    const struct axp__function *f = &s->of.functions[s->n_functions++];
    size_t data = axp__pf_begin_interned(s->p);
    uint64_t module = f->module ? put_module(s, f->module) : 0;
    axp__pf_intern(s->p, 5, s->n_functions, f->name);
    size_t frame = axp__pb_begin(s->p->m, 6);
    axp__pb_u64(s->p->m, 1, s->n_functions);
    axp__pb_u64(s->p->m, 2, s->n_functions); /* function_name_id */
    if (module) axp__pb_u64(s->p->m, 3, module);
    axp__pb_end(s->p->m, frame);
    axp__pf_end_event(s->p, data);
}

static void put_stack(struct samples *s, const struct axp__stack_of *stack,
                      uint64_t number)
{
    while (s->n_functions < s->of.n_functions)
        put_function(s);
    size_t data = axp__pf_begin_interned(s->p);
    size_t callstack = axp__pb_begin(s->p->m, 7);
    axp__pb_u64(s->p->m, 1, number);
    for (uint32_t i = stack->n; i-- > 0;)
        axp__pb_u64(s->p->m, 2,
                    (uint64_t)s->of.frames[stack->first + i].function + 1);
    axp__pb_end(s->p->m, callstack);
    axp__pf_end_event(s->p, data);
}

/* The track of its thread, which may have recorded nothing. */
static uint64_t thread_of(struct axp__pf *p, const axp_sample *sample)
{
    for (uint32_t i = 0; i < axp__stream_n_rows(p->s); i++) {
        const struct axp__stream_row *row = axp__stream_row(p->s, i);
        if (!row->track && row->thread_id == sample->thread_id &&
            row->process_id == sample->process_id)
            return p->rows[i].uuid;
    }
    return axp__pf_thread_track(
        p, &(struct axp__pf_thread){sample->process_id & INT32_MAX,
                                    sample->thread_id, "", 0});
}

static void put_state(struct axp__pf *p, uint64_t track, const char *name,
                      axp_ns begin_ns, axp_ns end_ns)
{
    size_t event = axp__pf_begin_event(p, AXP__PF_SLICE_BEGIN, track, begin_ns);
    axp__pf_string(p, 23, name);
    axp__pf_end_event(p, event);
    axp__pf_end_event(p,
                      axp__pf_begin_event(p, AXP__PF_SLICE_END, track, end_ns));
}

static void put_off(struct samples *s, const axp_sample *sample)
{
    axp_ns begin =
        sample->time_ns > sample->weight ? sample->time_ns - sample->weight : 0;
    if (!sample->thread_id) return;
    if (sample->thread_id != s->off.thread_id ||
        sample->process_id != s->off.process_id || !s->off.track) {
        s->off.thread_id = sample->thread_id;
        s->off.process_id = sample->process_id;
        s->off.track = axp__pf_track(s->p, "state", thread_of(s->p, sample));
    } else if (begin < s->off.end_ns) {
        begin = s->off.end_ns; /* by the clock's grain */
    }
    /* Processes of two machines may have one number. */
    if (begin > sample->time_ns) return;
    put_state(s->p, s->off.track,
              sample->kind == AXP_SAMPLE_READY ? "wants a processor"
                                               : "waiting",
              begin, sample->time_ns);
    s->off.end_ns = sample->time_ns;
}

static int put_sample(const axp_sample *sample, void *ctx)
{
    struct samples *s = ctx;
    if (sample->kind == AXP_SAMPLE_WAITED || sample->kind == AXP_SAMPLE_READY)
        put_off(s, sample);
    if (sample->kind != AXP_SAMPLE_CPU || !sample->stack) return 0;
    const struct axp__stack_of *stack =
        axp__stack_functions_get(&s->of, sample->stack);
    if (!stack) {
        s->p->has_failed = true;
        return 1;
    }
    if (!stack->n) return 0;
    uint64_t number = (uint64_t)(stack - s->of.stacks) + 1;
    if (number > s->last_stack) {
        put_stack(s, stack, number);
        s->last_stack = number;
    }
    axp__pf_begin_packet(s->p);
    axp__pb_u64(s->p->m, 8, sample->time_ns);
    size_t packet = axp__pb_begin(s->p->m, 66); /* perf_sample */
    axp__pb_u64(s->p->m, 2, sample->process_id & INT32_MAX);
    axp__pb_u64(s->p->m, 3, sample->thread_id & INT32_MAX);
    axp__pb_u64(s->p->m, 4, number);
    axp__pf_end_event(s->p, packet);
    return s->p->has_failed;
}

axp_status axp__pf_samples(struct axp__pf *p)
{
    struct samples s = {.p = p, .of = {.v = p->v}};
    axp_status status = axp_view_samples(p->v, put_sample, &s);
    axp__stack_functions_fini(&s.of);
    free(s.modules);
    return status;
}
