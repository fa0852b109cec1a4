/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Windowed tables; see tally_lookup.h. */
#include "tally/tally_lookup.h"

#include "base/base_text.h"
#include "os/os_map.h"

#define WINDOW 8u
#define EMPTY 0u
#define RESERVED 1u /* claimed, value not written yet */
#define FIRST_SLOTS 4096u

static uint64_t table_slots(unsigned i)
{
    return (uint64_t)FIRST_SLOTS << 2 * i;
}

/* Addresses differ in few bits: spread them; 0 and 1 are taken. */
static uint64_t spread(uint64_t key)
{
    uint64_t k = axp__mix64(key);
    return k > RESERVED ? k : k + 2;
}

static struct axp__slot *window(struct axp__lookup *m, unsigned i, uint64_t key)
{
    struct axp__slot *table = axp__get_acquire(&m->table[i]);
    if (!table) return NULL;
    return table + (key >> (8 + i) & (table_slots(i) / WINDOW - 1)) * WINDOW;
}

static unsigned n_tables(struct axp__lookup *m)
{
    unsigned n = 0;
    while (n < AXP__LOOKUP_TABLES && axp__get(&m->table[n]))
        n++;
    return n;
}

static bool add_table(struct axp__lookup *m, unsigned i)
{
    if (i >= AXP__LOOKUP_TABLES) return false;
    size_t bytes = table_slots(i) * sizeof(struct axp__slot);
    struct axp__slot *fresh = NULL, *none = NULL;
    if (axp__budget_has(m->budget, bytes)) fresh = axp__map_scattered(bytes);
    if (fresh && axp__cas(&m->table[i], &none, fresh)) {
        axp__budget_pay(m->budget, bytes);
        axp__budget_apart(m->budget, bytes);
    } else {
        axp__unmap(fresh, bytes);
    }
    return axp__get(&m->table[i]) != NULL; /* or another thread was faster */
}

static bool claim(struct axp__slot *w, uint64_t key, uint64_t value)
{
    for (unsigned i = 0; i < WINDOW; i++) {
        uint64_t empty = EMPTY;
        if (axp__get(&w[i].key) != EMPTY) continue;
        if (!axp__cas(&w[i].key, &empty, RESERVED)) continue;
        axp__put(&w[i].value, value);
        axp__put_release(&w[i].key, key); /* pairs with find's fence */
        return true;
    }
    return false;
}

static struct axp__slot *find(struct axp__lookup *m, unsigned n, uint64_t key)
{
    while (n--) {
        struct axp__slot *w = window(m, n, key);
        for (unsigned i = 0; i < WINDOW; i++)
            if (axp__get(&w[i].key) == key) {
                /* pairs with claim's release: the value is there */
                __atomic_thread_fence(__ATOMIC_ACQUIRE);
                return &w[i];
            }
    }
    return NULL;
}

enum axp__put_result axp__lookup_put(struct axp__lookup *m, uint64_t key,
                                     uint64_t value, uint64_t *old)
{
    uint64_t k = spread(key);
    unsigned n = n_tables(m);
    struct axp__slot *there = find(m, n, k);
    if (there) {
        *old = __atomic_exchange_n(&there->value, value, __ATOMIC_ACQ_REL);
        return AXP__PUT_REPLACED;
    }
    for (;;) {
        for (unsigned i = n; i--;)
            if (claim(window(m, i, k), k, value)) return AXP__PUT_NEW;
        if (!add_table(m, n)) return AXP__PUT_FULL;
        n = n_tables(m);
    }
}

bool axp__lookup_take(struct axp__lookup *m, uint64_t key, uint64_t *value)
{
    uint64_t k = spread(key);
    struct axp__slot *slot = find(m, n_tables(m), k);
    if (!slot) return false;
    *value = axp__get(&slot->value);
    return axp__cas(&slot->key, &k, EMPTY);
}

void axp__lookup_clear(struct axp__lookup *m)
{
    for (unsigned i = 0; i < AXP__LOOKUP_TABLES; i++) {
        size_t bytes = table_slots(i) * sizeof(struct axp__slot);
        if (!m->table[i]) continue;
        axp__unmap(m->table[i], bytes);
        axp__budget_give(m->budget, bytes);
        axp__budget_apart(m->budget, -bytes);
        m->table[i] = NULL;
    }
}
