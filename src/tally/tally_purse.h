/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A number that many threads raise and lower, with its exact peak, and without
 * a line that they share while it stays below that peak.
 *
 *   account    the number: its peak; the list of its purses
 *   purse      one thread's part of it
 *
 *     low ------------ net ---------------- high
 *        held: its part     room: what it may
 *        of the number      add without asking
 *
 *       number = sum of held        peak = sum of (high - low)
 *
 *  net   only the owner writes: a raise adds to it, a lower subtracts
 *  low   rises where others lower at its cost, who do not hold enough
 *  high  falls where others seize room that the owner does not use
 *
 * Raising. The owner adds to net, then looks whether that is above high. If so
 * it needs room: first it seizes what others do not use, then it raises the
 * peak by the rest. So the peak rises only when there is no room anywhere,
 * which is when the number is higher than ever.
 * Lowering. The owner subtracts from net, then looks whether that is below
 * low. If so it takes from others; what nobody holds is the excess.
 *
 * Races. The owner writes net and then, past a full fence, reads low and high;
 * others change those by compare-and-swap and then, past a full fence, read
 * net. So at least one of two that collide sees it: who seized gives back, who
 * is short settles. Nothing waits. In flight, room may be in nobody's purse,
 * at most what one call needs: so the peak is exact where events do not
 * overlap, is never below what the number was between events, and is above
 * what was reached by at most a block in flight a thread.
 *
 * Offers. A purse that lowered may have room: it is put on the account's list
 * once, and taken off by who finds nothing left in it, so that nobody looks at
 * the purses of a hundred idle threads. While one is on its way on or off the
 * list (n_moving), the others look at all purses instead of trusting the list.
 *
 * Purses are never freed before clear; one whose thread has ended keeps its
 * part, and goes to the next thread that needs one.
 *
 * Place      tally_memory.h, which also has the fast ways.
 * Threads    all functions from any thread; `own` is the caller's.
 * Not here   fences of the fast way; which purse belongs to whom.
 */
#ifndef AXP_TALLY_PURSE_H
#define AXP_TALLY_PURSE_H
#include "tally/tally_slab.h"

enum axp__purse_bit {
    AXP__PURSE_OWNED = 1,
    AXP__PURSE_OFFERED = 2 /* on the account's list */
};
#define AXP__PURSE_REF 8 /* in its state, above the bits: its own ref */

struct axp__purse {
    uint64_t net, low, high; /* modulo 2^64: only differences count */
    uint64_t since_ticks;    /* when it last rose from nothing … */
    uint32_t since_row;      /* … and by whom */
    uint32_t stamp;          /* when saved_bytes was saved: see … */
    uint64_t saved_bytes;    /* … tally_memory.h */
    uint32_t name;           /* 0: of the total */
    uint32_t state;          /* own ref << 8 | enum axp__purse_bit */
    axp__ref next;           /* of the same account */
    axp__ref next_offer;     /* on the list, if it is there */
};
_Static_assert(sizeof(struct axp__purse) == 64, "one cache line");

struct axp__account {
    uint64_t peak_bytes;
    uint64_t offers;     /* count of changes << 32 | first on the list */
    uint32_t n_moving;   /* purses on their way on or off the list */
    axp__ref purses;     /* newest first */
    axp__ref holder;     /* from which something was last taken */
    uint32_t n_barriers; /* through all threads, in place of owners' fences */
};

/* May be negative for a moment: see above. */
static inline int64_t axp__purse_held(const struct axp__purse *p)
{
    uint64_t low = axp__get(&p->low);
    return (int64_t)(axp__get(&p->net) - low);
}

static inline int64_t axp__purse_room(const struct axp__purse *p)
{
    return (int64_t)(axp__get(&p->high) - axp__get(&p->net));
}

static inline bool axp__purse_is_offered(const struct axp__purse *p)
{
    return axp__get(&p->state) & AXP__PURSE_OFFERED;
}

static inline axp__ref axp__purse_ref(const struct axp__purse *p)
{
    return p ? axp__get(&p->state) >> AXP__PURSE_REF : 0;
}

/* What the functions below work on. */
struct axp__book {
    struct axp__slab *slab;
    struct axp__account *account;
    const uint32_t *stamp; /* of the whole: tally_memory.h */
    uint64_t spare;        /* how much more than it needs a raise may seize */
};

/* A purse for the calling thread, until it releases it; NULL: no memory. */
struct axp__purse *axp__purse_join(struct axp__book b,
                                   struct axp__budget *budget, uint32_t name);
void axp__purse_release(struct axp__purse *own);

/* After own->net rose: true if that made a new peak. */
bool axp__purse_settle_up(struct axp__book b, struct axp__purse *own);
/* After own->net was lowered: what nobody held, and is not lowered. */
uint64_t axp__purse_settle_down(struct axp__book b, struct axp__purse *own);
/* It may have room that others can use. */
void axp__purse_offer(struct axp__book b, struct axp__purse *own);
/* The same without a purse, for `bytes`. */
uint64_t axp__purse_lower_others(struct axp__book b, uint64_t bytes);

/* ---- what was held at the last peak -------------------------------------- */
/* A stamp is epoch << 1 | whether several threads take part. */
#define AXP__STAMP_SHARED 1u
#define AXP__STAMP_EPOCH 2u

/* Whether what was held when the epoch of `stamp` began was saved. */
static inline bool axp__purse_is_saved(const struct axp__purse *p,
                                       uint32_t stamp)
{
    return (axp__get(&p->stamp) ^ stamp) < AXP__STAMP_EPOCH;
}

/* Before its first change in an epoch, with what it held until then. */
void axp__purse_save(struct axp__purse *p, uint32_t stamp, int64_t held);

#endif
