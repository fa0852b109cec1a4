/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Folded stacks, as flamegraph.pl, inferno and others read them: a line a
 * place in the call tree, names from the outermost with ; between, and its
 * self time in nanoseconds. Threads are merged, as in the view's tree. */
#include <stdlib.h>

#include "emit/emit_export.h"
#include "record/record_thread.h"

/* A name has no ; and no control characters in it, and begins no comment. */
static void put_name(struct axp__out *o, const char *name, bool is_first)
{
    if (is_first && *name == '#') axp__out_char(o, '_');
    while (*name) {
        size_t n = 0;
        while ((unsigned char)name[n] >= ' ' && name[n] != 127 &&
               name[n] != ';')
            n++;
        axp__out_utf8(o, name, n);
        name += n;
        if (!*name) break;
        axp__out_char(o, *name == ';' ? ':' : ' ');
        name++;
    }
}

static void put_line(struct axp__out *o, const axp_view *v, size_t node,
                     int32_t *path)
{
    size_t n = 0;
    for (int32_t i = (int32_t)node; i > 0; i = v->tree[i].parent)
        path[n++] = i;
    for (size_t i = n; i--;) {
        put_name(o, v->tree[path[i]].name, i == n - 1);
        axp__out_char(o, i ? ';' : ' ');
    }
    axp__out_u64(o, v->tree[node].self_ns);
    axp__out_char(o, '\n');
}

axp_status axp__emit_folded(const axp_view *v, struct axp__out *o)
{
    int32_t *path = malloc((v->n_tree + 1) * sizeof *path);
    if (!path) return axp__fail(AXP_E_NO_MEMORY, "no memory to export");
    for (size_t i = 1; i < v->n_tree; i++)
        if (v->tree[i].self_ns) put_line(o, v, i, path);
    free(path);
    return AXP_OK;
}
