/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A budget of bytes that several threads draw on without a lock, and where
 * they come from. Beside it is a reserve for what must be there for numbers to
 * be right: it is not used up by what comes first. */
#ifndef AXP_BASE_BUDGET_H
#define AXP_BASE_BUDGET_H
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/base_atomic.h"

struct axp__budget {
    uint64_t used_bytes;
    uint64_t limit_bytes;
    struct axp__space *space; /* NULL: anonymous memory (os_space.h) */
    uint64_t reserve_used_bytes;
    uint64_t reserve_bytes;
    uint64_t n_refused;   /* what makes numbers right, and was not given */
    uint64_t apart_bytes; /* anonymous though there is a space: a reader's, who
                             takes what is ours off what the process has */
};

/* Takes n bytes if `part` of `whole` of the limit still holds them. */
static inline bool axp__budget_take_part(struct axp__budget *b, uint64_t n,
                                         uint64_t part, uint64_t whole)
{
    uint64_t most = axp__get(&b->limit_bytes) / whole * part;
    if (axp__get(&b->used_bytes) + n > most) return false; /* costs less */
    uint64_t used = axp__add(&b->used_bytes, n) + n;
    if (used <= most) return true;
    axp__add(&b->used_bytes, -n);
    return false;
}

static inline bool axp__budget_take(struct axp__budget *b, uint64_t n)
{
    return axp__budget_take_part(b, n, 1, 1);
}

/* What may be taken for what is optional: three quarters. */
static inline bool axp__budget_take_optional(struct axp__budget *b, uint64_t n)
{
    return axp__budget_take_part(b, n, 3, 4);
}

/* For what makes numbers right: where three quarters are used up, from the
 * reserve, and *reserved rises by it. */
static inline bool axp__budget_take_sure(struct axp__budget *b, uint64_t n,
                                         uint64_t *reserved)
{
    if (axp__budget_take_optional(b, n)) return true;
    uint64_t used = axp__add(&b->reserve_used_bytes, n) + n;
    if (used <= axp__get(&b->reserve_bytes)) {
        *reserved += n;
        return true;
    }
    axp__add(&b->reserve_used_bytes, -n);
    if (axp__budget_take(b, n)) return true;
    axp__add(&b->n_refused, 1);
    return false;
}

/* For what must not be refused: where the budget is used up, the limit rises
 * with it, so that others find what they would have found. */
static inline void axp__budget_force(struct axp__budget *b, uint64_t n)
{
    if (axp__budget_take(b, n)) return;
    axp__add(&b->limit_bytes, n);
    axp__add(&b->used_bytes, n);
}

/* For what several threads may make at once, of which one is kept: it is paid
 * for by who made that, once it is in its place. A crowd that paid first would
 * use up in passing what one of them needs, and be refused. So who is told that
 * there is no room looks whether it is there by now. */
static inline bool axp__budget_has_part(const struct axp__budget *b, uint64_t n,
                                        uint64_t part, uint64_t whole)
{
    uint64_t most = axp__get(&b->limit_bytes) / whole * part;
    return axp__get_acquire(&b->used_bytes) + n <= most; /* pairs with pay's */
}

static inline bool axp__budget_has(const struct axp__budget *b, uint64_t n)
{
    return axp__budget_has_part(b, n, 1, 1);
}

static inline void axp__budget_pay(struct axp__budget *b, uint64_t n)
{
    __atomic_fetch_add(&b->used_bytes, n, __ATOMIC_RELEASE);
}

/* More than was taken, in the child of a fork: a handler may have forked in the
 * middle of an event, and the child's budget begins anew. */
static inline void axp__budget_give(struct axp__budget *b, uint64_t n)
{
    axp__add(&b->used_bytes, -n);
}

/* So many more of what was taken are apart, or fewer. */
static inline void axp__budget_apart(struct axp__budget *b, uint64_t n)
{
    axp__add(&b->apart_bytes, n);
}

/* What is no part of a space. */
static inline uint64_t axp__budget_anonymous(const struct axp__budget *b)
{
    if (axp__get(&b->space)) return axp__get(&b->apart_bytes);
    return axp__get(&b->used_bytes) + axp__get(&b->reserve_used_bytes);
}

/* n bytes, of which so many came from the reserve. */
static inline void axp__budget_give_sure(struct axp__budget *b, uint64_t n,
                                         uint64_t reserved)
{
    assert(reserved <= n);
    axp__add(&b->reserve_used_bytes, -reserved);
    axp__add(&b->used_bytes, reserved - n);
}

#endif
