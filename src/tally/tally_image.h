/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A capture as bytes: the body of a STATE block.
 *
 * A sequence of tables. A table is its number, the number of its records, the
 * number of fields in a record, and then all fields of all records as varints
 * (base_bytes.h). A reader that knows fewer fields skips the rest; one that
 * knows more takes 0: tables grow at their end and keep their numbers. A table
 * with 0 fields is so many raw bytes. Which tables and fields there are is in
 * tally_image.def, read by the writer here and the reader in src/file.
 *
 * Place    finish in src/record writes one; file_image.c reads it.
 * Holds    everything of a capture but its chunks and the names of ids.
 * Memory   a buffer of 4 KiB on the stack.
 */
#ifndef AXP_TALLY_IMAGE_H
#define AXP_TALLY_IMAGE_H
#include "tally/tally_capture.h"

typedef bool (*axp__write_fn)(void *ctx, const void *bytes, size_t n);

/* False: the function returned false. */
AXP_API bool axp__image_write(const struct axp__capture *c, uint32_t epoch,
                              axp__write_fn write, void *ctx);

#endif
