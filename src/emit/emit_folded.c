/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Folded stacks, as flamegraph.pl, inferno and others read them: a line a
 * place in the call tree, names from the outermost with ; between, and its
 * self time in nanoseconds: of a scope without what its sampled functions have.
 * Threads are merged, as in the view's tree. And the same of memory: a line a
 * place of the heap, with what it held, kept or allocated. */
#include <stdlib.h>

#include "emit/emit_export.h"
#include "emit/emit_frame.h"
#include "model/model_functions.h"
#include "record/record_thread.h"

#define MOST_FRAMES 256u

/* A name has no ; and no control characters in it, and begins no comment. */
static void put_name(struct axp__out *o, const char *name, size_t most,
                     bool is_first)
{
    const char *end = name + axp__len_to(name, most);
    if (is_first && *name == '#') axp__out_char(o, '_');
    while (name < end) {
        size_t n = 0;
        while (name + n < end && (unsigned char)name[n] >= ' ' &&
               name[n] != 127 && name[n] != ';')
            n++;
        axp__out_utf8(o, name, n);
        name += n;
        if (name == end) break;
        axp__out_char(o, *name == ';' ? ':' : ' ');
        name++;
    }
}

struct stack {
    int32_t *path;
    const axp_ns *rest;
    struct axp__stack_limit most;
};

static void put_line(struct axp__out *o, const axp_view *v, size_t node,
                     const struct stack *s)
{
    int32_t *path = s->path, i = (int32_t)node;
    size_t n = 0;
    for (; i > 0 && n < s->most.n_frames; i = v->tree[i].parent)
        path[n++] = i;
    if (i > 0) axp__out_text(o, "...;");
    for (size_t k = n; k--;) {
        const axp_tree_node *at = &v->tree[path[k]];
        put_name(o, at->name, s->most.name_bytes, k == n - 1);
        if (at->device) {
            axp__out_text(o, " on ");
            put_name(o, at->device, s->most.name_bytes, false);
        }
        axp__out_char(o, k ? ';' : ' ');
    }
    axp__out_u64(o, s->rest[node]);
    axp__out_char(o, '\n');
}

/* ---- memory by place ------------------------------------------------------------- */

/* Scopes, then functions, outermost first, then what the program calls it. */
static void put_place(struct axp__out *o, const axp_view *v,
                      const axp_heap_place *p, uint64_t value)
{
    axp_frame frames[MOST_FRAMES];
    char text[AXP__FRAME_TEXT];
    size_t n = p->stack ? axp_view_stack(v, p->stack, frames, MOST_FRAMES) : 0;
    bool is_first = true;
    if (n > MOST_FRAMES) n = MOST_FRAMES;
    for (size_t i = 0; i < p->n_scopes; i++, is_first = false) {
        if (!is_first) axp__out_char(o, ';');
        put_name(o, p->scopes[i], AXP__MOST_NAME, is_first);
    }
    for (size_t i = n; i--; is_first = false) {
        if (!is_first) axp__out_char(o, ';');
        put_name(o, axp__frame_text(&frames[i], text), AXP__MOST_NAME,
                 is_first);
    }
    if (p->name || is_first) {
        if (!is_first) axp__out_char(o, ';');
        put_name(o, p->name ? p->name : "(unknown)", AXP__MOST_NAME, is_first);
    }
    axp__out_char(o, ' ');
    axp__out_u64(o, value);
    axp__out_char(o, '\n');
}

#define FOLDED(name, member)                                                   \
    axp_status axp__emit_folded_##name(const axp_view *v, struct axp__out *o)  \
    {                                                                          \
        for (size_t i = 0; i < v->n_heap_places; i++) {                        \
            const axp_heap_place *p = &v->heap_places[i];                      \
            if (p->member) put_place(o, v, p, p->member);                      \
        }                                                                      \
        return AXP_OK;                                                         \
    }
FOLDED(peak, at_peak_bytes)
FOLDED(leaks, current_bytes)
FOLDED(allocated, total_allocated)
FOLDED(temporary, n_temporary)

/* ---- time ------------------------------------------------------------------------- */

axp_status axp__emit_folded(const axp_view *v, struct axp__out *o)
{
    axp_ns *rest = axp__view_rest(v);
    struct stack s = {.path = malloc((v->n_tree + 1) * sizeof *s.path),
                      .rest = rest};
    if (!s.path || !rest || !axp__export_stack(v, &s.most)) {
        free(s.path);
        free(rest);
        return axp__fail(AXP_E_NO_MEMORY, "no memory to export");
    }
    for (size_t i = 1; i < v->n_tree; i++)
        if (rest[i]) put_line(o, v, i, &s);
    free(s.path);
    free(rest);
    return AXP_OK;
}
