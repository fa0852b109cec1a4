/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Zeroed memory from the kernel, and the asymmetric barrier.
 *
 * Place    the recorder's only source of memory: malloc may be the very thing
 *          that is being profiled.
 * Failure  NULL or false; errno is left as it was.
 */
#ifndef AXP_OS_MAP_H
#define AXP_OS_MAP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *axp__map(size_t bytes);
/* The same, for tables that are touched all over: in large pages if it can
 * be, since a small one for each touch would cost a walk of page tables. */
void *axp__map_scattered(size_t bytes);
/* The same, for memory of which few pages are touched: small ones. */
void *axp__map_sparse(size_t bytes);
/* The same, from a multiple of 2 MiB, in large pages if it can be. */
void *axp__map_large(size_t bytes);
/* The same, but zeroed in the child of a fork. */
void *axp__map_wiped_on_fork(size_t bytes);
void axp__unmap(void *memory, size_t bytes); /* NULL allowed */

/* How much the process may map (ulimit -v, -d); 0: there is no limit. */
uint64_t axp__limit_of_memory(void);

/* Copies what may not be there any more (a mapped file that was shortened, a
 * hole in one on a full disk); false: not all of it was, and zeros are in its
 * place. */
bool axp__copy_mapped(void *to, const void *from, size_t bytes);

/* Every thread of this process passes a full barrier before this returns.
 * Pairs with plain, compiler-ordered stores on the recording side. False
 * where the kernel cannot; then the caller must not reclaim memory. */
bool axp__barrier_all_threads(void);
/* Whether it will be there: registers for it, which is cheap while a process
 * has one thread, and so happens when the library is loaded. */
bool axp__barrier_is_there(void);

#endif
