/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Structs that cross the library's border: theirs may be an older one's, which
 * is shorter, or a newer one's, which is longer. Fields are only ever added, at
 * the end, and 0 means what it meant before they were there. */
#ifndef AXP_BASE_SIZED_H
#define AXP_BASE_SIZED_H
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Copies what both sides know, and zeroes the rest of `to`. */
static inline void axp__sized_copy(void *to, size_t to_size, const void *from,
                                   size_t from_size)
{
    size_t n = to_size < from_size ? to_size : from_size;
    memcpy(to, from, n);
    memset((char *)to + n, 0, to_size - n);
}

/* The size of a struct whose last field was this one. */
#define AXP__SIZE_TO(type, field)                                              \
    (offsetof(type, field) + sizeof(((type *)0)->field))

/* A caller's struct as ours. Its first field is its size, or 0: that of the
 * first version, `first`. false: that is no size, nobody has set it. */
static inline bool axp__sized_take(void *ours, size_t size, const void *theirs,
                                   size_t first)
{
    size_t their_size;
    memcpy(&their_size, theirs, sizeof their_size);
    if (!their_size) their_size = first;
    if (their_size < sizeof their_size || their_size > 4096) return false;
    axp__sized_copy(ours, size, theirs, their_size);
    return true;
}

#endif
