/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gpt_memory.c: allocation that the profiler knows about. */
#include "gpt_memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpt_profile.h"

enum { CACHE_LINE = 64 };

static void *allocate(size_t count, size_t size, size_t *bytes)
{
    if (count > (SIZE_MAX - CACHE_LINE) / size) return NULL;
    *bytes = (count * size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    return aligned_alloc(CACHE_LINE, *bytes);
}

void *gpt_alloc(const char *name, axp_mem kind, size_t count, size_t size)
{
    size_t bytes = 0;
    void *ptr = allocate(count, size, &bytes);
    if (!ptr) {
        fprintf(stderr, "gpt: no memory for %zu x %zu bytes of %s\n", count,
                size, name);
        exit(1);
    }
    memset(ptr, 0, bytes);
    AXP_TRACK_ALLOC_KIND(name, ptr, bytes, kind);
    return ptr;
}

void gpt_free(void *ptr)
{
    if (!ptr) return;
    AXP_TRACK_FREE(ptr); /* while it is still ours */
    free(ptr);
}
