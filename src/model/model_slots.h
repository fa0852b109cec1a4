/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tables of indexes: arrays that grow, and hashes of what is in them.
 *
 * A slot holds an index + 1, or 0; who asks goes on from a hash until it finds
 * its own or a free one. There is always a free one after axp__slots_widen.
 */
#ifndef AXP_MODEL_SLOTS_H
#define AXP_MODEL_SLOTS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct axp__slots {
    uint32_t *at;
    size_t n, n_used;
};

/* Room for n of an array; false: no memory, and it is as it was. */
static inline bool axp__array_grow(void **at, size_t *cap, size_t n,
                                   size_t size)
{
    if (n <= *cap) return true;
    size_t wider = *cap ? 2 * *cap : 256;
    while (wider < n)
        wider *= 2;
    void *fresh = realloc(*at, wider * size);
    if (!fresh) return false;
    *at = fresh;
    *cap = wider;
    return true;
}

/* The slot that a search looks at next. */
static inline uint32_t *axp__slots_at(const struct axp__slots *s, uint64_t hash)
{
    return &s->at[hash & (s->n - 1)];
}

/* Room for one more; what is there is put anew by hash_of. */
static inline bool axp__slots_widen(struct axp__slots *s, const void *ctx,
                                    uint64_t (*hash_of)(const void *ctx,
                                                        uint32_t i))
{
    struct axp__slots wider = {.n = s->n ? 2 * s->n : 1024};
    if (2 * (s->n_used + 1) <= s->n) return true;
    wider.at = calloc(wider.n, sizeof *wider.at);
    if (!wider.at) return false;
    for (size_t i = 0; i < s->n; i++) {
        if (!s->at[i]) continue;
        uint64_t k = hash_of(ctx, s->at[i] - 1);
        while (*axp__slots_at(&wider, k))
            k++;
        *axp__slots_at(&wider, k) = s->at[i];
    }
    wider.n_used = s->n_used;
    free(s->at);
    *s = wider;
    return true;
}

#endif
