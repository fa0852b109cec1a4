/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Where a purse does not have enough; see tally_purse.h. */
#include "tally/tally_purse.h"

#include <assert.h>

#include "os/os_map.h"

#define PASSES 8 /* over all purses, before a search is given up */

/* Between an owner's net and its look at low and high, and between a change of
 * those and the look at net. */
static void full_fence(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* The latter, of somebody else's purse: owners that have no fence of their own
 * pass one now. (One that is alone has nobody who looks at its purse.) */
static void fence_owners(struct axp__book b)
{
    if (axp__get(b.stamp) & AXP__STAMP_SHARED) {
        full_fence();
    } else {
        axp__add(&b.account->n_barriers, 1);
        axp__barrier_all_threads();
    }
}

static struct axp__purse *at(struct axp__book b, axp__ref ref)
{
    return ref ? axp__slab_at(b.slab, ref) : NULL;
}

static uint64_t at_most(int64_t v, uint64_t most)
{
    if (v <= 0) return 0;
    return (uint64_t)v < most ? (uint64_t)v : most;
}

/* ---- the list of offers ----------------------------------------------------- */

static uint64_t next_head(uint64_t head, axp__ref first)
{
    return ((head >> 32) + 1) << 32 | first;
}

/* Puts a purse on the list, unless it is there. */
static void offer(struct axp__book b, struct axp__purse *p)
{
    struct axp__account *a = b.account;
    if (axp__purse_is_offered(p)) return;
    axp__add(&a->n_moving, 1);
    if (!(__atomic_fetch_or(&p->state, AXP__PURSE_OFFERED, __ATOMIC_ACQ_REL) &
          AXP__PURSE_OFFERED)) {
        uint64_t head = axp__get(&a->offers);
        axp__ref ref = axp__purse_ref(p);
        do
            axp__put(&p->next_offer, (axp__ref)head);
        while (!axp__cas(&a->offers, &head, next_head(head, ref)));
    }
    __atomic_fetch_sub(&a->n_moving, 1, __ATOMIC_RELEASE);
}

/* Takes the first one off, which had no room; it is put back if it has some
 * by now, since its owner may have thought that it is still there. */
static void withdraw(struct axp__book b, uint64_t head, struct axp__purse *p)
{
    struct axp__account *a = b.account;
    axp__add(&a->n_moving, 1);
    full_fence(); /* before the list changes */
    if (axp__cas(&a->offers, &head,
                 next_head(head, axp__get(&p->next_offer)))) {
        __atomic_fetch_and(&p->state, ~(uint32_t)AXP__PURSE_OFFERED,
                           __ATOMIC_ACQ_REL);
        fence_owners(b); /* pairs with the owner's, between net and state */
        if (axp__purse_room(p) > 0) offer(b, p);
    }
    __atomic_fetch_sub(&a->n_moving, 1, __ATOMIC_RELEASE);
}

void axp__purse_offer(struct axp__book b, struct axp__purse *own)
{
    offer(b, own);
}

/* ---- raising ------------------------------------------------------------------ */

/* Seizes room that p does not use: `need`, and of what is left half, up to the
 * spare. */
static uint64_t seize_from(struct axp__book b, struct axp__purse *p,
                           uint64_t need)
{
    uint64_t n, high = axp__get(&p->high);
    do {
        int64_t room = (int64_t)(high - axp__get(&p->net));
        n = at_most(room, need);
        if (!n) return 0;
        n += at_most((room - (int64_t)n) / 2, b.spare);
    } while (!axp__cas(&p->high, &high, high - n));
    fence_owners(b);
    uint64_t back = at_most(-axp__purse_room(p), n);
    if (back) {
        axp__add(&p->high, back);
        offer(b, p);
    }
    return n - back;
}

static uint64_t seize_from_all(struct axp__book b, struct axp__purse *own,
                               uint64_t need)
{
    uint64_t got = 0;
    struct axp__purse *p = at(b, axp__get_acquire(&b.account->purses));
    for (; p && got < need; p = at(b, p->next))
        if (p != own) got += seize_from(b, p, need - got);
    return got;
}

/* Whether there is a first offer, other than the caller's own alone. */
static bool is_there(const struct axp__purse *first,
                     const struct axp__purse *own)
{
    return first && (first != own || axp__get(&first->next_offer));
}

/* No more than is needed and the spare, so that no more is ever on its way. */
static uint64_t seize(struct axp__book b, struct axp__purse *own, uint64_t need)
{
    uint64_t got = 0;
    for (;;) {
        uint64_t head = axp__get_acquire(&b.account->offers);
        struct axp__purse *p = at(b, (axp__ref)head);
        if (is_there(p, own)) {
            if (p != own) got += seize_from(b, p, need - got);
            if (got >= need) return got;
            if (axp__purse_room(own) >= 0) return got; /* others took from it */
            withdraw(b, head, p);
            continue;
        }
        full_fence(); /* pairs with withdraw's */
        if (axp__get(&b.account->n_moving))
            return got + seize_from_all(b, own, need - got);
        if (axp__get(&b.account->offers) == head) return got;
    }
}

bool axp__purse_settle_up(struct axp__book b, struct axp__purse *own)
{
    bool is_peak = false;
    int64_t short_of;
    while ((short_of = -axp__purse_room(own)) > 0) {
        uint64_t need = (uint64_t)short_of, got = seize(b, own, need);
        assert(got <= need + b.spare); /* and the sum of the limits the peak */
        uint64_t rise = at_most(-axp__purse_room(own) - (int64_t)got, need);
        if (rise) {
            axp__add(&b.account->peak_bytes, rise);
            is_peak = true;
        }
        axp__add(&own->high, got + rise);
        full_fence(); /* and look again: others may have seized it */
    }
    if (axp__purse_room(own) > 0) offer(b, own);
    return is_peak;
}

/* ---- lowering ------------------------------------------------------------------- */

void axp__purse_save(struct axp__purse *p, uint32_t stamp, int64_t held)
{
    axp__put(&p->saved_bytes, held > 0 ? (uint64_t)held : 0);
    axp__put(&p->stamp, stamp);
}

/* Lowers by up to `most` of what p holds; what it held is room then. */
static uint64_t take_from(struct axp__book b, struct axp__purse *p,
                          uint64_t most)
{
    uint64_t n, low = axp__get(&p->low);
    do {
        int64_t held = (int64_t)(axp__get(&p->net) - low);
        uint32_t stamp = axp__get(b.stamp);
        n = at_most(held, most);
        if (!n) return 0;
        if (!axp__purse_is_saved(p, stamp)) axp__purse_save(p, stamp, held);
    } while (!axp__cas(&p->low, &low, low + n));
    fence_owners(b);
    uint64_t back = at_most(-axp__purse_held(p), n);
    if (back) axp__add(&p->low, -back);
    axp__add(&p->high, n - back);
    offer(b, p);
    return n - back;
}

/* One pass over all purses; *print stands for what was seen. */
static uint64_t take_from_all(struct axp__book b, struct axp__purse *own,
                              uint64_t need, uint64_t *print)
{
    uint64_t got = 0;
    axp__ref ref = axp__get_acquire(&b.account->purses);
    *print = ref;
    while (ref && got < need) {
        struct axp__purse *p = at(b, ref);
        if (!p) break;
        uint64_t n = p == own ? 0 : take_from(b, p, need - got);
        if (n) axp__put_release(&b.account->holder, ref);
        got += n;
        *print = (*print ^ axp__get(&p->low)) * 0x9e3779b97f4a7c15u +
                 axp__get(&p->net);
        ref = p->next;
    }
    return got;
}

/* What is found in other purses. Where that is too little, *is_sure tells
 * whether nobody holds the rest: two passes in a row saw the same, so nothing
 * has moved behind the first one's back. */
static uint64_t take(struct axp__book b, struct axp__purse *own, uint64_t need,
                     bool *is_sure)
{
    uint64_t got = 0, before = 0, print;
    struct axp__purse *holder = at(b, axp__get_acquire(&b.account->holder));
    if (holder && holder != own) got = take_from(b, holder, need);
    for (int pass = 0; got < need && pass < PASSES; pass++) {
        uint64_t n = take_from_all(b, own, need - got, &print);
        got += n;
        *is_sure = pass && !n && print == before;
        if (*is_sure) break;
        before = print;
    }
    return got;
}

uint64_t axp__purse_settle_down(struct axp__book b, struct axp__purse *own)
{
    int64_t short_of = -axp__purse_held(own);
    uint64_t excess = 0;
    if (short_of > 0) {
        uint64_t need = (uint64_t)short_of;
        bool is_sure = false;
        uint64_t got = take(b, own, need, &is_sure);
        assert(got <= need);
        /* Not sure: they go on, and the sum is right whoever is in debt. */
        excess = is_sure ? need - got : 0;
        axp__put(&own->net, own->net + got + excess);
        full_fence();
    }
    if (axp__purse_room(own) > 0) offer(b, own);
    return excess;
}

uint64_t axp__purse_lower_others(struct axp__book b, uint64_t bytes)
{
    bool is_sure = false;
    return bytes - take(b, NULL, bytes, &is_sure);
}

/* ---- life ------------------------------------------------------------- */

struct axp__purse *axp__purse_join(struct axp__book b,
                                   struct axp__budget *budget, uint32_t name)
{
    axp__ref first = axp__get_acquire(&b.account->purses);
    for (struct axp__purse *p = at(b, first); p; p = at(b, p->next))
        if (!(axp__get(&p->state) & AXP__PURSE_OWNED) &&
            !(__atomic_fetch_or(&p->state, AXP__PURSE_OWNED, __ATOMIC_ACQ_REL) &
              AXP__PURSE_OWNED))
            return p;
    axp__ref ref = axp__slab_new(b.slab, budget);
    struct axp__purse *fresh = at(b, ref);
    if (!fresh) return NULL;
    assert(!fresh->net && !fresh->high && !fresh->low); /* as slabs give it */
    fresh->name = name;
    fresh->state = ref << AXP__PURSE_REF | AXP__PURSE_OWNED;
    do
        fresh->next = first;
    while (!axp__cas(&b.account->purses, &first, ref));
    return fresh;
}

void axp__purse_release(struct axp__purse *own)
{
    assert(axp__get(&own->state) & AXP__PURSE_OWNED);
    __atomic_fetch_and(&own->state, ~(uint32_t)AXP__PURSE_OWNED,
                       __ATOMIC_RELEASE);
}
