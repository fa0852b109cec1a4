/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Steps with their times: those of the timeline, every one or every 2^k-th
 * where there are very many, and those that the recorder kept whole, among
 * them the slowest of the run. */
#include "emit/emit_html.h"

#include <stdlib.h>

#define STEPS 8192u

static bool add_step(struct axp__html_around *a,
                     const struct axp__html_step *step)
{
    struct axp__html_step *wider =
        axp__html_grow(a->steps, a->n_steps, &a->steps_cap, sizeof *wider);
    if (!wider) return false;
    a->steps = wider;
    a->steps[a->n_steps++] = *step;
    return true;
}

/* Where there are too many every second one goes; the slowest come back from
 * what the recorder kept. */
static void thin_steps(struct axp__html_around *a)
{
    size_t n = 0;
    for (size_t i = 0; i < a->n_steps; i += 2)
        a->steps[n++] = a->steps[i];
    a->n_steps = n;
}

bool axp__html_step_take(struct axp__html_around *a,
                         const struct axp__record *r)
{
    if (r->id & a->step_mask) return true;
    if (a->n_steps == STEPS) {
        thin_steps(a);
        a->step_mask = a->step_mask * 2 + 1;
        if (r->id & a->step_mask) return true;
    }
    return add_step(
        a, &(struct axp__html_step){r->id, r->begin_ns, r->time_ns, r->bytes});
}

static bool add_kept(struct axp__html_around *a, const axp_view *v,
                     const struct axp__step *steps, size_t n)
{
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++)
        ok = add_step(
            a, &(struct axp__html_step){
                   steps[i].index, axp__view_time(v, steps[i].begin_ticks),
                   axp__view_time(v, steps[i].end_ticks), steps[i].live_bytes});
    return ok;
}

static int by_step_begin(const void *a, const void *b)
{
    const struct axp__html_step *x = a, *y = b;
    if (x->begin != y->begin) return x->begin > y->begin ? 1 : -1;
    return (x->index > y->index) - (x->index < y->index);
}

/* With those that the recorder kept whole, each once. */
bool axp__html_steps_join(struct axp__html_around *a, const axp_view *v)
{
    const struct axp__capture *c = v->capture;
    bool ok = true;
    for (size_t i = 0; ok && i < c->n_lanes; i++) {
        const struct axp__steps *s = c->lanes[i].steps;
        if (!s) continue;
        size_t recent = s->n_recent < AXP__STEPS_RECENT ? (size_t)s->n_recent
                                                        : AXP__STEPS_RECENT;
        ok = add_kept(a, v, s->recent, recent) &&
             add_kept(a, v, s->slowest, s->n_slowest) &&
             add_kept(a, v, s->sampled, s->n_sampled);
    }
    if (a->n_steps)
        qsort(a->steps, a->n_steps, sizeof *a->steps, by_step_begin);
    size_t n = 0;
    for (size_t i = 0; i < a->n_steps; i++)
        if (!n || a->steps[i].index != a->steps[n - 1].index)
            a->steps[n++] = a->steps[i];
    a->n_steps = n;
    return ok;
}
