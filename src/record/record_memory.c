/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Allocations and frees: the general way.
 *
 * What is live is in purses of the lane's own (tally_memory.h), and so is the
 * traffic; blocks by address are in a shadow of the heap that any thread
 * changes (tally_shadow.h). The calls that a program makes, and their fast
 * ways, are in record_alloc.c.
 */
#include "record/record_memory.h"

#include "record/record_lane.h"

/* The lane's purses for a name, made when new; own NULL: none. */
static bool make_purses(struct axp__lane *lane, struct axp__entry *e,
                        bool is_alloc)
{
    struct axp__prof *p = lane->p;
    struct axp__traffic *t = e->record;
    if (!lane->memory)
        lane->memory = axp__domain_get(&p->domains, &p->budget, lane->device);
    struct axp__memory *m = lane->memory;
    if (!m) return false;
    if (!lane->purse) lane->purse = axp__memory_join(m);
    if (lane->purse && !e->other) {
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

/* What the thread has cached of a short name; NULL: nothing. */
static const struct axp__cached_name *cached_short(struct axp__thread *t,
                                                   const char *name)
{
    const struct axp__cached_name *home = axp__thread_cached(t, name);
    for (unsigned i = 0; i < AXP__NAME_WAYS; i++) {
        const struct axp__cached_name *c = axp__thread_cached_near(t, home, i);
        if (c->short_at == name) return c;
    }
    return NULL;
}

/* Room for what is remembered, made with the first allocation. */
static bool has_memos(struct axp__lane *lane)
{
    struct axp__arena *arena = &lane->tally.arena;
    if (lane->memos) return true;
    axp__ref ref =
        axp__arena_alloc(arena, AXP__MEMOS * sizeof(struct axp__memo), 0);
    if (!ref) return false;
    lane->memos = lane->guess = axp__arena_at(arena, ref);
    return true;
}

void axp__memory_remember(struct axp__lane *lane, const char *name, uint32_t id)
{
    const struct axp__cached_name *c = cached_short(lane->owner, name);
    if (id <= AXP__NAME_UNNAMED || !c || c->id != id) return;
    const struct axp__entry *e = axp__tally_traffic(&lane->tally, id);
    if (!e || !e->other || !has_memos(lane)) return;
    *axp__memo_at(lane, name) = (struct axp__memo){
        .pointer = name,
        .word = {c->word[0], c->word[1]},
        .mask = {c->mask[0], c->mask[1]},
        .traffic = e->record,
        .own = e->other,
        .id = id,
    };
}

void axp__memory_leave(struct axp__lane *lane)
{
    struct axp__memory *m = lane->memory;
    if (!m) return;
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
    } else if (axp__unlikely(is_alloc && e->stack)) {
        axp__lane_put_with_stack(lane, e->stack, e->name, e->now, bytes,
                                 e->address);
    } else {
        axp__lane_put_two(lane, is_alloc ? AXP__W_ALLOC : AXP__W_FREE, e->name,
                          e->now, bytes, e->address);
    }
}

/* The innermost scope allocated so much; of devices nobody says who did. */
static void count_in_scope(struct axp__lane *lane, uint64_t bytes)
{
    struct axp__node *node = lane->tally.top->node;
    if (lane->device) return; /* what scopes allocate is the host's */
    struct axp__node_extra *x = axp__tally_extra(&lane->tally, node);
    if (!x) return;
    axp__bump(&x->allocated_bytes, bytes);
    lane->alloc_node = node;
    lane->allocated_bytes = &x->allocated_bytes;
}

void axp__memory_record_alloc(struct axp__lane *lane,
                              const struct axp__mem_event *e)
{
    struct axp__entry *entry = find_entry(lane, e->name, true);
    if (axp__unlikely(!entry)) return;
    struct axp__memory *m = lane->memory;
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
    struct axp__memory *m = lane->memory;
    return axp__memory_free_loose(m, axp__memory_find(m, e->name), lane->purse,
                                  e->bytes);
}

void axp__memory_warn_excess(struct axp__lane *lane, uint32_t name)
{
    if (axp__get(&lane->p->was_disabled)) return;
    axp__warn(lane->p,
              axp__memory_find(lane->memory, name) ? AXP__WARN_FREE_TOO_MUCH
                                                   : AXP__WARN_FREE_UNKNOWN,
              name);
}

void axp__memory_record_free(struct axp__lane *lane,
                             const struct axp__mem_event *e)
{
    struct axp__entry *entry = find_entry(lane, e->name, false);
    if (axp__unlikely(!entry)) return;
    struct axp__memory *m = lane->memory;
    struct axp__traffic *t = entry->record;
    struct axp__purses x = {entry->other, lane->purse};
    uint64_t excess = axp__likely(x.own != NULL)
                          ? axp__memory_free(m, x, e->bytes)
                          : free_loose(lane, e);
    if (axp__unlikely(excess)) axp__memory_warn_excess(lane, e->name);
    axp__bump(&t->n_frees, 1);
    axp__bump(&t->freed_bytes, e->bytes - excess);
    put_words(lane, e, false);
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
    if (key == lane->ended_address) lane->ended_value = 0;
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
    } else if (lane->ended_value && key == lane->ended_address) {
        lane->ended_value = 0; /* freed first, and then said to be */
    } else if (!axp__get(&lane->p->was_disabled)) {
        axp__warn(lane->p, AXP__WARN_FREE_ADDRESS, 0);
    }
}

void axp__memory_end_block(struct axp__lane *lane, uint64_t address)
{
    uint64_t value;
    if (!lane->owner) return; /* past a thread's end it has no row */
    if (!axp__shadow_take(&lane->p->blocks, address, &value)) return;
    struct axp__mem_event e = from_value(value, address, axp__clock_ticks(), 0);
    axp__memory_record_free(lane, &e);
    lane->ended_address = address;
    lane->ended_value = value;
}

bool axp__memory_keep_block(struct axp__lane *lane, uint64_t address)
{
    uint64_t value = lane->ended_value;
    if (!value || address != lane->ended_address) return false;
    struct axp__mem_event e = from_value(value, address, axp__clock_ticks(), 0);
    axp__memory_record_block(lane, address, &e);
    return true;
}
