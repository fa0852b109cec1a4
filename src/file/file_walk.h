/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* All blocks of a file, in its order, without a table of them.
 *
 *   finished    the entries of its index, some 25 bytes each, read a piece at
 *               a time
 *   otherwise   the heads of its blocks, where opening has found them
 *
 * A file of 100 M scopes has 1,000 blocks where it was packed and 100,000
 * where it was not. A walk over the latter takes 10 ms.
 *
 * Place    what opens a file, lists its timeline, checks it, tells of it.
 * Memory   the struct's own.
 * Input    untrusted: an entry is held against what its own head would be
 *          held against, and against the file; entries rise.
 */
#ifndef AXP_FILE_WALK_H
#define AXP_FILE_WALK_H
#include "file/file_read.h"

struct axp__file_walk {
    const struct axp__file *f;
    struct axp__index_entry entry; /* of the current block */
    uint64_t n;                    /* blocks so far */
    bool is_bad;                   /* ended by what cannot be */
    /* private */
    uint64_t at, end; /* of the index: what was not read yet; or a place's */
    struct axp__bytes bytes; /* of buffer */
    uint8_t buffer[4096];
};

void axp__file_walk_begin(struct axp__file_walk *w, const struct axp__file *f);
/* Goes to the next block; false: there is none. */
bool axp__file_walk_next(struct axp__file_walk *w);

#endif
