/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The frame of a trace file: a header, blocks, and at the end an index.
 *
 *   +--------+-------+-----+-------+-----+     +-------+-------+---------+
 *   | file   | block | pad | block | pad | ... | INDEX | pad   | trailer |
 *   | header | head, |     | head, |     |     | block |       |         |
 *   | 128    | body  |     | body  |     |     |       |       | 64      |
 *   +--------+-------+-----+-------+-----+     +-------+-------+---------+
 *
 * Everything is little-endian and begins at a multiple of 8. A block says of
 * itself what it is and how long, and has checksums of its head and of its
 * body, so that a file that ends anywhere is readable up to its last whole
 * block, and one that is damaged after it too. The file of a run that ended
 * well has index and trailer, so that opening it costs the same however long
 * it is. docs/trace-format.md is the description for strangers.
 *
 * Place    written by the drain (src/record) and by src/file, read by
 *          src/file. No memory of its own, no system call.
 * Input    the get functions take any bytes and say what is wrong with them.
 */
#ifndef AXP_WIRE_BLOCK_H
#define AXP_WIRE_BLOCK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "axprof/axprof.h"
#include "wire/wire_word.h"

#define AXP__FILE_VERSION 1u
#define AXP__FILE_HEAD 128u
#define AXP__BLOCK_HEAD 64u
#define AXP__FILE_TAIL 64u

/* Bounds that readers hold claims against before they allocate. */
#define AXP__BODY_MAX ((uint64_t)1 << 31)
#define AXP__PACK_CHUNKS 128u /* chunks in a PACK, at most */
/* Words that a file may claim to hold: so many for each of its bytes, and some
 * for short ones. What repeats packs more tightly than that only where somebody
 * wants to keep readers busy. */
#define AXP__WORDS_A_BYTE 16u
#define AXP__WORDS_FREE ((uint64_t)1 << 24)
#define AXP__WORDS_FREE_EACH 4096u /* where a file holds several recordings */

enum axp__block_kind {
    AXP__B_NONE,
    AXP__B_ABOUT,   /* texts by key (wire_body.h); a later one replaces */
    AXP__B_NAMES,   /* n names from id `seq` on (wire_body.h) */
    AXP__B_ROWS,    /* n rows: threads and tracks (wire_body.h) */
    AXP__B_CHUNK,   /* the n_words words of one chunk, as they were written */
    AXP__B_PACK,    /* n chunks of a row in columns (file_pack.h) */
    AXP__B_STATE,   /* the accumulators (tally_image.h); the last one counts */
    AXP__B_STACKS,  /* n stacks from id `seq` on (wire_stack.h) */
    AXP__B_SAMPLES, /* n samples from outside, in columns (wire_samples.h) */
    AXP__B_INDEX,   /* where all blocks before it are (wire_index.h) */
    AXP__B_STATES,  /* n threads: how long they ran … (wire_states.h) */
    AXP__B_N_KINDS
};

struct axp__block { /* a block's head */
    enum axp__block_kind kind;
    uint32_t flags;      /* 16 bits; none is defined yet */
    uint64_t body_bytes; /* without the padding to a multiple of 8 */
    /* Of timelines: CHUNK, PACK. Others 0 but for what the kind says. */
    uint64_t seq; /* of the (first) chunk */
    uint32_t row;
    uint32_t n;     /* chunks, names, rows, entries */
    uint32_t epoch; /* of the profiler: changes with axp_reset */
    uint32_t n_words;
    uint64_t n_events;
    uint64_t base_ticks; /* of the (first) chunk */
    uint32_t body_crc;
};

struct axp__file_head {
    uint32_t version;
    uint8_t run_id[16];  /* the same in all processes of a run */
    uint8_t boot_id[16]; /* of the host: ticks are comparable within one */
    uint64_t process_id;
    uint32_t incarnation; /* of the process id, in this run */
    int32_t rank;         /* -1: none */
    uint64_t start_ticks;
    struct { /* the clocks at one moment near the start */
        uint64_t ticks, monotonic_ns, realtime_ns;
    } clock;
    uint32_t clock_source; /* enum axp__clock_source */
    uint32_t n_after;      /* recordings that follow it in its file */
};

struct axp__file_tail {
    uint64_t index_at;   /* of the INDEX block's head */
    uint64_t file_bytes; /* of all, the trailer included */
};

enum axp__block_error {
    AXP__BLOCK_OK,
    AXP__BLOCK_NOT_ONE,   /* no magic: not a trace, not a block */
    AXP__BLOCK_NEWER,     /* a version that this reader does not know */
    AXP__BLOCK_CHECKSUM,  /* the head's own */
    AXP__BLOCK_IMPOSSIBLE /* a length or count that cannot be */
};

/* ---- checksums --------------------------------------------------------------- */
/* CRC-32C, continued from `crc` (0 at first). By the processor's instruction
 * where it has one, else 8 tables. */
AXP_API uint32_t axp__crc32c(uint32_t crc, const void *bytes, size_t n);
/* Without the instruction; for tests. */
uint32_t axp__crc32c_by_table(uint32_t crc, const void *bytes, size_t n);

/* ---- writing ----------------------------------------------------------------- */
AXP_API void axp__file_head_put(uint8_t out[AXP__FILE_HEAD],
                                const struct axp__file_head *head);
void axp__file_tail_put(uint8_t out[AXP__FILE_TAIL],
                        const struct axp__file_tail *tail);
/* The head of a block whose length and checksum are filled in already. */
AXP_API void axp__block_put(uint8_t out[AXP__BLOCK_HEAD],
                            const struct axp__block *block);
/* The same for a body that lies in pieces: sets length and checksum. */
void axp__block_seal(uint8_t out[AXP__BLOCK_HEAD], struct axp__block *block,
                     const struct iovec *body, int n_pieces);
/* A chunk's block: its body is chunk->words, n_words of them. */
void axp__block_of_chunk(struct axp__block *out, const struct axp__chunk *chunk,
                         uint64_t n_words, uint64_t n_events);
/* The block of n consecutive chunks of a row, packed, but for length and
 * checksum. */
void axp__block_of_pack(struct axp__block *out,
                        const struct axp__chunk *const *chunks, size_t n);

/* ---- reading ----------------------------------------------------------------- */
AXP_API enum axp__block_error axp__file_head_get(
    const uint8_t in[AXP__FILE_HEAD], struct axp__file_head *out);
AXP_API enum axp__block_error axp__file_tail_get(
    const uint8_t in[AXP__FILE_TAIL], struct axp__file_tail *out);
/* An unknown kind is no error: the reader skips it. */
AXP_API enum axp__block_error axp__block_get(const uint8_t in[AXP__BLOCK_HEAD],
                                             struct axp__block *out);

/* Bytes from a block's head to the next one's. */
static inline uint64_t axp__block_span(const struct axp__block *b)
{
    return AXP__BLOCK_HEAD + ((b->body_bytes + 7) & ~(uint64_t)7);
}

static inline bool axp__block_is_timeline(const struct axp__block *b)
{
    return b->kind == AXP__B_CHUNK || b->kind == AXP__B_PACK;
}

AXP_API const char *axp__block_kind_name(
    enum axp__block_kind kind); /* "names" */

/* ---- packing, as the drain calls it -------------------------------------------- */
/* libaxprof gives rt the way to pack; without it chunks are written raw. The
 * context is one drain's own. */
struct axp__packing {
    void *(*open)(void); /* NULL: no memory */
    /* The body of a PACK of n consecutive chunks of one row and epoch, whose
     * n_words and n_events are set; 0: it does not fit or does not pay. */
    size_t (*pack)(void *packer, const struct axp__chunk *const *chunks,
                   size_t n, void *out, size_t cap);
    void (*close)(void *packer);
};

#endif
