/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The tally: one thread's call tree and statistics, kept as events happen.
 *
 *   frames   [root][train][forward][matmul]      open scopes, a stack
 *               |      |       |       |
 *   nodes     root > train > forward > matmul    the call tree
 *                                  \-> softmax
 *   ops       train, forward, matmul, softmax    by name, with histogram
 *   hash      (parent node, name) → node, op     private to the owner
 *
 * axp__tally_push and axp__tally_pop are the one place where an event is
 * added to accumulators: called by the recording thread, and by a reader
 * that folds words again. They take the time from the caller.
 *
 * Place      inside a lane (record_lane.h); merged lanes (tally_merge.c).
 * Ownership  nodes, ops and pages lie in the arena; frames and hash in
 *            mappings of their own, which grow by doubling.
 * Threads    one owner writes. Others may read records by their version, and
 *            frames by their token (record_capture.c).
 * Failure    where no memory is left a new node folds into "(other)": its op
 *            stays exact, its place in the tree does not. For ops, and for
 *            what a call adds to, the budget has a reserve.
 */
#ifndef AXP_TALLY_SCOPE_H
#define AXP_TALLY_SCOPE_H
#include "base/base_text.h"
#include "tally/tally_record.h"

/* A name as the low bits of a word and of a hash key: never 0, so that a site
 * without a name is found nowhere. */
#define AXP__LABEL(name) ((uint64_t)(name) << 4 | 1)
#define AXP__LABEL_NAME(label) ((uint32_t)(label) >> 4)

/* Scopes that declare work as they begin have nodes of their own, one for each
 * set of AXP__F_FLOPS and AXP__F_BYTES: what such a node did not count is its
 * calls and their time, and an end need not know. As a key: above the label,
 * and so that both do not want the same place. */
#define AXP__DECLARES(flags) ((uint64_t)(flags) * ((1u << 24) + 16 * 37))
#define AXP__DECLARED(key_label) ((uint32_t)((key_label) >> 24))

enum axp__frame_flag {
    AXP__F_FLOPS = 1,  /* this call declared FLOPs, and its node does not */
    AXP__F_BYTES = 2,  /* … bytes */
    AXP__F_NAMED = 4,  /* begun by axp_start: ended by name */
    AXP__F_MOVED = 8,  /* its parent ended first: charged_ticks counts */
    AXP__F_REPEAT = 16 /* folded, while its op is open above it */
};

/* Flags are the top bits of child_ticks: with one it looks as if the children
 * took longer than the scope, so that the hot path leaves the frame alone
 * without asking for flags. */
#define AXP__FLAG_SHIFT 59
#define AXP__FLAG(flags) ((uint64_t)(flags) << AXP__FLAG_SHIFT)
#define AXP__MAX_CHILD_TICKS (AXP__FLAG(1) - 1)

#define AXP__MAX_DEPTH (1u << 20)
#define AXP__SURE_DEPTH (1u << 17) /* granted whatever the budget says */

/* One cache line, and two blocks of 32 bytes that are each written at a time:
 * see axp__tally_open. */
struct axp__frame { /* an open scope */
    uint64_t begin_ticks;
    uint64_t child_ticks; /* what ended scopes within it took | AXP__FLAG() */
    union {
        uintptr_t anchor;       /* the caller's stack pointer; or, … */
        uint64_t charged_ticks; /* … if it was moved, since when its present
                                   parent is charged */
    };
    const void *site; /* which scope of the caller; the named slot; of the
                         root, how many frames lie here */
    struct axp__node *node;
    struct axp__op *op;
    uint64_t path;  /* of its children: see axp__tally_peek */
    uint64_t token; /* what its end brings back; 0: ended by name */
} __attribute__((aligned(64)));

static inline uint32_t axp__frame_flags(const struct axp__frame *f)
{
    return (uint32_t)(axp__get(&f->child_ticks) >> AXP__FLAG_SHIFT);
}

static inline uint64_t axp__frame_child_ticks(const struct axp__frame *f)
{
    return axp__get(&f->child_ticks) & AXP__MAX_CHILD_TICKS;
}

static inline void axp__frame_set_flags(struct axp__frame *f, uint32_t flags)
{
    axp__put(&f->child_ticks, f->child_ticks | AXP__FLAG(flags));
}

static inline void axp__frame_clear_flags(struct axp__frame *f, uint32_t flags)
{
    axp__put(&f->child_ticks, f->child_ticks & ~AXP__FLAG(flags));
}

/* Never into the flags, whatever the clock says. */
static inline void axp__frame_charge(struct axp__frame *f, uint64_t ticks)
{
    uint64_t most = AXP__MAX_CHILD_TICKS - axp__frame_child_ticks(f);
    axp__put(&f->child_ticks, f->child_ticks + (ticks < most ? ticks : most));
}

struct axp__entry { /* 32 bytes: see axp__tally_peek */
    uint64_t key;   /* 0: empty */
    uint64_t path;  /* of what it stands for: its ref << 32 | … */
    void *record;   /* node, or what the key says */
    void *other;    /* its op */
};

/* Of the entries of traffic, as if they had a parent: → axp__traffic,
 * axp__purse. */
#define AXP__OF_TRAFFIC ((axp__ref)0xfffffffeu)
/* The same of places: → axp__heap_place. */
#define AXP__OF_PLACES ((axp__ref)0xfffffffbu)
/* The parent of what is begun below "(other)", where paths are lost: nothing
 * is found under it. One for all, so that who looks in vain looks at few
 * places. */
#define AXP__OF_FOLDED ((axp__ref)0xfffffffcu)

/* Under 2^31 in its lower half, so that a label fits on top. */
static inline uint64_t axp__path_of(axp__ref ref)
{
    uint64_t high = (uint64_t)ref << 32;
    return high | ((uint32_t)axp__mix64(high) & 0x7fffffe0u);
}

static inline axp__ref axp__path_ref(uint64_t path)
{
    return (axp__ref)(path >> 32);
}

struct axp__tally {
    struct axp__frame *top; /* innermost open scope; frames[0] is the root */
    struct axp__entry *hash;
    uint64_t hash_mask; /* of byte offsets: (entries - 1) * 32 */
    struct axp__frame *limit;
    uint32_t hash_used;
    uint32_t n_astray; /* finds away from home since it last grew */
    struct axp__frame *frames;
    struct axp__arena arena;
    struct axp__lists first, last;
    struct axp__entry other; /* the node that new ones fold into; a scope of
                                its name is folded itself */
    uint64_t lost_bucket;    /* where a histogram without memory counts */
    uint64_t hash_reserved;  /* bytes of it from the budget's reserve */
    struct axp__budget *budget;
    uint64_t n_folded; /* scopes whose place in the tree was lost */
    uint64_t n_removals;
    /* What growing leaves behind stays readable until release. */
    void (*retire)(void *ctx, void *memory, size_t bytes);
    void *retire_ctx;
    /* The operation that a node's name stands for: another than its own where
     * that is of a shape (wire_shape.h). NULL: always its own. */
    uint32_t (*op_of)(const void *ctx, uint32_t name);
    const void *op_of_ctx;
    uint32_t inline_frames, inline_entries; /* these are not ours to unmap */
    axp__ref marked;    /* the node from which all are marked: tally_above.c */
    uint32_t fold_base; /* the frame below the folded ones, if there are any */
};

/* The innermost open scope as another thread may see it, and the root below
 * it; the root itself while the frames move elsewhere. */
static inline struct axp__frame *axp__tally_look(const struct axp__tally *t,
                                                 struct axp__frame **frames)
{
    struct axp__frame *root = axp__get_acquire(&t->frames);
    struct axp__frame *top = axp__get_acquire(&t->top);
    size_t bytes = (size_t)(uintptr_t)axp__get(&root->site) * sizeof *root;
    *frames = root;
    return (uintptr_t)top - (uintptr_t)root < bytes ? top : root;
}

/* The caller's first memory, zeroed: a thread with a few scopes needs no
 * other mapping. */
struct axp__tally_seed {
    struct axp__frame frames[16];
    struct axp__entry entries[64];
    char arena[4096];
} __attribute__((aligned(64)));

void axp__tally_init(struct axp__tally *t, struct axp__tally_seed *seed,
                     struct axp__budget *budget, uint32_t other_name);
void axp__tally_fini(struct axp__tally *t); /* not the seed */

/* ---- the slow sides ------------------------------------------------------ */
struct axp__entry *axp__tally_find_slow(struct axp__tally *t, uint64_t path,
                                        uint64_t label);
/* tally_find.c for tally_scope.c: a new node, 0 without memory; the entry of an
 * op, made when new, NULL without memory. */
axp__ref axp__tally_new_node(struct axp__tally *t, uint64_t label,
                             axp__ref parent, axp__ref op_ref,
                             bool is_optional);
struct axp__entry *axp__tally_op_entry(struct axp__tally *t, uint32_t name);
void axp__tally_free_hash(struct axp__tally *t);
/* Where a duration counts in an op's histogram; makes the page. */
uint64_t *axp__tally_bucket(struct axp__tally *t, struct axp__op *op,
                            uint64_t ticks);
/* Room for one more frame; false: too deep, or no memory. */
bool axp__tally_has_room(struct axp__tally *t);
/* Opens a scope, where there is room; the caller sets what he knows of it
 * (anchor, site, token). */
struct axp__frame *axp__tally_push(struct axp__tally *t, uint32_t name,
                                   uint64_t now);
/* The same by a label: AXP__LABEL(name) + AXP__DECLARES(flags). */
struct axp__frame *axp__tally_push_label(struct axp__tally *t, uint64_t label,
                                         uint64_t now);
/* Closes the innermost scope. */
void axp__tally_pop(struct axp__tally *t, uint64_t now);
/* f is not the innermost: its children move up to its parent. Not counted:
 * as if it had never been there. Takes time in proportion to how many scopes
 * are open. (tally_remove.c) */
void axp__tally_remove(struct axp__tally *t, struct axp__frame *f, uint64_t now,
                       bool is_counted);
/* The same for several, from the innermost on: each is taken out, which leaves
 * a gap (no op), and then all are closed up from the lowest on. */
void axp__tally_take_out(struct axp__tally *t, struct axp__frame *f,
                         uint64_t now, bool is_counted);
void axp__tally_close_gaps(struct axp__tally *t, struct axp__frame *f,
                           uint64_t now);
/* Counts the call of a frame that ends now, and charges the one below it. */
void axp__tally_close(struct axp__tally *t, struct axp__frame *f, uint64_t now);
/* Whether a scope of the op is open in a place or above it. (tally_above.c) */
bool axp__tally_is_above(struct axp__tally *t, const struct axp__op *op,
                         axp__ref place);
/* Whether a scope of the op is open already, where one is pushed that was
 * folded. */
bool axp__tally_is_open(struct axp__tally *t, struct axp__op *op);
/* Of each frame, from the lowest on, where some were moved. */
void axp__tally_see_frame(struct axp__tally *t, struct axp__frame *f,
                          bool is_lowest);
/* Without a place of its own: the entry of that name under "(other)". */
struct axp__entry *axp__tally_fold(struct axp__tally *t, uint64_t label);
/* The op of a name, made when new; NULL without memory. */
struct axp__op *axp__tally_op(struct axp__tally *t, uint32_t name);
struct axp__entry *axp__tally_traffic(struct axp__tally *t, uint32_t name);
struct axp__counter *axp__tally_counter(struct axp__tally *t, uint32_t name);
struct axp__heap_place *axp__tally_place(struct axp__tally *t, uint32_t name);
/* Of one of its places; NULL: no memory. */
struct axp__heap_ages *axp__tally_ages(struct axp__tally *t,
                                       struct axp__heap_place *place);
void axp__tally_count(struct axp__tally *t, uint32_t name, double value,
                      uint64_t now);
/* Extremes and histogram of an op; within its version. */
void axp__tally_sample(struct axp__tally *t, struct axp__op *op,
                       uint64_t ticks);
/* A pair that belongs to no call tree: another thread's start, an async. */
void axp__tally_add_loose(struct axp__tally *t, uint32_t name, uint64_t ticks);
/* Declared work, checked. */
struct axp__work {
    double flops, bytes;
    uint32_t dtype;
};
static inline uint32_t axp__work_flags(const struct axp__work *work)
{
    return (work->flops > 0 ? AXP__F_FLOPS : 0u) |
           (work->bytes > 0 ? AXP__F_BYTES : 0u);
}

/* A span with explicit times under the root; self time included. work NULL,
 * category 0: none. */
void axp__tally_add_span(struct axp__tally *t, uint32_t name, uint64_t ticks,
                         const struct axp__work *work, uint32_t category);
/* Where a node keeps what few have, made when new; NULL without memory. */
struct axp__node_extra *axp__tally_extra(struct axp__tally *t,
                                         struct axp__node *node);
/* All but the dims, which a name tells (wire_shape.h). */
void axp__tally_add_work(struct axp__tally *t, struct axp__frame *f,
                         const struct axp__work *work);
/* The innermost scope goes on as one of that name, which stands for the same
 * operation. */
void axp__tally_rename(struct axp__tally *t, uint32_t name);

/* ---- the hot side --------------------------------------------------------- */
/* Where the children of a node lie in the hash: a path is the node's ref << 32
 * | a random multiple of an entry's size. A child's key is its parent's path +
 * its label, and its place a function of both: children lie side by side in
 * the order of their names, from a place that is random for each node. (A name
 * moves it by 2 * label = 32 * name + 2, and the mask takes the 2 off.)
 *
 * The entry of a key if it lies where it belongs, else NULL: ask
 * axp__tally_find_slow. The table is kept three quarters empty, so that most
 * do. HOT */
static inline struct axp__entry *axp__tally_peek(const struct axp__tally *t,
                                                 uint64_t path, uint64_t label)
{
    uint64_t key = path + label;
    uint64_t at = (key + label) & t->hash_mask;
    struct axp__entry *e = (struct axp__entry *)(void *)((char *)t->hash + at);
    return axp__likely(e->key == key) ? e : NULL;
}

static inline struct axp__entry *axp__tally_find(struct axp__tally *t,
                                                 uint64_t path, uint64_t label)
{
    struct axp__entry *e = axp__tally_peek(t, path, label);
    return e ? e : axp__tally_find_slow(t, path, label);
}

/* What a scope begins with. */
struct axp__frame_init {
    uint64_t now;
    uint32_t flags;
    uintptr_t anchor;
    const void *site;
    uint64_t token;
};

/* Fills a frame; the caller then sets top. A reader has no anchor, site or
 * token. Stores to one block of 32 bytes
 * leave a Neoverse V1 together if they follow each other, and each other block
 * costs 0.6 ns of the time that a scope has. HOT */
static inline void axp__tally_open(struct axp__frame *f,
                                   const struct axp__entry *e,
                                   struct axp__frame_init o)
{
    axp__set(&f->begin_ticks, o.now);
    axp__set(&f->child_ticks, AXP__FLAG(o.flags));
    if (!AXP__IS_ALONE) axp__set(&f->anchor, o.anchor);
    if (!AXP__IS_ALONE) axp__set(&f->site, o.site);
    axp__signal_fence();
    struct axp__node *node = e->record;
    struct axp__op *op = e->other;
    axp__set_pointer(&f->node, node);
    axp__set_pointer(&f->op, op);
    axp__set(&f->path, e->path);
    if (!AXP__IS_ALONE) axp__set(&f->token, o.token);
    axp__signal_fence();
}

/* Adds one finished call to its op and node, where nothing but these changes
 * (count in tally_scope.c does the rest). HOT */
static inline void axp__tally_add(struct axp__op *op, struct axp__node *node,
                                  uint64_t *bucket, uint64_t ticks,
                                  uint64_t self_ticks)
{
    uint32_t version = 0;
    if (!AXP__IS_ALONE) {
        version = op->version;
        axp__put(&op->version, version + 1);
    }
    axp__store_barrier();
    axp__bump(&node->total_ticks, ticks);
    axp__bump(&node->self_ticks, self_ticks);
    axp__bump(&node->calls, 1);
    axp__bump(bucket, 1);
    if (!AXP__IS_ALONE) axp__put_release(&op->version, version + 2);
}

static inline struct axp__node_extra *axp__tally_peek_extra(
    const struct axp__tally *t, const struct axp__node *node)
{
    return node->extra ? axp__arena_at(&t->arena, node->extra) : NULL;
}

/* Where a call that ends now counts; NULL: something is unusual about its
 * duration. HOT */
static inline uint64_t *axp__tally_peek_bucket(const struct axp__op *op,
                                               uint64_t ticks)
{
    if (axp__unlikely((ticks < op->min_ticks) | (ticks > op->max_ticks)))
        return NULL;
    struct axp__hist_at at = axp__hist_at(ticks);
    struct axp__hist_page *page = op->page[at.slot];
    return axp__likely(page != NULL) ? &page->count[at.bucket] : NULL;
}

struct axp__ending {
    uint64_t ticks, self_ticks;
    uint64_t *bucket;
};

/* Whether nothing is unusual about a scope that ends now and has these flags:
 * else call axp__tally_pop. HOT */
static inline bool axp__tally_may_end(const struct axp__frame *f, uint64_t now,
                                      uint32_t flags, struct axp__ending *end)
{
    end->ticks = now - f->begin_ticks;
#if defined(__x86_64__) /* what takes longest first: record_hot.h */
    end->bucket = axp__tally_peek_bucket(f->op, end->ticks);
    if (axp__unlikely(!end->bucket)) return false;
#endif
    /* Children that took longer: other flags, or a clock that jumped. */
    if (axp__unlikely(__builtin_sub_overflow(
            end->ticks, f->child_ticks - AXP__FLAG(flags), &end->self_ticks)))
        return false;
#if !defined(__x86_64__)
    end->bucket = axp__tally_peek_bucket(f->op, end->ticks);
#endif
    return axp__likely(end->bucket != NULL);
}

/* Counts it; the caller then sets top. HOT */
static inline void axp__tally_end(struct axp__frame *f,
                                  const struct axp__ending *end)
{
    axp__set(&f[-1].child_ticks, f[-1].child_ticks + end->ticks);
    axp__tally_add(f->op, f->node, end->bucket, end->ticks, end->self_ticks);
}

/* Both at once, for a reader that folds words; false: nothing was done. */
static inline bool axp__tally_pop_fast(struct axp__frame *f, uint64_t now)
{
    struct axp__ending end;
    if (axp__unlikely(!axp__tally_may_end(f, now, 0, &end))) return false;
    axp__tally_end(f, &end);
    return true;
}

#endif
