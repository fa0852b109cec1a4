/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* malloc, calloc and realloc that fail when is_failing() says so, which the
 * includer defines; put before libc's by the linker
 * (tests/torture/CMakeLists.txt). */
#ifndef AXP_TORTURE_WRAP_H
#define AXP_TORTURE_WRAP_H
#include <stdbool.h>
#include <stddef.h>

static bool is_failing(void);

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
