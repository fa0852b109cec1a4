/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* By slices of the run; see analyze_crowd.h. */
#include "analyze/analyze_crowd.h"

#include <math.h>

#include "base/base_number.h"
#include "model/model_samples.h"

#define SLICES 256
#define NEARLY_ALL 0.8 /* of the processors; of who stood ready */
#define HALF 0.5       /* of who stood ready beside nearly all processors */

struct crowd {
    const axp_view *v;
    double begin, slice, n_cpus; /* ns */
    double ran[SLICES], ready[SLICES];
    uint64_t process, thread; /* the last seen */
    bool is_in[SLICES];
    bool is_counted;
    struct axp__crowd *out;
};

/* ---- slices ------------------------------------------------------------------------ */

static void spread(const struct crowd *c, double *to, const axp_sample *s)
{
    double end = (double)s->time_ns - c->begin;
    double begin = fmax(0, end - (double)s->weight);
    end = fmin(end, c->slice * SLICES);
    if (begin >= end) return; /* long after the end: no number of a slice */
    for (int i = (int)(begin / c->slice); i < SLICES && i * c->slice < end; i++)
        to[i] += fmin(end, (i + 1) * c->slice) - fmax(begin, i * c->slice);
}

static int on_sample(const axp_sample *s, void *ctx)
{
    struct crowd *c = ctx;
    if ((double)s->time_ns <= c->begin) return 0;
    c->out->n_samples += s->kind == AXP_SAMPLE_CPU;
    if (s->kind == AXP_SAMPLE_CPU) spread(c, c->ran, s);
    if (s->kind == AXP_SAMPLE_READY) spread(c, c->ready, s);
    return 0;
}

/* Threads come one after the other. A sample is of the time before it. */
static int on_thread(const axp_sample *s, void *ctx)
{
    struct crowd *c = ctx;
    double to = ((double)s->time_ns - c->begin) / c->slice;
    double from = fmax(0, to - (double)s->weight / c->slice);
    if (s->process_id != c->process || s->thread_id != c->thread) {
        c->process = s->process_id;
        c->thread = s->thread_id;
        c->is_counted = false;
    }
    if (c->is_counted || to < 0 || s->kind == AXP_SAMPLE_WAITED) return 0;
    for (int i = (int)fmin(from, SLICES - 1); i < SLICES && i < to; i++)
        c->is_counted |= c->is_in[i];
    c->out->n_threads += c->is_counted;
    return 0;
}

/* Who would have stood ready with all processors the program's, too: where that is
 * nearly everybody, it does not matter who had the others. Where the program had
 * nearly all, it need not be so many, but more than who others had the rest from. */
static void add_slice(struct crowd *c, int i)
{
    double all = c->n_cpus * c->slice, ready = c->ready[i];
    double own = fmin(ready, c->ran[i] + ready - all);
    if (!(ready > 0) || own <= 0) return;
    c->out->all_ready_ns += ready;
    bool has_nearly_all = c->ran[i] >= NEARLY_ALL * all;
    c->is_in[i] = own >= (has_nearly_all ? HALF : NEARLY_ALL) * ready;
    if (!c->is_in[i]) return;
    c->out->ready_ns += own;
    c->out->wanted_ns += c->ran[i] + ready;
    c->out->lasts_ns += c->slice;
}

/* Samples may stand for less than what ran: the scheduler knows how much. Nor does
 * a sample say when a thread that was woken began to stand ready: for how long is
 * known at the end, and it was where the program ran. */
static void make_up(struct crowd *c)
{
    double sampled = 0, ran = (double)c->v->ran_ns;
    double stood = 0;
    double ready = (double)c->v->ready_ns + (double)c->v->idle_ready_ns;
    for (int i = 0; i < SLICES; i++) {
        sampled += c->ran[i];
        stood += c->ready[i];
    }
    if (!(sampled > 0)) return;
    for (int i = 0; i < SLICES; i++) {
        if (ready > stood) c->ready[i] += (ready - stood) * c->ran[i] / sampled;
        if (ran > sampled)
            c->ran[i] = fmin(c->ran[i] * ran / sampled, c->n_cpus * c->slice);
    }
}

bool axp__crowd_find(const axp_view *v, struct axp__crowd *out)
{
    double wall = (double)v->duration_ns;
    struct crowd c = {.v = v,
                      .begin = (double)v->begin_ns,
                      .slice = wall / SLICES,
                      .n_cpus = (double)v->capture->about.n_cpus,
                      .out = out};
    *out = (struct axp__crowd){0};
    if (!(c.slice > 0) || !(c.n_cpus > 0)) return true;
    out->n_cpus = c.n_cpus;
    if (axp__samples_give(v, on_sample, &c)) return false;
    make_up(&c);
    for (int i = 0; i < SLICES; i++)
        add_slice(&c, i);
    return !(out->ready_ns > 0) || !axp__samples_give(v, on_thread, &c);
}

axp_ns axp__crowd_most(const axp_view *v, axp_ns spared_ns, axp_ns otherwise)
{
    double n_cpus = (double)v->capture->about.n_cpus;
    double spared = (double)spared_ns + (double)v->spun_ns;
    double work = fmax(0, (double)v->ran_ns - spared);
    if (!(n_cpus > 0) || !v->ran_ns || axp__view_n_processes(v) > 1)
        return otherwise;
    double most = fmax(0, (double)v->duration_ns - work / n_cpus);
    return most < (double)otherwise ? axp__whole(most) : otherwise;
}
