/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gpt_memory.h: the one place where the program gets memory, so that every
 * block has a name and a kind in the profile. */
#ifndef GPT_MEMORY_H
#define GPT_MEMORY_H
#include <axprof/axprof.h>
#include <stddef.h>

/* count elements of size bytes each, zeroed and aligned to a cache line. Never
 * NULL: without memory the program ends with a message and status 1. */
void *gpt_alloc(const char *name, axp_mem kind, size_t count, size_t size);
void gpt_free(void *ptr); /* NULL allowed */

#endif
