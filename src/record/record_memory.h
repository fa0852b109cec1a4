/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What allocations of the program and of tracks share; record_memory.c.
 * All are called in an entered lane. */
#ifndef AXP_RECORD_MEMORY_H
#define AXP_RECORD_MEMORY_H
#include "record/record_lane.h"

/* A block's size and name share a word of the table. */
#define AXP__MAX_BLOCK (((uint64_t)1 << (64 - AXP__NAME_BITS)) - 1)

struct axp__mem_event {
    uint32_t name;
    uint32_t kind; /* axp_mem */
    uint64_t bytes;
    uint64_t address; /* 0: by name alone */
    uint64_t now;     /* ticks */
    uint64_t at_ns;   /* on a track: as the caller gave it */
    uint32_t stack;   /* its id; AXP__STACK_NONE: not known */
};

/* A name as it was called last, with the lane's records for it. What stood at
 * the pointer is checked at each use: see axp__cached_name. */
struct axp__memo {
    const char *pointer;
    uint64_t word[2], mask[2];
    struct axp__traffic *traffic;
    struct axp__purse *own;
    uint32_t id;
    uint32_t reserved;
} __attribute__((aligned(64)));
#define AXP__MEMOS 64u /* a lane, made with its first allocation */

bool axp__memory_check_size(struct axp__lane *lane, uint64_t bytes,
                            uint32_t name);
void axp__memory_record_alloc(struct axp__lane *lane,
                              const struct axp__mem_event *e);
void axp__memory_record_free(struct axp__lane *lane,
                             const struct axp__mem_event *e);
/* By address; key tells addresses of different spaces apart. */
void axp__memory_record_block(struct axp__lane *lane, uint64_t key,
                              const struct axp__mem_event *e);
void axp__memory_record_unblock(struct axp__lane *lane, uint64_t key,
                                uint64_t address, uint64_t now, uint64_t at_ns);
/* The allocator has a block back: if it was tracked and nobody said that it
 * ended, it ends here. Who says so afterwards is right, too. */
void axp__memory_end_block(struct axp__lane *lane, uint64_t address);
/* It did not go after all; true: it is tracked again. */
bool axp__memory_keep_block(struct axp__lane *lane, uint64_t address);
/* Where a name is remembered. HOT */
static inline struct axp__memo *axp__memo_at(const struct axp__lane *lane,
                                             const char *name)
{
    uintptr_t at = (uintptr_t)name >> 3;
    return &lane->memos[(at ^ at >> 6) % AXP__MEMOS];
}

/* Remembers how a name was called, for the next time. */
void axp__memory_remember(struct axp__lane *lane, const char *name,
                          uint32_t id);
/* A free of more than its name held. */
void axp__memory_warn_excess(struct axp__lane *lane, uint32_t name);
/* The lane's thread has ended: others may have its purses. */
void axp__memory_leave(struct axp__lane *lane);

#endif
