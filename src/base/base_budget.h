/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A budget of bytes that several threads draw on without a lock, and where
 * they come from. */
#ifndef AXP_BASE_BUDGET_H
#define AXP_BASE_BUDGET_H
#include <stdbool.h>
#include <stddef.h>

#include "base/base_atomic.h"

struct axp__budget {
    uint64_t used_bytes;
    uint64_t limit_bytes;
    struct axp__space *space; /* NULL: anonymous memory (os_space.h) */
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

/* For what must not be refused: where the budget is used up, the limit rises
 * with it, so that others find what they would have found. */
static inline void axp__budget_force(struct axp__budget *b, uint64_t n)
{
    if (axp__budget_take(b, n)) return;
    axp__add(&b->limit_bytes, n);
    axp__add(&b->used_bytes, n);
}

static inline void axp__budget_give(struct axp__budget *b, uint64_t n)
{
    axp__add(&b->used_bytes, -n);
}

#endif
