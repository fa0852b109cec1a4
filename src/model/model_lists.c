/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What callers ask a view for, copied into structs of their size. */
#include <stdlib.h>
#include <string.h>

#include "base/base_sized.h"
#include "model/model_view.h"
#include "record/record_thread.h"

/* Where a caller's array begins, how many it holds, how long each is. */
struct place {
    void *out;
    size_t cap, size;
};

static void put(struct place p, size_t i, const void *from, size_t size)
{
    axp__sized_copy((char *)p.out + i * p.size, p.size, from, size);
}

static size_t put_all(struct place p, const void *from, size_t n, size_t size)
{
    for (size_t i = 0; p.out && i < p.cap && i < n; i++)
        put(p, i, (const char *)from + i * size, size);
    return n;
}

/* ---- operations ----------------------------------------------------------------------- */

const axp_op *axp__view_find_op(const axp_view *v, const axp_op *like)
{
    size_t low = 0, high = v->n_ops;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (axp__view_by_name(v->ops_by_name[middle], like) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < v->n_ops ? v->ops_by_name[low] : NULL;
}

axp_status axp_view_op_sized(const axp_view *v, const char *name, axp_op *out,
                             size_t size)
{
    const axp_op *op =
        v && name ? axp__view_find_op(v, &(axp_op){.name = name}) : NULL;
    if (!op || strcmp(op->name, name) != 0)
        return axp__fail(AXP_E_NOT_FOUND, "no operation '%.200s' was recorded",
                         name ? name : "");
    axp__sized_copy(out, size, op, sizeof *op);
    return AXP_OK;
}

axp_status axp_view_op_like_sized(const axp_view *v, const axp_op *like,
                                  axp_op *out, size_t size)
{
    axp_op same;
    axp__sized_copy(&same, sizeof same, like, size);
    const axp_op *op = v && same.name ? axp__view_find_op(v, &same) : NULL;
    if (!op || axp__view_by_name(op, &same))
        return axp__fail(AXP_E_NOT_FOUND,
                         "no operation like '%.200s' was recorded",
                         same.name ? same.name : "");
    axp__sized_copy(out, size, op, sizeof *op);
    return AXP_OK;
}

static int by_total(const void *a, const void *b)
{
    const axp_op *x = a, *y = b;
    if (x->total_ns != y->total_ns) return x->total_ns < y->total_ns ? 1 : -1;
    return axp__view_by_name(x, y);
}

static int by_calls(const void *a, const void *b)
{
    const axp_op *x = a, *y = b;
    if (x->calls != y->calls) return x->calls < y->calls ? 1 : -1;
    return axp__view_by_name(x, y);
}

size_t axp_view_ops_sized(const axp_view *v, axp_order order, axp_op *out,
                          size_t cap, size_t size)
{
    if (!v) return 0;
    if (!out || !cap || !v->n_ops) return v->n_ops;
    axp_op *sorted = malloc(v->n_ops * sizeof *sorted);
    if (sorted) memcpy(sorted, v->ops, v->n_ops * sizeof *sorted);
    if (sorted && order != AXP_BY_SELF)
        qsort(sorted, v->n_ops, sizeof *sorted,
              order == AXP_BY_CALLS ? by_calls : by_total);
    /* Without memory in the order that is there. */
    put_all((struct place){out, cap, size}, sorted ? sorted : v->ops, v->n_ops,
            sizeof *sorted);
    free(sorted);
    return v->n_ops;
}

size_t axp_view_functions_sized(const axp_view *v, axp_op *out, size_t cap,
                                size_t size)
{
    struct place p = {out, cap, size};
    return v ? put_all(p, v->functions, v->n_functions, sizeof *v->functions)
             : 0;
}

size_t axp_view_tree_sized(const axp_view *v, axp_tree_node *out, size_t cap,
                           size_t size)
{
    struct place p = {out, cap, size};
    return v ? put_all(p, v->tree, v->n_tree, sizeof *v->tree) : 0;
}

void axp_view_steps_sized(const axp_view *v, axp_step_stats *out, size_t size)
{
    static const axp_step_stats none;
    axp__sized_copy(out, size, v ? &v->steps : &none, sizeof none);
}

/* ---- memory ----------------------------------------------------------------------------- */

void axp_view_memory_sized(const axp_view *v, axp_memory *out, size_t size)
{
    static const axp_memory none;
    axp__sized_copy(out, size, v ? &v->memory : &none, sizeof none);
}

size_t axp_view_memory_domains_sized(const axp_view *v, axp_memory_domain *out,
                                     size_t cap, size_t size)
{
    struct place p = {out, cap, size};
    return v ? put_all(p, v->domains, v->n_domains, sizeof *v->domains) : 0;
}

size_t axp_view_memory_names_sized(const axp_view *v, axp_memory_name *out,
                                   size_t cap, size_t size)
{
    struct place p = {out, cap, size};
    return v ? put_all(p, v->memory_names, v->n_memory_names,
                       sizeof *v->memory_names)
             : 0;
}

void axp_view_heap_sized(const axp_view *v, axp_heap *out, size_t size)
{
    static const axp_heap none;
    axp__sized_copy(out, size, v ? &v->heap : &none, sizeof none);
}

size_t axp_view_heap_places_sized(const axp_view *v, axp_heap_place *out,
                                  size_t cap, size_t size)
{
    struct place p = {out, cap, size};
    return v ? put_all(p, v->heap_places, v->n_heap_places,
                       sizeof *v->heap_places)
             : 0;
}

size_t axp_view_heap_levels_sized(const axp_view *v, axp_heap_level *out,
                                  size_t cap, size_t size)
{
    struct place p = {out, cap, size};
    return v ? put_all(p, v->heap_levels, v->n_heap_levels,
                       sizeof *v->heap_levels)
             : 0;
}

size_t axp_view_heap_kept_sized(const axp_view *v, axp_heap_kept *out,
                                size_t cap, size_t size)
{
    struct place p = {out, cap, size};
    return v ? put_all(p, v->heap_kept, v->n_heap_kept, sizeof *v->heap_kept)
             : 0;
}

size_t axp_view_leaks_sized(const axp_view *v, axp_leak *out, size_t cap,
                            size_t size)
{
    struct place p = {out, cap, size};
    return v ? put_all(p, v->leaks, v->n_leaks, sizeof *v->leaks) : 0;
}

/* ---- rows --------------------------------------------------------------------------------- */

size_t axp_view_threads_sized(const axp_view *v, axp_thread_info *out,
                              size_t cap, size_t size)
{
    struct place p = {out, cap, size};
    return v ? put_all(p, v->threads, v->n_threads, sizeof *v->threads) : 0;
}

size_t axp_view_processes_sized(const axp_view *v, axp_process_info *out,
                                size_t cap, size_t size)
{
    struct place p = {out, cap, size};
    return v ? put_all(p, v->processes, v->n_processes, sizeof *v->processes)
             : 0;
}

size_t axp_view_tracks_sized(const axp_view *v, axp_track_info *out, size_t cap,
                             size_t size)
{
    struct place p = {out, cap, size};
    if (!v) return 0;
    for (size_t i = 0; out && i < cap && i < v->n_tracks; i++) {
        const struct axp__view_track *t = &v->tracks[i];
        axp_track_info info = {t->name, t->process_id, t->rank,   t->begin,
                               t->end,  t->busy_ns,    t->events, t->device};
        put(p, i, &info, sizeof info);
    }
    return v->n_tracks;
}

size_t axp_view_counters_sized(const axp_view *v, axp_counter_info *out,
                               size_t cap, size_t size)
{
    struct place p = {out, cap, size};
    if (!v) return 0;
    for (size_t i = 0; out && i < cap && i < v->n_counters; i++) {
        const struct axp__view_counter *k = &v->counters[i];
        axp_counter_info info = {k->name,    k->n,          k->last,
                                 k->mean,    k->min,        k->max,
                                 k->last_at, k->is_outside, k->rate};
        put(p, i, &info, sizeof info);
    }
    return v->n_counters;
}

size_t axp_view_warnings_sized(const axp_view *v, axp_warning *out, size_t cap,
                               size_t size)
{
    struct place p = {out, cap, size};
    return v ? put_all(p, v->warnings, v->n_warnings, sizeof *v->warnings) : 0;
}
