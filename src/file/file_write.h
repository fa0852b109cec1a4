/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Captures written as a finished file: header, texts, names, rows, packed
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
    bool is_raw;       /* chunks as they are, for tests */
    bool is_stateless; /* without accumulators, for tests */
};

axp_status axp__file_write(const char *path, bool may_replace,
                           const struct axp__to_write *what);

/* Several recordings into one file (file_spans.h), one after the other. What
 * fails in between is told when it is closed. NULL: no memory. */
struct axp__writer *axp__writer_open(const char *path);
bool axp__writer_add(struct axp__writer *w, const struct axp__to_write *what);
/* One that is complete, byte by byte. */
bool axp__writer_copy(struct axp__writer *w, const struct axp__file *f);
/* Gives the file its name, if it is wanted; else nothing is left. */
axp_status axp__writer_close(struct axp__writer *w, bool is_wanted,
                             bool may_replace);

#endif
