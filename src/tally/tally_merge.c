/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Record by record; see tally_merge.h. */
#include "tally/tally_merge.h"

#include <assert.h>

#include "tally/tally_fields.def"
#include "tally/tally_heap.h"
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

/* What two of one name have together: see tally_fields.def. */
#define ADD_SUM(member) a->member += b->member;
#define ADD_MIN(member)                                                        \
    if (b->member < a->member) a->member = b->member;
#define ADD_MAX(member)                                                        \
    if (b->member > a->member) a->member = b->member;
#define ADD_LAST(member)                                                       \
    if (b->member) a->member = b->member;
#define ADD_NEWEST(member)                                                     \
    if (is_newer) a->member = b->member;
#define ADD_KEY(member)

#define OWN(coding, member, unit, place, sum, ...) OWN_##place(member, sum)
#define OWN_own(member, sum) ADD_##sum(member)
#define OWN_extra(member, sum)
#define OWN_apart(member, sum)
#define EXTRA(coding, member, unit, place, sum, ...) EXTRA_##place(member, sum)
#define EXTRA_own(member, sum)
#define EXTRA_extra(member, sum) ADD_##sum(member)
#define EXTRA_apart(member, sum)

static void merge_op(struct axp__tally *to, struct axp__op *a,
                     const struct axp__tally *from, const struct axp__op *b)
{
    AXP__FIELDS_OP(OWN)
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

static void merge_extra(struct axp__tally *to, struct axp__node *node,
                        const struct axp__tally *from,
                        const struct axp__node *added)
{
    struct axp__node_extra *a = axp__tally_extra(to, node);
    assert(added->extra);
    const struct axp__node_extra *b = axp__arena_at(&from->arena, added->extra);
    uint32_t lost = added->declares & ~node->declares; /* to "(other)" */
    if (!a) return;
    if (lost & AXP__F_FLOPS) {
        a->n_flops_calls += added->calls;
        a->flops_ticks += added->total_ticks;
    }
    if (lost & AXP__F_BYTES) {
        a->n_bytes_calls += added->calls;
        a->bytes_ticks += added->total_ticks;
    }
    AXP__FIELDS_NODE(EXTRA)
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
        AXP__FIELDS_NODE(OWN)
        if (b->is_recursive && !a->is_recursive) { /* it found no room */
            struct axp__op *op = e->other;
            op->repeat_ticks += b->total_ticks;
        }
        if (b->extra) merge_extra(to, a, from, b);
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
        AXP__FIELDS_TRAFFIC(OWN)
    }
    return ok;
}

static void merge_times(struct axp__tally *to, struct axp__heap_place *a,
                        const struct axp__tally *from,
                        const struct axp__heap_place *b)
{
    if (!b->first_when) {
        /* it only freed there */
    } else if (!a->first_when) {
        a->first_when = b->first_when;
        a->row = b->row;
    } else {
        if (b->first_when < a->first_when) a->first_when = b->first_when;
        if (b->row != a->row) a->row = AXP__ROW_SEVERAL;
    }
    if (b->last_when > a->last_when) a->last_when = b->last_when;
    struct axp__heap_ages *sum = b->ages ? axp__tally_ages(to, a) : NULL;
    const struct axp__heap_ages *more =
        sum ? axp__arena_at(&from->arena, b->ages) : NULL;
    for (unsigned i = 0; sum && i < AXP__AGES; i++)
        sum->n[i] += more->n[i];
}

bool axp__tally_merge_places(struct axp__tally *to,
                             const struct axp__tally *from, uint64_t heap_now)
{
    uint32_t heap_stamp = (uint32_t)heap_now, step = (uint32_t)(heap_now >> 32);
    bool ok = true;
    for (axp__ref ref = from->first.places; ref;) {
        struct axp__heap_place *b = axp__arena_at(&from->arena, ref);
        struct axp__heap_place *a = axp__tally_place(to, b->name);
        ref = b->next;
        if (!a) {
            ok = false;
            continue;
        }
        int64_t held = axp__heap_place_at_peak(a, heap_stamp) +
                       axp__heap_place_at_peak(b, heap_stamp);
        axp__heap_place_step(a, step);
        axp__heap_place_step(b, step);
        AXP__FIELDS_PLACE(OWN)
        a->half_bytes += b->half_bytes;
        a->power_bytes += b->power_bytes;
        a->first_allocs += b->first_allocs;
        a->first_bytes += b->first_bytes;
        merge_times(to, a, from, b);
        a->saved_bytes = (uint64_t)held;
        a->stamp = heap_stamp;
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
        bool is_newer = b->last_ticks >= a->last_ticks;
        if (!a->n) {
            a->min = b->min;
            a->max = b->max;
        }
        AXP__FIELDS_COUNTER(OWN)
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
