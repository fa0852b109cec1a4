/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The table of functions. */
#include "functions_sites.h"

#include <stddef.h>

#include "adapters/common/common_map.h"

#define N_SLOTS ((size_t)1 << FUNCTIONS_SLOT_BITS)
#define MAX_PROBES 64
#define PART_SLOTS 16u

struct functions_site *functions_table;
static uint8_t is_used[N_SLOTS / PART_SLOTS]; /* whether a part has any */

static struct functions_site *map_slots(void)
{
    size_t size = N_SLOTS * sizeof(struct functions_site);
    struct functions_site *fresh = common_map(size), *none = NULL;
    if (!fresh) return NULL;
    if (__atomic_compare_exchange_n(&functions_table, &none, fresh, 0,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return fresh;
    common_unmap(fresh, size);
    return none; /* another thread was first */
}

struct functions_site *functions_site_find(const void *function)
{
    struct functions_site *table =
        __atomic_load_n(&functions_table, __ATOMIC_ACQUIRE);
    if (!table && (functions_is_quiet || !(table = map_slots()))) return NULL;
    size_t i = functions_slot(function);
    for (unsigned probe = 0; probe < MAX_PROBES; probe++) {
        struct functions_site *s = &table[(i + probe) % N_SLOTS];
        const void *is = __atomic_load_n(&s->function, __ATOMIC_RELAXED);
        if (is == function) return s;
        if (is) continue;
        __atomic_store_n(&is_used[(size_t)(s - table) / PART_SLOTS], 1,
                         __ATOMIC_RELAXED);
        if (__atomic_compare_exchange_n(&s->function, &is, function, 0,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
            is == function)
            return s;
    }
    return NULL;
}

void functions_site_each(void (*visit)(struct functions_site *, void *),
                         void *ctx)
{
    for (size_t i = 0; i < N_SLOTS; i++) {
        if (!__atomic_load_n(&is_used[i / PART_SLOTS], __ATOMIC_RELAXED))
            i += PART_SLOTS - 1;
        else if (__atomic_load_n(&functions_table[i].function,
                                 __ATOMIC_RELAXED))
            visit(&functions_table[i], ctx);
    }
}
