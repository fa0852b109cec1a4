/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Callers, by the call tree; see analyze_caller.h. */
#include "analyze/analyze_caller.h"

#include "base/base_number.h"

#define SEVERAL 1.5 /* calls below one of the caller's: they can be joined */

double axp__call_ns(const axp_view *v, const axp_op *op)
{
    double ours = (double)axp__view_ns(v, v->capture->own_cost.inside_ticks);
    double each = (double)op->avg_ns - ours;
    return each > ours / 4 ? each : 0;
}

/* Below whom most of its calls are; NULL: nobody, or itself. */
static const axp_tree_node *caller_of(const axp_view *v, const axp_op *op,
                                      uint64_t *calls)
{
    const axp_tree_node *most = NULL;
    for (size_t i = 1; i < v->n_tree; i++)
        if (axp__is_node_of(&v->tree[i], op) &&
            (!most || v->tree[i].calls > most->calls))
            most = &v->tree[i];
    if (!most || most->parent <= 0) return NULL;
    const axp_tree_node *up = &v->tree[most->parent];
    *calls = most->calls;
    return up->calls && !axp__is_node_of(up, op) ? up : NULL;
}

void axp__caller_advise(struct axp__analysis *a, struct axp__draft *d,
                        const axp_op *op)
{
    char times[32];
    uint64_t calls = 0;
    const char *name = axp__spoken(op->name, "it");
    const axp_tree_node *up = caller_of(a->v, op, &calls);
    double each = up ? (double)calls / (double)up->calls : 0;
    if (up && each >= SEVERAL)
        axp__draft_advise(a, d,
                          "do more in a call: %s calls %s %s times each time, "
                          "so give it all of them at once (a batch, or the "
                          "loop inside), fuse it, or keep results where inputs "
                          "repeat",
                          axp__spoken(up->name, "its caller"), name,
                          axp__digits3(times, sizeof times, each));
    else
        axp__draft_advise(a, d,
                          "do more in a call of %s than one of %llu: batch or "
                          "fuse the calls, move the loop inside, or keep "
                          "results where inputs repeat",
                          name, (unsigned long long)op->calls);
}
