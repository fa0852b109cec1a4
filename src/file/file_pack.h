/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Chunks of one row packed into columns, and back: the body of a PACK block.
 *
 * A timeline says the same things again and again at different times. So what
 * is said and when are taken apart:
 *
 *   words   BEGIN mm t0 · WORK t0 f b · DIMS t0 d d d · END mm t1 · BEGIN …
 *   symbols      7                                        0          9   …
 *   times        t0 - before                              t1 - t0    …
 *
 * A *template* is a record without its time, together with what was said of
 * the scope at the same moment: work, sizes, category. A *symbol* is the
 * number of a template, one byte where there are few enough. The end of the
 * scope that was begun last is symbol 0, whatever its name. Payload that
 * differs each time (addresses, counters) goes to a column of literals, less
 * the payload of that template before.
 *
 * The time since the symbol before is a number of bits in one of two windows,
 * and a flag says in which: how wide they are and where they begin is chosen
 * for each template, and for the end of each, from the times in this pack.
 * That leaves little more than the noise of the clock: on examples/gpt's
 * default run 13 bits a time, two times a scope. What fits neither window is
 * an exception, 8 bytes.
 *
 * zstd, at its fastest, is used on each column for which it pays: it does on
 * symbols and literals, and never on times.
 *
 * Exact    unpacking gives the very words. A chunk that holds anything else
 *          than the recorder writes is not packed (it is stored raw).
 * Place    the drain of a program that has libaxprof; axp_file_pack.
 * Memory   a packer owns 8 MiB; unpacking allocates what the block's head
 *          claims, which wire_block.c has bounded.
 * Threads  a packer has one user at a time.
 * Input    of unpacking untrusted.
 */
#ifndef AXP_FILE_PACK_H
#define AXP_FILE_PACK_H
#include "wire/wire_block.h"

struct axp__packer;
struct axp__packer *axp__packer_create(void); /* NULL: no memory */
void axp__packer_destroy(struct axp__packer *p);
/* The body of a PACK: chunks of one row with n_words and n_events set, in the
 * order of their seq, AXP__PACK_CHUNKS at most. 0: does not fit or pay. */
size_t axp__packer_pack(struct axp__packer *p,
                        const struct axp__chunk *const *chunks, size_t n,
                        void *out, size_t cap);
/* The same for the drain in rt. */
extern const struct axp__packing axp__file_packing;

struct axp__unpacked_chunk {
    uint64_t seq, base_ticks;
    size_t first, n_words; /* in words */
    uint64_t n_events;
};

/* Words of all chunks. Before those of each but the first stands a TIME word
 * with its base, so that they read as one. */
struct axp__unpacked {
    uint64_t *words;
    size_t n_words;
    struct axp__unpacked_chunk chunk[AXP__PACK_CHUNKS];
    size_t n_chunks;
};

enum axp__unpack_result {
    AXP__UNPACK_OK,
    AXP__UNPACK_DAMAGED,
    AXP__UNPACK_NO_MEMORY
};

/* Frees with axp__unpacked_fini, also after a failure. */
enum axp__unpack_result axp__file_unpack(const struct axp__block *head,
                                         const uint8_t *body,
                                         struct axp__unpacked *out);
void axp__unpacked_fini(struct axp__unpacked *u);

#endif
