/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The tally's slow sides: scopes opened, closed and added in general. The
 * design is in tally_scope.h, its hash in tally_find.c. */
#include "tally/tally_scope.h"

#include <assert.h>
#include <string.h>

#include "base/base_text.h"
#include "os/os_map.h"
#include "os/os_space.h"
#include "wire/wire_word.h"

#define ROOT_NAME 0

/* ---- histograms ------------------------------------------------------------ */

/* The longest duration there is: 2 years at 1 GHz. The hot path adds what is
 * no longer than a call before it to child_ticks, below the flags. */
#define MAX_TICKS ((uint64_t)1 << 56)
_Static_assert(MAX_TICKS < AXP__HIST_MAX, "has a bucket");

static uint64_t at_most(uint64_t ticks)
{
    return ticks < MAX_TICKS ? ticks : MAX_TICKS;
}

uint64_t *axp__tally_bucket(struct axp__tally *t, struct axp__op *op,
                            uint64_t ticks)
{
    struct axp__hist_at at = axp__hist_at(at_most(ticks));
    assert(at.page < AXP__HIST_PAGES && at.bucket < AXP__HIST_BUCKETS);
    if (!op->page[at.slot]) {
        axp__ref ref = axp__arena_alloc(
            &t->arena, sizeof(struct axp__hist_page), AXP__ARENA_SURE);
        if (!ref) return &t->lost_bucket;
        axp__put(&op->page[at.slot],
                 (struct axp__hist_page *)axp__arena_at(&t->arena, ref));
        axp__put_release(&op->hist[at.page], ref);
    }
    return &op->page[at.slot]->count[at.bucket];
}

/* ---- counters -------------------------------------------------------------- */

/* The first may be any whole number; beyond 2^53 a double is always one. */
static bool is_counting(const struct axp__counter *c, double value)
{
    if (!(value >= 0 && value < 0x1p53) || (c->n && value < c->last))
        return false;
    return (double)(uint64_t)value == value;
}

void axp__tally_count(struct axp__tally *t, uint32_t name, double value,
                      uint64_t now)
{
    struct axp__counter *c = axp__tally_counter(t, name);
    if (!c) return;
    axp__version_begin(&c->version);
    if (c->n == 0 || value < c->min) axp__put_f64(&c->min, value);
    if (c->n == 0 || value > c->max) axp__put_f64(&c->max, value);
    if (c->n && now > c->last_ticks) {
        uint64_t stood = now - c->last_ticks;
        axp__put_f64(&c->area, c->area + c->last * (double)stood);
        axp__bump(&c->held_ticks, stood);
    }
    if (is_counting(c, value)) axp__bump(&c->n_counting, 1);
    axp__bump(&c->n, 1);
    axp__put_f64(&c->last, value);
    axp__put_f64(&c->sum, c->sum + value);
    axp__put(&c->last_ticks, now);
    axp__version_end(&c->version);
}

/* ---- frames ---------------------------------------------------------------- */

static bool grow_frames(struct axp__tally *t)
{
    size_t cap = (size_t)(t->limit - t->frames);
    size_t wide = cap < 4096 ? cap * 4 : cap * 2;
    assert(t->top >= t->frames && t->top < t->limit);
    assert((size_t)(uintptr_t)t->frames[0].site == cap);
    size_t bytes = wide * sizeof *t->frames;
    if (wide > AXP__MAX_DEPTH) return false;
    if (wide <= AXP__SURE_DEPTH)
        axp__budget_force(t->budget, bytes);
    else if (!axp__budget_take(t->budget, bytes))
        return false;
    struct axp__frame *wider = axp__budget_map(t->budget, bytes);
    if (!wider) {
        axp__budget_give(t->budget, bytes);
        return false;
    }
    memcpy(wider, t->frames, cap * sizeof *wider);
    wider[0].site = (const void *)(uintptr_t)wide;
    size_t depth = (size_t)(t->top - t->frames);
    struct axp__frame *old = t->frames;
    axp__put_release(&t->frames, wider);
    axp__put_release(&t->top, wider + depth);
    t->limit = wider + wide;
    if (cap != t->inline_frames)
        t->retire(t->retire_ctx, old, cap * sizeof *old);
    return true;
}

bool axp__tally_has_room(struct axp__tally *t)
{
    return t->top + 1 != t->limit || grow_frames(t);
}

struct axp__frame *axp__tally_push(struct axp__tally *t, uint32_t name,
                                   uint64_t now)
{
    return axp__tally_push_label(t, AXP__LABEL(name), now);
}

struct axp__frame *axp__tally_push_label(struct axp__tally *t, uint64_t label,
                                         uint64_t now)
{
    struct axp__frame *f = t->top + 1;
    assert(f > t->frames && f < t->limit); /* axp__tally_has_room */
    struct axp__entry *e = axp__tally_find(t, t->top->path, label);
    assert(e->record && e->other);
    bool is_folded = axp__path_ref(e->path) == AXP__OF_FOLDED;
    bool is_repeat = is_folded && axp__tally_is_open(t, e->other);
    axp__tally_open(f, e,
                    (struct axp__frame_init){
                        .now = now, .flags = is_repeat ? AXP__F_REPEAT : 0});
    axp__put(&t->top, f);
    return f;
}

void axp__tally_close(struct axp__tally *t, struct axp__frame *f, uint64_t now)
{
    struct axp__op *op = f->op;
    uint32_t flags = axp__frame_flags(f);
    assert(f > t->frames && f < t->limit && op && f->node); /* no root, gap */
    uint64_t within = axp__frame_child_ticks(f);
    uint64_t ticks = now > f->begin_ticks ? at_most(now - f->begin_ticks) : 0;
    uint64_t self = ticks > within ? ticks - within : 0;
    axp__frame_charge(f - 1,
                      flags & AXP__F_MOVED ? now - f->charged_ticks : ticks);

    uint64_t *bucket = axp__tally_bucket(t, op, ticks);
    axp__version_begin(&op->version);
    if (ticks < op->min_ticks) axp__set(&op->min_ticks, ticks);
    if (ticks > op->max_ticks) axp__set(&op->max_ticks, ticks);
    if (flags & AXP__F_REPEAT) axp__bump(&op->repeat_ticks, ticks);
    if (flags & (AXP__F_FLOPS | AXP__F_BYTES)) {
        struct axp__node_extra *x = axp__tally_extra(t, f->node);
        if (x && flags & AXP__F_FLOPS) axp__bump(&x->flops_ticks, ticks);
        if (x && flags & AXP__F_BYTES) axp__bump(&x->bytes_ticks, ticks);
    }
    axp__bump(&f->node->total_ticks, ticks);
    axp__bump(&f->node->self_ticks, self);
    axp__bump(&f->node->calls, 1);
    axp__bump(bucket, 1);
    axp__version_end(&op->version);
}

void axp__tally_pop(struct axp__tally *t, uint64_t now)
{
    /* In this order: whoever finds the process dead in between does not count
     * the call twice, as open and as ended. */
    struct axp__frame *f = t->top;
    assert(f > t->frames); /* the root stays */
    axp__put(&t->top, f - 1);
    axp__tally_close(t, f, now);
}

/* ---- other additions ------------------------------------------------------- */

/* What it has called so far stays where it is: a view shows both as one place.
 */
void axp__tally_rename(struct axp__tally *t, uint32_t name)
{
    struct axp__frame *f = t->top;
    assert(f > t->frames);
    const struct axp__entry *e = axp__tally_find(
        t, f[-1].path, AXP__LABEL(name) + AXP__DECLARES(f->node->declares));
    struct axp__node *node = e->record;
    if (e->other != f->op) return; /* no memory, or no shape of it */
    if (!node->category) axp__put(&node->category, f->node->category);
    axp__set_pointer(&f->node, node);
}

struct axp__node_extra *axp__tally_extra(struct axp__tally *t,
                                         struct axp__node *node)
{
    if (!node->extra) {
        axp__ref ref = axp__arena_alloc(
            &t->arena, sizeof(struct axp__node_extra), AXP__ARENA_SURE);
        if (!ref) return NULL;
        axp__put_release(&node->extra, ref);
    }
    return axp__arena_at(&t->arena, node->extra);
}

void axp__tally_add_work(struct axp__tally *t, struct axp__frame *f,
                         const struct axp__work *work)
{
    uint32_t flags = axp__work_flags(work);
    uint32_t fresh = flags & ~(axp__frame_flags(f) | f->node->declares);
    struct axp__node_extra *x = axp__tally_extra(t, f->node);
    if (!x) return;
    axp__put_f64(&x->flops, x->flops + work->flops);
    axp__put_f64(&x->bytes, x->bytes + work->bytes);
    axp__put(&x->n_flops_calls, x->n_flops_calls + (fresh & AXP__F_FLOPS));
    axp__put(&x->n_bytes_calls,
             x->n_bytes_calls + (fresh & AXP__F_BYTES) / AXP__F_BYTES);
    if (work->dtype) axp__put(&x->dtype, work->dtype);
    axp__frame_set_flags(f, fresh);
}

void axp__tally_sample(struct axp__tally *t, struct axp__op *op, uint64_t ticks)
{
    uint64_t *bucket = axp__tally_bucket(t, op, ticks);
    if (ticks < op->min_ticks) axp__set(&op->min_ticks, ticks);
    if (ticks > op->max_ticks) axp__set(&op->max_ticks, ticks);
    axp__bump(bucket, 1);
}

void axp__tally_add_loose(struct axp__tally *t, uint32_t name, uint64_t ticks)
{
    struct axp__op *op = axp__tally_op(t, name);
    if (!op) op = t->other.other;
    ticks = at_most(ticks);
    axp__version_begin(&op->version);
    axp__bump(&op->loose_calls, 1);
    axp__bump(&op->loose_ticks, ticks);
    axp__tally_sample(t, op, ticks);
    axp__version_end(&op->version);
}

static void add_span_work(struct axp__tally *t, struct axp__node *node,
                          uint64_t ticks, const struct axp__work *work)
{
    struct axp__node_extra *x = axp__tally_extra(t, node);
    if (!x) return;
    axp__put_f64(&x->flops, x->flops + work->flops);
    axp__put_f64(&x->bytes, x->bytes + work->bytes);
    axp__bump(&x->n_flops_calls, work->flops > 0);
    axp__bump(&x->n_bytes_calls, work->bytes > 0);
    axp__bump(&x->flops_ticks, work->flops > 0 ? ticks : 0);
    axp__bump(&x->bytes_ticks, work->bytes > 0 ? ticks : 0);
    if (work->dtype) axp__put(&x->dtype, work->dtype);
}

void axp__tally_add_span(struct axp__tally *t, uint32_t name, uint64_t ticks,
                         const struct axp__work *work, uint32_t category)
{
    struct axp__entry *e =
        axp__tally_find(t, t->frames[0].path, AXP__LABEL(name));
    struct axp__node *node = e->record;
    struct axp__op *op = e->other;
    axp__version_begin(&op->version);
    axp__tally_sample(t, op, ticks);
    axp__bump(&node->calls, 1);
    axp__bump(&node->total_ticks, ticks);
    axp__bump(&node->self_ticks, ticks);
    if (work) add_span_work(t, node, ticks, work);
    if (category) axp__put(&node->category, (uint16_t)category);
    axp__version_end(&op->version);
}

/* ---- life ------------------------------------------------------------------ */

void axp__tally_init(struct axp__tally *t, struct axp__tally_seed *seed,
                     struct axp__budget *budget, uint32_t other_name)
{
    /* All but top: the owner of a lane that is being cleared may look at it on
     * his way out, and NULL would mean that he is inside an event. */
    _Static_assert(!offsetof(struct axp__tally, top), "it is left alone");
    memset((char *)t + sizeof t->top, 0, sizeof *t - sizeof t->top);
    t->budget = budget;
    axp__arena_init(&t->arena, budget, seed->arena, sizeof seed->arena);
    t->inline_frames = sizeof seed->frames / sizeof seed->frames[0];
    t->inline_entries = sizeof seed->entries / sizeof seed->entries[0];
    t->frames = seed->frames;
    axp__put(&t->top, seed->frames);
    t->limit = seed->frames + t->inline_frames;
    t->hash = seed->entries;
    t->hash_mask = (t->inline_entries - 1) * sizeof *t->hash;

    /* The seed holds these, so they cannot fail. */
    axp__ref root = axp__tally_new_node(t, AXP__LABEL(ROOT_NAME), 0, 0, false);
    axp__ref other_op = axp__path_ref(axp__tally_op_entry(t, other_name)->path);
    axp__ref other =
        axp__tally_new_node(t, AXP__LABEL(other_name), root, other_op, false);
    t->other = (struct axp__entry){
        .key = axp__path_of(root) + AXP__LABEL(other_name),
        .path = axp__path_of(AXP__OF_FOLDED),
        .record = axp__arena_at(&t->arena, other),
        .other = axp__arena_at(&t->arena, other_op),
    };
    t->frames[0] = (struct axp__frame){
        .node = axp__arena_at(&t->arena, root),
        .path = axp__path_of(root),
        .op = t->other.other,  /* so that an end may look at it */
        .anchor = UINTPTR_MAX, /* nothing is further out */
        .site = (const void *)(uintptr_t)t->inline_frames,
    };
}

void axp__tally_fini(struct axp__tally *t)
{
    size_t cap = (size_t)(t->limit - t->frames);
    if (!t->frames) return;
    assert(t->top >= t->frames && t->top < t->limit);
    axp__tally_free_hash(t);
    if (cap != t->inline_frames) {
        axp__budget_unmap(t->budget, t->frames, cap * sizeof *t->frames);
        axp__budget_give(t->budget, cap * sizeof *t->frames);
    }
    axp__arena_fini(&t->arena);
    t->frames = NULL;
}
