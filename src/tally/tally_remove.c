/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Scopes that end out of order: those above them move up.
 *
 * The path of a scope is always what is open. So a frame whose parent has
 * gone goes on in the node that it would have had, had it begun there. With
 * more than a few such frames their paths are of no use to anybody, and each
 * stop would make as many new nodes: they fold into "(other)", once.
 *
 * Cost  one pass over the frames, whichever of them ends.
 */
#include "tally/tally_scope.h"

#include <assert.h>

#define MOST_PATHS 64 /* frames that move to a path of their own */

static void move_frame(struct axp__frame *to, const struct axp__frame *from)
{
    axp__set_pointer(&to->node, from->node);
    axp__set_pointer(&to->op, from->op);
    axp__put(&to->begin_ticks, from->begin_ticks);
    axp__put(&to->child_ticks, from->child_ticks);
    axp__put(&to->token, from->token);
    axp__put(&to->site, from->site);
    to->path = from->path;
    axp__put(&to->anchor, from->anchor);
}

static uint64_t label_of(const struct axp__frame *f)
{
    return AXP__LABEL(f->node->name) + AXP__DECLARES(f->node->declares);
}

/* The frame goes on in another node. is_within: a scope of its op is open
 * below it. If it was a repetition and now is the outermost of its op, its
 * time so far was counted with the one that ended. */
static void change_node(struct axp__frame *f, const struct axp__entry *e,
                        bool is_within, uint64_t now)
{
    struct axp__op *op = f->op;
    bool is_repeat = axp__frame_flags(f) & AXP__F_REPEAT;
    bool was_within = is_repeat || f->node->is_recursive;
    if (e && e->other == op) { /* else no memory: all share one */
        axp__set_pointer(&f->node, (struct axp__node *)e->record);
        f->path = e->path;
    } else if (e) {
        f->path = axp__path_of(AXP__OF_FOLDED);
    }
    if (is_within && !f->node->is_recursive)
        axp__frame_set_flags(f, AXP__F_REPEAT);
    else if (is_repeat)
        axp__frame_clear_flags(f, AXP__F_REPEAT);
    if (!was_within || is_within) return;
    axp__version_begin(&op->version);
    axp__bump(&op->repeat_ticks, now - f->begin_ticks);
    axp__version_end(&op->version);
}

/* Where a frame goes on; NULL: where it is. */
static struct axp__entry *place_for(struct axp__tally *t, struct axp__frame *f,
                                    bool is_folded)
{
    if (!is_folded) return axp__tally_find(t, f[-1].path, label_of(f));
    if (axp__path_ref(f->path) == AXP__OF_FOLDED) return NULL;
    return axp__tally_fold(t, label_of(f));
}

/* The frames from f on have another parent than they had. */
static void repath(struct axp__tally *t, struct axp__frame *f, uint64_t now)
{
    bool is_folded = t->top - f >= MOST_PATHS;
    uint64_t seen = ++t->n_removals; /* marks the ops that are open below */
    t->fold_base = 0;
    for (struct axp__frame *g = t->frames + 1; g <= t->top; g++) {
        assert(g->op && g->op->seen <= seen);
        bool is_within = g->op->seen == seen;
        g->op->seen = seen;
        if (g >= f) change_node(g, place_for(t, g, is_folded), is_within, now);
        axp__tally_see_frame(t, g, !is_within);
    }
}

void axp__tally_take_out(struct axp__tally *t, struct axp__frame *f,
                         uint64_t now, bool is_counted)
{
    assert(f > t->frames && f <= t->top && f->op);
    /* The child's charge passes from f to f's parent; that of one that was
     * taken out has. */
    if (f < t->top && f[1].op) {
        struct axp__frame *child = f + 1;
        uint64_t from = axp__frame_flags(child) & AXP__F_MOVED
                            ? child->charged_ticks
                            : child->begin_ticks;
        axp__frame_charge(f, now > from ? now - from : 0);
        axp__put(&child->charged_ticks, now);
        axp__frame_set_flags(child, AXP__F_MOVED);
    }
    if (is_counted)
        axp__tally_close(t, f, now);
    else
        axp__frame_charge(f - 1, axp__frame_child_ticks(f));
    axp__set_pointer(&f->op, (struct axp__op *)NULL);
}

void axp__tally_close_gaps(struct axp__tally *t, struct axp__frame *f,
                           uint64_t now)
{
    struct axp__frame *to = f;
    assert(f > t->frames);
    for (struct axp__frame *g = f; g <= t->top; g++) {
        if (!g->op) continue;
        if (to != g) move_frame(to, g);
        to++;
    }
    axp__put(&t->top, to - 1);
    if (f <= t->top) repath(t, f, now);
}

void axp__tally_remove(struct axp__tally *t, struct axp__frame *f, uint64_t now,
                       bool is_counted)
{
    axp__tally_take_out(t, f, now, is_counted);
    axp__tally_close_gaps(t, f, now);
}
