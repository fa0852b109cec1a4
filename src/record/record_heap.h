/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What an allocator hands out, as an adapter tells of it; record_heap.c. */
#ifndef AXP_RECORD_HEAP_H
#define AXP_RECORD_HEAP_H
#include "record/record_lane.h"
#include "wire/wire_place.h"

#include "axprof/axprof_adapter.h"

#define AXP__HEAP_MEMOS 8192u /* of a lane; touched as they are used */

/* A place as this lane last came to it: by stack and innermost scope. */
struct axp__heap_memo {
    uint64_t key; /* 0: none */
    struct axp__heap_place *place;
    uint32_t id;
    uint32_t reserved;
};

/* A lane begins, and its thread has ended: others may have its purse. */
void axp__heap_begin_lane(struct axp__lane *lane);
void axp__heap_leave(struct axp__lane *lane);
/* In an entered lane: the program calls a block so. */
void axp__heap_label(struct axp__lane *lane, uint64_t address, uint32_t name);
/* This thread's lane, entered, if it needs no question; NULL: it does. */
struct axp__lane *axp__heap_enter_lane(void);

/* ---- record_heap_places.c ------------------------------------------------------ */
/* The name of where a lane is. Past the last one stacks are left out, and then
 * scopes too. */
uint32_t axp__heap_name_place(struct axp__lane *lane,
                              const axp_heap_stack *stack);
/* The name of a place; 0: there are too many. */
uint32_t axp__heap_register(struct axp__heap *h,
                            const struct axp__heap_place_parts *parts);

/* This lane's record of a place; NULL: no memory. */
static inline struct axp__heap_place *axp__heap_place_of(struct axp__lane *lane,
                                                         uint32_t id)
{
    const struct axp__entry *e = axp__tally_peek(
        &lane->tally, axp__path_of(AXP__OF_PLACES), AXP__LABEL(id));
    return axp__likely(e != NULL) ? (struct axp__heap_place *)e->record
                                  : axp__tally_place(&lane->tally, id);
}

/* ---- record_heap_time.c: of an entered lane -------------------------------------- */
/* Its part of what is live, now. */
void axp__heap_lane_tell(struct axp__lane *lane);
/* It allocates there for the first time. */
void axp__heap_lane_first(struct axp__lane *lane,
                          struct axp__heap_place *place);
/* A block that was just put is known from now on. */
void axp__heap_note(struct axp__lane *lane, uint64_t address, uint64_t bytes,
                    uint32_t place);
/* One that was is gone; returns its value without the mark. */
uint64_t axp__heap_unnote(struct axp__lane *lane, uint64_t address,
                          uint64_t value);
/* One that was, and was put again, has another place. */
void axp__heap_renote(struct axp__lane *lane, uint64_t address, uint32_t place);

#endif
