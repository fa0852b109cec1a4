/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What is live, by name and in all, shared by the threads of a profiler.
 *
 * Exact across threads: one atomic counter in all and one a name. The peak is
 * the highest value the counter reached. What every name held at that moment:
 * each new peak begins an epoch, and a name saves its value before its first
 * change in an epoch; a name that has not changed since the peak holds now
 * what it held then. With events serialised this is exact; with threads that
 * race it is defined to one block in flight a thread.
 *
 * Cost       an atomic add on the name's line and one on the total's.
 * Ownership  records live in mappings of the struct until clear.
 * Threads    all functions from any thread; clear and first_step from one.
 * Not here   counts and sums of traffic: each thread keeps its own
 *            (axp__traffic), so that they cost no shared line.
 */
#ifndef AXP_TALLY_MEMORY_H
#define AXP_TALLY_MEMORY_H
#include "base/base_budget.h"

#define AXP__LIVE_PAGE 1024u /* names a page */
#define AXP__LIVE_PAGES 1024u

struct axp__live_name {
    uint32_t name;
    uint32_t kind; /* axp_mem */
    int64_t current_bytes;
    uint64_t peak_bytes;
    uint64_t epoch;       /* in which saved_bytes was saved */
    uint64_t saved_bytes; /* held when that epoch began */
    uint64_t since_ticks; /* when it last rose from nothing … */
    uint64_t since_row;   /* … and by whom */
    uint64_t first_step_bytes;
} __attribute__((aligned(64)));

struct axp__memory {
    int64_t current_bytes;
    uint64_t peak_bytes;
    uint64_t epoch;
    uint64_t peak_ticks;
    struct axp__budget *budget __attribute__((aligned(64)));
    struct axp__live_name **page[AXP__LIVE_PAGES];
    struct axp__live_block *blocks; /* where the records lie */
};

/* The record of a name; NULL: none (find), no memory (get). */
struct axp__live_name *axp__memory_find(struct axp__memory *m, uint32_t name);
struct axp__live_name *axp__memory_get(struct axp__memory *m, uint32_t name);
void axp__memory_alloc(struct axp__memory *m, struct axp__live_name *live,
                       uint64_t bytes, uint64_t now, uint64_t row);
/* live may be NULL: a name that never allocated. Returns how many of the
 * bytes the name did not have. */
uint64_t axp__memory_free(struct axp__memory *m, struct axp__live_name *live,
                          uint64_t bytes);
uint64_t axp__memory_current(const struct axp__memory *m);
/* What a name held when the peak was reached. */
uint64_t axp__memory_at_peak(const struct axp__memory *m,
                             const struct axp__live_name *live);
/* Remembers what every name holds when the first step ends. */
void axp__memory_mark_first_step(struct axp__memory *m);
/* Calls fn for every name. */
void axp__memory_each(struct axp__memory *m,
                      void (*fn)(void *ctx, struct axp__live_name *),
                      void *ctx);
/* The caller knows that nobody else is inside. */
void axp__memory_clear(struct axp__memory *m);

#endif
