/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Places of the heap; see analyze_place.h. */
#include "analyze/analyze_place.h"

#include <math.h>
#include <string.h>

#include "tally/tally_notes.h"

#define MOST_FRAMES 64u
#define YOUNG 3u  /* ages below 1 ms */
#define KEPT 0.01 /* of what a step allocates: more is growth */

/* Ages do not tell who freed a block; that it went before its thread allocated
 * again does, but not how long it lived. So of several threads' places the second
 * counts. Ages are exact for large blocks, which may live long though nothing is
 * allocated meanwhile; of small ones few are followed. */
double axp__place_temporary(const axp_heap_place *p)
{
    uint64_t young = 0, n = p->n_temporary;
    for (unsigned i = 0; i < YOUNG; i++)
        young += p->lived[i];
    if (p->total_allocated >= AXP__NOTE_LARGE * p->n_allocs)
        n = p->thread_id || young < n ? young : n;
    else if (p->thread_id && young > n)
        n = young;
    return (double)(n < p->n_frees ? n : p->n_frees);
}

bool axp__spot_churns(const struct axp__analysis *a,
                      const struct axp__heap_spot *p)
{
    const double *t = a->threshold;
    double least = (double)a->v->heap.peak_bytes *
                   t[AXP__T_allocation_churn_peak_percent] / 100;
    if (least > 0) least = fmax(least, t[AXP__T_allocation_churn_step_bytes]);
    return (double)a->v->steps.count >= t[AXP__T_allocation_churn_steps] &&
           least > 0 && p->step_allocs >= 0.9 &&
           p->growth_late <= KEPT * p->step_bytes &&
           (p->step_bytes >= least ||
            p->step_allocs >= t[AXP__T_allocation_churn_step_allocs]);
}

static struct axp__heap_spot place_of(const axp_view *v,
                                      const axp_heap_place *p)
{
    axp_frame frames[MOST_FRAMES];
    struct axp__heap_spot out = {.name = p->name,
                                 .growth_early = p->growth_early,
                                 .growth_late = p->growth_late,
                                 .step_allocs = p->step_allocs,
                                 .step_bytes = p->step_bytes,
                                 .current_bytes = (double)p->current_bytes,
                                 .at_peak_bytes = (double)p->at_peak_bytes,
                                 .n_allocs = (double)p->n_allocs,
                                 .allocated_bytes = (double)p->total_allocated,
                                 .n_temporary = axp__place_temporary(p)};
    size_t n = p->stack ? axp_view_stack(v, p->stack, frames, MOST_FRAMES) : 0;
    if (n > MOST_FRAMES) n = MOST_FRAMES;
    if (n) {
        const axp_frame *f = axp__heap_frame(frames, n);
        out.file = f->file;
        out.line = f->line;
        if (!out.name) out.name = f->function;
    }
    if (!out.name && p->n_scopes) out.name = p->scopes[p->n_scopes - 1];
    if (!out.name) out.name = "(unknown)";
    return out;
}

static bool is_same(const struct axp__heap_spot *a,
                    const struct axp__heap_spot *b)
{
    if (a->line != b->line || strcmp(a->name, b->name) != 0) return false;
    return a->file && b->file ? !strcmp(a->file, b->file) : a->file == b->file;
}

static void add_to(struct axp__heap_spot *to, const struct axp__heap_spot *p)
{
    to->growth_early += p->growth_early;
    to->growth_late += p->growth_late;
    to->step_allocs += p->step_allocs;
    to->step_bytes += p->step_bytes;
    to->current_bytes += p->current_bytes;
    to->at_peak_bytes += p->at_peak_bytes;
    to->n_allocs += p->n_allocs;
    to->allocated_bytes += p->allocated_bytes;
    to->n_temporary += p->n_temporary;
}

/* The first is the heaviest. */
static void sink(struct axp__heap_spot *at, size_t i,
                 double (*weight)(const struct axp__heap_spot *p))
{
    for (; i && weight(&at[i]) > weight(&at[i - 1]); i--) {
        struct axp__heap_spot p = at[i];
        at[i] = at[i - 1];
        at[i - 1] = p;
    }
}

size_t axp__places(const axp_view *v, bool (*is_meant)(const axp_heap_place *p),
                   double (*weight)(const struct axp__heap_spot *p),
                   struct axp__heap_spot out[AXP__MOST_PLACES])
{
    size_t n = 0, k;
    for (size_t i = 0; i < v->n_heap_places; i++) {
        if (!is_meant(&v->heap_places[i])) continue;
        struct axp__heap_spot p = place_of(v, &v->heap_places[i]);
        for (k = 0; k < n && !is_same(&out[k], &p);)
            k++;
        if (k < n) {
            add_to(&out[k], &p);
        } else if (n < AXP__MOST_PLACES) {
            out[n++] = p;
        } else if (weight(&p) > weight(&out[n - 1])) {
            out[k = n - 1] = p;
        } else {
            continue;
        }
        sink(out, k, weight);
    }
    return n;
}

struct axp__draft *axp__place_draft(struct axp__analysis *a,
                                    enum axp__rule_id rule,
                                    const struct axp__heap_spot *p)
{
    struct axp__draft *d = axp__draft_add(a, rule, p->name);
    if (!d) return NULL;
    d->file = p->file;
    d->line = p->line;
    return d;
}
