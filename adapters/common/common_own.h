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

/* What a new thread was given is freed by who makes the next one: a thread that
 * frees something has an arena of malloc's from then on, and one that never
 * allocates has none without us. */
struct common_left {
    struct common_left *next;
};

static inline void common_own_leave(struct common_left **all, void *p)
{
    struct common_left *left = p;
    left->next = __atomic_load_n(all, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(all, &left->next, left, true,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        continue;
}

/* Zeroed, for the next one; NULL: no memory. */
static inline void *common_own_take_anew(struct common_left **all, size_t bytes)
{
    struct common_left *p = __atomic_exchange_n(all, NULL, __ATOMIC_ACQUIRE);
    while (p) {
        struct common_left *next = p->next;
        common_own_free(p);
        p = next;
    }
    return common_own_take(bytes);
}

static inline char *common_own_text(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = common_own_take(bytes);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

#endif
