/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The object whose functions are called without us: what RTLD_NEXT and
 * dlopen(RTLD_NOLOAD) would tell, found without the loader's lock.
 *
 *   struct common_next next;
 *   if (common_next_find(&next, __builtin_return_address(0), "GOMP_parallel"))
 *       common_next_symbols(&next, names, found, n);
 *
 * Why        dlsym and dlopen wait for whoever is inside dlopen, and that may be
 *            a constructor that waits for the calling thread. A program that
 *            looks nothing up itself would stand still because of us.
 * Which      what came with the program, else what the caller's object brought
 *            with it, as it is searched by the loader; else any: libraries that
 *            were opened for all.
 * Stays      as long as the caller's object does, which needs it; one that is
 *            known by it alone may be gone once that is (common_next_is_there).
 * Cost       a pass over all objects (dl_iterate_phdr), and where several have
 *            the function, some more: 10 us for a small program.
 * Threads    any. Not in signal handlers.
 */
#ifndef COMMON_NEXT_H
#define COMMON_NEXT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct common_next {
    const void *dynamic; /* of the object, by which it is known; NULL: none */
};

/* False: no object but ours has it. */
bool common_next_find(struct common_next *next, const void *caller,
                      const char *symbol);
/* NULL where it has none of that name. */
void common_next_symbols(const struct common_next *next,
                         const char *const *names, void **found, size_t n);
/* Whether a function of it still is one. */
bool common_next_is_there(const struct common_next *next, const void *function);
/* Where the object lies that an address is in; false: in none. */
bool common_next_range(const void *address, uintptr_t *first, uintptr_t *end);

#endif
