/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A capture as bytes: the body of a STATE block.
 *
 * A sequence of tables. A table is its number, the number of its records, the
 * number of fields in a record, and then all fields of all records as varints
 * (base_bytes.h). A reader that knows fewer fields skips the rest; one that
 * knows more takes 0: tables grow at their end and keep their numbers. A table
 * with 0 fields is so many raw bytes. Which tables and fields there are is in
 * tally_fields.def, read by the writer here and the reader in src/file.
 *
 * Place    finish in src/record writes one; file_image.c reads it.
 * Holds    everything of a capture but its title, its chunks, and the names
 *          of ids. A capture holds no epoch: that is in the block's head.
 * Memory   a buffer of 4 KiB on the stack.
 */
#ifndef AXP_TALLY_IMAGE_H
#define AXP_TALLY_IMAGE_H
#include "axprof/axprof.h"
#include "tally/tally_capture.h"
#include "tally/tally_fields.def"

enum axp__image_table {
#define X(number, table) AXP__T_##table = number,
    AXP__IMAGE_TABLES(X)
#undef X
        AXP__T_N_TABLES
};

/* What the records of HIST and STEPS hold. */
struct axp__image_hist {
    uint32_t op, page;
    uint64_t mask;
};
struct axp__image_steps {
    uint32_t lane;
    uint64_t calls, ticks, min_ticks, max_ticks, stride, n_recent;
    uint32_t n_slowest, n_sampled;
};

typedef bool (*axp__write_fn)(void *ctx, const void *bytes, size_t n);

/* False: the function returned false. */
AXP_API bool axp__image_write(const struct axp__capture *c, axp__write_fn write,
                              void *ctx);

#endif
