/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Whether what this thread does with memory is the program's own doing. */
#ifndef MEMORY_WRAP_H
#define MEMORY_WRAP_H
#include <stdbool.h>
#include <stddef.h>

/* False: before this library's constructor, and inside of the allocator. */
bool memory_wrap_is_told(void) __attribute__((visibility("hidden")));
/* The kernel had nothing for the program to map. */
void memory_wrap_failed(size_t bytes) __attribute__((visibility("hidden")));

#endif
