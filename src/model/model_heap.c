/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What an allocator handed out: totals, and places with what each held at the
 * peak. That is what they held together, which is what the recorder saw but for
 * blocks that were on their way just then; where the allocator had nothing once,
 * places have what they held at that time, and the peak is the recorder's. The
 * threads' parts are added up: of one alone they mean nothing, since
 * another may free what it allocated (tally_record.h).
 *
 * Input    untrusted: a text that is no place has no stack and no scopes; a sum
 *          below 0 is 0.
 */
#include <stdlib.h>
#include <string.h>

#include "model/model_view.h"
#include "wire/wire_place.h"
#include "wire/wire_stack.h"

/* ---- sums -------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    const struct axp__cap_place *x = a, *y = b;
    return (x->name > y->name) - (x->name < y->name);
}

static void add_times(struct axp__cap_place *to,
                      const struct axp__cap_place *more)
{
    for (unsigned i = 0; i < AXP_HEAP_AGES; i++)
        to->lived[i] += more->lived[i];
    if (!more->n_rows) return;
    bool is_other = to->n_rows && to->row != more->row;
    if (!to->n_rows || more->first_ticks < to->first_ticks)
        to->first_ticks = more->first_ticks;
    if (!to->n_rows || more->last_ticks > to->last_ticks)
        to->last_ticks = more->last_ticks;
    to->row = more->row;
    to->n_rows = is_other || to->n_rows > 1 || more->n_rows > 1 ? 2 : 1;
}

/* One record a place, sorted by name; malloc. */
static struct axp__cap_place *all_places(const struct axp__capture *c,
                                         size_t *count)
{
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < c->n_lanes; i++)
        n += c->lanes[i].n_places;
    struct axp__cap_place *all = malloc((n + 1) * sizeof *all);
    if (!all) return NULL;
    n = 0;
    for (size_t i = 0; i < c->n_lanes; i++)
        for (uint32_t k = 0; k < c->lanes[i].n_places; k++)
            all[n++] = c->lanes[i].places[k];
    qsort(all, n, sizeof *all, by_name);
    for (size_t i = 0; i < n; i++) {
        struct axp__cap_place *to = kept ? &all[kept - 1] : NULL;
        if (!to || to->name != all[i].name) {
            all[kept++] = all[i];
            continue;
        }
        to->n_allocs += all[i].n_allocs;
        to->n_frees += all[i].n_frees;
        to->allocated_bytes += all[i].allocated_bytes;
        to->freed_bytes += all[i].freed_bytes;
        to->n_temporary += all[i].n_temporary;
        to->at_peak_bytes += all[i].at_peak_bytes;
        to->growth_early += all[i].growth_early;
        to->growth_late += all[i].growth_late;
        to->step_allocs += all[i].step_allocs;
        to->step_bytes += all[i].step_bytes;
        add_times(to, &all[i]);
    }
    *count = kept;
    return all;
}

static uint64_t not_below_0(uint64_t v)
{
    return v >> 63 ? 0 : v;
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* ---- places ------------------------------------------------------------------------ */

/* The kind that the program gave a name, on the host. */
static axp_mem kind_of(const axp_view *v, uint32_t name)
{
    const struct axp__capture *c = v->capture;
    size_t low = 0, high = c->n_live;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (c->live[mid].name < name)
            low = mid + 1;
        else
            high = mid;
    }
    bool is_there = low < c->n_live && c->live[low].name == name;
    return is_there ? (axp_mem)c->live[low].kind : AXP_MEM_NONE;
}

static bool parts_of(const axp_view *v, uint32_t name,
                     struct axp__heap_place_parts *parts)
{
    struct axp__cap_name n = v->capture->name_at(v->capture, name);
    return axp__kind_of(n.flags) == AXP__KIND_PLACE &&
           axp__heap_place_get(n.text, parts);
}

static uint32_t stack_of(uint32_t id)
{
    return id == AXP__STACK_NO_ROOM ? AXP__STACK_NONE : id;
}

/* scopes: room for all of its. */
static void set_where(const axp_view *v, uint32_t name, axp_heap_place *to,
                      const char **scopes)
{
    struct axp__heap_place_parts parts;
    if (!parts_of(v, name, &parts)) return;
    to->stack = stack_of(parts.stack);
    if (parts.label) {
        to->name = axp__view_name(v, parts.label);
        to->kind = kind_of(v, parts.label);
    }
    to->scopes = scopes;
    to->n_scopes = parts.n_scopes;
    for (uint32_t i = 0; i < parts.n_scopes; i++)
        scopes[i] = axp__view_name(v, parts.scope[parts.n_scopes - 1 - i]);
}

static size_t count_scopes(const axp_view *v, const struct axp__cap_place *all,
                           size_t n)
{
    struct axp__heap_place_parts parts;
    size_t sum = 0;
    for (size_t i = 0; i < n; i++)
        if (parts_of(v, all[i].name, &parts)) sum += parts.n_scopes;
    return sum;
}

static void set_times(const axp_view *v, const struct axp__cap_place *p,
                      axp_heap_place *to)
{
    const struct axp__cap_row *row =
        p->n_rows == 1 ? axp__view_row(v, p->row) : NULL;
    memcpy(to->lived, p->lived, sizeof to->lived);
    if (!p->n_rows) return;
    to->first_at = axp__view_time(v, p->first_ticks);
    to->last_at = axp__view_time(v, p->last_ticks);
    if (to->last_at < to->first_at) to->last_at = to->first_at;
    to->thread_id = row ? row->tid : 0;
}

static void add_place(axp_view *v, const struct axp__cap_place *p,
                      const char **scopes)
{
    axp_heap *h = &v->heap;
    axp_heap_place *to = &v->heap_places[v->n_heap_places++];
    *to = (axp_heap_place){.total_allocated = not_below_0(p->allocated_bytes),
                           .n_allocs = not_below_0(p->n_allocs),
                           .n_frees = not_below_0(p->n_frees),
                           .n_temporary = p->n_temporary,
                           .at_peak_bytes =
                               not_below_0((uint64_t)p->at_peak_bytes),
                           .growth_early = p->growth_early,
                           .growth_late = p->growth_late,
                           .step_allocs = p->step_allocs,
                           .step_bytes = p->step_bytes};
    uint64_t freed = not_below_0(p->freed_bytes);
    to->current_bytes = less(to->total_allocated, freed);
    to->current_blocks = less(to->n_allocs, to->n_frees);
    set_where(v, p->name, to, scopes);
    set_times(v, p, to);
    h->current_bytes += to->current_bytes;
    h->current_blocks += to->current_blocks;
    h->total_allocated += to->total_allocated;
    h->total_freed += freed;
    h->n_allocs += to->n_allocs;
    h->n_frees += to->n_frees;
    h->n_temporary += to->n_temporary;
    if (!h->n_failed) h->peak_bytes += to->at_peak_bytes;
}

struct named {
    axp_heap_place place;
    uint32_t name;
};

static int by_at_peak(const void *a, const void *b)
{
    const axp_heap_place *x = &((const struct named *)a)->place;
    const axp_heap_place *y = &((const struct named *)b)->place;
    if (x->at_peak_bytes != y->at_peak_bytes)
        return x->at_peak_bytes < y->at_peak_bytes ? 1 : -1;
    if (x->total_allocated != y->total_allocated)
        return x->total_allocated < y->total_allocated ? 1 : -1;
    return (x->stack > y->stack) - (x->stack < y->stack);
}

/* Their names are kept with them. */
static bool sort_places(axp_view *v, const struct axp__cap_place *all, size_t n)
{
    struct named *sorted = malloc((n + 1) * sizeof *sorted);
    if (!sorted) return false;
    for (size_t i = 0; i < n; i++)
        sorted[i] = (struct named){v->heap_places[i], all[i].name};
    qsort(sorted, n, sizeof *sorted, by_at_peak);
    for (size_t i = 0; i < n; i++) {
        v->heap_places[i] = sorted[i].place;
        v->heap_names[i] = sorted[i].name;
    }
    free(sorted);
    return true;
}

bool axp__heap_was_asked_too_much(const axp_view *v)
{
    const struct axp__capture *c = v->capture;
    uint64_t all = c->about.memory_bytes, group = c->heap.group_bytes;
    if (!all || (group && group < all)) all = group;
    return v->heap.n_failed && all && v->heap.failed_bytes > all;
}

static void set_totals(axp_view *v, const struct axp__cap_heap *from)
{
    struct axp__heap_place_parts parts;
    axp_heap *h = &v->heap;
    h->is_seen = true;
    if (from->n_failed) h->peak_bytes = from->peak_bytes;
    h->peak_at = from->peak_bytes ? axp__view_time(v, from->peak_ticks) : 0;
    h->n_missed = from->n_missed;
    h->sampled_bytes = from->sampled_bytes;
    h->mapped_bytes = from->mapped_bytes;
    h->mapped_peak_bytes = from->mapped_peak;
    h->n_mapped = from->n_mapped;
    h->n_failed = from->n_failed;
    if (!from->n_failed) return;
    h->failed_bytes = from->failed_bytes;
    h->failed_limit_bytes = from->failed_limit;
    h->failed_at = axp__view_time(v, from->failed_ticks);
    if (parts_of(v, from->failed_place, &parts))
        h->failed_stack = stack_of(parts.stack);
}

bool axp__view_make_heap(axp_view *v)
{
    const struct axp__capture *c = v->capture;
    size_t n = 0;
    if (!c->heap.is_seen) return true;
    struct axp__cap_place *all = all_places(c, &n);
    if (!all) return false;
    v->heap_places = calloc(n + 1, sizeof *v->heap_places);
    v->heap_names = calloc(n + 1, sizeof *v->heap_names);
    v->heap_scopes =
        calloc(count_scopes(v, all, n) + 1, sizeof *v->heap_scopes);
    const char **scopes = v->heap_scopes;
    bool ok = v->heap_places && v->heap_names && scopes;
    if (ok) set_totals(v, &c->heap);
    for (size_t i = 0; ok && i < n; i++) {
        add_place(v, &all[i], scopes);
        scopes += v->heap_places[i].n_scopes;
    }
    ok = ok && sort_places(v, all, n);
    free(all);
    return ok;
}
