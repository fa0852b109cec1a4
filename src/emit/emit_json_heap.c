/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the allocator handed out, in the JSON report. */
#include "emit/emit_heap.h"
#include "emit/emit_words.h"

static void put_stack(struct axp__json *j, const axp_view *v, const char *key,
                      uint32_t stack)
{
    axp_frame frames[64];
    size_t n = stack ? axp_view_stack(v, stack, frames, 64) : 0;
    axp__json_list(j, key);
    for (size_t i = 0; i < n && i < 64; i++) {
        const axp_frame *f = &frames[i];
        axp__json_next(j);
        axp__json_begin(j, '{');
        axp__json_text(j, "function", f->function);
        axp__json_text(j, "file", f->file);
        axp__json_known(j, "line", f->line > 0, f->line);
        axp__json_text(j, "module", f->module);
        axp__json_u64(j, "offset", f->offset);
        axp__json_bool(j, "is_inlined", f->is_inlined);
        axp__json_end(j, '}');
    }
    axp__json_end(j, ']');
}

static void put_heap_place(struct axp__json *j, const axp_view *v,
                           const axp_heap_place *p)
{
    axp__json_text(j, "name", p->name);
    axp__json_text(j, "kind", axp__word_mem(p->kind));
    axp__json_list(j, "scopes");
    for (size_t i = 0; i < p->n_scopes; i++) {
        axp__json_next(j);
        axp__out_json(j->o, p->scopes[i]);
    }
    axp__json_end(j, ']');
    axp__json_u64(j, "current_bytes", p->current_bytes);
    axp__json_u64(j, "current_blocks", p->current_blocks);
    axp__json_u64(j, "at_peak_bytes", p->at_peak_bytes);
    axp__json_u64(j, "total_allocated", p->total_allocated);
    axp__json_u64(j, "n_allocs", p->n_allocs);
    axp__json_u64(j, "n_frees", p->n_frees);
    axp__json_u64(j, "n_temporary", p->n_temporary);
    axp__json_f64(j, "growth_early", p->growth_early);
    axp__json_f64(j, "growth_late", p->growth_late);
    axp__json_f64(j, "step_allocs", p->step_allocs);
    axp__json_f64(j, "step_bytes", p->step_bytes);
    axp__json_u64(j, "first_at", p->first_at);
    axp__json_u64(j, "last_at", p->last_at);
    axp__json_known(j, "thread_id", p->thread_id, (double)p->thread_id);
    axp__json_list(j, "lived");
    for (size_t i = 0; i < AXP_HEAP_AGES; i++) {
        axp__json_next(j);
        axp__out_u64(j->o, p->lived[i]);
    }
    axp__json_end(j, ']');
    put_stack(j, v, "stack", p->stack);
}

static void put_kept(struct axp__json *j, const axp_view *v)
{
    axp__json_list(j, "kept");
    for (size_t i = 0; i < v->n_heap_kept; i++) {
        const axp_heap_kept *k = &v->heap_kept[i];
        axp__json_item(j);
        axp__json_u64(j, "place", k->place);
        axp__json_u64(j, "bytes", k->bytes);
        axp__json_u64(j, "at", k->at);
        axp__json_known(j, "thread_id", k->thread_id, (double)k->thread_id);
        axp__json_u64(j, "stands_for", k->stands_for);
        axp__json_end(j, '}');
    }
    axp__json_items_end(j);
}

/* By columns: there are thousands. */
static void put_levels(struct axp__json *j, const axp_view *v)
{
    axp__json_object(j, "levels");
#define COLUMN(member)                                                         \
    axp__json_list(j, #member);                                                \
    for (size_t i = 0; i < v->n_heap_levels; i++) {                            \
        axp__json_next(j);                                                     \
        axp__out_u64(j->o, v->heap_levels[i].member);                          \
    }                                                                          \
    axp__json_end(j, ']');
    COLUMN(from)
    COLUMN(to)
    COLUMN(min_bytes)
    COLUMN(max_bytes)
#undef COLUMN
    axp__json_end(j, '}');
}

/* null: nobody looked at the allocator. */
void axp__json_heap(struct axp__json *j, const axp_view *v)
{
    const axp_heap *h = &v->heap;
    if (!h->is_seen) {
        axp__json_text(j, "heap", NULL);
        return;
    }
    axp__json_object(j, "heap");
    axp__json_u64(j, "current_bytes", h->current_bytes);
    axp__json_u64(j, "current_blocks", h->current_blocks);
    axp__json_u64(j, "peak_bytes", h->peak_bytes);
    axp__json_known(j, "peak_at", h->peak_bytes, (double)h->peak_at);
    axp__json_u64(j, "total_allocated", h->total_allocated);
    axp__json_u64(j, "total_freed", h->total_freed);
    axp__json_u64(j, "n_allocs", h->n_allocs);
    axp__json_u64(j, "n_frees", h->n_frees);
    axp__json_u64(j, "n_temporary", h->n_temporary);
    axp__json_u64(j, "n_missed", h->n_missed);
    axp__json_u64(j, "mapped_bytes", h->mapped_bytes);
    axp__json_u64(j, "mapped_peak_bytes", h->mapped_peak_bytes);
    axp__json_u64(j, "n_mapped", h->n_mapped);
    axp__json_u64(j, "sampled_bytes", h->sampled_bytes);
    axp__json_u64(j, "n_failed", h->n_failed);
    axp__json_known(j, "failed_bytes", h->n_failed, (double)h->failed_bytes);
    axp__json_known(j, "failed_at", h->n_failed, (double)h->failed_at);
    if (h->n_failed) put_stack(j, v, "failed_stack", h->failed_stack);
    put_levels(j, v);
    axp__json_list(j, "places");
    for (size_t i = 0; i < v->n_heap_places; i++) {
        axp__json_item(j);
        put_heap_place(j, v, &v->heap_places[i]);
        axp__json_end(j, '}');
    }
    axp__json_items_end(j);
    put_kept(j, v);
    axp__json_end(j, '}');
}
