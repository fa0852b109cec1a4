/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The index: what a finished file holds and where, so that a reader need not
 * look for it.
 *
 * The writer needs no memory for it: the heads of the blocks are in the file,
 * and at the end they are read once more (0.1 s for 100,000 blocks, that is
 * 1.6 GB of raw words; packed, 32 times less).
 *
 * Body: for each block of the file, in the order of the file, the
 * fields of its head as varints (wire_index.c says which).
 *
 * Place    written by finish in src/record and by src/file.
 * Failure  false: a call back failed, or the file is not one of ours; what
 *          was written lies after `end` and means nothing without a trailer.
 */
#ifndef AXP_WIRE_INDEX_H
#define AXP_WIRE_INDEX_H
#include "base/base_bytes.h"
#include "wire/wire_block.h"

/* Reading and writing the file at an offset: all of it, or false. */
struct axp__file_io {
    bool (*read)(void *ctx, uint64_t at, void *bytes, size_t n);
    bool (*write)(void *ctx, uint64_t at, const void *bytes, size_t n);
    void *ctx;
};

#define AXP__INDEX_FIELDS 12u
#define AXP__INDEX_ENTRY_MAX (AXP__INDEX_FIELDS * AXP__VARINT_MAX) /* bytes */

struct axp__index_entry {
    uint64_t at; /* of the block's head */
    struct axp__block block;
};

/* Appends INDEX and trailer to a file whose blocks end at `end`. Leaves a
 * file with a trailer alone in one order: body, trailer, head of the INDEX
 * last, so that a file which has it is whole. *end becomes its length. */
bool axp__index_write(const struct axp__file_io *io, uint64_t *end);

/* The next entry; `last` is the one before, zero at first. */
AXP_API bool axp__index_get(struct axp__bytes *b,
                            struct axp__index_entry *last);

#endif
