/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* When threads had no processor: one table of the times at which they waited or
 * wanted one, thread by thread. Between them a thread ran, or was off for so
 * short a time that it is not in the recording.
 *
 * Where there are more of them than the page may have, the longest are kept, and
 * the table says from which length on.
 */
#include "emit/emit_html.h"

#include <stdlib.h>

#include "model/model_samples.h"

#define MOST_STATES 1000000u
enum { WAITING = 1, READY = 2 }; /* docs/html-data.md */

struct off {
    axp_ns begin, end;
    uint32_t thread; /* of meta's */
    uint8_t state;
};

struct thread { /* of the view, by what a sample says of it */
    uint64_t process_id, id;
    axp_ns begin;
    uint32_t index;
};

struct states {
    struct axp__html_job *job;
    struct axp__samples samples;
    struct thread *threads; /* sorted */
    struct off *all;
    size_t n;
};

static int by_thread(const void *a, const void *b)
{
    const struct thread *x = a, *y = b;
    if (x->process_id != y->process_id)
        return x->process_id > y->process_id ? 1 : -1;
    if (x->id != y->id) return x->id > y->id ? 1 : -1;
    if (x->begin != y->begin) return x->begin > y->begin ? 1 : -1;
    return (x->index > y->index) - (x->index < y->index);
}

static bool list_threads(struct states *s)
{
    const axp_view *v = s->job->v;
    s->threads = malloc((v->n_threads + 1) * sizeof *s->threads);
    if (!s->threads) return false;
    for (size_t i = 0; i < v->n_threads; i++)
        s->threads[i] =
            (struct thread){v->threads[i].process_id, v->threads[i].id,
                            v->threads[i].begin, (uint32_t)i};
    qsort(s->threads, v->n_threads, sizeof *s->threads, by_thread);
    return true;
}

/* The thread of that id that began last before, else the first of that id;
 * UINT32_MAX: none is known. */
static uint32_t thread_of(const struct states *s,
                          const struct axp__cap_sample *of, axp_ns at)
{
    size_t n = s->job->v->n_threads, low = 0, high = n;
    struct thread key = {of->process & UINT32_MAX, of->tid, at, UINT32_MAX};
    while (low < high) { /* the first that is after it */
        size_t mid = (low + high) / 2;
        if (by_thread(&s->threads[mid], &key) <= 0)
            low = mid + 1;
        else
            high = mid;
    }
    for (size_t i = low ? low - 1 : 0; i <= low && i < n; i++)
        if (s->threads[i].id == key.id &&
            s->threads[i].process_id == key.process_id)
            return s->threads[i].index;
    return UINT32_MAX;
}

static bool is_off(const struct axp__cap_sample *s)
{
    return s->kind == AXP_SAMPLE_WAITED || s->kind == AXP_SAMPLE_READY;
}

/* Times of a thread do not overlap, but for the clock's grain. */
static void collect(struct states *s)
{
    const axp_view *v = s->job->v;
    uint32_t thread = UINT32_MAX;
    axp_ns free_from = 0;
    for (size_t i = 0; i < s->samples.n; i++) {
        const struct axp__cap_sample *at = &s->samples.at[i];
        if (!is_off(at)) continue;
        axp_ns end = axp__view_time(v, at->ticks);
        axp_ns begin = end > at->weight ? end - at->weight : 0;
        uint32_t now = thread_of(s, at, end);
        if (now != thread) free_from = s->job->t0;
        thread = now;
        if (begin < free_from) begin = free_from;
        if (thread == UINT32_MAX || begin >= end) continue;
        free_from = end;
        s->all[s->n++] = (struct off){
            begin, end, thread, at->kind == AXP_SAMPLE_READY ? READY : WAITING};
    }
}

/* Keeps the longest; gives the least length of those that are kept. */
static axp_ns bound(struct states *s)
{
    uint64_t lengths[AXP__HTML_LENGTHS] = {0};
    size_t kept = 0;
    if (s->n <= MOST_STATES) return 0;
    for (size_t i = 0; i < s->n; i++)
        lengths[axp__html_length_class(s->all[i].end - s->all[i].begin)]++;
    axp_ns least = axp__html_length_for(lengths, MOST_STATES);
    for (size_t i = 0; i < s->n; i++)
        if (s->all[i].end - s->all[i].begin >= least)
            s->all[kept++] = s->all[i];
    s->n = kept;
    return least;
}

static uint64_t value_of(const struct states *s, size_t i, int column)
{
    const struct off *o = &s->all[i];
    bool is_next = i && s->all[i - 1].thread == o->thread;
    axp_ns before = is_next ? s->all[i - 1].end : s->job->t0;
    switch (column) {
    case 0: return o->thread;
    case 1: return o->begin > before ? o->begin - before : 0;
    case 2: return o->end - o->begin;
    default: return o->state;
    }
}

static void write(struct states *s, axp_ns least)
{
    struct axp__html_packer *p = s->job->events.packer;
    uint64_t *column = malloc(s->n * sizeof *column);
    if (!column || !axp__html_pack_begin(p, (uint32_t)s->n, 4)) {
        axp__html_fail(s->job, AXP_E_NO_MEMORY);
    } else {
        for (int k = 0; k < 4; k++) {
            for (size_t i = 0; i < s->n; i++)
                column[i] = value_of(s, i, k);
            axp__html_pack_u64(p, column);
        }
        axp__html_write_table(s->job,
                              &(struct axp__html_table){.kind = "states",
                                                        .n_columns = 4,
                                                        .n = (uint32_t)s->n,
                                                        .least_ns = least});
    }
    free(column);
}

void axp__html_states_write(struct axp__html_job *job)
{
    struct states s = {.job = job};
    if (!job->v->capture->n_samples) return;
    if (list_threads(&s) && axp__samples_load(job->v, &s.samples))
        s.all = calloc(s.samples.n + 1, sizeof *s.all);
    if (!s.all) {
        axp__html_fail(job, AXP_E_NO_MEMORY);
    } else {
        collect(&s);
        axp_ns least = bound(&s);
        if (s.n) write(&s, least);
    }
    axp__samples_fini(&s.samples);
    free(s.threads);
    free(s.all);
}
