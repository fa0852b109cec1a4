/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Record by record; see tally_merge.h. */
#include "tally/tally_merge.h"

#include "tally/tally_step.h"

static void merge_hist(struct axp__tally *to, struct axp__op *a,
                       const struct axp__tally *from, const struct axp__op *b)
{
    for (uint32_t i = 0; i < AXP__HIST_PAGES; i++) {
        if (!b->hist[i]) continue;
        const struct axp__hist_page *page =
            axp__arena_at(&from->arena, b->hist[i]);
        if (!a->hist[i]) (void)axp__tally_bucket(to, a, axp__hist_low(i, 0));
        if (!a->hist[i]) continue; /* no memory */
        struct axp__hist_page *sum = axp__arena_at(&to->arena, a->hist[i]);
        for (uint32_t k = 0; k < AXP__HIST_BUCKETS; k++)
            sum->count[k] += page->count[k];
    }
}

static void merge_op(struct axp__tally *to, struct axp__op *a,
                     const struct axp__tally *from, const struct axp__op *b)
{
    a->loose_calls += b->loose_calls;
    a->loose_ticks += b->loose_ticks;
    a->repeat_ticks += b->repeat_ticks;
    if (b->min_ticks < a->min_ticks) a->min_ticks = b->min_ticks;
    if (b->max_ticks > a->max_ticks) a->max_ticks = b->max_ticks;
    if (b->n_dims) {
        a->n_dims = b->n_dims;
        for (int i = 0; i < 6; i++)
            a->dims[i] = b->dims[i];
    }
    a->lifetime_ticks += b->lifetime_ticks;
    merge_hist(to, a, from, b);
}

static void merge_ops(struct axp__tally *to, struct axp__tally *from,
                      uint64_t lifetime_ticks)
{
    for (axp__ref ref = from->first.ops; ref;) {
        struct axp__op *b = axp__arena_at(&from->arena, ref);
        ref = b->next;
        if (b->min_ticks > b->max_ticks) continue; /* never ended */
        struct axp__op *a = axp__tally_op(to, b->name);
        if (!a) a = to->other.other;
        merge_op(to, a, from, b);
        a->lifetime_ticks += lifetime_ticks;
    }
}

static void merge_extra(struct axp__tally *to, struct axp__node *a,
                        const struct axp__tally *from,
                        const struct axp__node *b)
{
    struct axp__node_extra *x = axp__tally_extra(to, a);
    const struct axp__node_extra *y = axp__arena_at(&from->arena, b->extra);
    uint32_t lost = b->declares & ~a->declares; /* to "(other)" */
    if (!x) return;
    if (lost & AXP__F_FLOPS) {
        x->n_flops_calls += b->calls;
        x->flops_ticks += b->total_ticks;
    }
    if (lost & AXP__F_BYTES) {
        x->n_bytes_calls += b->calls;
        x->bytes_ticks += b->total_ticks;
    }
    x->flops += y->flops;
    x->bytes += y->bytes;
    x->n_flops_calls += y->n_flops_calls;
    x->n_bytes_calls += y->n_bytes_calls;
    x->flops_ticks += y->flops_ticks;
    x->bytes_ticks += y->bytes_ticks;
    if (y->dtype) x->dtype = y->dtype;
    x->allocated_bytes += y->allocated_bytes;
}

/* Parents come before their children, so each finds its parent's image; it
 * is remembered in `parent`, which nobody needs any more. */
static void merge_nodes(struct axp__tally *to, struct axp__tally *from)
{
    struct axp__node *root = axp__arena_at(&from->arena, from->first.nodes);
    const struct axp__node *lost = to->other.record;
    axp__ref image_of_root = to->first.nodes, other = axp__path_ref(lost->path);
    if (root->extra) /* what was allocated outside of any scope */
        merge_extra(to, axp__arena_at(&to->arena, image_of_root), from, root);
    for (axp__ref ref = root->next; ref;) {
        struct axp__node *b = axp__arena_at(&from->arena, ref);
        struct axp__node *up = axp__arena_at(&from->arena, b->parent);
        axp__ref parent = up == root ? image_of_root : up->parent;
        ref = b->next;
        const struct axp__node *at = axp__arena_at(&to->arena, parent);
        struct axp__entry *e = axp__tally_find(
            to, at->path, AXP__LABEL(b->name) + AXP__DECLARES(b->declares));
        struct axp__node *a = e->record;
        a->calls += b->calls;
        a->total_ticks += b->total_ticks;
        a->self_ticks += b->self_ticks;
        if (b->is_recursive && !a->is_recursive) { /* it found no room */
            struct axp__op *op = e->other;
            op->repeat_ticks += b->total_ticks;
        }
        if (b->extra) merge_extra(to, a, from, b);
        if (b->category) a->category = b->category;
        /* below "(other)" an entry's path is not its node's */
        b->parent = e->path == a->path ? axp__path_ref(a->path) : other;
    }
}

static bool merge_traffic(struct axp__tally *to, struct axp__tally *from)
{
    bool ok = true;
    for (axp__ref ref = from->first.traffic; ref;) {
        struct axp__traffic *b = axp__arena_at(&from->arena, ref);
        struct axp__entry *e = axp__tally_traffic(to, b->name);
        ref = b->next;
        if (!e) {
            ok = false;
            continue;
        }
        struct axp__traffic *a = e->record;
        a->n_allocs += b->n_allocs;
        a->n_frees += b->n_frees;
        a->allocated_bytes += b->allocated_bytes;
        a->freed_bytes += b->freed_bytes;
    }
    return ok;
}

static bool merge_counters(struct axp__tally *to, struct axp__tally *from)
{
    bool ok = true;
    for (axp__ref ref = from->first.counters; ref;) {
        struct axp__counter *b = axp__arena_at(&from->arena, ref);
        struct axp__counter *a = axp__tally_counter(to, b->name);
        ref = b->next;
        if (!a) ok = false;
        if (!a || !b->n) continue;
        if (!a->n || b->min < a->min) a->min = b->min;
        if (!a->n || b->max > a->max) a->max = b->max;
        if (b->last_ticks >= a->last_ticks) {
            a->last = b->last;
            a->last_ticks = b->last_ticks;
        }
        a->n += b->n;
        a->sum += b->sum;
        a->held_ticks += b->held_ticks;
        a->area += b->area;
    }
    return ok;
}

static bool merge_steps(struct axp__tally *to, struct axp__tally *from)
{
    struct axp__steps *b = axp__tally_steps(from);
    struct axp__steps *a = b ? axp__tally_make_steps(to) : NULL;
    if (!a) return !b;
    axp__steps_absorb(a, b);
    merge_op(to, &a->stats, from, &b->stats);
    return true;
}

bool axp__tally_merge(struct axp__tally *to, struct axp__tally *from,
                      uint64_t lifetime_ticks)
{
    merge_ops(to, from, lifetime_ticks);
    merge_nodes(to, from);
    bool ok = merge_traffic(to, from);
    ok &= merge_counters(to, from);
    ok &= merge_steps(to, from);
    return ok;
}
