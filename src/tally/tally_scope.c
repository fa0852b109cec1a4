/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The tally's slow sides: new nodes, growing tables.
 * The design is in tally_scope.h. */
#include "tally/tally_scope.h"

#include <assert.h>
#include <string.h>

#include "base/base_text.h"
#include "os/os_map.h"
#include "os/os_space.h"
#include "wire/wire_word.h"

#define ROOT_NAME 0

/* ---- records -------------------------------------------------------------- */

/* What is in the hash beside nodes, as if it had a parent of its own. */
#define OF_OPS ((axp__ref)0xffffffffu) /* → op alone */
#define OF_TRAFFIC AXP__OF_TRAFFIC
#define OF_COUNTERS ((axp__ref)0xfffffffdu) /* → axp__counter */
#define OF_FOLDED AXP__OF_FOLDED

static inline uint64_t path_of(axp__ref ref)
{
    return axp__path_of(ref);
}

static uint32_t name_of(uint64_t label)
{
    return AXP__LABEL_NAME(label - AXP__DECLARES(AXP__DECLARED(label)));
}

/* Links a filled record at the end of its list. */
static void link_last(struct axp__tally *t, axp__ref *first, axp__ref *last,
                      axp__ref ref, size_t next_offset)
{
    assert(!*first == !*last);
    if (*last) {
        char *record = axp__arena_at(&t->arena, *last);
        axp__put_release((axp__ref *)(void *)(record + next_offset), ref);
    } else {
        axp__put_release(first, ref);
    }
    *last = ref;
}

#define LINK(t, list, ref, type)                                               \
    link_last(t, &(t)->first.list, &(t)->last.list, ref,                       \
              offsetof(struct type, next))

static axp__ref new_op(struct axp__tally *t, uint32_t name)
{
    axp__ref ref =
        axp__arena_alloc(&t->arena, sizeof(struct axp__op), AXP__ARENA_SURE);
    if (!ref) return 0;
    struct axp__op *op = axp__arena_at(&t->arena, ref);
    axp__put(&op->name, name);
    op->end_label = axp__word(AXP__W_END, name, 0);
    op->min_ticks = UINT64_MAX;
    LINK(t, ops, ref, axp__op);
    return ref;
}

/* Below "(other)" the frames say what is open: AXP__F_REPEAT. */
static bool is_recursive(struct axp__tally *t, const struct axp__op *op,
                         axp__ref parent)
{
    const struct axp__node *other = t->other.record;
    if (other && parent == axp__path_ref(other->path)) return false;
    return axp__tally_is_above(t, op, parent);
}

static axp__ref new_node(struct axp__tally *t, uint64_t label, axp__ref parent,
                         axp__ref op_ref, bool is_optional)
{
    uint32_t declares = AXP__DECLARED(label);
    size_t extra = declares ? sizeof(struct axp__node_extra) : 0;
    axp__ref ref = axp__arena_alloc(
        &t->arena, (uint32_t)(sizeof(struct axp__node) + extra),
        AXP__ARENA_NODE | (is_optional ? 0 : AXP__ARENA_SURE));
    if (!ref) return 0;
    assert(ref > t->last.nodes && parent < ref); /* they rise: tally_above.c */
    struct axp__node *node = axp__arena_at(&t->arena, ref);
    node->name = name_of(label);
    node->declares = declares;
    if (declares) node->extra = ref + sizeof *node / 8;
    node->parent = parent;
    node->op = op_ref;
    node->path = path_of(ref);
    if (op_ref) {
        struct axp__op *op = axp__arena_at(&t->arena, op_ref);
        node->is_recursive = is_recursive(t, op, parent);
        node->next_of_op = op->nodes;
        axp__put_release(&op->nodes, ref);
    }
    LINK(t, nodes, ref, axp__node);
    return ref;
}

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

/* ---- the hash -------------------------------------------------------------- */

#define ASTRAY_A_SLOT 4u /* slow finds before the table grows */
#define SPARSEST 32u     /* slots an entry, at most */

static uint32_t hash_cap(const struct axp__tally *t)
{
    return (uint32_t)(t->hash_mask / sizeof *t->hash) + 1;
}

/* Where a key belongs. */
static uint32_t home_of(uint64_t key, uint32_t cap)
{
    uint64_t label = key - path_of(axp__path_ref(key));
    return (uint32_t)((key + label) / sizeof(struct axp__entry)) & (cap - 1);
}

/* How far it is from each place to the next that those with this home try.
 * Not to the neighbour: the children of a node lie side by side, and who met
 * two such rows would walk along them. The same for all with one home, so
 * that they may change places. */
static uint32_t step_of(uint32_t home)
{
    return (home * 2654435761u >> 8) | 1;
}

/* Where it is, or may be put. */
static struct axp__entry *probe(struct axp__entry *table, uint32_t cap,
                                uint64_t key)
{
    uint32_t i = home_of(key, cap), step = step_of(i);
    assert(key && !(cap & (cap - 1)) && step & 1); /* so it comes to all */
    while (table[i].key && table[i].key != key)
        i = (i + step) & (cap - 1);
    return &table[i];
}

static void free_hash(struct axp__tally *t)
{
    uint32_t cap = hash_cap(t);
    if (cap == t->inline_entries) return;
    axp__unmap(t->hash, cap * sizeof *t->hash);
    axp__budget_give_sure(t->budget, cap * sizeof *t->hash, t->hash_reserved);
    t->hash_reserved = 0;
}

static bool grow_hash(struct axp__tally *t, bool is_optional)
{
    uint32_t cap = hash_cap(t);
    size_t bytes = 2 * (size_t)cap * sizeof *t->hash;
    uint64_t reserved = 0;
    if (!(is_optional ? axp__budget_take_optional(t->budget, bytes)
                      : axp__budget_take_sure(t->budget, bytes, &reserved)))
        return false;
    struct axp__entry *wider = axp__map_scattered(bytes);
    if (!wider) {
        axp__budget_give_sure(t->budget, bytes, reserved);
        return false;
    }
    for (uint32_t i = 0; i < cap; i++)
        if (t->hash[i].key) /* some are there twice: see bring_home */
            *probe(wider, 2 * cap, t->hash[i].key) = t->hash[i];
    assert(t->hash_used < 2 * cap);
    free_hash(t);
    t->hash = wider;
    t->hash_reserved = reserved;
    t->hash_mask = (2 * (uint64_t)cap - 1) * sizeof *t->hash;
    return true;
}

/* Room for one more: a quarter full at most; where memory is out half full,
 * so that who looks for what is not there finds an empty place soon. What must
 * not be refused has a quarter more, and then a wider table from the reserve:
 * not at once, since most of a large one are places that may be refused. */
static bool has_room(struct axp__tally *t, bool is_optional)
{
    uint32_t cap = hash_cap(t);
    if (t->hash_used < cap / 4 || grow_hash(t, true)) return true;
    if (is_optional) return t->hash_used < cap / 2;
    if (t->hash_used < cap / 4 * 3 || grow_hash(t, false)) return true;
    return t->hash_used < cap - 1;
}

static struct axp__entry *lookup(struct axp__tally *t, uint64_t key)
{
    struct axp__entry *e = probe(t->hash, hash_cap(t), key);
    return e->key ? e : NULL;
}

static struct axp__entry *add_entry(struct axp__tally *t, uint64_t key,
                                    void *record, void *other, axp__ref ref)
{
    struct axp__entry *e = probe(t->hash, hash_cap(t), key);
    assert(!e->key && ref && (record || other));
    *e = (struct axp__entry){key, path_of(ref), record, other};
    t->hash_used++;
    assert(t->hash_used < hash_cap(t)); /* or a search would not end */
    return e;
}

static struct axp__entry *op_entry(struct axp__tally *t, uint32_t name)
{
    uint64_t key = path_of(OF_OPS) + AXP__LABEL(name);
    struct axp__entry *e = lookup(t, key);
    if (e) return e;
    if (!has_room(t, false)) return NULL;
    axp__ref ref = new_op(t, name);
    if (!ref) return NULL;
    return add_entry(t, key, NULL, axp__arena_at(&t->arena, ref), ref);
}

struct axp__op *axp__tally_op(struct axp__tally *t, uint32_t name)
{
    struct axp__entry *e = op_entry(t, name);
    return e ? e->other : NULL;
}

static struct axp__entry *make_node(struct axp__tally *t, axp__ref parent,
                                    uint64_t label, bool is_optional)
{
    if (!has_room(t, is_optional)) return NULL; /* most often, if ever */
    struct axp__entry *of = op_entry(t, name_of(label));
    if (!of) return NULL;
    axp__ref op_ref = axp__path_ref(of->path);
    void *op = of->other;
    if (!has_room(t, is_optional)) return NULL;
    axp__ref ref = new_node(t, label, parent, op_ref, is_optional);
    if (!ref) return NULL;
    return add_entry(t, path_of(parent) + label, axp__arena_at(&t->arena, ref),
                     op, ref);
}

struct axp__entry *axp__tally_fold(struct axp__tally *t, uint64_t label)
{
    t->n_folded++;
    const struct axp__node *other = t->other.record;
    struct axp__entry *e = lookup(t, other->path + label);
    if (e) return e;
    e = make_node(t, axp__path_ref(other->path), label, false);
    if (!e) return &t->other;
    e->path = path_of(OF_FOLDED);
    return e;
}

/* An entry was found away from its place, where the hot path looks. If two
 * that are in use want the same place, sooner or later a wider table parts
 * them; until then the last one used has it. Who only passed by on a way of
 * his own goes on along it, for good; the place that this one leaves keeps a
 * copy of it, since others' ways may lead past it. */
static struct axp__entry *bring_home(struct axp__tally *t, struct axp__entry *e)
{
    if (++t->n_astray > hash_cap(t) * ASTRAY_A_SLOT) {
        uint64_t key = e->key;
        t->n_astray = 0;
        if (hash_cap(t) / SPARSEST < t->hash_used && grow_hash(t, true))
            return lookup(t, key);
    }
    uint32_t at = home_of(e->key, hash_cap(t));
    struct axp__entry *home = &t->hash[at], moved = *home;
    bool is_its_home = home_of(moved.key, hash_cap(t)) == at;
    if (!is_its_home && t->hash_used + 2 > hash_cap(t) / 4 * 3)
        return e; /* no memory for a wider one: it stays */
    *home = *e;
    if (is_its_home) {
        *e = moved;
    } else {
        *probe(t->hash, hash_cap(t), moved.key) = moved;
        t->hash_used++;
    }
    return home;
}

struct axp__entry *axp__tally_find_slow(struct axp__tally *t, uint64_t path,
                                        uint64_t label)
{
    axp__ref parent = axp__path_ref(path);
    const struct axp__node *other = t->other.record;
    if (parent == OF_FOLDED || parent == axp__path_ref(other->path))
        return axp__tally_fold(t, label);
    struct axp__entry *e = lookup(t, path + label);
    if (e) return bring_home(t, e);
    if (path + label == t->other.key) return &t->other;
    e = make_node(t, parent, label, true);
    return e ? e : axp__tally_fold(t, label);
}

struct axp__entry *axp__tally_traffic(struct axp__tally *t, uint32_t name)
{
    const uint64_t path = path_of(OF_TRAFFIC);
    struct axp__entry *e = axp__tally_peek(t, path, AXP__LABEL(name));
    if (axp__likely(e != NULL)) return e;
    uint64_t key = path + AXP__LABEL(name);
    e = lookup(t, key);
    if (e) return bring_home(t, e);
    if (!has_room(t, false)) return NULL;
    axp__ref ref = axp__arena_alloc(&t->arena, sizeof(struct axp__traffic),
                                    AXP__ARENA_SURE);
    if (!ref) return NULL;
    struct axp__traffic *traffic = axp__arena_at(&t->arena, ref);
    traffic->name = name;
    LINK(t, traffic, ref, axp__traffic);
    return add_entry(t, key, traffic, NULL, ref);
}

struct axp__counter *axp__tally_counter(struct axp__tally *t, uint32_t name)
{
    uint64_t key = path_of(OF_COUNTERS) + AXP__LABEL(name);
    struct axp__entry *e = lookup(t, key);
    if (e) return e->record;
    if (!has_room(t, false)) return NULL;
    axp__ref ref = axp__arena_alloc(&t->arena, sizeof(struct axp__counter),
                                    AXP__ARENA_SURE);
    if (!ref) return NULL;
    struct axp__counter *c = axp__arena_at(&t->arena, ref);
    c->name = name;
    LINK(t, counters, ref, axp__counter);
    e = add_entry(t, key, c, NULL, ref);
    return e->record;
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
    bool is_folded = axp__path_ref(e->path) == OF_FOLDED;
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

void axp__tally_set_dims(struct axp__op *op, const uint32_t dims[6])
{
    uint32_t n = 0;
    for (; n < 6 && dims[n]; n++)
        axp__put(&op->dims[n], dims[n]);
    axp__put(&op->n_dims, n);
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
    if (work && work->dims && work->dims[0])
        axp__tally_set_dims(op, work->dims);
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
    axp__ref root = new_node(t, AXP__LABEL(ROOT_NAME), 0, 0, false);
    axp__ref other_op = axp__path_ref(op_entry(t, other_name)->path);
    axp__ref other = new_node(t, AXP__LABEL(other_name), root, other_op, false);
    t->other = (struct axp__entry){
        .key = path_of(root) + AXP__LABEL(other_name),
        .path = path_of(OF_FOLDED),
        .record = axp__arena_at(&t->arena, other),
        .other = axp__arena_at(&t->arena, other_op),
    };
    t->frames[0] = (struct axp__frame){
        .node = axp__arena_at(&t->arena, root),
        .path = path_of(root),
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
    free_hash(t);
    if (cap != t->inline_frames) {
        axp__budget_unmap(t->budget, t->frames, cap * sizeof *t->frames);
        axp__budget_give(t->budget, cap * sizeof *t->frames);
    }
    axp__arena_fini(&t->arena);
    t->frames = NULL;
}
