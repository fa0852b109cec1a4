/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory that the program maps itself, anonymously, beside its allocator: what a
 * language's own heap is made of (Python's arenas), and large buffers.
 *
 * A total, exact: the ranges are remembered, so that parts may be unmapped,
 * mapped over or moved. Ranges that lie side by side are one.
 *
 * Not here   what an allocator maps (it is inside of a call of malloc), what the
 *            C library maps for itself (thread stacks, its own heap), files,
 *            and ranges that nobody may touch (PROT_NONE: addresses, no
 *            memory), also once mprotect makes them usable.
 * Threads    a lock that is tried a bounded number of times: a handler may have
 *            interrupted its holder. Who does not get it leaves the range out.
 * fork       the child begins with none: they are the parent's.
 */
#ifndef MEMORY_MAP_H
#define MEMORY_MAP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From first to end, exclusive. */
struct memory_range {
    uintptr_t first, end;
};

struct memory_ranges {
    struct memory_range *at; /* by address, none touches the next */
    size_t n, cap;
};

/* Takes a range out, wherever it is known; how many bytes of it were. */
uint64_t memory_ranges_remove(struct memory_ranges *r, uintptr_t first,
                              uintptr_t end);
/* Of which nothing is known; false: no memory to remember it. */
bool memory_ranges_add(struct memory_ranges *r, uintptr_t first, uintptr_t end);

#endif
