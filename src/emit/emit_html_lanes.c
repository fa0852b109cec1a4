/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Spans that overlap, on tracks where they do not.
 *
 *   |--a--|                      lane 1  |--a--|   |-c-|
 *      |---b---|           ─►    lane 2     |---b---|
 *             |-c-|
 *
 * Each lane takes, in order of begin, every span that fits: after the last
 * one, or wholly inside it. What is left goes to the next lane.
 */
#include "emit/emit_html.h"

#include <stdlib.h>

bool axp__html_span_add(struct axp__html_spans *s,
                        const struct axp__html_span *span)
{
    struct axp__html_span *wider =
        axp__html_grow(s->all, s->n, &s->cap, sizeof *wider);
    if (!wider) return false;
    s->all = wider;
    s->all[s->n++] = *span;
    return true;
}

/* The longer first where they begin together. */
static int by_begin(const void *a, const void *b)
{
    const struct axp__html_span *x = a, *y = b;
    if (x->begin != y->begin) return x->begin > y->begin ? 1 : -1;
    if (x->end != y->end) return x->end < y->end ? 1 : -1;
    return (x->name > y->name) - (x->name < y->name);
}

/* One lane; what does not fit moves to the front of the list. */
static bool fill_lane(struct axp__html_job *job, struct axp__html_stack *stack,
                      struct axp__html_spans *s)
{
    size_t left = 0;
    int placed = 1;
    if (!axp__html_stack_begin(stack)) return false;
    for (size_t i = 0; i < s->n && placed >= 0; i++) {
        placed = axp__html_place(job, stack, &s->all[i]);
        if (!placed) s->all[left++] = s->all[i];
    }
    axp__html_pop_all(job, stack);
    s->n = left;
    return placed >= 0;
}

bool axp__html_lanes(struct axp__html_job *job, struct axp__html_stack *stack,
                     struct axp__html_spans *s, struct axp__html_track track)
{
    bool ok = true;
    uint32_t end = track.lane + AXP__HTML_LANES;
    if (s->n) qsort(s->all, s->n, sizeof *s->all, by_begin);
    for (; ok && s->n && track.lane < end; track.lane++) {
        axp__html_track_begin(&job->events, &track);
        ok = fill_lane(job, stack, s);
        axp__html_track_end(&job->events);
    }
    job->n_left_out += s->n;
    s->n = 0;
    return ok;
}
