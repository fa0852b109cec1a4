/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A map from 64-bit keys to 64-bit values that any thread changes and nobody
 * waits for: live memory blocks by address, open async spans by id.
 *
 *   tables   [4 K][16 K][64 K][256 K] …   slots, each table added when all
 *   slot     key, value                   windows of a key are full
 *   window   8 neighbouring slots: a key lies in its window or nowhere
 *
 * Because a window is always read whole, a freed slot is simply empty again:
 * no tombstones, no chains, no moving. Lookups go from the newest (largest)
 * table back; inserts take the first free slot in the same order, so with
 * several tables a key has several windows and they fill to about 90 %.
 * Cost: 16 bytes a slot; one or two cache misses a call with a million live.
 *
 * Threads  all functions, from any thread, lock-free. A key that two threads
 *          put at the same moment may be there twice; for blocks that is the
 *          client's own race.
 * Failure  AXP__PUT_FULL, nothing changed.
 */
#ifndef AXP_TALLY_LOOKUP_H
#define AXP_TALLY_LOOKUP_H
#include "base/base_budget.h"

#define AXP__LOOKUP_TABLES 8

struct axp__slot {
    uint64_t key, value;
};

struct axp__lookup {
    struct axp__budget *budget;
    struct axp__slot *table[AXP__LOOKUP_TABLES];
};

enum axp__put_result { AXP__PUT_NEW, AXP__PUT_REPLACED, AXP__PUT_FULL };

/* *old is the replaced value, where one was. */
enum axp__put_result axp__lookup_put(struct axp__lookup *m, uint64_t key,
                                     uint64_t value, uint64_t *old);
/* Removes; false: no such key. */
bool axp__lookup_take(struct axp__lookup *m, uint64_t key, uint64_t *value);
/* The caller knows that nobody else is inside. */
void axp__lookup_clear(struct axp__lookup *m);

#endif
