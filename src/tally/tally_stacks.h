/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Stacks, each stored once: bytes (wire_stack.h) to a 32-bit id, and back.
 *
 *   slots   4 K, 16 K, 64 K … of them; a stack has a window of 8 in each
 *   +------------------+----------+
 *   | 32 bits of hash  |    id    |   set by one compare-and-swap, for good
 *   +------------------+----------+
 *                           │
 *   cells   id ─► where     ▼         4096 a page, filled one after the other
 *           the bytes are  [ref]
 *                           │
 *   bytes   segments of     ▼
 *           64 KiB         [length, bytes]
 *
 * A stack is made whole first: its bytes, then its cell, which gives it its id,
 * then its slot, by which others find it. All look in the same order and take
 * the first slot that is free, so that two threads with one new stack meet
 * there: one of them wins, and the other's id is void and never referred to.
 * Wherever a process is killed, no id is known of a stack that is not whole,
 * and cells are whole up to the first that is 0.
 *
 * Place      a profiler has one (record_alloc.c); the drain and captures read
 *            cells and bytes, which lie in its spool; slots need no reader.
 * Limit      a quarter of the profiler's budget, and 4 M stacks. Without a
 *            stack it takes one pointer.
 * Ownership  the table maps its parts, draws them from the budget it is given
 *            and returns both in clear.
 * Threads    all functions from any thread and in handlers, lock-free; clear
 *            when nobody else is inside.
 * Failure    AXP__STACK_NO_ROOM.
 */
#ifndef AXP_TALLY_STACKS_H
#define AXP_TALLY_STACKS_H
#include "base/base_budget.h"

#define AXP__STACK_TABLES 7u
#define AXP__STACK_CELLS 4096u /* of a page */
#define AXP__STACK_PAGES 1024u
#define AXP__STACK_SEGS 2048u
#define AXP__STACK_SEG_SHIFT 13 /* of a ref: 8-byte units of a segment */
#define AXP__STACK_SEG_BYTES (8u << AXP__STACK_SEG_SHIFT)
#define AXP__STACK_VOID UINT32_MAX /* in a cell: of who came second */

struct axp__stack_seg {
    uint64_t used; /* may pass the end: then it is full */
    char bytes[AXP__STACK_SEG_BYTES - 8];
};

struct axp__stack_bytes { /* in a segment */
    uint32_t n;
    uint8_t bytes[];
};

struct axp__stack_table {
    uint64_t used_bytes; /* of the budget */
    uint32_t n_cells;    /* no more than are filled */
    uint32_t n_segs;
    uint64_t *slots[AXP__STACK_TABLES];
    uint32_t *page[AXP__STACK_PAGES]; /* cells */
    struct axp__stack_seg *seg[AXP__STACK_SEGS];
};

struct axp__stacks {
    struct axp__stack_table *table; /* NULL until there is a stack */
};

/* The id of a stack's bytes, of AXP__STACK_MOST frames at most. */
uint32_t axp__stacks_intern(struct axp__stacks *s, struct axp__budget *budget,
                            const uint8_t *bytes, uint32_t n);
/* Ids are below this, and at least AXP__STACK_FIRST. */
uint32_t axp__stacks_end(const struct axp__stacks *s);
/* The bytes of an id below the end; NULL: it is void. */
const struct axp__stack_bytes *axp__stacks_at(const struct axp__stacks *s,
                                              uint32_t id);
void axp__stacks_clear(struct axp__stacks *s, struct axp__budget *budget);

#endif
