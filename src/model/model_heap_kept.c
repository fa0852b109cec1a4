/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Blocks of the heap that were never freed and are known one by one.
 *
 * Input    untrusted: one of a place that is not there is left out.
 */
#include <stdlib.h>

#include "model/model_view.h"

struct index {
    uint32_t name, place;
};

static int by_name(const void *a, const void *b)
{
    const struct index *x = a, *y = b;
    return (x->name > y->name) - (x->name < y->name);
}

static int by_bytes(const void *a, const void *b)
{
    const axp_heap_kept *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    if (x->at != y->at) return x->at > y->at ? 1 : -1;
    return (x->place > y->place) - (x->place < y->place);
}

static void add(axp_view *v, const struct index *places,
                const struct axp__cap_note *note)
{
    const struct index key = {note->place, 0};
    const struct index *found =
        bsearch(&key, places, v->n_heap_places, sizeof key, by_name);
    const struct axp__cap_row *row = axp__view_row(v, note->row);
    if (!found || !note->bytes) return;
    v->heap_kept[v->n_heap_kept++] =
        (axp_heap_kept){.place = found->place,
                        .bytes = note->bytes,
                        .at = axp__view_time(v, note->ticks),
                        .thread_id = row ? row->tid : 0,
                        .stands_for = note->weight ? note->weight : 1};
}

bool axp__view_make_kept(axp_view *v)
{
    const struct axp__capture *c = v->capture;
    if (!c->n_notes || !v->n_heap_places) return true;
    struct index *places = malloc(v->n_heap_places * sizeof *places);
    v->heap_kept = calloc(c->n_notes, sizeof *v->heap_kept);
    bool ok = places && v->heap_kept;
    if (ok) {
        for (uint32_t i = 0; i < v->n_heap_places; i++)
            places[i] = (struct index){v->heap_names[i], i};
        qsort(places, v->n_heap_places, sizeof *places, by_name);
        for (size_t i = 0; i < c->n_notes; i++)
            add(v, places, &c->notes[i]);
        qsort(v->heap_kept, v->n_heap_kept, sizeof *v->heap_kept, by_bytes);
    }
    free(places);
    return ok;
}
