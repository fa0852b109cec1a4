/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axp_open: files to a view. Several recordings, in one file or in several, are
 * the processes of a run; that they are is not checked: the caller named
 * them. */
#include <stdlib.h>
#include <string.h>

#include "base/base_sized.h"
#include "file/file_join.h"
#include "file/file_open.h"
#include "model/model_changed.h"
#include "model/model_functions.h"
#include "model/model_stacks.h"
#include "model/model_symbols.h"
#include "model/model_view.h"
#include "record/record_thread.h"

struct parts {
    struct axp__join_part *at;
    const char **path; /* of each */
    size_t n, cap;
    struct axp__folders symbols;
};

static bool widen(struct parts *p)
{
    size_t cap = p->cap ? 2 * p->cap : 16;
    struct axp__join_part *at = realloc(p->at, cap * sizeof *at);
    if (at) p->at = at;
    const char **path = realloc(p->path, cap * sizeof *path);
    if (path) p->path = path;
    if (!at || !path) return false;
    p->cap = cap;
    return true;
}

/* A recording that is counted twice is wrong without a sign of it: "*.axp"
 * where one is a packed copy of another. */
static axp_status check_once(const struct parts *p)
{
    const struct axp__join_part *last = &p->at[p->n - 1];
    for (size_t i = 0; last->id && i + 1 < p->n; i++)
        if (p->at[i].id && !strcmp(p->at[i].id, last->id))
            return axp__fail(AXP_E_INVALID,
                             "%s and %s are the same recording; name it once",
                             p->path[i], p->path[p->n - 1]);
    return AXP_OK;
}

static axp_status add_span(struct parts *p, const char *path,
                           const struct axp__span *span)
{
    struct axp__opened o = {0};
    if (p->n == p->cap && !widen(p))
        return axp__fail(AXP_E_NO_MEMORY, "no memory to read files");
    axp_status status = axp__trace_open_span(path, span, &o);
    if (status) return status;
    axp__model_name_functions(o.capture, &o.about, p->symbols);
    p->path[p->n] = path;
    p->at[p->n++] = (struct axp__join_part){
        o.capture, &o.file->head, axp__about_text(&o.about, "id"), o.about};
    return check_once(p);
}

static axp_status add_file(struct parts *p, const char *path)
{
    struct axp__spans spans;
    if (!path) return axp__fail(AXP_E_INVALID, "a path is NULL");
    axp_status status = axp__spans_find(path, &spans);
    for (size_t i = 0; !status && i < spans.n; i++)
        status = add_span(p, path, &spans.span[i]);
    axp__spans_fini(&spans);
    return status;
}

axp_status axp_open(const char *const *paths, size_t n_paths, axp_view **out)
{
    return axp_open_ex(paths, n_paths, NULL, out);
}

axp_status axp_open_ex(const char *const *paths, size_t n_paths,
                       const axp_open_options *options, axp_view **out)
{
    struct parts p = {0};
    axp_open_options o = {0};
    if (options && !axp__sized_take(&o, sizeof o, options,
                                    AXP__SIZE_TO(axp_open_options, n_symbols)))
        return axp__fail(AXP_E_INVALID, "axp_open_options has no valid size");
    p.symbols = (struct axp__folders){o.symbols, o.n_symbols};
    axp_status status = AXP_OK;
    if (!paths || !n_paths || !out)
        return axp__fail(AXP_E_INVALID, "axp_open needs paths and a place for "
                                        "the view");
    for (size_t i = 0; !status && i < n_paths; i++)
        status = add_file(&p, paths[i]);
    if (status) {
        while (p.n--)
            p.at[p.n].capture->release(p.at[p.n].capture);
    } else {
        struct axp__capture *c = axp__join(p.at, p.n);
        axp_view *v = c ? axp__view_make(c) : NULL;
        if (v && axp__stack_names_look_in(v->stack_names, p.symbols) &&
            axp__view_add_functions(v) &&
            axp__view_warn_of_changed(v, p.symbols))
            *out = v;
        else
            status = axp__fail(AXP_E_NO_MEMORY, "no memory for a view");
        if (status) axp_view_destroy(v);
    }
    free(p.at);
    free(p.path);
    return status;
}
