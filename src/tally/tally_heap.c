/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The heap's total where a thread's purse does not have enough, and its life;
 * see tally_heap.h. */
#include "tally/tally_heap.h"

#include "os/os_clock.h"
#include "os/os_map.h"

/* Barriers through all threads that are still less than fences would be. */
#define MOST_BARRIERS 4096u
#define SPARE ((uint64_t)32 << 10)
/* How much memory following blocks may take, of the machine's. */
#define PART_OF_MEMORY 16
#define LEAST_LIMIT ((uint64_t)64 << 20)
/* How much a thread's part moves before it is told. */
#define LEAST_STEP ((uint64_t)64 << 10)
#define PART_OF_PEAK 512

static struct axp__book book_of(struct axp__heap *h)
{
    return (struct axp__book){&h->slab, &h->all, &h->stamp, SPARE};
}

/* From now on every owner has its own fence. */
static void go_over_to_fences(struct axp__heap *h)
{
    if (axp__get_acquire(&h->is_parted)) return;
    __atomic_fetch_or(&h->stamp, AXP__STAMP_SHARED, __ATOMIC_SEQ_CST);
    axp__barrier_all_threads();
    axp__put_release(&h->is_parted, 1);
}

static void count_barriers(struct axp__heap *h)
{
    if (axp__unlikely(axp__get(&h->all.n_barriers) > MOST_BARRIERS))
        go_over_to_fences(h);
}

void axp__heap_init(struct axp__heap *h, uint64_t machine_bytes,
                    struct axp__budget *kept)
{
    uint64_t limit = machine_bytes / PART_OF_MEMORY;
    *h = (struct axp__heap){
        .machine_bytes = machine_bytes,
        .kept = kept,
        .sampled_bytes = h->sampled_bytes,
        .group_bytes = h->group_bytes,
        .budget = {.limit_bytes = limit > LEAST_LIMIT ? limit : LEAST_LIMIT}};
    h->blocks.rest.budget = &h->budget;
}

void axp__heap_clear(struct axp__heap *h)
{
    axp__shadow_clear(&h->blocks);
    axp__slab_clear(&h->slab, &h->budget);
    axp__level_clear(&h->level, h->kept);
    axp__notes_clear(&h->notes, h->kept);
    axp__heap_init(h, h->machine_bytes, h->kept);
}

struct axp__purse *axp__heap_join(struct axp__heap *h)
{
    struct axp__purse *own = axp__purse_join(book_of(h), &h->budget, 0);
    if (own && !axp__barrier_is_there()) go_over_to_fences(h);
    if (own) axp__put(&h->is_seen, 1);
    return own;
}

void axp__heap_raise_slow(struct axp__heap *h, struct axp__purse *own)
{
    if (axp__purse_settle_up(book_of(h), own) && !axp__get(&h->is_frozen)) {
        axp__put(&h->peak_ticks, axp__clock_ticks());
        __atomic_fetch_add(&h->stamp, AXP__STAMP_EPOCH, __ATOMIC_RELEASE);
    }
    count_barriers(h);
}

void axp__heap_lower_slow(struct axp__heap *h, struct axp__purse *own)
{
    axp__purse_offer(book_of(h), own);
    count_barriers(h);
}

void axp__heap_fail(struct axp__heap *h, uint64_t bytes, uint32_t place,
                    uint64_t now)
{
    bool is_first = !axp__add(&h->n_failed, 1);
    bool is_for_want = bytes <= h->machine_bytes; /* else it never could */
    if (is_for_want && __atomic_exchange_n(&h->is_frozen, 1, __ATOMIC_ACQ_REL))
        return;
    if (!is_for_want && (!is_first || axp__get(&h->is_frozen))) return;
    axp__put(&h->failed_bytes, bytes);
    axp__put(&h->failed_place, place);
    axp__put(&h->failed_ticks, now);
    axp__put(&h->failed_limit, axp__limit_of_memory());
    axp__put(&h->is_seen, 1);
    if (!is_for_want) return;
    __atomic_fetch_add(&h->stamp, AXP__STAMP_EPOCH, __ATOMIC_RELEASE);
}

void axp__heap_map(struct axp__heap *h, int64_t bytes)
{
    int64_t now = __atomic_add_fetch(&h->mapped_bytes, bytes, __ATOMIC_RELAXED);
    uint64_t peak = axp__get(&h->mapped_peak);
    while (now > 0 && (uint64_t)now > peak &&
           !axp__cas(&h->mapped_peak, &peak, (uint64_t)now))
        ;
    if (bytes > 0) axp__add(&h->n_mapped, 1);
    axp__put(&h->is_seen, 1);
}

/* ---- over time ------------------------------------------------------------------ */

static void set_told(struct axp__heap_told *t, uint64_t net, uint64_t step)
{
    *t = (struct axp__heap_told){net, net - step, 2 * step};
}

void axp__heap_told_begin(struct axp__heap_told *t,
                          const struct axp__purse *own)
{
    set_told(t, axp__get(&own->net), LEAST_STEP);
}

void axp__heap_tell(struct axp__heap *h, const struct axp__purse *own,
                    struct axp__heap_told *t, uint64_t since_ticks)
{
    uint64_t net = axp__get(&own->net);
    uint64_t step = axp__get(&h->all.peak_bytes) / PART_OF_PEAK;
    int64_t now = __atomic_add_fetch(&h->told_bytes, (int64_t)(net - t->net),
                                     __ATOMIC_RELAXED);
    set_told(t, net, step > LEAST_STEP ? step : LEAST_STEP);
    axp__level_note(&h->level, h->kept, since_ticks,
                    now > 0 ? (uint64_t)now : 0);
}

/* ---- places ------------------------------------------------------------------ */

void axp__heap_place_save_slow(struct axp__heap_place *p, uint64_t now)
{
    uint32_t stamp = (uint32_t)now, step = (uint32_t)(now >> 32);
    if (!axp__heap_place_is_saved(p, stamp)) {
        axp__put(&p->saved_bytes, (uint64_t)axp__heap_place_held(p));
        axp__put(&p->stamp, stamp);
    }
    if (p->step != step) axp__heap_place_step(p, step);
}
