/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The tally's records, made when they are new, and the hash in which they are
 * found. The design is in tally_scope.h. */
#include "tally/tally_scope.h"

#include <assert.h>

#include "os/os_map.h"
#include "wire/wire_word.h"

/* ---- records -------------------------------------------------------------- */

/* What is in the hash beside nodes, as if it had a parent of its own. */
#define OF_OPS ((axp__ref)0xffffffffu)      /* → op alone */
#define OF_COUNTERS ((axp__ref)0xfffffffdu) /* → axp__counter */

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

axp__ref axp__tally_new_node(struct axp__tally *t, uint64_t label,
                             axp__ref parent, axp__ref op_ref, bool is_optional)
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
    node->path = axp__path_of(ref);
    if (op_ref) {
        struct axp__op *op = axp__arena_at(&t->arena, op_ref);
        node->is_recursive = is_recursive(t, op, parent);
        node->next_of_op = op->nodes;
        axp__put_release(&op->nodes, ref);
    }
    LINK(t, nodes, ref, axp__node);
    return ref;
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
    uint64_t label = key - axp__path_of(axp__path_ref(key));
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

void axp__tally_free_hash(struct axp__tally *t)
{
    uint32_t cap = hash_cap(t);
    if (cap == t->inline_entries) return;
    axp__unmap(t->hash, cap * sizeof *t->hash);
    axp__budget_give_sure(t->budget, cap * sizeof *t->hash, t->hash_reserved);
    axp__budget_apart(t->budget, -(cap * sizeof *t->hash));
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
    axp__budget_apart(t->budget, bytes);
    for (uint32_t i = 0; i < cap; i++)
        if (t->hash[i].key) /* some are there twice: see bring_home */
            *probe(wider, 2 * cap, t->hash[i].key) = t->hash[i];
    assert(t->hash_used < 2 * cap);
    axp__tally_free_hash(t);
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
    *e = (struct axp__entry){key, axp__path_of(ref), record, other};
    t->hash_used++;
    assert(t->hash_used < hash_cap(t)); /* or a search would not end */
    return e;
}

struct axp__entry *axp__tally_op_entry(struct axp__tally *t, uint32_t name)
{
    uint64_t key = axp__path_of(OF_OPS) + AXP__LABEL(name);
    struct axp__entry *e = lookup(t, key);
    if (e) return e;
    if (!has_room(t, false)) return NULL;
    axp__ref ref = new_op(t, name);
    if (!ref) return NULL;
    return add_entry(t, key, NULL, axp__arena_at(&t->arena, ref), ref);
}

struct axp__op *axp__tally_op(struct axp__tally *t, uint32_t name)
{
    struct axp__entry *e = axp__tally_op_entry(t, name);
    return e ? e->other : NULL;
}

static struct axp__entry *make_node(struct axp__tally *t, axp__ref parent,
                                    uint64_t label, bool is_optional)
{
    if (!has_room(t, is_optional)) return NULL; /* most often, if ever */
    uint32_t name = name_of(label);
    if (t->op_of) name = t->op_of(t->op_of_ctx, name);
    struct axp__entry *of = axp__tally_op_entry(t, name);
    if (!of) return NULL;
    axp__ref op_ref = axp__path_ref(of->path);
    void *op = of->other;
    if (!has_room(t, is_optional)) return NULL;
    axp__ref ref = axp__tally_new_node(t, label, parent, op_ref, is_optional);
    if (!ref) return NULL;
    return add_entry(t, axp__path_of(parent) + label,
                     axp__arena_at(&t->arena, ref), op, ref);
}

struct axp__entry *axp__tally_fold(struct axp__tally *t, uint64_t label)
{
    t->n_folded++;
    const struct axp__node *other = t->other.record;
    struct axp__entry *e = lookup(t, other->path + label);
    if (e) return e;
    e = make_node(t, axp__path_ref(other->path), label, false);
    if (!e) return &t->other;
    e->path = axp__path_of(AXP__OF_FOLDED);
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
    if (parent == AXP__OF_FOLDED || parent == axp__path_ref(other->path))
        return axp__tally_fold(t, label);
    struct axp__entry *e = lookup(t, path + label);
    if (e) return bring_home(t, e);
    if (path + label == t->other.key) return &t->other;
    e = make_node(t, parent, label, true);
    return e ? e : axp__tally_fold(t, label);
}

struct axp__entry *axp__tally_traffic(struct axp__tally *t, uint32_t name)
{
    const uint64_t path = axp__path_of(AXP__OF_TRAFFIC);
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
    uint64_t key = axp__path_of(OF_COUNTERS) + AXP__LABEL(name);
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

struct axp__heap_place *axp__tally_place(struct axp__tally *t, uint32_t name)
{
    const uint64_t path = axp__path_of(AXP__OF_PLACES);
    struct axp__entry *e = axp__tally_peek(t, path, AXP__LABEL(name));
    if (axp__likely(e != NULL)) return e->record;
    uint64_t key = path + AXP__LABEL(name);
    e = lookup(t, key);
    if (e) return bring_home(t, e)->record;
    if (!has_room(t, false)) return NULL;
    axp__ref ref = axp__arena_alloc(&t->arena, sizeof(struct axp__heap_place),
                                    AXP__ARENA_SURE);
    if (!ref) return NULL;
    struct axp__heap_place *p = axp__arena_at(&t->arena, ref);
    p->name = name;
    LINK(t, places, ref, axp__heap_place);
    e = add_entry(t, key, p, NULL, ref);
    return e->record;
}

struct axp__heap_ages *axp__tally_ages(struct axp__tally *t,
                                       struct axp__heap_place *place)
{
    if (place->ages) return axp__arena_at(&t->arena, place->ages);
    axp__ref ref =
        axp__arena_alloc(&t->arena, sizeof(struct axp__heap_ages), 0);
    if (!ref) return NULL;
    axp__put_release(&place->ages, ref);
    return axp__arena_at(&t->arena, ref);
}
