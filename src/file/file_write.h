/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A capture written as a finished file: header, texts, names, rows, packed
 * timeline, accumulators, index.
 *
 * Place      axp_file_pack; tests make files with it.
 * Safety     a file of its own beside the one that is wanted, mode 0600, that
 *            takes its name when all of it is there; nothing that exists is
 *            overwritten unless the caller says so. On failure nothing is
 *            left.
 * Memory     a packer, 128 chunks, and the longest of the other blocks.
 */
#ifndef AXP_FILE_WRITE_H
#define AXP_FILE_WRITE_H
#include "file/file_texts.h"

struct axp__to_write {
    const struct axp__capture *capture;
    const struct axp__file_head *head;
    const struct axp__about *about; /* NULL: none but the title */
    uint32_t epoch;
    /* Chunks of threads that end before this are left out; 0: none. */
    uint64_t from_ticks;
    bool is_whole;     /* fails where a block cannot be read */
    bool is_raw;       /* chunks as they are, for tests */
    bool is_stateless; /* without accumulators, for tests */
};

axp_status axp__file_write(const char *path, bool may_replace,
                           const struct axp__to_write *w);

#endif
