/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Allocations and frees, as a program calls them.
 *
 * Hot       the usual case and nothing else, as in record_scope.c: every
 *           question is asked before the first change, and any unusual answer
 *           leads to the general way, which starts over. Where the threads'
 *           purses have to be settled, that comes last. So nothing is called
 *           on the way, and no register saved.
 * Usual     a name that the thread has used before, at the same address; a
 *           block whose region of the shadow is there; room in the chunk.
 * Far       with many blocks a free waits for memory, and so does the program
 *           that looks for the next block. A processor does both at once only
 *           if that is within some 200 instructions: so a free does before it
 *           looks at the block whatever it can, with the last name as a guess.
 */
#include "record/record_memory.h"

#include "base/base_sized.h"
#include "record/record_heap.h"
#include "wire/wire_stack.h"

#define PREFETCH_WORDS 64 /* as in record_scope.c */

/* ---- the hot way ----------------------------------------------------------------- */

/* Where an event goes. */
struct spot {
    struct axp__thread *t;
    struct axp__frame *hot; /* of the thread, to be put back */
    struct axp__lane *lane;
    uint64_t *w; /* room for three words */
    uint64_t now, delta;
};

/* Whose it is. */
struct owner {
    struct axp__traffic *traffic;
    struct axp__purse *own;
    uint64_t *allocated_bytes; /* of the innermost scope */
    uint32_t id;               /* of the name */
};

static inline void leave_hot(const struct spot *s)
{
#ifdef AXP__TSAN
    axp__thread_leave(s->t);
#else
    axp__signal_fence();
    axp__put(&s->t->hot, s->hot); /* no scope has opened or closed */
    axp__put(&s->t->busy, 0);
#endif
}

/* Enters the lane of the last allocation, as axp__enter_quick does; false:
 * nothing was done. A handler that comes in between leaves everything as it
 * was, or another lane: so lane before handle, and the rest once marked. HOT */
static inline bool enter_hot(const axp_profiler *p, struct spot *s)
{
    struct axp__thread *t = s->t = axp__tls;
    struct axp__lane *lane = s->lane = axp__get(&t->alloc_lane);
    if (axp__unlikely(!p || axp__get(&t->alloc_handle) != p ||
                      axp__get(&t->busy)))
        return false;
    axp__put(&t->busy, 1);
    axp__signal_fence();
    s->hot = axp__get(&t->hot);
    axp__put(&t->hot, NULL);
    axp__signal_fence();
    s->now = axp__clock_raw(); /* or lim would be NULL */
    if (axp__likely((s->hot || !axp__get(&t->global)) &&
                    axp__get(&lane->owner) == t)) {
        s->w = axp__get(&lane->cur); /* of a stopped lane too: ask lim */
        s->delta = s->now - axp__get(&lane->base_ticks);
        if (axp__likely(s->w + 2 < axp__get(&lane->lim) &&
                        !(s->delta >> AXP__TIME_BITS)))
            return true;
    }
    axp__put(&t->hot, s->hot); /* NULL: in the middle of a scope's event */
    axp__put(&t->busy, 0);
    return false;
}

/* The general way in; the next event finds it faster. */
static struct axp__lane *enter(const axp_profiler *p)
{
    struct axp__lane *lane = axp__enter(p);
    if (!lane) return NULL;
    lane->owner->alloc_handle = p;
    lane->owner->alloc_lane = lane;
    return lane;
}

/* A name may end before 16 bytes: the load stays within its page. HOT */
__attribute__((no_sanitize("address"))) static inline bool is_at(
    const struct axp__memo *m, const char *name)
{
    uint64_t w[2];
    __builtin_memcpy(w, name, 16);
    return !(((w[0] ^ m->word[0]) & m->mask[0]) |
             ((w[1] ^ m->word[1]) & m->mask[1]));
}

/* What the lane has of a name; false: ask. HOT */
static inline bool find_name(struct axp__lane *lane, const char *name,
                             struct owner *o)
{
    if (axp__unlikely(!lane->memos)) return false;
    struct axp__memo *m = axp__memo_at(lane, name);
    *o = (struct owner){m->traffic, m->own, NULL, m->id};
    if (axp__unlikely(m->pointer != name || !m->own ||
                      ((uintptr_t)name & 4095) > 4080 || !is_at(m, name)))
        return false;
    lane->guess = m;
    return true;
}

static inline bool find_id(struct axp__lane *lane, uint32_t id, struct owner *o)
{
    const struct axp__entry *e = axp__tally_peek(
        &lane->tally, axp__path_of(AXP__OF_TRAFFIC), AXP__LABEL(id));
    if (axp__unlikely(!e)) return false;
    *o = (struct owner){e->record, e->other, NULL, id};
    return o->own != NULL;
}

/* HOT */
static inline void write_words(const struct spot *s, uint64_t label,
                               uint64_t bytes, uint64_t address)
{
    struct axp__lane *lane = s->lane;
    __builtin_prefetch(s->w + PREFETCH_WORDS, 1);
    axp__put(&s->w[3], 0);
    axp__put(&s->w[1], bytes);
    axp__put(&s->w[2], address);
    axp__put(&s->w[0], s->delta << AXP__TIME_SHIFT | label);
    axp__put(&lane->n_extra, lane->n_extra + 2);
    axp__put(&lane->cur, s->w + 3);
    axp__put(&lane->last_ticks, s->now);
}

static __attribute__((noinline)) void settle_alloc(struct axp__lane *lane,
                                                   struct axp__purse *own,
                                                   uint64_t bytes, uint64_t now)
{
    axp__memory_alloc_slow(&lane->p->memory,
                           (struct axp__purses){own, lane->purse}, bytes, now);
    axp__leave(lane);
}

static __attribute__((noinline)) void settle_free(struct axp__lane *lane,
                                                  struct axp__traffic *t,
                                                  struct axp__purse *own,
                                                  uint64_t bytes)
{
    struct axp__purses x = {own, lane->purse};
    uint64_t excess = axp__memory_free_slow(&lane->p->memory, x, bytes);
    axp__bump(&t->freed_bytes, -excess);
    if (excess) axp__memory_warn_excess(lane, t->name);
    axp__leave(lane);
}

/* Where the innermost scope counts its allocations; NULL: nowhere yet. HOT */
static inline uint64_t *find_count(struct axp__lane *lane)
{
    struct axp__node *node = lane->tally.top->node;
    if (axp__likely(node == lane->alloc_node)) return lane->allocated_bytes;
    if (axp__unlikely(!node->extra)) return NULL;
    struct axp__node_extra *x = axp__arena_at(&lane->tally.arena, node->extra);
    lane->alloc_node = node;
    return lane->allocated_bytes = &x->allocated_bytes;
}

/* The rest of an allocation, and out. HOT */
static inline void alloc_hot(const struct spot *s, const struct owner *o,
                             uint64_t bytes, uint64_t address)
{
    struct axp__lane *lane = s->lane;
    struct axp__purses x = {o->own, lane->purse};
    axp__bump(o->allocated_bytes, bytes);
    axp__bump(&o->traffic->n_allocs, 1);
    axp__bump(&o->traffic->allocated_bytes, bytes);
    write_words(s, axp__word(AXP__W_ALLOC, o->id, 0), bytes, address);
    if (axp__likely(axp__memory_alloc_fast(&lane->p->memory, x, bytes, s->now,
                                           lane->row)))
        leave_hot(s);
    else
        settle_alloc(lane, x.own, bytes, s->now);
}

/* The rest of a free, and out. HOT */
static inline void free_hot(const struct spot *s, const struct owner *o,
                            uint64_t bytes, uint64_t address)
{
    struct axp__lane *lane = s->lane;
    struct axp__purses x = {o->own, lane->purse};
    axp__bump(&o->traffic->n_frees, 1);
    axp__bump(&o->traffic->freed_bytes, bytes);
    write_words(s, axp__word(AXP__W_FREE, o->id, 0), bytes, address);
    if (axp__likely(axp__memory_free_fast(&lane->p->memory, x, bytes)))
        leave_hot(s);
    else
        settle_free(lane, o->traffic, x.own, bytes);
}

/* ---- by name ------------------------------------------------------------------------ */

static __attribute__((noinline)) void alloc_slow(axp_profiler *p,
                                                 const char *name, size_t bytes)
{
    struct axp__lane *lane = enter(p);
    if (!lane) return;
    struct axp__mem_event e = {.name = axp__lane_name(lane, name),
                               .bytes = bytes,
                               .now = axp__clock_ticks()};
    if (axp__memory_check_size(lane, bytes, e.name))
        axp__memory_record_alloc(lane, &e);
    axp__memory_remember(lane, name, e.name);
    axp__leave(lane);
}

/* HOT */
void axp_record_alloc(axp_profiler *p, const char *name, size_t bytes)
{
    struct spot s;
    struct owner o;
    if (axp__likely(enter_hot(p, &s))) {
        if (axp__likely(bytes <= AXP__MAX_BLOCK &&
                        find_name(s.lane, name, &o) &&
                        (o.allocated_bytes = find_count(s.lane)))) {
            alloc_hot(&s, &o, bytes, 0);
            return;
        }
        leave_hot(&s);
    }
    alloc_slow(p, name, bytes);
}

static __attribute__((noinline)) void free_slow(axp_profiler *p,
                                                const char *name, size_t bytes)
{
    struct axp__lane *lane = enter(p);
    if (!lane) return;
    struct axp__mem_event e = {.name = axp__lane_name(lane, name),
                               .bytes = bytes,
                               .now = axp__clock_ticks()};
    if (axp__memory_check_size(lane, bytes, e.name))
        axp__memory_record_free(lane, &e);
    axp__memory_remember(lane, name, e.name);
    axp__leave(lane);
}

/* HOT */
void axp_record_free(axp_profiler *p, const char *name, size_t bytes)
{
    struct spot s;
    struct owner o;
    if (axp__likely(enter_hot(p, &s))) {
        if (axp__likely(bytes <= AXP__MAX_BLOCK &&
                        find_name(s.lane, name, &o))) {
            free_hot(&s, &o, bytes, 0);
            return;
        }
        leave_hot(&s);
    }
    free_slow(p, name, bytes);
}

/* ---- by address ------------------------------------------------------------------------ */

/* An allocator's block is called so too, where one is looked at. */
static void label_block(struct axp__lane *lane, const struct axp__mem_event *e)
{
    if (axp__get(&lane->p->heap.is_seen) && e->address)
        axp__heap_label(lane, e->address, e->name);
}

static __attribute__((noinline)) void track_slow(axp_profiler *p,
                                                 const char *name,
                                                 const void *ptr, size_t bytes)
{
    struct axp__lane *lane = enter(p);
    if (!lane) return;
    struct axp__mem_event e = {.name = axp__lane_name(lane, name),
                               .bytes = bytes,
                               .address = (uintptr_t)ptr,
                               .now = axp__clock_ticks()};
    if (!ptr)
        axp__warn(lane->p, AXP__WARN_NULL_ADDRESS, e.name);
    else if (axp__memory_check_size(lane, bytes, e.name))
        axp__memory_record_block(lane, e.address, &e);
    axp__memory_remember(lane, name, e.name);
    label_block(lane, &e);
    axp__leave(lane);
}

/* HOT */
void axp_track_alloc(axp_profiler *p, const char *name, const void *ptr,
                     size_t bytes)
{
    struct spot s;
    struct owner o;
    uint64_t address = (uintptr_t)ptr;
    if (axp__likely(enter_hot(p, &s))) {
        uint32_t *cell =
            axp__shadow_peek_free(&s.lane->p->blocks, address, bytes);
        if (axp__likely(cell && ptr && !axp__get(&s.lane->p->heap.is_seen) &&
                        find_name(s.lane, name, &o) &&
                        (o.allocated_bytes = find_count(s.lane)))) {
            axp__cells_write(cell, axp__cells_of(bytes, o.id));
            alloc_hot(&s, &o, bytes, address);
            return;
        }
        leave_hot(&s);
    }
    track_slow(p, name, ptr, bytes);
}

static __attribute__((noinline)) void untrack_slow(axp_profiler *p,
                                                   const void *ptr)
{
    struct axp__lane *lane = ptr ? enter(p) : NULL;
    if (!lane) return;
    axp__memory_record_unblock(lane, (uintptr_t)ptr, (uintptr_t)ptr,
                               axp__clock_ticks(), 0);
    axp__leave(lane);
}

/* The compiler computes v here and not where it is used. */
#define HERE(v) __asm__ volatile("" : "+r"(v))

/* A free of a block with the name of the last event, while no other thread
 * takes part; false: nothing was done. What is not the block's comes before
 * the look at its cells, on purpose: see the top. HOT */
static inline bool free_as_guessed(const struct spot *s, uint32_t *cell,
                                   uint64_t address)
{
    struct axp__lane *lane = s->lane;
    const struct axp__memory *m = &lane->p->memory;
    const struct axp__memo *guess = lane->guess;
    if (axp__unlikely(!guess || !guess->own)) return false;
    struct axp__purse *own = guess->own, *all = lane->purse;
    uint64_t net = axp__get(&own->net), held = net - axp__get(&own->low);
    uint64_t net_all = axp__get(&all->net);
    uint64_t held_all = net_all - axp__get(&all->low);
    uint32_t stamp = axp__get(&m->stamp);
    if (axp__unlikely(stamp & AXP__STAMP_SHARED ||
                      axp__get(&own->stamp) != stamp ||
                      !(axp__get(&own->state) & axp__get(&all->state) &
                        AXP__PURSE_OFFERED)))
        return false;
    struct axp__traffic *t = guess->traffic;
    uint64_t n_frees = t->n_frees + 1, freed_bytes = t->freed_bytes;
    uint64_t n_extra = lane->n_extra + 2;
    uint64_t word = axp__word(AXP__W_FREE, guess->id, s->delta);
    uint64_t label = AXP__CELLS_LABEL(guess->id), mask = AXP__CELLS_LABEL_MASK;
    uint64_t most = held < held_all ? held : held_all;
    HERE(n_frees);
    HERE(freed_bytes);
    HERE(n_extra);
    HERE(word);
    HERE(label);
    HERE(mask);
    HERE(most);
    __builtin_prefetch(s->w + PREFETCH_WORDS, 1);
    axp__put(&s->w[3], 0);
    axp__put(&s->w[2], address);
    uint64_t both = axp__cells_read(cell);
    uint64_t bytes = axp__cells_bytes(both);
    if (axp__unlikely((both & mask) != label || bytes > most)) return false;
    axp__cells_write(cell, 0);
    axp__put(&s->w[1], bytes);
    axp__put(&s->w[0], word);
    axp__put(&lane->n_extra, n_extra);
    axp__put(&lane->cur, s->w + 3);
    axp__put(&lane->last_ticks, s->now);
    axp__set(&t->n_frees, n_frees);
    axp__set(&t->freed_bytes, freed_bytes + bytes);
    axp__put(&own->net, net - bytes);
    axp__put(&all->net, net_all - bytes);
    axp__signal_fence(); /* as axp__memory_stamp has it */
    if (axp__likely(axp__get(&m->stamp) == stamp))
        leave_hot(s);
    else
        settle_free(lane, t, own, bytes);
    return true;
}

/* HOT */
void axp_track_free(axp_profiler *p, const void *ptr)
{
    struct spot s;
    struct owner o;
    uint64_t address = (uintptr_t)ptr;
    if (axp__likely(enter_hot(p, &s))) {
        const struct axp__region *r;
        uint32_t *cell = axp__shadow_cell(&s.lane->p->blocks, address, &r);
        if (axp__likely(cell && free_as_guessed(&s, cell, address))) return;
        uint64_t both = cell ? axp__cells_read(cell) : 0;
        if (axp__cells_are_block(both) &&
            find_id(s.lane, axp__cells_name(both), &o)) {
            axp__cells_write(cell, 0);
            free_hot(&s, &o, axp__cells_bytes(both), address);
            return;
        }
        leave_hot(&s);
    }
    untrack_slow(p, ptr);
}

/* ---- in full ----------------------------------------------------------------------------- */

/* The id of its stack. Without a timeline nobody would refer to it. */
static uint32_t intern_stack(struct axp__lane *lane, const axp_alloc *alloc,
                             uint32_t name)
{
    uint64_t frames[AXP__STACK_RECORDED];
    uint8_t bytes[AXP__STACK_BYTES(AXP__STACK_RECORDED)];
    struct axp__prof *p = lane->p;
    uint32_t n = alloc->n_frames;
    if (!alloc->stack || !n || p->flags & AXP_NO_TIMELINE)
        return AXP__STACK_NONE;
    if (n > AXP__STACK_RECORDED) {
        axp__warn(p, AXP__WARN_CUT_STACK, name);
        n = AXP__STACK_RECORDED;
    }
    for (uint32_t i = 0; i < n; i++)
        frames[i] = (uint64_t)(uintptr_t)alloc->stack[i];
    size_t n_bytes = axp__stack_put(bytes, frames, n);
    uint32_t id =
        axp__stacks_intern(&p->stacks, &p->budget, bytes, (uint32_t)n_bytes);
    if (id == AXP__STACK_NO_ROOM) axp__warn(p, AXP__WARN_STACKS_FULL, name);
    return id;
}

static uint32_t alloc_name(struct axp__lane *lane, const char *name)
{
    if (name) return axp__lane_name(lane, name);
    if (lane->tally.top == lane->tally.frames) return AXP__NAME_UNNAMED;
    return lane->tally.top->op->name;
}

void axp_record_alloc_ex(axp_profiler *p, const axp_alloc *given)
{
    axp_alloc alloc;
    struct axp__lane *lane = given ? enter(p) : NULL;
    if (!lane) return;
    if (!axp__sized_take(&alloc, sizeof alloc, given,
                         AXP__SIZE_TO(axp_alloc, n_frames))) {
        axp__warn(lane->p, AXP__WARN_BAD_STRUCT, 0);
        axp__leave(lane);
        return;
    }
    struct axp__mem_event e = {.name = alloc_name(lane, alloc.name),
                               .bytes = alloc.bytes,
                               .address = (uintptr_t)alloc.ptr,
                               .kind = (uint32_t)alloc.kind,
                               .now = axp__clock_ticks()};
    if (e.kind > AXP_MEM_CACHE) {
        axp__warn(lane->p, AXP__WARN_BAD_ENUM, e.name);
        e.kind = AXP_MEM_NONE;
    }
    if (axp__memory_check_size(lane, e.bytes, e.name)) {
        e.stack = intern_stack(lane, &alloc, e.name);
        if (e.address)
            axp__memory_record_block(lane, e.address, &e);
        else
            axp__memory_record_alloc(lane, &e);
        label_block(lane, &e);
    }
    axp__leave(lane);
}
