/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Views come and go; see model_view.h. */
#include "model/model_view.h"

#include <stdlib.h>

#include "base/base_version.h"
#include "file/file_open.h"
#include "model/model_functions.h"
#include "model/model_stacks.h"
#include "record/record_capture.h"
#include "record/record_thread.h"

static const char *const rt __attribute__((used)) = &AXP__RT_OF_VERSION;

axp_view *axp__view_make(struct axp__capture *capture)
{
    axp_view *v = calloc(1, sizeof *v);
    if (!v) {
        capture->release(capture);
        return NULL;
    }
    v->capture = capture;
    v->stack_names = axp__stack_names_create(capture);
    if (v->stack_names && axp__view_find_shapes(v) && axp__view_make_index(v) &&
        axp__view_make_lives(v) && axp__view_make_machine(v) &&
        axp__view_make_ops(v) && axp__view_make_processes(v) &&
        axp__view_make_shapes(v) && axp__view_make_tree(v) &&
        axp__view_make_memory(v) && axp__view_make_heap(v) &&
        axp__view_make_levels(v) && axp__view_make_kept(v) &&
        axp__view_make_rows(v) && axp__view_make_rest(v) &&
        axp__view_make_events(v) && axp__view_make_warnings(v))
        return v;
    axp_view_destroy(v);
    return NULL;
}

bool axp__view_clocks(const axp_view *v, struct axp__view_clocks *out)
{
    const struct axp__capture *c = v->capture;
    bool is_later = c->clock.ticks > c->start_ticks;
    uint64_t ns = axp__view_ns(v, is_later ? c->clock.ticks - c->start_ticks
                                           : c->start_ticks - c->clock.ticks);
    uint64_t least = c->clock.monotonic_ns, most = INT64_MAX;
    if (c->clock.realtime_ns < least) least = c->clock.realtime_ns;
    /* a file may claim anything */
    if (!c->clock.ticks || c->clock.monotonic_ns > most / 2 ||
        c->clock.realtime_ns > most / 2 || ns > (is_later ? least : most / 2))
        return false;
    if (is_later) ns = 0 - ns;
    *out = (struct axp__view_clocks){c->clock.monotonic_ns + ns,
                                     c->clock.realtime_ns + ns};
    return true;
}

axp_view *axp_snapshot(axp_profiler *p)
{
    struct axp__capture *c = axp__capture_take(p);
    if (!c) return NULL;
    if (c->trace && axp__trace_attach(c)) {
        /* as well as memory has it */
    }
    axp_view *v = axp__view_make(c);
    if (!v) axp__fail(AXP_E_NO_MEMORY, "no memory for a view");
    return v;
}

void axp_view_destroy(axp_view *v)
{
    if (!v) return;
    if (v->graph) v->free_graph(v->graph);
    axp__stack_names_destroy(v->stack_names);
    v->capture->release(v->capture);
    free(v->machine);
    free(v->row_keys);
    free(v->lane_of_row);
    free(v->op_of);
    free(v->shapes);
    free(v->ops);
    free(v->ops_by_name);
    free(v->processes);
    free(v->lives);
    free(v->tree);
    free(v->tree_names);
    free(v->tree_is_own);
    axp__view_free_functions(v);
    free(v->domains);
    free(v->memory_names);
    free(v->leaks);
    free(v->heap_places);
    free(v->heap_scopes);
    free(v->heap_names);
    free(v->heap_levels);
    free(v->heap_kept);
    free(v->threads);
    free(v->tracks);
    free(v->counters);
    free(v->warnings);
    for (size_t i = 0; i < sizeof v->own_texts / sizeof *v->own_texts; i++)
        free(v->own_texts[i]);
    free(v);
}

bool axp__view_modules(const axp_view *v, axp__module_fn *fn, void *ctx)
{
    const struct axp__capture *c = v->capture;
    size_t n_parts = c->n_processes ? c->n_processes : 1;
    for (size_t i = 0; i < n_parts; i++) {
        const struct axp__capture *part = axp__cap_part(c, i);
        for (size_t k = 0; k < part->n_modules; k++)
            if (fn(&part->modules[k], ctx)) return true;
    }
    return false;
}
