/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Whether an op is open above a place: its time there is not counted twice.
 *
 * Who went up from each new place to the root would take a step for each scope
 * that is open, and recursion opens thousands. So the way from the root to the
 * place that was last asked about stays marked, and each op knows how many of
 * the marked nodes are its own. The next question moves the marks from that
 * place to its own; the recorded events led the same way, so it is they that
 * pay for it. Places near the root are asked about more often and are walked.
 *
 * Folded frames have no place. They are a tail of the frames, each of them was
 * pushed by axp__tally_push_label, and what lies below the tail has a path.
 * An op remembers the lowest frame that it had when it was last folded. As
 * long as a folded frame of it is open, those below are what they were.
 *
 * Threads  the owner's alone: nobody else reads marks, `low` or `fold_base`.
 */
#include "tally/tally_scope.h"

#define NEAR 16 /* steps that are walked */

static struct axp__node *node_at(const struct axp__tally *t, axp__ref ref)
{
    return axp__arena_at(&t->arena, ref);
}

static void set_mark(struct axp__tally *t, struct axp__node *n, bool is_marked)
{
    n->is_marked = is_marked;
    if (!n->op) return; /* the root */
    struct axp__op *op = axp__arena_at(&t->arena, n->op);
    op->n_marked += is_marked ? 1 : -1u;
}

static void mark_up_from(struct axp__tally *t, axp__ref place)
{
    axp__ref meet = place;
    while (meet && !node_at(t, meet)->is_marked)
        meet = node_at(t, meet)->parent;
    for (axp__ref ref = t->marked; ref != meet; ref = node_at(t, ref)->parent)
        set_mark(t, node_at(t, ref), false);
    for (axp__ref ref = place; ref != meet; ref = node_at(t, ref)->parent)
        set_mark(t, node_at(t, ref), true);
    t->marked = place;
}

bool axp__tally_is_above(struct axp__tally *t, const struct axp__op *op,
                         axp__ref place)
{
    axp__ref up = place;
    if (!op->nodes) return false;
    for (unsigned i = 0; up && i < NEAR; i++) {
        const struct axp__node *n = node_at(t, up);
        if (n->op && axp__arena_at(&t->arena, n->op) == op) return true;
        up = n->parent;
    }
    if (!up) return false;
    mark_up_from(t, place);
    return op->n_marked != 0;
}

static bool is_folded(const struct axp__frame *f)
{
    return axp__path_ref(f->path) == AXP__OF_FOLDED;
}

bool axp__tally_is_open(struct axp__tally *t, struct axp__op *op)
{
    uint32_t depth = (uint32_t)(t->top - t->frames);
    if (!is_folded(t->top)) t->fold_base = depth;
    if (op->low && op->low <= depth && t->frames[op->low].op == op) return true;
    op->low = depth + 1;
    const struct axp__frame *base = &t->frames[t->fold_base];
    return axp__tally_is_above(t, op, axp__path_ref(base->node->path));
}

void axp__tally_see_frame(struct axp__tally *t, struct axp__frame *f,
                          bool is_lowest)
{
    uint32_t index = (uint32_t)(f - t->frames);
    if (is_lowest) f->op->low = index;
    if (!is_folded(f)) t->fold_base = index;
}
