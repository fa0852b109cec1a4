/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Allocations and frees, by name and by address.
 *
 * What is live is in purses of the lane's own (tally_memory.h), and so is the
 * traffic; blocks by address are in a table that any thread changes
 * (tally_blocks.h).
 */
#include "record/record_memory.h"

#include "record/record_lane.h"

#define MAX_STACK 64u

/* The lane's purses for a name, made when new; own NULL: none. */
static bool make_purses(struct axp__lane *lane, struct axp__entry *e,
                        bool is_alloc)
{
    struct axp__memory *m = &lane->p->memory;
    struct axp__traffic *t = e->record;
    if (!lane->purse) lane->purse = axp__memory_join(m);
    if (!e->other) {
        struct axp__live_name *live = is_alloc ? axp__memory_get(m, t->name)
                                               : axp__memory_find(m, t->name);
        if (live) e->other = axp__memory_join_name(m, live);
        axp__put(&t->purse, axp__purse_ref(e->other));
    }
    return lane->purse && (e->other || !is_alloc);
}

/* The entry of a name, with the lane's traffic and its purse; NULL: no
 * memory. HOT */
static inline struct axp__entry *find_entry(struct axp__lane *lane, uint32_t id,
                                            bool is_alloc)
{
    struct axp__entry *e = axp__tally_traffic(&lane->tally, id);
    if (axp__likely(e && e->other && lane->purse)) return e;
    if (e && make_purses(lane, e, is_alloc)) return e;
    axp__warn(lane->p, AXP__WARN_NO_MEMORY, id);
    return NULL;
}

void axp__memory_leave(struct axp__lane *lane)
{
    struct axp__memory *m = &lane->p->memory;
    const struct axp__tally *t = &lane->tally;
    for (axp__ref ref = t->first.traffic; ref;) {
        const struct axp__traffic *r = axp__arena_at(&t->arena, ref);
        axp__memory_release(m, r->purse);
        ref = r->next;
    }
    axp__memory_release(m, axp__purse_ref(lane->purse));
    lane->purse = NULL;
}

/* The words of an event; a track's carry their own time. HOT */
static inline void put_words(struct axp__lane *lane,
                             const struct axp__mem_event *e, bool is_alloc)
{
    uint64_t bytes = e->bytes | (uint64_t)e->kind << 56;
    if (axp__unlikely(lane->track)) {
        uint64_t payload[3] = {e->at_ns, bytes, e->address};
        axp__lane_put_ext(lane,
                          is_alloc ? AXP__X_TRACK_ALLOC : AXP__X_TRACK_FREE, 0,
                          e->name, axp__clock_ticks(), payload, 3);
    } else {
        axp__lane_put_two(lane, is_alloc ? AXP__W_ALLOC : AXP__W_FREE, e->name,
                          e->now, bytes, e->address);
    }
}

/* The innermost scope allocated so much. HOT */
static inline void count_in_scope(struct axp__lane *lane, uint64_t bytes)
{
    struct axp__node *node = lane->tally.top->node;
    struct axp__node_extra *x = axp__tally_peek_extra(&lane->tally, node);
    if (axp__unlikely(!x)) x = axp__tally_extra(&lane->tally, node);
    if (axp__likely(x != NULL)) axp__bump(&x->allocated_bytes, bytes);
}

static inline void record_alloc(struct axp__lane *lane,
                                const struct axp__mem_event *e)
{
    struct axp__memory *m = &lane->p->memory;
    struct axp__entry *entry = find_entry(lane, e->name, true);
    if (axp__unlikely(!entry)) return;
    struct axp__traffic *t = entry->record;
    struct axp__purses x = {entry->other, lane->purse};
    if (e->kind) axp__put(&axp__memory_find(m, e->name)->kind, e->kind);
    axp__memory_alloc(m, x, e->bytes, e->now, lane->row);
    axp__bump(&t->n_allocs, 1);
    axp__bump(&t->allocated_bytes, e->bytes);
    count_in_scope(lane, e->bytes);
    put_words(lane, e, true);
}

/* A name that the lane has no purse for. */
static uint64_t free_loose(struct axp__lane *lane,
                           const struct axp__mem_event *e)
{
    struct axp__memory *m = &lane->p->memory;
    return axp__memory_free_loose(m, axp__memory_find(m, e->name), lane->purse,
                                  e->bytes);
}

static void warn_excess(struct axp__lane *lane, uint32_t name)
{
    if (axp__get(&lane->p->was_disabled)) return;
    axp__warn(lane->p,
              axp__memory_find(&lane->p->memory, name) ? AXP__WARN_FREE_TOO_MUCH
                                                       : AXP__WARN_FREE_UNKNOWN,
              name);
}

static inline void record_free(struct axp__lane *lane,
                               const struct axp__mem_event *e)
{
    struct axp__memory *m = &lane->p->memory;
    struct axp__entry *entry = find_entry(lane, e->name, false);
    if (axp__unlikely(!entry)) return;
    struct axp__traffic *t = entry->record;
    struct axp__purses x = {entry->other, lane->purse};
    uint64_t excess = axp__likely(x.own != NULL)
                          ? axp__memory_free(m, x, e->bytes)
                          : free_loose(lane, e);
    if (axp__unlikely(excess)) warn_excess(lane, e->name);
    axp__bump(&t->n_frees, 1);
    axp__bump(&t->freed_bytes, e->bytes - excess);
    put_words(lane, e, false);
}

void axp__memory_record_alloc(struct axp__lane *lane,
                              const struct axp__mem_event *e)
{
    record_alloc(lane, e);
}

void axp__memory_record_free(struct axp__lane *lane,
                             const struct axp__mem_event *e)
{
    record_free(lane, e);
}

bool axp__memory_check_size(struct axp__lane *lane, uint64_t bytes,
                            uint32_t name)
{
    if (axp__likely(bytes <= AXP__MAX_BLOCK)) return true;
    axp__warn(lane->p, AXP__WARN_BAD_SIZE, name);
    return false;
}

/* The event whose block a key held. */
static struct axp__mem_event from_value(uint64_t value, uint64_t address,
                                        uint64_t now, uint64_t at_ns)
{
    return (struct axp__mem_event){
        .name = (uint32_t)value & (AXP__MAX_NAMES - 1),
        .bytes = value >> AXP__NAME_BITS,
        .address = address,
        .now = now,
        .at_ns = at_ns,
    };
}

void axp__memory_record_block(struct axp__lane *lane, uint64_t key,
                              const struct axp__mem_event *e)
{
    uint64_t old, value = e->bytes << AXP__NAME_BITS | e->name;
    switch (axp__shadow_put(&lane->p->blocks, key, value, &old)) {
    case AXP__PUT_NEW: break;
    case AXP__PUT_REPLACED: {
        struct axp__mem_event missed =
            from_value(old, e->address, e->now, e->at_ns);
        axp__warn(lane->p, AXP__WARN_ALLOC_TWICE, e->name);
        axp__memory_record_free(lane, &missed);
        break;
    }
    case AXP__PUT_FULL:
        axp__warn(lane->p, AXP__WARN_UNTRACKED, e->name);
        return;
    }
    axp__memory_record_alloc(lane, e);
}

void axp__memory_record_unblock(struct axp__lane *lane, uint64_t key,
                                uint64_t address, uint64_t now, uint64_t at_ns)
{
    uint64_t value;
    if (axp__shadow_take(&lane->p->blocks, key, &value)) {
        struct axp__mem_event e = from_value(value, address, now, at_ns);
        axp__memory_record_free(lane, &e);
    } else if (!axp__get(&lane->p->was_disabled)) {
        axp__warn(lane->p, AXP__WARN_FREE_ADDRESS, 0);
    }
}

/* ---- the public calls ---------------------------------------------------------- */

void axp_record_alloc(axp_profiler *p, const char *name, size_t bytes)
{
    struct axp__lane *lane = axp__enter(p);
    if (!lane) return;
    struct axp__mem_event e = {.name = axp__lane_name(lane, name),
                               .bytes = bytes,
                               .now = axp__clock_ticks()};
    if (axp__memory_check_size(lane, bytes, e.name)) record_alloc(lane, &e);
    axp__leave(lane);
}

void axp_record_free(axp_profiler *p, const char *name, size_t bytes)
{
    struct axp__lane *lane = axp__enter(p);
    if (!lane) return;
    struct axp__mem_event e = {.name = axp__lane_name(lane, name),
                               .bytes = bytes,
                               .now = axp__clock_ticks()};
    if (axp__memory_check_size(lane, bytes, e.name)) record_free(lane, &e);
    axp__leave(lane);
}

void axp_track_alloc(axp_profiler *p, const char *name, const void *ptr,
                     size_t bytes)
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

void axp_track_free(axp_profiler *p, const void *ptr)
{
    struct axp__lane *lane = ptr ? axp__enter(p) : NULL;
    if (!lane) return;
    axp__memory_record_unblock(lane, (uintptr_t)ptr, (uintptr_t)ptr,
                               axp__clock_ticks(), 0);
    axp__leave(lane);
}

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
            record_alloc(lane, &e);
        if (alloc->stack) put_stack(lane, alloc, &e);
    }
    axp__leave(lane);
}
