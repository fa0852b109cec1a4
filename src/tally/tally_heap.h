/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What an allocator handed out, over the threads of a profiler: its exact peak,
 * and what each place held then.
 *
 *   total    one account (tally_purse.h); each thread has a purse in it
 *   places   each thread's own records (axp__heap_place): what is live at one is the
 *            sum over threads, and who frees needs nobody else's record
 *   at peak  each new peak begins an epoch; a record saves what it holds before
 *            its first change in one, as in tally_memory.h
 *
 * Exact across threads: what is live, counts, and the peak with all that was
 * live then, where events do not overlap; else to one block in flight a thread.
 * A place of its own has no exact peak: that would need a purse for each place
 * and thread, and a search in all of them wherever one thread frees what
 * another allocated.
 *
 * Below 0  a thread that frees what others allocate holds less than nothing:
 *          the sum is what counts, and its room is the others' to seize. (No
 *          purse's `low` ever moves: blocks that are freed are known ones.)
 * Room     a purse that needs some takes up to SPARE more of another's, so that
 *          it need not come back for each block. A thread that is stopped in the
 *          middle of that makes the peak of the others look higher by no more.
 * Fences   malloc is too frequent for one an event. Owners have none, and who
 *          seizes room passes a barrier through all threads (tally_purse.c):
 *          2 us, seldom. Where that turns out not to be seldom, all go over to
 *          fences (AXP__STAMP_SHARED), for good.
 * Frozen   once the allocator had nothing left, what was live then is worth
 *          more than what was live at a later peak: epochs end. (Not where it
 *          was asked for more than the machine has.)
 * Level    over time each thread tells its part when that has moved by more than
 *          a step, 64 KiB or 1/512 of the peak: so every rise and fall of more
 *          than a step a thread is there, and the clock is read as seldom. The
 *          peak itself is known exactly.
 * Times    a place says when it first and last allocated, by a clock that its
 *          thread looks at now and then (record_heap.c). How long blocks live is
 *          known of some of them (tally_notes.h).
 * Steps    what a place holds after each would be far too much to keep. Before its
 *          first change after a mark a record therefore notes what it held, if
 *          a power of two of marks was passed: from what it held after the last
 *          two of these, and now, one sees whether it grows, and since when not.
 * Threads  all functions from any thread; clear when nobody else is inside.
 */
#ifndef AXP_TALLY_HEAP_H
#define AXP_TALLY_HEAP_H
#include <stddef.h>

#include "tally/tally_capture.h"
#include "tally/tally_level.h"
#include "tally/tally_notes.h"
#include "tally/tally_purse.h"
#include "tally/tally_record.h"
#include "tally/tally_shadow.h"

struct axp__heap {  /* each event reads its first line, a new peak changes it */
    uint32_t stamp; /* epoch << 1 | AXP__STAMP_SHARED */
    uint32_t step;  /* how many were marked; with stamp axp__heap_now */
    uint32_t is_frozen;
    uint64_t peak_ticks;
    struct axp__account all __attribute__((aligned(64)));
    uint32_t is_seen __attribute__((aligned(64)));
    uint32_t is_parted; /* AXP__STAMP_SHARED, and every thread knows */
    int64_t told_bytes __attribute__((aligned(64))); /* by all threads */
    struct axp__level level;
    struct axp__notes notes;
    struct axp__budget *kept; /* of what a killed process leaves */
    struct axp__budget budget __attribute__((aligned(64)));
    struct axp__shadow blocks; /* live by address: bytes << 20 | place */
    struct axp__slab slab;
    uint64_t machine_bytes;
    uint64_t group_bytes; /* that its control group allows; 0: all */
    uint64_t n_places;
    uint64_t n_missed; /* blocks that could not be followed */
    uint64_t n_failed, failed_bytes, failed_ticks, failed_limit;
    uint64_t sampled_bytes; /* blocks are told of every so many; 0: all are */
    uint32_t failed_place;
    int64_t mapped_bytes; /* by the program, beside the allocator … */
    uint64_t mapped_peak; /* … at most, and in how many calls */
    uint64_t n_mapped;
};

_Static_assert(offsetof(struct axp__heap, stamp) % 8 == 0 &&
                   offsetof(struct axp__heap, step) ==
                       offsetof(struct axp__heap, stamp) + 4 &&
                   offsetof(struct axp__heap_place, stamp) % 8 == 0 &&
                   offsetof(struct axp__heap_place, step) ==
                       offsetof(struct axp__heap_place, stamp) + 4,
               "read as one number");

/* machine_bytes: of the machine, or what a control group allows. How blocks are
 * told of stays. */
void axp__heap_init(struct axp__heap *h, uint64_t machine_bytes,
                    struct axp__budget *kept);
void axp__heap_clear(struct axp__heap *h);
/* A purse for the calling thread; NULL: no memory. */
struct axp__purse *axp__heap_join(struct axp__heap *h);
/* The allocator had nothing for so many bytes. */
void axp__heap_fail(struct axp__heap *h, uint64_t bytes, uint32_t place,
                    uint64_t now);
/* More, or less, is mapped; below 0: what was mapped before is unmapped. */
void axp__heap_map(struct axp__heap *h, int64_t bytes);
static inline uint64_t axp__heap_mapped_now(const struct axp__heap *h)
{
    int64_t now = axp__get(&h->mapped_bytes);
    return now > 0 ? (uint64_t)now : 0;
}

static inline void axp__heap_copy(struct axp__cap_heap *to,
                                  const struct axp__heap *h)
{
    if (!axp__get(&h->is_seen)) return;
    *to = (struct axp__cap_heap){.is_seen = true,
                                 .peak_bytes = axp__get(&h->all.peak_bytes),
                                 .peak_ticks = axp__get(&h->peak_ticks),
                                 .n_missed = axp__get(&h->n_missed),
                                 .sampled_bytes = axp__get(&h->sampled_bytes),
                                 .n_failed = axp__get(&h->n_failed),
                                 .failed_bytes = axp__get(&h->failed_bytes),
                                 .failed_ticks = axp__get(&h->failed_ticks),
                                 .failed_limit = axp__get(&h->failed_limit),
                                 .group_bytes = axp__get(&h->group_bytes),
                                 .failed_place = axp__get(&h->failed_place),
                                 .mapped_bytes = axp__heap_mapped_now(h),
                                 .mapped_peak = axp__get(&h->mapped_peak),
                                 .n_mapped = axp__get(&h->n_mapped)};
}

/* Over time, into a capture; false: no memory. */
static inline bool axp__heap_copy_level(struct axp__capture *c,
                                        const struct axp__heap *h,
                                        axp__level_part_fn *part_at, void *ctx)
{
    struct axp__moment peak = {axp__get(&h->peak_ticks) - c->start_ticks,
                               axp__get(&h->all.peak_bytes)};
    if (axp__get(&h->is_frozen) || (int64_t)peak.ticks < 0) peak.value = 0;
    return axp__level_copy(c, &h->level, peak, part_at, ctx);
}

/* ---- over time ------------------------------------------------------------------ */
/* A thread's part of the level, as it was last told: while its purse is within
 * `span` of `from`, nothing is. */
struct axp__heap_told {
    uint64_t net, from, span;
};

/* The purse is the thread's from now on. */
void axp__heap_told_begin(struct axp__heap_told *t,
                          const struct axp__purse *own);
/* Now, so many ticks after the beginning. */
void axp__heap_tell(struct axp__heap *h, const struct axp__purse *own,
                    struct axp__heap_told *t, uint64_t since_ticks);

/* HOT */
static inline bool axp__heap_is_told(const struct axp__heap_told *t,
                                     const struct axp__purse *own)
{
    return axp__likely(own->net - t->from <= t->span);
}

/* A moment in 32 bits, from 1: some 0.5 ms to 1 ms each, 25 days and more. */
#define AXP__HEAP_WHEN_SHIFT 3 /* beyond a level's */
#define AXP__HEAP_MOST_SHIFT (AXP__LEVEL_MOST_SHIFT + AXP__HEAP_WHEN_SHIFT)
static inline uint32_t axp__heap_when_shift(const struct axp__heap *h)
{
    return axp__get(&h->level.shift) + AXP__HEAP_WHEN_SHIFT;
}

static inline uint32_t axp__heap_when(struct axp__heap *h, uint64_t since_ticks)
{
    uint64_t n =
        since_ticks >> (axp__level_shift(&h->level) + AXP__HEAP_WHEN_SHIFT);
    return n < UINT32_MAX - 1 ? (uint32_t)n + 1 : UINT32_MAX;
}

/* Where axp__heap_raise and _lower do not find enough. */
void axp__heap_raise_slow(struct axp__heap *h, struct axp__purse *own);
void axp__heap_lower_slow(struct axp__heap *h, struct axp__purse *own);

/* ---- places ------------------------------------------------------------------ */
static inline int64_t axp__heap_place_held(const struct axp__heap_place *p)
{
    return (int64_t)(axp__get(&p->allocated_bytes) - axp__get(&p->freed_bytes));
}

typedef uint64_t axp__stamp_and_step __attribute__((may_alias));

/* Stamp and step, as one number: what a record of a place compares. HOT */
static inline uint64_t axp__heap_now(const struct axp__heap *h)
{
    return axp__get((const axp__stamp_and_step *)&h->stamp);
}

static inline bool axp__heap_place_is_saved(const struct axp__heap_place *p,
                                            uint32_t stamp)
{
    return (axp__get(&p->stamp) ^ stamp) < AXP__STAMP_EPOCH;
}

/* What the record held at the peak that began the epoch of `stamp`. */
static inline int64_t axp__heap_place_at_peak(const struct axp__heap_place *p,
                                              uint32_t stamp)
{
    return axp__heap_place_is_saved(p, stamp)
               ? (int64_t)axp__get(&p->saved_bytes)
               : axp__heap_place_held(p);
}

/* Of two, from 1. */
static inline unsigned axp__heap_powers(uint32_t step)
{
    return step ? 32 - (unsigned)__builtin_clz(step) : 0;
}

/* The record as it is after so many marks: it has not changed since its own. */
static inline void axp__heap_place_step(struct axp__heap_place *p,
                                        uint32_t step)
{
    uint64_t held = (uint64_t)axp__heap_place_held(p);
    unsigned n = axp__heap_powers(step) - axp__heap_powers(p->step);
    if (n) axp__put(&p->half_bytes, n == 1 ? p->power_bytes : held);
    if (n) axp__put(&p->power_bytes, held);
    if (!p->step && step) {
        axp__put(&p->first_allocs, p->n_allocs);
        axp__put(&p->first_bytes, p->allocated_bytes);
    }
    axp__put(&p->step, step);
}

/* Where the peak or the step is another than the record's. */
void axp__heap_place_save_slow(struct axp__heap_place *p, uint64_t now);

/* Before it changes. HOT */
static inline void axp__heap_place_save(struct axp__heap_place *p, uint64_t now)
{
    uint64_t then = axp__get((const axp__stamp_and_step *)&p->stamp);
    if (axp__unlikely((then ^ now) & ~(uint64_t)AXP__STAMP_SHARED))
        axp__heap_place_save_slow(p, now);
}

/* ---- the total ------------------------------------------------------------------ */
/* After an owner's write to net, before it looks at what others write. HOT */
static inline void axp__heap_fence(const struct axp__heap *h)
{
    axp__signal_fence();
    if (axp__get(&h->stamp) & AXP__STAMP_SHARED)
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* HOT */
static inline void axp__heap_raise(struct axp__heap *h, struct axp__purse *own,
                                   uint64_t bytes)
{
    axp__put(&own->net, own->net + bytes);
    axp__heap_fence(h);
    if (axp__unlikely(axp__purse_room(own) < 0)) axp__heap_raise_slow(h, own);
}

/* HOT */
static inline void axp__heap_lower(struct axp__heap *h, struct axp__purse *own,
                                   uint64_t bytes)
{
    axp__put(&own->net, own->net - bytes);
    axp__heap_fence(h);
    if (axp__unlikely(!axp__purse_is_offered(own)))
        axp__heap_lower_slow(h, own);
}

#endif
