/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Allocations and frees, by name and by address.
 *
 * What is live is shared (tally_memory.h); traffic is the lane's own; blocks
 * by address are in a table that any thread changes (tally_blocks.h).
 */
#include "record/record_memory.h"

#include "record/record_lane.h"

#define MAX_STACK 64u

struct names {
    struct axp__traffic *traffic;
    struct axp__live_name *live;
};

/* Both records of a name; the entry of the hash remembers the second. */
static bool find_names(struct axp__lane *lane, uint32_t id, bool is_alloc,
                       struct names *out)
{
    struct axp__entry *e = axp__tally_traffic(&lane->tally, id);
    if (axp__unlikely(!e)) return false;
    if (axp__unlikely(!e->other))
        e->other = is_alloc ? axp__memory_get(&lane->p->memory, id)
                            : axp__memory_find(&lane->p->memory, id);
    out->traffic = e->record;
    out->live = e->other;
    return out->live || !is_alloc;
}

static void count_free(struct axp__traffic *t, uint64_t bytes)
{
    axp__bump(&t->n_frees, 1);
    axp__bump(&t->freed_bytes, bytes);
}

/* The word of an event; a track's carries its own time. */
static void put_words(struct axp__lane *lane, const struct axp__mem_event *e,
                      bool is_alloc)
{
    uint64_t payload[3] = {e->at_ns, e->bytes | (uint64_t)e->kind << 56,
                           e->address};
    if (axp__unlikely(lane->track))
        axp__lane_put_ext(lane,
                          is_alloc ? AXP__X_TRACK_ALLOC : AXP__X_TRACK_FREE, 0,
                          e->name, axp__clock_ticks(), payload, 3);
    else
        axp__lane_put_two(lane, is_alloc ? AXP__W_ALLOC : AXP__W_FREE, e->name,
                          e->now, payload[1], payload[2]);
}

void axp__memory_record_alloc(struct axp__lane *lane,
                              const struct axp__mem_event *e)
{
    struct names n;
    if (axp__unlikely(!find_names(lane, e->name, true, &n))) {
        axp__warn(lane->p, AXP__WARN_NO_MEMORY, e->name);
        return;
    }
    if (e->kind) axp__put(&n.live->kind, e->kind);
    axp__memory_alloc(&lane->p->memory, n.live, e->bytes, e->now, lane->row);
    axp__bump(&n.traffic->n_allocs, 1);
    axp__bump(&n.traffic->allocated_bytes, e->bytes);
    struct axp__node_extra *x =
        axp__tally_extra(&lane->tally, lane->tally.top->node);
    if (x) axp__put(&x->allocated_bytes, x->allocated_bytes + e->bytes);
    put_words(lane, e, true);
}

void axp__memory_record_free(struct axp__lane *lane,
                             const struct axp__mem_event *e)
{
    struct names n;
    if (axp__unlikely(!find_names(lane, e->name, false, &n))) {
        axp__warn(lane->p, AXP__WARN_NO_MEMORY, e->name);
        return;
    }
    uint64_t excess = axp__memory_free(&lane->p->memory, n.live, e->bytes);
    if (axp__unlikely(excess) && !axp__get(&lane->p->was_disabled))
        axp__warn(lane->p,
                  n.live ? AXP__WARN_FREE_TOO_MUCH : AXP__WARN_FREE_UNKNOWN,
                  e->name);
    count_free(n.traffic, e->bytes - excess);
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
    switch (axp__blocks_put(&lane->p->blocks, key, value, &old)) {
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
    if (axp__blocks_take(&lane->p->blocks, key, &value)) {
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
    if (axp__memory_check_size(lane, bytes, e.name))
        axp__memory_record_alloc(lane, &e);
    axp__leave(lane);
}

void axp_record_free(axp_profiler *p, const char *name, size_t bytes)
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
            axp__memory_record_alloc(lane, &e);
        if (alloc->stack) put_stack(lane, alloc, &e);
    }
    axp__leave(lane);
}
