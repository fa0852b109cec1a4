/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The first part of a timeline; see model_part.h. */
#include "model/model_part.h"

#include <stdlib.h>
#include <string.h>

static int by_time(const void *a, const void *b)
{
    const struct axp__cap_chunk *x = a, *y = b;
    return (x->base_ticks > y->base_ticks) - (x->base_ticks < y->base_ticks);
}

/* Nothing goes on after it. */
static void end_at(struct axp__capture *c, uint64_t ticks)
{
    if (ticks < c->end_ticks) c->end_ticks = ticks;
    for (size_t i = 0; i < c->n_processes; i++)
        if (ticks < c->processes[i].end_ticks)
            c->processes[i].end_ticks = ticks;
}

/* Of chunks in the order of time, those that there is room for. */
static void shorten(struct axp__part *part, uint64_t most)
{
    struct axp__capture *c = &part->capture;
    uint64_t n_events = 0;
    size_t n = 0;
    while (n < c->n_chunks && n_events < most)
        n_events += c->chunks[n++].n_events;
    if (n == c->n_chunks) return;
    uint64_t end = c->chunks[n].base_ticks;
    end_at(c, end);
    c->n_chunks = n;
    part->copy.n_events = n_events;
    part->n_unread = part->view->n_events - n_events;
    part->end_ns = axp__view_time(part->view, end);
    part->view = &part->copy;
}

bool axp__part_begin(struct axp__part *part, const axp_view *v, uint64_t most)
{
    const struct axp__capture *c = v->capture;
    *part = (struct axp__part){.view = v};
    if (v->n_events <= most || v->n_skipped) return true;
    part->copy = *v;
    part->capture = *c;
    part->copy.capture = &part->capture;
    size_t n_chunks = c->n_chunks, n_processes = c->n_processes;
    part->capture.chunks = calloc(n_chunks + 1, sizeof *c->chunks);
    part->capture.processes = calloc(n_processes + 1, sizeof *c->processes);
    if (!part->capture.chunks || !part->capture.processes) {
        axp__part_end(part);
        return false;
    }
    if (n_chunks)
        memcpy(part->capture.chunks, c->chunks, n_chunks * sizeof *c->chunks);
    if (n_processes)
        memcpy(part->capture.processes, c->processes,
               n_processes * sizeof *c->processes);
    qsort(part->capture.chunks, n_chunks, sizeof *c->chunks, by_time);
    shorten(part, most);
    return true;
}

void axp__part_end(struct axp__part *part)
{
    free(part->capture.chunks);
    free(part->capture.processes);
    *part = (struct axp__part){0};
}
