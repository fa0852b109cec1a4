/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Ranges of addresses that are known; see memory_map.h. */
#include "memory_map.h"

#include <string.h>

#include "adapters/common/common_map.h"

#define FIRST_BYTES 16384u

static bool grow(struct memory_ranges *r)
{
    size_t old = r->cap * sizeof *r->at, bytes = old ? 2 * old : FIRST_BYTES;
    void *at = old ? common_map_widen(r->at, old, bytes) : common_map(bytes);
    if (!at) return false;
    r->at = at;
    r->cap = bytes / sizeof *r->at;
    return true;
}

/* The first that ends behind an address. */
static size_t find(const struct memory_ranges *r, uintptr_t address)
{
    size_t low = 0, high = r->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->at[middle].end > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void open_gap(struct memory_ranges *r, size_t i)
{
    memmove(&r->at[i + 1], &r->at[i], (r->n - i) * sizeof *r->at);
    r->n++;
}

static void close_gap(struct memory_ranges *r, size_t i, size_t n)
{
    memmove(&r->at[i], &r->at[i + n], (r->n - i - n) * sizeof *r->at);
    r->n -= n;
}

uint64_t memory_ranges_remove(struct memory_ranges *r, uintptr_t first,
                              uintptr_t end)
{
    uint64_t removed = 0;
    size_t i = find(r, first), n = 0;
    if (i < r->n && r->at[i].first < first && r->at[i].end > end) {
        if (r->n == r->cap && !grow(r)) return 0; /* it stays whole */
        open_gap(r, i);
        r->at[i].end = first;
        r->at[i + 1].first = end;
        return end - first;
    }
    if (i < r->n && r->at[i].first < first) { /* its end goes */
        removed = r->at[i].end - first;
        r->at[i++].end = first;
    }
    for (; i + n < r->n && r->at[i + n].end <= end; n++)
        removed += r->at[i + n].end - r->at[i + n].first;
    close_gap(r, i, n);
    if (i < r->n && r->at[i].first < end) { /* its beginning goes */
        removed += end - r->at[i].first;
        r->at[i].first = end;
    }
    return removed;
}

bool memory_ranges_add(struct memory_ranges *r, uintptr_t first, uintptr_t end)
{
    size_t i = find(r, first);
    bool is_after = i && r->at[i - 1].end == first;
    bool is_before = i < r->n && r->at[i].first == end;
    if (is_after && is_before) {
        r->at[i - 1].end = r->at[i].end;
        close_gap(r, i, 1);
    } else if (is_after) {
        r->at[i - 1].end = end;
    } else if (is_before) {
        r->at[i].first = first;
    } else {
        if (r->n == r->cap && !grow(r)) return false;
        open_gap(r, i);
        r->at[i] = (struct memory_range){first, end};
    }
    return true;
}
