/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Oversubscription: more threads of the program want to run than there are
 * processors. docs/rules/oversubscription.md
 *
 *   ran    ████████ 2 of 2 processors      ████░░░░ 1 of 2: others had the rest
 *   ready  ▒▒▒▒▒▒▒▒▒▒▒▒▒▒ the program's own  ▒▒▒▒▒▒ theirs: a warning, not this
 *
 * The run is looked at in slices: where threads wanted to run and had no
 * processor, the program itself had them if it ran on nearly all of them then.
 * What it costs is at most what is left above the processor time spread evenly, and
 * no more than threads stood ready in these slices. A replay knows no better: who
 * is woken at a barrier and has no processor is to it somebody who wakes late. */
#include <math.h>

#include "analyze/analyze.h"
#include "base/base_number.h"
#include "model/model_samples.h"

#define SLICES 256
#define NEARLY_ALL 0.8 /* of the processors */
#define MANY 2         /* times as many as at once: one after the other */

struct crowd {
    const axp_view *v;
    double begin, slice, n_cpus; /* ns */
    double ran[SLICES], ready[SLICES];
    uint64_t process, thread; /* the last seen */
    bool is_in[SLICES];
    size_t n_threads; /* that wanted to run in a crowded slice */
    size_t n_samples;
    bool is_counted;
    double own_ready, own_wanted, own_ns;
};

/* ---- slices ------------------------------------------------------------------------ */

static void spread(const struct crowd *c, double *to, const axp_sample *s)
{
    double end = (double)s->time_ns - c->begin;
    double begin = fmax(0, end - (double)s->weight);
    end = fmin(end, c->slice * SLICES);
    for (int i = (int)(begin / c->slice); i < SLICES && i * c->slice < end; i++)
        to[i] += fmin(end, (i + 1) * c->slice) - fmax(begin, i * c->slice);
}

static int on_sample(const axp_sample *s, void *ctx)
{
    struct crowd *c = ctx;
    if ((double)s->time_ns <= c->begin) return 0;
    c->n_samples += s->kind == AXP_SAMPLE_CPU;
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
    c->n_threads += c->is_counted;
    return 0;
}

/* Samples may stand for less than what ran: the scheduler knows how much. */
static void add_up(struct crowd *c)
{
    double sampled = 0, ran = (double)c->v->ran_ns;
    for (int i = 0; i < SLICES; i++)
        sampled += c->ran[i];
    for (int i = 0; i < SLICES && ran > sampled && sampled > 0; i++)
        c->ran[i] = fmin(c->ran[i] * ran / sampled, c->n_cpus * c->slice);
    for (int i = 0; i < SLICES; i++) {
        c->is_in[i] = c->ready[i] > 0 &&
                      c->ran[i] >= NEARLY_ALL * c->n_cpus * c->slice &&
                      c->ran[i] + c->ready[i] > c->n_cpus * c->slice;
        if (!c->is_in[i]) continue;
        c->own_ready += c->ready[i];
        c->own_wanted += c->ran[i] + c->ready[i];
        c->own_ns += c->slice;
    }
}

/* ---- what is said ------------------------------------------------------------------- */

/* Whether the program had loaded a library of that name. */
static bool is_loaded(const axp_view *v, const char *name)
{
    const struct axp__capture *c = v->capture;
    for (size_t i = 0; i < c->n_modules; i++) {
        const char *path = c->modules[i].path;
        const char *file = path ? strrchr(path, '/') : NULL;
        if (file && !strncmp(file + 1, name, strlen(name))) return true;
    }
    return false;
}

/* The variables that say how many threads its libraries start; "": none. */
static void name_variables(const axp_view *v, unsigned n_cpus, char *out,
                           size_t size)
{
    static const struct {
        const char *library, *variable;
    } known[] = {{"libgomp", "OMP_NUM_THREADS"},
                 {"libomp", "OMP_NUM_THREADS"},
                 {"libiomp5", "OMP_NUM_THREADS"},
                 {"libopenblas", "OPENBLAS_NUM_THREADS"},
                 {"libmkl", "MKL_NUM_THREADS"},
                 {"libblis", "BLIS_NUM_THREADS"}};
    size_t n = 0;
    *out = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char one[64];
        if (!is_loaded(v, known[i].library) || strstr(out, known[i].variable))
            continue;
        /* the outermost gets the processors, what it calls one each */
        snprintf(one, sizeof one, "%s%s=%u", n ? " and " : "",
                 known[i].variable, n ? 1 : n_cpus);
        axp__append(out, size, strlen(out), one);
        n++;
    }
}

static void add(struct axp__analysis *a, const struct crowd *c, axp_ns gain)
{
    struct axp__draft *d =
        axp__draft_add(a, AXP__RULE_oversubscription, "(threads)");
    char ready[32], part[32], mean[32], variables[160];
    unsigned n_cpus = (unsigned)c->n_cpus;
    double wall = (double)a->v->duration_ns;
    if (!d) return;
    d->has_saving = d->is_bound = d->is_capped = true;
    d->band = AXP_HIGH;
    d->saving_ns = gain;
    d->confidence = 0.5;
    double at_once = c->own_wanted / c->own_ns;
    axp__draft_say(
        a, d,
        "in %s %% of the run %s threads of the program want to run on %u "
        "processor%s; they stood ready for %s in all",
        axp__fixed(part, sizeof part, 100 * c->own_ns / wall, 0),
        axp__fixed(mean, sizeof mean, at_once, 1), n_cpus,
        n_cpus == 1 ? "" : "s",
        axp_format_ns(ready, sizeof ready, axp__whole(c->own_ready)));
    name_variables(a->v, n_cpus, variables, sizeof variables);
    if (*variables)
        axp__draft_advise(a, d,
                          "run it with %s, so that %u work%s at once "
                          "instead of %s",
                          variables, n_cpus, n_cpus == 1 ? "s" : "", mean);
    else if ((double)c->n_threads > MANY * at_once)
        axp__draft_advise(a, d,
                          "let %u thread%s or process%s compute at a time, as "
                          "many as there are processors, instead of %s",
                          n_cpus, n_cpus == 1 ? "" : "s",
                          n_cpus == 1 ? "" : "es", mean);
    else
        axp__draft_advise(a, d,
                          "start %u thread%s to compute, as many as there are "
                          "processors, instead of %zu",
                          n_cpus, n_cpus == 1 ? "" : "s", c->n_threads);
    axp__draft_metric(d, "threads", (double)c->n_threads);
    axp__draft_metric(d, "processors", c->n_cpus);
    axp__draft_metric(d, "runnable", c->own_wanted / c->own_ns);
    axp__draft_metric(d, "ready_ms", c->own_ready / 1e6);
}

void axp__rule_oversubscription(struct axp__analysis *a)
{
    const axp_view *v = a->v;
    const double *t = a->threshold;
    double wall = (double)v->duration_ns;
    struct crowd c = {.v = v,
                      .begin = (double)v->begin_ns,
                      .slice = wall / SLICES,
                      .n_cpus = (double)v->capture->about.n_cpus};
    if (!(c.slice > 0) || !(c.n_cpus > 0)) return;
    if (axp__samples_give(v, on_sample, &c)) a->has_failed = true;
    add_up(&c);
    if ((double)c.n_samples < t[AXP__T_oversubscription_samples] ||
        100 * c.own_ready < t[AXP__T_oversubscription_wall_percent] * wall ||
        100 * c.own_ready <
            t[AXP__T_oversubscription_ready_percent] * c.own_wanted)
        return;
    if (axp__samples_give(v, on_thread, &c)) a->has_failed = true;
    if ((double)c.n_threads <= c.n_cpus) return;
    double work = (double)v->ran_ns - (double)v->spun_ns;
    double most = fmin(fmax(0, wall - work / c.n_cpus), c.own_ready);
    add(a, &c, axp__whole(most));
}
