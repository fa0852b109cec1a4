/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* By the call tree, in which functions are below what was open; see
 * analyze_outside.h. */
#include "analyze/analyze_outside.h"

#include <stdlib.h>

#include "base/base_number.h"
#include "model/model_functions.h"

struct spent {
    const char *name; /* the view's own: one text has one address */
    axp_ns ns;
};

static int by_name(const void *a, const void *b)
{
    const struct spent *x = a, *y = b;
    return ((uintptr_t)x->name > (uintptr_t)y->name) -
           ((uintptr_t)x->name < (uintptr_t)y->name);
}

/* What is below a scope is the scope's, and below a wait it is no work. A place
 * comes after the one that it is below. */
static size_t list(const axp_view *v, bool *is_outside, struct spent *out)
{
    size_t n = 0;
    for (size_t i = 1; i < v->n_tree; i++) {
        const axp_tree_node *p = &v->tree[i];
        is_outside[i] = p->is_sampled && (!p->parent || is_outside[p->parent]);
        if (is_outside[i] && p->self_ns)
            out[n++] = (struct spent){p->name, p->self_ns};
    }
    qsort(out, n, sizeof *out, by_name);
    return n;
}

static void set(const axp_view *v, axp_op *op, axp_ns ns)
{
    double share = (double)ns / (double)v->sampled_ns;
    op->self_ns = ns;
    op->samples = axp__whole(share * (double)v->n_sampled);
    op->time_share = share;
    op->share_error = axp__share_error(share, (double)v->n_sampled);
}

static axp_ns ns_of(const struct spent *all, size_t n, const char *name)
{
    const struct spent like = {name, 0};
    const struct spent *at = bsearch(&like, all, n, sizeof *all, by_name);
    axp_ns ns = 0;
    while (at && at > all && at[-1].name == name)
        at--;
    for (; at && at < all + n && at->name == name; at++)
        ns += at->ns;
    return ns;
}

axp_op *axp__outside_functions(const axp_view *v, const bool *is_wanted,
                               size_t *n)
{
    struct spent *all = calloc(v->n_tree + 1, sizeof *all);
    bool *is_outside = calloc(v->n_tree + 1, sizeof *is_outside);
    axp_op *out = calloc(v->n_functions + 1, sizeof *out);
    bool ok = all && is_outside && out;
    size_t n_all = ok ? list(v, is_outside, all) : 0;
    *n = 0;
    for (size_t i = 0; n_all && i < v->n_functions; i++) {
        axp_ns ns = is_wanted[i] ? ns_of(all, n_all, v->functions[i].name) : 0;
        if (!ns) continue;
        out[*n] = v->functions[i];
        set(v, &out[(*n)++], ns);
    }
    free(all);
    free(is_outside);
    if (ok) return out;
    free(out);
    return NULL;
}
