/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What scopes by token and scopes by name share. */
#ifndef AXP_RECORD_SCOPE_H
#define AXP_RECORD_SCOPE_H
#include "base/base_sized.h"
#include "record/record_lane.h"

/* Closes a scope at `now`, with a word of that kind. */
void axp__scope_close(struct axp__lane *lane, struct axp__frame *f,
                      enum axp__word_kind kind, uint64_t now);
#define AXP__MAX_WORK 1e300
/* A caller's work, in `room` where its size is another than ours. */
static inline const axp_work *axp__work_of(const axp_work *given, size_t size,
                                           axp_work *room)
{
    if (axp__likely(size == sizeof *room)) return given;
    axp__sized_copy(room, sizeof *room, given, size);
    return room;
}
/* Declared work without what cannot be, which is counted; returns the name that
 * its scope begins under: of its shape, where the work has dims. */
uint32_t axp__work_check(struct axp__lane *lane, const axp_work *work,
                         uint32_t name, struct axp__work *out);
/* The same; *is_told: the name tells the work too, so that no word need. */
uint32_t axp__work_name(struct axp__lane *lane, const axp_work *work,
                        uint32_t name, struct axp__work *out, bool *is_told);
/* Dims of the innermost scope, told after it has begun; name: of the shape. */
void axp__scope_set_dims(struct axp__lane *lane, uint32_t name,
                         const uint32_t dims[6], uint64_t now);
/* Adds it to an open scope of the lane. */
void axp__scope_add_work(struct axp__lane *lane, struct axp__frame *f,
                         const struct axp__work *work, uint64_t now);

#endif
