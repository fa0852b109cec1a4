/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names for places, and what is called alike; see emit_heap.h. */
#include "emit/emit_heap.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/base_text.h"
#include "emit/emit_frame.h"

#define MOST_FRAMES 64u
#define TEXT 512u

const char *axp__heap_where(const axp_view *v, uint32_t stack, char *buf,
                            size_t size)
{
    axp_frame frames[MOST_FRAMES];
    char text[AXP__FRAME_TEXT];
    size_t n = stack ? axp_view_stack(v, stack, frames, MOST_FRAMES) : 0;
    if (n > MOST_FRAMES) n = MOST_FRAMES;
    if (!n) return NULL;
    const axp_frame *f = axp__heap_frame(frames, n);
    const char *function = axp__frame_text(f, text);
    if (f->file && f->line > 0)
        snprintf(buf, size, "%.300s (%.150s:%d)", function,
                 axp__text_last_part(f->file), f->line);
    else
        snprintf(buf, size, "%.300s", function);
    return buf;
}

char *axp__heap_text(const axp_view *v, const axp_heap_place *p)
{
    char where[TEXT], text[2 * TEXT];
    const char *scope = p->n_scopes ? p->scopes[p->n_scopes - 1] : NULL;
    const char *what =
        p->name ? p->name : axp__heap_where(v, p->stack, where, sizeof where);
    if (!what) what = "(unknown)";
    snprintf(text, sizeof text, "%.400s%s%.600s", scope ? scope : "",
             scope ? ": " : "", what);
    return strdup(text);
}

static int by_text(const void *a, const void *b)
{
    const struct axp__heap_group *x = a, *y = b;
    return strcmp(x->text, y->text);
}

static int by_at_peak(const void *a, const void *b)
{
    const struct axp__heap_group *x = a, *y = b;
    if (x->at_peak_bytes != y->at_peak_bytes)
        return x->at_peak_bytes < y->at_peak_bytes ? 1 : -1;
    if (x->total_allocated != y->total_allocated)
        return x->total_allocated < y->total_allocated ? 1 : -1;
    return strcmp(x->text, y->text);
}

static void add_times(struct axp__heap_group *to,
                      const struct axp__heap_group *more)
{
    if (more->first_at < to->first_at) to->first_at = more->first_at;
    if (more->last_at > to->last_at) to->last_at = more->last_at;
    if (more->thread_id != to->thread_id) to->thread_id = 0;
    for (size_t i = 0; i < AXP_HEAP_AGES; i++)
        to->lived[i] += more->lived[i];
}

static size_t join_equal(struct axp__heap_group *g, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        struct axp__heap_group *to = kept ? &g[kept - 1] : NULL;
        if (!to || strcmp(to->text, g[i].text) != 0) {
            g[kept++] = g[i];
            continue;
        }
        to->current_bytes += g[i].current_bytes;
        to->current_blocks += g[i].current_blocks;
        to->at_peak_bytes += g[i].at_peak_bytes;
        to->total_allocated += g[i].total_allocated;
        to->n_allocs += g[i].n_allocs;
        to->n_temporary += g[i].n_temporary;
        to->growth_early += g[i].growth_early;
        to->growth_late += g[i].growth_late;
        add_times(to, &g[i]);
        if (!to->kind) to->kind = g[i].kind;
        free(g[i].text);
    }
    return kept;
}

struct axp__heap_group *axp__heap_groups(const axp_view *v, size_t *n)
{
    struct axp__heap_group *all = calloc(v->n_heap_places + 1, sizeof *all);
    bool ok = all;
    *n = 0;
    for (size_t i = 0; ok && i < v->n_heap_places; i++) {
        const axp_heap_place *p = &v->heap_places[i];
        all[i] = (struct axp__heap_group){.text = axp__heap_text(v, p),
                                          .kind = p->kind,
                                          .current_bytes = p->current_bytes,
                                          .current_blocks = p->current_blocks,
                                          .at_peak_bytes = p->at_peak_bytes,
                                          .total_allocated = p->total_allocated,
                                          .n_allocs = p->n_allocs,
                                          .n_temporary = p->n_temporary,
                                          .growth_early = p->growth_early,
                                          .growth_late = p->growth_late,
                                          .first_at = p->first_at,
                                          .last_at = p->last_at,
                                          .thread_id = p->thread_id};
        memcpy(all[i].lived, p->lived, sizeof p->lived);
        ok = all[i].text;
        if (ok) ++*n;
    }
    if (!ok) {
        axp__heap_groups_free(all, *n);
        return NULL;
    }
    qsort(all, *n, sizeof *all, by_text);
    *n = join_equal(all, *n);
    qsort(all, *n, sizeof *all, by_at_peak);
    return all;
}

static const struct axp__view_counter *outside(const axp_view *v,
                                               const char *name)
{
    for (size_t i = 0; i < v->n_counters; i++)
        if (v->counters[i].is_outside && !strcmp(v->counters[i].name, name))
            return &v->counters[i];
    return NULL;
}

const struct axp__view_counter *axp__heap_resident(const axp_view *v)
{
    return outside(v, "process.rss_bytes");
}

uint64_t axp__heap_resident_peak(const axp_view *v)
{
    const struct axp__view_counter *seen = axp__heap_resident(v);
    const struct axp__view_counter *told = outside(v, "process.rss_peak_bytes");
    uint64_t most = seen ? (uint64_t)seen->max : 0;
    return told && told->max > (double)most ? (uint64_t)told->max : most;
}

void axp__heap_groups_free(struct axp__heap_group *groups, size_t n)
{
    for (size_t i = 0; groups && i < n; i++)
        free(groups[i].text);
    free(groups);
}
