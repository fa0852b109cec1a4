/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What two captures count, side by side: one row of numbers for each node, op,
 * allocation name and counter, by path or name.
 *
 * Place    file_compare.c fills it from lanes and compares the sides.
 * Failure  is_out_of_memory, and what is there is not all.
 */
#ifndef AXP_FILE_COMPARE_SUMS_H
#define AXP_FILE_COMPARE_SUMS_H
#include "tally/tally_capture.h"

/* What is compared of a node, an op, an allocation name or a counter: its
 * fields in the order of tally_fields.def, doubles as axp__f64_bits. Of ops two
 * more: calls in the histogram, and a number that stands for all of it. */
#define AXP__SUMS_VALUES 16
#define AXP__SUMS_HIST_CALLS 14
#define AXP__SUMS_HIST_ALL 15
struct axp__sums {
    uint32_t parent, name; /* the key: a path, or one of the lists below */
    uint64_t value[2][AXP__SUMS_VALUES];
    uint8_t is_there[2];
    uint8_t has_values[2];
};

/* In place of a path. */
#define AXP__SUMS_OPS 0xfffffff0u
#define AXP__SUMS_TRAFFIC 0xfffffff1u
#define AXP__SUMS_COUNTERS 0xfffffff2u
#define AXP__SUMS_STEPS 0xfffffff3u
#define AXP__SUMS_FRAMES 0xfffffff4u
#define AXP__SUMS_ROOT 0xfffffff5u

struct axp__sums_table {
    struct axp__sums *at;
    uint32_t n, cap;
    uint32_t *slots;
    uint32_t n_slots;
    bool is_out_of_memory;
};

/* Adds a lane to a side, 0 or 1. is_merged: it may be the sum of several. */
void axp__sums_add(struct axp__sums_table *t, const struct axp__capture *c,
                   const struct axp__cap_lane *lane, int side, bool is_merged);
void axp__sums_fini(struct axp__sums_table *t);

#endif
