/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What an allocator hands out, and takes back.
 *
 * Each block counts at its place (wire_place.h) on the thread that allocates or
 * frees it, and in one total with an exact peak (tally_heap.h). Where it is and
 * what it is of is in a shadow of the heap. Nothing is written to the timeline,
 * and the clock is read seldom (record_heap_time.c).
 *
 * Usual    a place that this lane came to before, found by the hash of its
 *          stack and the innermost scope; a block whose cells are there. Some
 *          110 instructions on x86-64, no fence.
 * Unusual  a new place interns its stack and makes a name of it; a lane that
 *          frees at a place for the first time gets a record there.
 * Missed   what a handler allocates while its thread is inside an event, and
 *          blocks that the shadow has no room for: counted, and never known. A
 *          free of what is not known is none: it was allocated before.
 * Late     what a thread does past its end, when its lane is gone, counts where
 *          ended threads are merged, if nobody else is at it.
 */
#include "record/record_heap.h"

#include "os/os_map.h"
#include "record/record_memory.h"
#include "wire/wire_place.h"

#include "axprof/axprof_adapter.h"

#define MEMO_SHIFT 51 /* of a key: 8192 memos */
_Static_assert(AXP__HEAP_MEMOS == 1u << (64 - MEMO_SHIFT), "memos");

/* ---- in and out ------------------------------------------------------------------- */

/* The lane of this thread in the global profiler; NULL: ask. HOT */
static inline struct axp__lane *enter_hot(void)
{
    struct axp__thread *t = axp__tls;
    struct axp__lane *lane = axp__get(&t->global);
    if (axp__unlikely(!lane || axp__thread_is_inside(t))) return NULL;
    axp__thread_enter(t);
    if (axp__likely(axp__get(&lane->go) && axp__get(&lane->owner) == t &&
                    lane->heap_purse))
        return lane;
    axp__thread_leave(t);
    return NULL;
}

struct axp__lane *axp__heap_enter_lane(void)
{
    return enter_hot();
}

static bool has_purse(struct axp__lane *lane)
{
    if (lane->heap_purse) return true;
    if (!lane->heap_memos)
        lane->heap_memos =
            axp__map(AXP__HEAP_MEMOS * sizeof(struct axp__heap_memo));
    if (!lane->heap_memos) return false;
    lane->heap_purse = axp__heap_join(&lane->p->heap);
    if (lane->heap_purse)
        axp__heap_told_begin(&lane->heap_told, lane->heap_purse);
    if (!axp__get(&lane->first_ticks)) { /* its row begins here */
        uint64_t now = axp__clock_ticks();
        axp__put(&lane->last_ticks, now);
        axp__put(&lane->first_ticks, now);
    }
    return lane->heap_purse;
}

static void miss(void)
{
    struct axp__prof *p = axp__prof_check(axp_global());
    if (p) axp__add(&p->heap.n_missed, 1);
}

/* The general way. NULL: nothing is to be recorded, or can be. */
static __attribute__((noinline)) struct axp__lane *enter_slow(bool *is_late)
{
    struct axp__thread *t = axp__tls;
    *is_late = false;
    if (axp__thread_is_inside(t)) {
        miss();
        return NULL;
    }
    if ((axp__get(&t->life) & AXP__THREAD_LIFE) == AXP__THREAD_ENDED) {
        *is_late = true;
        return NULL;
    }
    struct axp__lane *lane = axp__enter(axp_global());
    if (!lane || has_purse(lane)) return lane;
    axp__leave(lane);
    miss();
    return NULL;
}

/* Where ended threads are added up, with the profiler's mutex held; NULL:
 * somebody else has it. */
static struct axp__lane *enter_late(void)
{
    struct axp__prof *p = axp__prof_check(axp_global());
    if (!p || !axp__mutex_try(&p->mutex)) {
        miss();
        return NULL;
    }
    if (!p->merged) p->merged = axp__lane_take(NULL, p, NULL);
    if (p->merged && has_purse(p->merged)) return p->merged;
    axp__mutex_unlock(&p->mutex);
    return NULL;
}

static void leave_late(struct axp__lane *lane)
{
    axp__mutex_unlock(&lane->p->mutex);
}

/* ---- places ------------------------------------------------------------------------- */

static inline uint64_t key_of(const struct axp__lane *lane, uint64_t hash)
{
    uint64_t path = lane->tally.top->node->path + lane->heap_era;
    return (hash ^ path * 0x9e3779b97f4a7c15u) | 1;
}

static inline struct axp__heap_memo *memo_at(const struct axp__lane *lane,
                                             uint64_t key)
{
    return &lane->heap_memos[key * 0xd6e8feb86659fd93u >> MEMO_SHIFT];
}

/* Not where it should be: beside it, or made. */
static __attribute__((noinline)) const struct axp__heap_memo *find_place(
    struct axp__lane *lane, const axp_heap_stack *stack, uint64_t key)
{
    struct axp__heap_memo *m = memo_at(lane, key), was = *m;
    struct axp__heap_memo *beside =
        &lane->heap_memos[(size_t)(m - lane->heap_memos) ^ 1];
    struct axp__heap_memo found = *beside;
    if (found.key != key) {
        uint32_t id = axp__heap_name_place(lane, stack);
        found = (struct axp__heap_memo){
            .key = key, .place = axp__tally_place(&lane->tally, id), .id = id};
    }
    if (!found.place) return NULL;
    if (!found.place->first_when) {
        axp__heap_lane_first(lane, found.place);
        lane->heap_noted_from = 0; /* this block is to be known */
        lane->heap_weight = 1;
    }
    *beside = was; /* which gives way */
    *m = found;
    return m;
}

/* ---- over time ------------------------------------------------------------------------- */

/* After the lane's part has changed. HOT */
static inline void follow(struct axp__lane *lane)
{
    if (axp__unlikely(!axp__heap_is_told(&lane->heap_told, lane->heap_purse)))
        axp__heap_lane_tell(lane);
}

/* ---- blocks ---------------------------------------------------------------------------- */

/* In its place: what a call would save and load again is a tenth of a free.
 * HOT */
static inline __attribute__((always_inline)) void count_free(
    struct axp__lane *lane, uint64_t address, uint64_t value)
{
    struct axp__heap *h = &lane->p->heap;
    uint64_t bytes = value >> AXP__NAME_BITS;
    struct axp__heap_place *p =
        axp__heap_place_of(lane, (uint32_t)value % AXP__MAX_NAMES);
    if (axp__likely(p != NULL)) {
        axp__heap_place_save(p, axp__heap_now(h));
        axp__bump(&p->n_frees, 1);
        axp__bump(&p->freed_bytes, bytes);
        if (address && address == lane->heap_last)
            axp__bump(&p->n_temporary, 1);
    }
    axp__heap_lower(h, lane->heap_purse, bytes);
    follow(lane);
}

/* A block with a mark is gone: one that is known one by one, or has a name.
 * Returns its value without the mark. */
static __attribute__((noinline)) uint64_t unmark(struct axp__lane *lane,
                                                 uint64_t address,
                                                 uint64_t value)
{
    axp__memory_end_block(lane, address);
    return axp__heap_unnote(lane, address, value);
}

/* A block that was never said to be freed was. */
static __attribute__((noinline)) void count_missed(struct axp__lane *lane,
                                                   uint64_t address,
                                                   uint64_t value)
{
    if (value & AXP__VALUE_NOTED) value = unmark(lane, address, value);
    count_free(lane, 0, value);
}

/* False: there is no room to remember it. HOT */
static inline bool put_block(struct axp__lane *lane, uint64_t address,
                             uint64_t bytes, uint32_t id)
{
    struct axp__shadow *s = &lane->p->heap.blocks;
    uint64_t old, value = bytes << AXP__NAME_BITS | id;
    bool is_small = bytes <= AXP__SLOT_BYTES;
    uint32_t *cell = is_small ? axp__shadow_peek_small(s, address)
                              : axp__shadow_peek_room(s, address, bytes);
    if (axp__likely(cell != NULL)) {
        if (is_small)
            axp__put(cell, axp__cell_of_small(bytes, id));
        else
            axp__cells_write(cell, axp__cells_of(bytes, id));
        return true;
    }
    switch (axp__shadow_put_slow(s, address, value, &old)) {
    case AXP__PUT_NEW: return true;
    case AXP__PUT_REPLACED: count_missed(lane, address, old); return true;
    case AXP__PUT_FULL: break;
    }
    axp__add(&lane->p->heap.n_missed, 1);
    return false;
}

/* In an entered lane. HOT */
static inline void alloc_in(struct axp__lane *lane, uint64_t address,
                            uint64_t bytes, const axp_heap_stack *stack)
{
    struct axp__heap *h = &lane->p->heap;
    uint64_t key = key_of(lane, stack->hash);
    const struct axp__heap_memo *m = memo_at(lane, key);
    if (axp__unlikely(m->key != key)) m = find_place(lane, stack, key);
    if (axp__unlikely(!m || bytes > AXP__MAX_BLOCK ||
                      !put_block(lane, address, bytes, m->id)))
        return;
    struct axp__heap_place *p = m->place;
    axp__heap_place_save(p, axp__heap_now(h));
    axp__bump(&p->n_allocs, 1);
    axp__bump(&p->allocated_bytes, bytes);
    lane->heap_last = address;
    if (axp__unlikely(bytes >= lane->heap_noted_from))
        axp__heap_note(lane, address, bytes, m->id);
    axp__put(&p->last_when, lane->heap_when);
    axp__heap_raise(h, lane->heap_purse, bytes);
    follow(lane);
}

/* What a block was; false: it is not known. HOT */
static inline bool free_in(struct axp__lane *lane, uint64_t address,
                           uint64_t *value, bool is_moved)
{
    if (!axp__shadow_take(&lane->p->heap.blocks, address, value)) return false;
    if (axp__unlikely(*value & AXP__VALUE_NOTED))
        *value = unmark(lane, address, *value);
    count_free(lane, is_moved ? 0 : address, *value);
    return true;
}

/* ---- what an adapter calls ----------------------------------------------------------- */

/* Was a block ever told of? Before that a free is of none that is known, and
 * begins nothing: the loader's dlsym frees its last error before it forgets it,
 * so that a library which calls dlsym in what we call would free it again. */
static bool has_blocks;

/* As usual, or past the thread's end; NULL: not at all. */
static struct axp__lane *enter_any(bool *is_late)
{
    struct axp__lane *lane = enter_slow(is_late);
    return *is_late ? enter_late() : lane;
}

static void leave_any(struct axp__lane *lane, bool is_late)
{
    if (is_late)
        leave_late(lane);
    else
        axp__leave(lane);
}

static __attribute__((noinline)) void alloc_slow(const void *block,
                                                 size_t bytes,
                                                 const axp_heap_stack *where)
{
    bool is_late = false;
    axp__put(&has_blocks, true);
    struct axp__lane *lane = enter_any(&is_late);
    if (!lane) return;
    alloc_in(lane, (uintptr_t)block, bytes, where);
    leave_any(lane, is_late);
}

/* The size of `where` is not looked at: it has had no other fields yet. */
/* HOT */
void axp_heap_alloc(const void *block, size_t bytes,
                    const axp_heap_stack *where)
{
    struct axp__lane *lane = enter_hot();
    if (axp__unlikely(!lane)) {
        alloc_slow(block, bytes, where);
        return;
    }
    alloc_in(lane, (uintptr_t)block, bytes, where);
    axp__leave(lane);
}

/* In an entered lane. HOT */
static inline axp_heap_block take_in(struct axp__lane *lane, const void *block,
                                     bool is_moved)
{
    uint64_t value = 0;
    if (axp__unlikely(!free_in(lane, (uintptr_t)block, &value, is_moved)))
        return (axp_heap_block){0, 0};
    return (axp_heap_block){value >> AXP__NAME_BITS,
                            (uint32_t)value % AXP__MAX_NAMES};
}

static __attribute__((noinline)) axp_heap_block free_slow(const void *block,
                                                          bool is_moved)
{
    axp_heap_block was = {0, 0};
    bool is_late = false;
    if (!axp__get(&has_blocks)) return was;
    struct axp__lane *lane = enter_any(&is_late);
    if (!lane) return was;
    was = take_in(lane, block, is_moved);
    leave_any(lane, is_late);
    return was;
}

/* HOT */
static inline axp_heap_block free_block(const void *block, bool is_moved)
{
    struct axp__lane *lane = enter_hot();
    if (axp__unlikely(!lane)) return free_slow(block, is_moved);
    axp_heap_block was = take_in(lane, block, is_moved);
    axp__leave(lane);
    return was;
}

/* HOT */
axp_heap_block axp_heap_free(const void *block)
{
    return free_block(block, false);
}

axp_heap_block axp_heap_move(const void *block)
{
    return free_block(block, true);
}

void axp_heap_keep(const void *block, axp_heap_block was)
{
    bool is_late;
    struct axp__lane *lane = was.place ? enter_slow(&is_late) : NULL;
    struct axp__heap_place *p =
        lane ? axp__heap_place_of(lane, (uint32_t)was.place) : NULL;
    if (!lane) return;
    if (p &&
        put_block(lane, (uintptr_t)block, was.bytes, (uint32_t)was.place)) {
        axp__heap_place_save(p, axp__heap_now(&lane->p->heap));
        axp__bump(&p->n_frees, -(uint64_t)1);
        axp__bump(&p->freed_bytes, -was.bytes);
        axp__heap_raise(&lane->p->heap, lane->heap_purse, was.bytes);
        follow(lane);
        if (axp__memory_keep_block(lane, (uintptr_t)block))
            (void)axp__shadow_mark(&lane->p->heap.blocks, (uintptr_t)block);
    }
    axp__leave(lane);
}

void axp_heap_failed(size_t bytes, const axp_heap_stack *where)
{
    bool is_late;
    struct axp__lane *lane = enter_slow(&is_late);
    if (!lane) return;
    axp__heap_fail(&lane->p->heap, bytes, axp__heap_name_place(lane, where),
                   axp__clock_ticks());
    axp__leave(lane);
}

void axp_heap_mapped(int64_t bytes)
{
    struct axp__lane *lane = axp__enter(axp_global());
    if (!lane) return;
    (void)has_purse(lane); /* its row begins */
    axp__heap_map(&lane->p->heap, bytes);
    axp__leave(lane);
}

void axp_heap_hidden(const char *library)
{
    struct axp__prof *p = axp__prof_check(axp_global());
    if (p) axp__warn(p, AXP__WARN_OWN_NEW, axp__name_register(library, NULL));
}

void axp_heap_bypassed(const char *file)
{
    struct axp__prof *p = axp__prof_check(axp_global());
    if (p) axp__warn(p, AXP__WARN_OWN_MALLOC, axp__name_register(file, NULL));
}

void axp_heap_sampled(uint64_t mean_bytes)
{
    struct axp__prof *p = axp__prof_check(axp_global());
    if (p) axp__put(&p->heap.sampled_bytes, mean_bytes);
}

/* ---- lanes, and names ------------------------------------------------------------------ */

void axp__heap_begin_lane(struct axp__lane *lane)
{
    lane->heap_purse = NULL;
    lane->heap_last = 0;
    lane->ended_value = 0;
    lane->heap_noted_from = AXP__NOTE_LARGE;
    lane->heap_when = 0;
    lane->heap_era++; /* what it remembers is of another time */
}

void axp__heap_leave(struct axp__lane *lane)
{
    if (lane->heap_purse) {
        axp__heap_lane_tell(
            lane); /* who has the purse next begins with what it holds */
        axp__purse_release(lane->heap_purse);
    }
    lane->heap_purse = NULL;
}

/* The place of a block that has a name now. */
static uint32_t name_labelled(struct axp__heap *h, uint32_t place,
                              uint32_t name)
{
    struct axp__heap_place_parts parts;
    if (!axp__heap_place_get(axp__name_at(place)->text, &parts)) return 0;
    if (parts.label == name) return 0;
    parts.label = name;
    return axp__heap_register(h, &parts);
}

/* What it held when steps ended is without what comes now. */
static void mark_step(struct axp__heap_place *p, uint32_t step)
{
    if (p->step != step) axp__heap_place_step(p, step);
}

/* A block goes from one place to another. One that was there at the peak was
 * there under its new name: where nothing changed since, it was. */
static void save_both(struct axp__heap_place *from, struct axp__heap_place *to,
                      uint64_t now, uint64_t bytes)
{
    uint32_t stamp = (uint32_t)now, step = (uint32_t)(now >> 32);
    mark_step(from, step);
    mark_step(to, step);
    if (axp__heap_place_is_saved(from, stamp))
        axp__heap_place_save(to, now);
    else if (axp__heap_place_is_saved(to, stamp))
        axp__put(&to->saved_bytes, to->saved_bytes + bytes);
}

void axp__heap_label(struct axp__lane *lane, uint64_t address, uint32_t name)
{
    struct axp__heap *h = &lane->p->heap;
    uint64_t value, old;
    if (!has_purse(lane) || !axp__shadow_take(&h->blocks, address, &value))
        return;
    bool is_noted = value & AXP__VALUE_NOTED;
    value &= ~AXP__VALUE_NOTED;
    uint64_t bytes = value >> AXP__NAME_BITS;
    uint32_t id = (uint32_t)value % AXP__MAX_NAMES;
    uint32_t labelled = name_labelled(h, id, name);
    struct axp__heap_place *from =
        labelled ? axp__heap_place_of(lane, id) : NULL;
    struct axp__heap_place *to =
        from ? axp__heap_place_of(lane, labelled) : NULL;
    if (to) {
        save_both(from, to, axp__heap_now(h), bytes);
        axp__bump(&from->n_allocs, -(uint64_t)1);
        axp__bump(&from->allocated_bytes, -bytes);
        axp__bump(&to->n_allocs, 1);
        axp__bump(&to->allocated_bytes, bytes);
        if (!to->first_when) axp__heap_lane_first(lane, to);
        axp__put(&to->last_when, lane->heap_when);
        value = bytes << AXP__NAME_BITS | labelled;
    }
    (void)axp__shadow_put(&h->blocks, address, value, &old);
    (void)axp__shadow_mark(&h->blocks, address); /* its name ends with it */
    if (is_noted) axp__heap_renote(lane, address, to ? labelled : id);
}
