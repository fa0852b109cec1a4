/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory of adapters: from the C library under names that nobody wraps, so that
 * it is no memory of the program's, whoever looks on.
 *
 * Place    adapters that allocate; what they free must be from here.
 */
#ifndef COMMON_OWN_H
#define COMMON_OWN_H
#include <stddef.h>
#include <string.h>

extern void *__libc_calloc(size_t n, size_t bytes);
extern void __libc_free(void *p);

/* Zeroed; NULL: no memory. */
static inline void *common_own_take(size_t bytes)
{
    return __libc_calloc(1, bytes);
}

static inline void common_own_free(void *p)
{
    __libc_free(p);
}

static inline char *common_own_text(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = common_own_take(bytes);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

#endif
