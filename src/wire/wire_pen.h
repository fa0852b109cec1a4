/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A pen: the one writer of trace files. Blocks are appended, one after the
 * other (wire_block.h), small ones record by record (wire_body.h), and at the
 * end an index.
 *
 *   head ─► about · names · rows ─► chunks, packed or not ─► … ─► index
 *           gathered in the body    axp__pen_chunks
 *
 * Place    the drain's and finish's in src/record, and src/file's, which say
 *          what is written and when. Who packs leaves the packed bytes in the
 *          body first.
 * Ownership descriptor and body are the caller's. No pointer leads into the
 *          pen itself, so that it may be copied.
 * Threads  one at a time. No memory of its own, no lock.
 * Failure  the first error is kept, and nothing is written after it: what is
 *          in the file stays whole.
 */
#ifndef AXP_WIRE_PEN_H
#define AXP_WIRE_PEN_H
#include "wire/wire_body.h"

#define AXP__PEN_BODY ((size_t)AXP__PACK_CHUNKS * AXP__CHUNK_BYTES)

struct axp__pen {
    int fd;        /* where the file is open now, else -1 */
    int error;     /* errno of the first failure */
    uint64_t base; /* where the recording begins in its file */
    uint64_t end;  /* of what was written, from there on */
    uint8_t *body; /* AXP__PEN_BODY bytes */
    size_t used;   /* of the body, by records of `block` */
    struct axp__block block;
    uint64_t long_bytes; /* of the block that is being written in pieces */
    uint32_t long_crc;
};

/* Bytes at an offset from the base: all of them, or false. A read that fails
 * is no error of the pen. */
AXP_API bool axp__pen_write(struct axp__pen *pen, uint64_t at,
                            const void *bytes, size_t n);
bool axp__pen_read(struct axp__pen *pen, uint64_t at, void *bytes, size_t n);

/* The file's head, again and again if need be. `end` stays. */
AXP_API bool axp__pen_head(struct axp__pen *pen,
                           const struct axp__file_head *head);
/* One block; sets its length and checksum. */
AXP_API bool axp__pen_block(struct axp__pen *pen, struct axp__block *block,
                            const void *body, size_t n);

/* Records of one kind, in as many blocks as they need, from the first (names
 * and stacks have a number, others 0) to axp__pen_flush. */
AXP_API void axp__pen_gather(struct axp__pen *pen, enum axp__block_kind kind,
                             uint32_t first);
AXP_API bool axp__pen_about(struct axp__pen *pen, const char *key,
                            struct axp__slice value);
/* The same, for those who tell it to a function: `pen` is one. */
static inline bool axp__pen_tell(void *pen, const char *key, const char *value,
                                 size_t len)
{
    return axp__pen_about(pen, key, (struct axp__slice){value, len});
}
AXP_API bool axp__pen_name(struct axp__pen *pen,
                           const struct axp__name_record *name);
AXP_API bool axp__pen_row(struct axp__pen *pen,
                          const struct axp__row_record *row);
/* n records that lie as they are to be. */
AXP_API bool axp__pen_records(struct axp__pen *pen, uint32_t n,
                              const void *bytes, size_t len);
AXP_API bool axp__pen_flush(struct axp__pen *pen);

/* Consecutive chunks of one row: the `packed` bytes of the body; where that is 0,
 * any chunks, each as it is. Returns how many are written. */
AXP_API size_t axp__pen_chunks(struct axp__pen *pen,
                               const struct axp__chunk *const *chunks, size_t n,
                               size_t packed);

/* A block whose length is not known before: its head is written last. The
 * second is an axp__write_fn (tally_image.h), whose context is the pen. */
AXP_API void axp__pen_long_begin(struct axp__pen *pen);
AXP_API bool axp__pen_long_more(void *pen, const void *bytes, size_t n);
AXP_API bool axp__pen_long_end(struct axp__pen *pen, struct axp__block *block);

/* Index and trailer (wire_index.h); `end` is the length of the whole then. */
AXP_API bool axp__pen_finish(struct axp__pen *pen);

#endif
