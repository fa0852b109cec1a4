/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* From a function's address to its site.
 *
 * A table of all functions seen, by address, shared by all threads and never
 * emptied: 2^20 places of 32 bytes, touched sparsely. What comes to where a
 * library was has its places (functions_close.h).
 *
 * Cost       a lookup is one multiplication and, mostly, one cache line. A
 *            function's first call formats a text of some hundred bytes.
 * Threads    any; no lock. Two threads that meet a function first both register
 *            it, which gives the same site.
 */
#ifndef FUNCTIONS_SITES_H
#define FUNCTIONS_SITES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct functions_site {
    const void *function; /* NULL: free */
    uint32_t site;        /* of axp_function_begin */
    uint32_t muted;       /* functions_mute.h; 0: recorded */
    uint32_t n_calls;     /* recorded, since … */
    uint32_t module;      /* functions_close.h; 0: not known, or no more */
    uint64_t since_ns;    /* … then; about right, as any thread adds */
};

#define FUNCTIONS_SLOT_BITS 20

/* The program filters its system calls: no memory is mapped or given back, and
 * nothing told (functions_mute.c). */
extern bool functions_is_quiet __attribute__((visibility("hidden")));

/* NULL until the first call. */
extern struct functions_site *functions_table
    __attribute__((visibility("hidden")));

/* Its place, or the first of those where it may be. HOT */
static inline size_t functions_slot(const void *function)
{
    return ((uintptr_t)function * (uintptr_t)0x9e3779b97f4a7c15u) >>
           (64 - FUNCTIONS_SLOT_BITS);
}

/* NULL: no room for another function, or no table and nobody to ask for one. */
struct functions_site *functions_site_find(const void *function);

/* All that are there. */
void functions_site_each(void (*visit)(struct functions_site *, void *),
                         void *ctx);

/* Its name is asked for at the next call, which is one to be judged. */
static inline void functions_site_forget(struct functions_site *s)
{
    __atomic_store_n(&s->module, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&s->n_calls, 0, __ATOMIC_RELAXED);
}

static inline bool functions_is_forgotten(const struct functions_site *s)
{
    return !__atomic_load_n(&s->module, __ATOMIC_RELAXED);
}

/* The table is written to before its address is; who follows the address sees
 * that without a barrier. HOT */
static inline struct functions_site *functions_site_near(const void *function)
{
    struct functions_site *table =
        __atomic_load_n(&functions_table, __ATOMIC_RELAXED);
    size_t at = functions_slot(function);
    return __builtin_expect(table && table[at].function == function, 1)
               ? &table[at]
               : NULL;
}

/* The same, mostly at once. */
static inline struct functions_site *functions_site(const void *function)
{
    struct functions_site *s = functions_site_near(function);
    return s ? s : functions_site_find(function);
}

/* Its number among the muted ones; 0: it is recorded. HOT */
static inline uint32_t functions_muted(const struct functions_site *s)
{
    return __atomic_load_n(&s->muted, __ATOMIC_RELAXED);
}

#endif
