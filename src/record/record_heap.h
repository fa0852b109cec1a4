/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What an allocator hands out, as an adapter tells of it; record_heap.c. */
#ifndef AXP_RECORD_HEAP_H
#define AXP_RECORD_HEAP_H
#include "record/record_lane.h"

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

#endif
