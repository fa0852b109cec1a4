/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The nth allocation fails: malloc, calloc and realloc, put before libc's by
 * the linker (tests/torture/CMakeLists.txt). */
#ifndef AXP_TORTURE_ALLOC_H
#define AXP_TORTURE_ALLOC_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static struct {
    bool is_armed;
    uint64_t n_calls, nth;
} torture;

static bool is_failing(void)
{
    return torture.is_armed && ++torture.n_calls == torture.nth;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
    return is_failing() ? NULL : __real_malloc(size);
}

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
    return is_failing() ? NULL : __real_calloc(n, size);
}

void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size)
{
    return is_failing() ? NULL : __real_realloc(old, size);
}

#endif
