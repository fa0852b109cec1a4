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
 */
#include "record/record_memory.h"

#define MAX_STACK 64u

/* ---- the hot way ----------------------------------------------------------------- */

/* Where an event goes. */
struct spot {
    struct axp__lane *lane;
    uint64_t *w; /* room for three words */
    uint64_t now, delta;
};

/* Enters; false: nothing was done. HOT */
static inline bool enter_hot(const axp_profiler *p, struct spot *s)
{
    s->lane = axp__enter_fast(p);
    if (axp__unlikely(!s->lane)) return false;
    s->now = axp__clock_raw(); /* or it would not have been entered */
    s->w = s->lane->cur;
    s->delta = s->now - s->lane->base_ticks;
    if (axp__likely(s->w + 2 < axp__get(&s->lane->lim) &&
                    !(s->delta >> AXP__TIME_BITS)))
        return true;
    axp__leave(s->lane);
    return false;
}

/* The lane's entry of a name, with traffic and purse; NULL: ask. HOT */
static inline struct axp__entry *entry_of(struct axp__lane *lane, uint32_t id)
{
    struct axp__entry *e = axp__tally_peek(
        &lane->tally, axp__path_of(AXP__OF_TRAFFIC), AXP__LABEL(id));
    return axp__likely(e && e->other) ? e : NULL;
}

/* The same for a name that the thread has used. HOT */
static inline struct axp__entry *entry_by_name(struct axp__lane *lane,
                                               const char *name, uint32_t *id)
{
    const struct axp__cached_name *c = axp__thread_cached(lane->owner, name);
    if (axp__unlikely(!axp__cached_is(c, name))) return NULL;
    *id = c->id;
    return axp__likely(*id > AXP__NAME_UNNAMED) ? entry_of(lane, *id) : NULL;
}

/* HOT */
static inline void write_words(const struct spot *s, enum axp__word_kind kind,
                               uint32_t id, uint64_t bytes, uint64_t address)
{
    struct axp__lane *lane = s->lane;
    axp__put(&s->w[3], 0);
    axp__put(&s->w[1], bytes);
    axp__put(&s->w[2], address);
    axp__put(&s->w[0], axp__word(kind, id, s->delta));
    axp__put(&lane->n_extra, lane->n_extra + 2);
    axp__put(&lane->cur, s->w + 3);
    axp__put(&lane->last_ticks, s->now);
}

/* ---- by name ------------------------------------------------------------------------ */

static __attribute__((noinline)) void alloc_slow(axp_profiler *p,
                                                 const char *name, size_t bytes)
{
    struct axp__lane *lane = axp__enter(p);
    if (!lane) return;
    struct axp__mem_event e = {.name = axp__lane_name(lane, name),
                               .bytes = bytes,
                               .now = axp__clock_ticks()};
    if (axp__memory_check_size(lane, bytes, e.name))
        axp__memory_record_alloc(lane, &e);
    axp__leave(lane);
}

/* An allocation that has changed everything but what others may have to know.
 */
static __attribute__((noinline)) void settle_alloc(struct axp__lane *lane,
                                                   struct axp__purse *own,
                                                   uint64_t bytes, uint64_t now)
{
    axp__memory_alloc_slow(&lane->p->memory,
                           (struct axp__purses){own, lane->purse}, bytes, now);
    axp__leave(lane);
}

static __attribute__((noinline)) void settle_free(struct axp__lane *lane,
                                                  struct axp__entry *e,
                                                  uint64_t bytes)
{
    struct axp__purses x = {e->other, lane->purse};
    struct axp__traffic *t = e->record;
    uint64_t excess = axp__memory_free_slow(&lane->p->memory, x, bytes);
    axp__bump(&t->freed_bytes, -excess);
    if (excess) axp__memory_warn_excess(lane, t->name);
    axp__leave(lane);
}

/* Whether the innermost scope has where to count allocations. HOT */
static inline bool has_extra(const struct axp__lane *lane)
{
    return lane->tally.top->node->extra;
}

/* The rest of an allocation, and out. HOT */
static inline void alloc_hot(const struct spot *s, struct axp__entry *e,
                             uint32_t id, uint64_t bytes, uint64_t address)
{
    struct axp__lane *lane = s->lane;
    struct axp__traffic *t = e->record;
    struct axp__purses x = {e->other, lane->purse};
    struct axp__memory *m = &lane->p->memory;
    struct axp__node_extra *extra =
        axp__tally_peek_extra(&lane->tally, lane->tally.top->node);
    axp__bump(&extra->allocated_bytes, bytes);
    axp__bump(&t->n_allocs, 1);
    axp__bump(&t->allocated_bytes, bytes);
    write_words(s, AXP__W_ALLOC, id, bytes, address);
    if (axp__likely(axp__memory_alloc_fast(m, x, bytes, s->now, lane->row)))
        axp__leave(lane);
    else
        settle_alloc(lane, x.own, bytes, s->now);
}

/* The rest of a free, and out. HOT */
static inline void free_hot(const struct spot *s, struct axp__entry *e,
                            uint32_t id, uint64_t bytes, uint64_t address)
{
    struct axp__lane *lane = s->lane;
    struct axp__traffic *t = e->record;
    struct axp__purses x = {e->other, lane->purse};
    struct axp__memory *m = &lane->p->memory;
    axp__bump(&t->n_frees, 1);
    axp__bump(&t->freed_bytes, bytes);
    write_words(s, AXP__W_FREE, id, bytes, address);
    if (axp__likely(axp__memory_free_fast(m, x, bytes)))
        axp__leave(lane);
    else
        settle_free(lane, e, bytes);
}

/* HOT */
void axp_record_alloc(axp_profiler *p, const char *name, size_t bytes)
{
    struct spot s;
    uint32_t id;
    if (axp__likely(enter_hot(p, &s))) {
        struct axp__entry *e = entry_by_name(s.lane, name, &id);
        if (axp__likely(e && bytes <= AXP__MAX_BLOCK && has_extra(s.lane))) {
            alloc_hot(&s, e, id, bytes, 0);
            return;
        }
        axp__leave(s.lane);
    }
    alloc_slow(p, name, bytes);
}

static __attribute__((noinline)) void free_slow(axp_profiler *p,
                                                const char *name, size_t bytes)
{
    struct axp__lane *lane = axp__enter(p);
    if (!lane) return;
    struct axp__mem_event e = {.name = axp__lane_name(lane, name),
                               .bytes = bytes,
                               .now = axp__clock_ticks()};
    if (axp__memory_check_size(lane, bytes, e.name))
        axp__memory_record_free(lane, &e);
    axp__leave(lane);
}

/* HOT */
void axp_record_free(axp_profiler *p, const char *name, size_t bytes)
{
    struct spot s;
    uint32_t id;
    if (axp__likely(enter_hot(p, &s))) {
        struct axp__entry *e = entry_by_name(s.lane, name, &id);
        if (axp__likely(e && bytes <= AXP__MAX_BLOCK)) {
            free_hot(&s, e, id, bytes, 0);
            return;
        }
        axp__leave(s.lane);
    }
    free_slow(p, name, bytes);
}

/* ---- by address ------------------------------------------------------------------------ */

static __attribute__((noinline)) void track_slow(axp_profiler *p,
                                                 const char *name,
                                                 const void *ptr, size_t bytes)
{
    struct axp__lane *lane = axp__enter(p);
    if (!lane) return;
    struct axp__mem_event e = {.name = axp__lane_name(lane, name),
                               .bytes = bytes,
                               .address = (uintptr_t)ptr,
                               .now = axp__clock_ticks()};
    if (!ptr)
        axp__warn(lane->p, AXP__WARN_NULL_ADDRESS, e.name);
    else if (axp__memory_check_size(lane, bytes, e.name))
        axp__memory_record_block(lane, e.address, &e);
    axp__leave(lane);
}

/* HOT */
void axp_track_alloc(axp_profiler *p, const char *name, const void *ptr,
                     size_t bytes)
{
    struct spot s;
    uint32_t id;
    uint64_t address = (uintptr_t)ptr;
    if (axp__likely(enter_hot(p, &s))) {
        struct axp__entry *e = entry_by_name(s.lane, name, &id);
        struct axp__shadow *blocks = &s.lane->p->blocks;
        uint32_t *cell = NULL;
        if (axp__likely(e != NULL))
            cell = axp__shadow_peek_free(blocks, address, bytes);
        if (axp__likely(cell && has_extra(s.lane))) {
            axp__cell_write(cell, (uint64_t)bytes << AXP__NAME_BITS | id);
            alloc_hot(&s, e, id, bytes, address);
            return;
        }
        axp__leave(s.lane);
    }
    track_slow(p, name, ptr, bytes);
}

static __attribute__((noinline)) void untrack_slow(axp_profiler *p,
                                                   const void *ptr)
{
    struct axp__lane *lane = ptr ? axp__enter(p) : NULL;
    if (!lane) return;
    axp__memory_record_unblock(lane, (uintptr_t)ptr, (uintptr_t)ptr,
                               axp__clock_ticks(), 0);
    axp__leave(lane);
}

/* HOT */
void axp_track_free(axp_profiler *p, const void *ptr)
{
    struct spot s;
    uint64_t value = 0, address = (uintptr_t)ptr;
    if (axp__likely(enter_hot(p, &s))) {
        struct axp__shadow *blocks = &s.lane->p->blocks;
        uint32_t *cell = axp__shadow_peek_block(blocks, address, &value);
        uint32_t id = (uint32_t)value & (AXP__MAX_NAMES - 1);
        struct axp__entry *e =
            axp__likely(cell != NULL) ? entry_of(s.lane, id) : NULL;
        if (axp__likely(e != NULL)) {
            axp__cell_clear(cell);
            free_hot(&s, e, id, value >> AXP__NAME_BITS, address);
            return;
        }
        axp__leave(s.lane);
    }
    untrack_slow(p, ptr);
}

/* ---- in full ----------------------------------------------------------------------------- */

static void put_stack(struct axp__lane *lane, const axp_alloc *alloc,
                      const struct axp__mem_event *e)
{
    uint64_t words[MAX_STACK];
    uint32_t n = alloc->n_frames < MAX_STACK ? alloc->n_frames : MAX_STACK;
    for (uint32_t i = 0; i < n; i++)
        words[i] = (uint64_t)(uintptr_t)alloc->stack[i];
    if (n) axp__lane_put_ext(lane, AXP__X_STACK, 0, e->name, e->now, words, n);
}

static uint32_t alloc_name(struct axp__lane *lane, const char *name)
{
    if (name) return axp__lane_name(lane, name);
    if (lane->tally.top == lane->tally.frames) return AXP__NAME_UNNAMED;
    return lane->tally.top->op->name;
}

void axp_record_alloc_ex(axp_profiler *p, const axp_alloc *alloc)
{
    struct axp__lane *lane = alloc ? axp__enter(p) : NULL;
    if (!lane) return;
    struct axp__mem_event e = {.name = alloc_name(lane, alloc->name),
                               .bytes = alloc->bytes,
                               .address = (uintptr_t)alloc->ptr,
                               .kind = (uint32_t)alloc->kind,
                               .now = axp__clock_ticks()};
    if (e.kind > AXP_MEM_CACHE) {
        axp__warn(lane->p, AXP__WARN_BAD_ENUM, e.name);
        e.kind = AXP_MEM_NONE;
    }
    if (axp__memory_check_size(lane, e.bytes, e.name)) {
        if (e.address)
            axp__memory_record_block(lane, e.address, &e);
        else
            axp__memory_record_alloc(lane, &e);
        if (alloc->stack) put_stack(lane, alloc, &e);
    }
    axp__leave(lane);
}
