/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Scopes that other threads may end, by name or by token; record_named.c. */
#ifndef AXP_RECORD_NAMED_H
#define AXP_RECORD_NAMED_H
#include "record/record_lane.h"

/* Drops the frames of scopes that other threads ended. By the lane's owner,
 * or by anyone under the profiler's mutex once the owner is gone. */
void axp__named_settle(struct axp__lane *lane);
/* Closes what is open as abandoned, where its thread ended; by the profiler's
 * mutex. */
void axp__named_abandon_all(struct axp__lane *lane);
/* Tells a lane that its scope with this token was ended here; false: it has
 * been told already, or has no room for the message. */
bool axp__named_post(struct axp__lane *lane, uint64_t token);
/* Counts a call that began on another thread. */
void axp__named_count_cross(struct axp__lane *mine, uint32_t name,
                            uint64_t begin_ticks, uint32_t row, uint64_t now);
/* Whether the scope of a frame was ended by another thread already. */
bool axp__named_is_claimed(const struct axp__lane *lane,
                           const struct axp__frame *f);

#endif
