/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The heap on the page: sums at once, then tables.
 *
 *   places ─► tree of names: scopes, functions, what the program calls it
 *        └──► a line a place, with the node of the tree that it ends in
 *   levels ─► what was live over time
 *   kept ───► single blocks that were never freed
 *
 * The tree has no figures: the page adds up those of the places, by what is
 * asked for. Equal names are one string, also those of operations, so that
 * choosing a function there chooses it everywhere.
 */
#include "emit/emit_html.h"

#include <stdlib.h>

#include "base/base_text.h"
#include "emit/emit_frame.h"
#include "emit/emit_heap.h"
#include "model/model_slots.h"

#define MOST_FRAMES 256u
#define N_COLUMNS (20u + AXP_HEAP_AGES) /* of a place */

struct node {
    uint32_t name, parent; /* a string; an index, of the root its own */
};

struct thread { /* of the view */
    uint64_t id;
    uint32_t index;
};

struct tree {
    struct axp__html_job *job;
    struct node *nodes;
    size_t n, cap;
    struct axp__slots slots;
    struct thread *threads; /* by id */
};

/* ---- sums -------------------------------------------------------------------------- */

static void put_failed(struct axp__html_job *job)
{
    struct axp__json *j = &job->json;
    const axp_heap *h = &job->v->heap;
    char where[512];
    const char *text =
        axp__heap_where(job->v, h->failed_stack, where, sizeof where);
    if (!h->n_failed) return;
    axp__json_object(j, "failed");
    axp__json_u64(j, "count", h->n_failed);
    axp__json_u64(j, "bytes", h->failed_bytes);
    axp__html_put_time(job, "at", h->failed_at);
    if (text) axp__json_text(j, "where", text);
    if (axp__heap_was_asked_too_much(job->v))
        axp__json_bool(j, "is_too_much", true);
    axp__json_end(j, '}');
}

void axp__html_heap_put(struct axp__html_job *job)
{
    struct axp__json *j = &job->json;
    const axp_heap *h = &job->v->heap;
    const struct axp__view_counter *resident = axp__heap_resident(job->v);
    if (!h->is_seen) return;
    axp__json_object(j, "heap");
    axp__json_u64(j, "current", h->current_bytes);
    axp__json_u64(j, "blocks", h->current_blocks);
    axp__json_u64(j, "peak", h->peak_bytes);
    axp__html_put_time(job, "peak_at", h->peak_at);
    axp__json_u64(j, "allocated", h->total_allocated);
    axp__json_u64(j, "n_allocs", h->n_allocs);
    axp__json_u64(j, "n_frees", h->n_frees);
    axp__json_u64(j, "n_temporary", h->n_temporary);
    axp__json_u64(j, "n_missed", h->n_missed);
    axp__json_u64(j, "sampled", h->sampled_bytes);
    axp__json_u64(j, "mapped", h->mapped_bytes);
    axp__json_u64(j, "mapped_peak", h->mapped_peak_bytes);
    axp__json_u64(j, "n_mapped", h->n_mapped);
    if (resident) {
        axp__json_u64(j, "resident", (uint64_t)resident->last);
        axp__json_u64(j, "resident_peak", axp__heap_resident_peak(job->v));
        axp__json_u64(j, "resident_name",
                      axp__html_string_as(&job->strings, AXP__HTML_OUTSIDE,
                                          resident->name));
    }
    put_failed(job);
    axp__json_end(j, '}');
}

/* ---- the tree ---------------------------------------------------------------------- */

static uint64_t hash(uint32_t name, uint32_t parent)
{
    return axp__mix64((uint64_t)name << 32 | parent);
}

static uint64_t hash_of(const void *ctx, uint32_t i)
{
    const struct node *n = &((const struct tree *)ctx)->nodes[i];
    return hash(n->name, n->parent);
}

static uint32_t add_node(struct tree *t, uint32_t name, uint32_t parent)
{
    void *nodes = axp__html_grow(t->nodes, t->n, &t->cap, sizeof *t->nodes);
    if (!nodes) {
        axp__html_fail(t->job, AXP_E_NO_MEMORY);
        return 0;
    }
    t->nodes = nodes;
    t->nodes[t->n] = (struct node){name, parent};
    return (uint32_t)t->n++;
}

/* The root where there is no memory, which is remembered. */
static uint32_t child(struct tree *t, uint32_t parent, uint32_t name)
{
    uint32_t *slot;
    if (!axp__slots_widen(&t->slots, t, hash_of)) {
        axp__html_fail(t->job, AXP_E_NO_MEMORY);
        return 0;
    }
    for (uint64_t k = hash(name, parent); *(slot = axp__slots_at(&t->slots, k));
         k++) {
        const struct node *n = &t->nodes[*slot - 1];
        if (n->name == name && n->parent == parent) return *slot - 1;
    }
    uint32_t made = add_node(t, name, parent);
    if (!made) return 0;
    *slot = made + 1;
    t->slots.n_used++;
    return made;
}

/* Too much text is not known. */
static uint32_t string(struct tree *t, const char *text)
{
    uint32_t s = axp__html_string_copy(&t->job->strings, text);
    return s == UINT32_MAX ? axp__html_string(&t->job->strings, "(unknown)")
                           : s;
}

/* The node of a place; `at` is its name for people, without the line. */
static uint32_t place_node(struct tree *t, const axp_heap_place *p,
                           uint32_t *at)
{
    axp_frame frames[MOST_FRAMES];
    char text[AXP__FRAME_TEXT];
    size_t n =
        p->stack ? axp_view_stack(t->job->v, p->stack, frames, MOST_FRAMES) : 0;
    uint32_t node = 0;
    if (n > MOST_FRAMES) n = MOST_FRAMES;
    for (size_t i = 0; i < p->n_scopes; i++)
        node = child(t, node, string(t, p->scopes[i]));
    for (size_t i = n; i--;)
        node = child(t, node, string(t, axp__frame_text(&frames[i], text)));
    if (p->name || !node)
        node = child(t, node, string(t, p->name ? p->name : "(unknown)"));
    *at = t->n ? t->nodes[node].name : 0;
    if (!p->name && n)
        *at = string(t, axp__frame_text(axp__heap_frame(frames, n), text));
    return node;
}

/* ---- threads ----------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
    const struct thread *x = a, *y = b;
    if (x->id != y->id) return x->id > y->id ? 1 : -1;
    return (x->index > y->index) - (x->index < y->index);
}

static bool list_threads(struct tree *t)
{
    const axp_view *v = t->job->v;
    t->threads = malloc((v->n_threads + 1) * sizeof *t->threads);
    if (!t->threads) return false;
    for (size_t i = 0; i < v->n_threads; i++)
        t->threads[i] = (struct thread){v->threads[i].id, (uint32_t)i};
    qsort(t->threads, v->n_threads, sizeof *t->threads, by_id);
    return true;
}

static int is_id(const void *id, const void *thread)
{
    uint64_t a = *(const uint64_t *)id, b = ((const struct thread *)thread)->id;
    return (a > b) - (a < b);
}

/* 1 + the index of a thread of that id; 0: none. */
static uint64_t thread_of(const struct tree *t, uint64_t id)
{
    const struct thread *found =
        id ? bsearch(&id, t->threads, t->job->v->n_threads, sizeof *t->threads,
                     is_id)
           : NULL;
    return found ? (uint64_t)found->index + 1 : 0;
}

static uint64_t since(const struct axp__html_job *job, axp_ns at)
{
    return at > job->t0 ? at - job->t0 : 0;
}

/* ---- tables ------------------------------------------------------------------------ */

static void write_tree(struct tree *t)
{
    struct axp__html_packer *p = t->job->events.packer;
    uint32_t *column = malloc((t->n + 1) * sizeof *column);
    if (!column || !axp__html_pack_begin(p, (uint32_t)t->n, 2)) {
        axp__html_fail(t->job, AXP_E_NO_MEMORY);
    } else {
        for (size_t i = 0; i < t->n; i++)
            column[i] = t->nodes[i].name;
        axp__html_pack_u32(p, column);
        for (size_t i = 0; i < t->n; i++)
            column[i] = t->nodes[i].parent;
        axp__html_pack_u32(p, column);
        axp__html_write_table(t->job,
                              &(struct axp__html_table){.kind = "heap_tree",
                                                        .n_columns = 2,
                                                        .n = (uint32_t)t->n});
    }
    free(column);
}

static uint64_t bits(double value)
{
    uint64_t out;
    memcpy(&out, &value, sizeof out);
    return out;
}

/* What the page has of a place, in the order of docs/html-data.md. */
static void fill_place(struct tree *t, const axp_heap_place *p,
                       uint64_t out[N_COLUMNS])
{
    char *label = axp__heap_text(t->job->v, p);
    uint32_t at = 0, node = place_node(t, p, &at);
    uint64_t row[N_COLUMNS] = {node,
                               at,
                               label ? string(t, label) : at,
                               p->n_scopes,
                               p->name != NULL,
                               (uint64_t)p->kind,
                               p->current_bytes,
                               p->current_blocks,
                               p->at_peak_bytes,
                               p->total_allocated,
                               p->n_allocs,
                               p->n_frees,
                               p->n_temporary,
                               bits(p->growth_early),
                               bits(p->growth_late),
                               bits(p->step_allocs),
                               bits(p->step_bytes),
                               since(t->job, p->first_at),
                               since(t->job, p->last_at),
                               thread_of(t, p->thread_id)};
    memcpy(row + 20, p->lived, sizeof p->lived);
    if (!label) axp__html_fail(t->job, AXP_E_NO_MEMORY);
    free(label);
    memcpy(out, row, sizeof row);
}

/* Rows of so many numbers each, as columns. */
static void write_rows(struct axp__html_job *job, const char *kind,
                       const uint64_t *rows, size_t n, unsigned n_columns)
{
    struct axp__html_packer *p = job->events.packer;
    uint64_t *column = malloc((n + 1) * sizeof *column);
    if (!column || !axp__html_pack_begin(p, (uint32_t)n, n_columns)) {
        axp__html_fail(job, AXP_E_NO_MEMORY);
        free(column);
        return;
    }
    for (size_t k = 0; k < n_columns; k++) {
        for (size_t i = 0; i < n; i++)
            column[i] = rows[i * n_columns + k];
        axp__html_pack_u64(p, column);
    }
    free(column);
    axp__html_write_table(job, &(struct axp__html_table){.kind = kind,
                                                         .n_columns = n_columns,
                                                         .n = (uint32_t)n});
}

static void write_levels(struct axp__html_job *job)
{
    const axp_view *v = job->v;
    size_t n = v->n_heap_levels;
    uint64_t *rows = n ? malloc(n * 3 * sizeof *rows) : NULL;
    if (!n) return;
    axp_ns before = job->t0;
    for (size_t i = 0; rows && i < n; i++) {
        const axp_heap_level *l = &v->heap_levels[i];
        uint64_t row[] = {l->from > before ? l->from - before : 0, l->min_bytes,
                          l->max_bytes};
        memcpy(rows + i * 3, row, sizeof row);
        if (l->from > before) before = l->from;
    }
    if (rows)
        write_rows(job, "heap_levels", rows, n, 3);
    else
        axp__html_fail(job, AXP_E_NO_MEMORY);
    free(rows);
}

static void write_kept(const struct tree *t)
{
    const axp_view *v = t->job->v;
    size_t n = v->n_heap_kept;
    uint64_t *rows = n ? malloc(n * 5 * sizeof *rows) : NULL;
    if (!n) return;
    for (size_t i = 0; rows && i < n; i++) {
        const axp_heap_kept *k = &v->heap_kept[i];
        uint64_t row[] = {k->place, k->bytes, since(t->job, k->at),
                          thread_of(t, k->thread_id), k->stands_for};
        memcpy(rows + i * 5, row, sizeof row);
    }
    if (rows)
        write_rows(t->job, "heap_kept", rows, n, 5);
    else
        axp__html_fail(t->job, AXP_E_NO_MEMORY);
    free(rows);
}

void axp__html_heap_write(struct axp__html_job *job)
{
    const axp_view *v = job->v;
    size_t n = v->n_heap_places;
    struct tree t = {.job = job};
    write_levels(job);
    if (!n) return;
    uint64_t *rows = malloc(n * N_COLUMNS * sizeof *rows);
    if (!rows || !list_threads(&t)) axp__html_fail(job, AXP_E_NO_MEMORY);
    if (!job->status)
        add_node(&t, axp__html_string(&job->strings, "(root)"), 0);
    for (size_t i = 0; i < n && !job->status; i++)
        fill_place(&t, &v->heap_places[i], rows + i * N_COLUMNS);
    if (!job->status) write_tree(&t);
    if (!job->status) write_rows(job, "heap_places", rows, n, N_COLUMNS);
    if (!job->status) write_kept(&t);
    free(rows);
    free(t.threads);
    free(t.nodes);
    free(t.slots.at);
}
