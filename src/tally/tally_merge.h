/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One tally added to another: threads that ended, into one.
 *
 * Threads  nobody writes to either but the caller.
 * Failure  where `to` has no memory, paths fold into "(other)"; false: more
 *          than paths was lost.
 */
#ifndef AXP_TALLY_MERGE_H
#define AXP_TALLY_MERGE_H
#include "tally/tally_scope.h"

/* lifetime_ticks: of the thread that `from` belonged to, remembered with each
 * op that ran on it. `from` has no open scopes and may be disturbed. */
bool axp__tally_merge(struct axp__tally *to, struct axp__tally *from,
                      uint64_t lifetime_ticks);
/* Places, which a reader's folds do not have. heap_now: tally_heap.h. */
bool axp__tally_merge_places(struct axp__tally *to,
                             const struct axp__tally *from, uint64_t heap_now);

#endif
