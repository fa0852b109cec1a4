/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A trace file open for reading: what blocks it has, and where.
 *
 *   finished    by its trailer and index: nothing else is read, so that
 *               opening costs the same however long the file is, but for the
 *               index itself
 *   otherwise   from block to block, every checksum compared, up to the last
 *               whole block; what is damaged is passed over and counted
 *
 * Place      below axp_open, `axprof info`, `check` and `pack`.
 * Input      untrusted: any bytes. Read with pread, never mapped: a file that
 *            somebody shortens meanwhile is an error, and not a signal.
 * Memory     5 bytes a block of the timeline, and of a file that is not
 *            finished as much again: 1 MB where 100 M scopes were not packed.
 * Ownership  create gives; the capture's list of sources may take over
 *            (axp__file_as_source).
 * Threads    a file that is open does not change: any number may load.
 * Failure    a status, the sentence in axp_last_error, and in axp__file_fault
 *            where in the file.
 */
#ifndef AXP_FILE_READ_H
#define AXP_FILE_READ_H
#include "base/base_bytes.h"
#include "file/file_spans.h"
#include "tally/tally_capture.h"
#include "wire/wire_index.h"

struct axp__file_fault { /* the first thing that is wrong */
    uint64_t at;         /* byte in the file */
    const char *what;    /* NULL: nothing is */
};

/* Where blocks are: 5 bytes each, in units of 8. */
#define AXP__PLACE_BYTES 5u
#define AXP__PLACE_END ((uint64_t)8 << 40)

static inline uint64_t axp__place_at(const uint8_t *places, uint64_t i)
{
    const uint8_t *p = places + AXP__PLACE_BYTES * i;
    return ((uint64_t)p[4] << 32 | axp__get_u32(p)) * 8;
}

static inline void axp__place_put(uint8_t *places, uint64_t i, uint64_t at)
{
    uint8_t *p = places + AXP__PLACE_BYTES * i;
    axp__put_u32(p, (uint32_t)(at / 8));
    p[4] = (uint8_t)(at / 8 >> 32);
}

struct axp__file {
    struct axp__cap_source source; /* first: chunks find the file by it */
    int fd;                        /* -1: mapped */
    void *mapped;                  /* of this process's own recording */
    uint64_t mapped_bytes;
    struct axp__read_ahead *ahead; /* NULL: nothing is read ahead */
    char *path;
    uint64_t base;  /* where it begins in the file that holds it */
    uint64_t bytes; /* of it */
    struct axp__file_head head;
    /* Every block but the timeline's, in the order of the file. All of them:
     * file_walk.h. */
    struct axp__index_entry *entry;
    size_t n_entries, cap_entries;
    uint64_t n_blocks;    /* all */
    uint64_t index_bytes; /* of the index's body */
    uint8_t *block_at;    /* places of all blocks; NULL: the index has them */
    size_t cap_block_at;
    uint8_t *chunk_at;   /* places of the timeline's, by row and seq */
    bool is_finished;    /* has trailer and index, which were used */
    uint64_t end;        /* of the last whole block; there the index begins */
    uint64_t n_damaged;  /* blocks, or stretches, that were passed over */
    uint64_t n_words;    /* that timelines claim … */
    uint64_t words_free; /* … and may whatever its length */
    uint64_t n_unknown;  /* blocks of a kind that this version does not know */
    uint32_t unknown;    /* the last of these kinds */
    struct axp__file_fault fault;
};

axp_status axp__file_open(const char *path, struct axp__file **out);
/* One of several recordings in a file. */
axp_status axp__file_open_span(const char *path, const struct axp__span *span,
                               struct axp__file **out);
/* The same of a file that this process writes: its first `bytes`, or all of it
 * (UINT64_MAX). Bodies are compared with their checksums when they are read
 * and not before. Takes the mapping over, also on failure: a descriptor would
 * be one in the program's table. */
axp_status axp__file_open_own(void *mapped, uint64_t mapped_bytes,
                              uint64_t bytes, struct axp__file **out);
void axp__file_close(struct axp__file *f); /* NULL allowed */

/* The body of a block, checksum compared; malloc, with 8 zero bytes behind it.
 * NULL: damaged, or no memory (then *status is AXP_E_NO_MEMORY). */
uint8_t *axp__file_body(const struct axp__file *f,
                        const struct axp__index_entry *e, axp_status *status);
/* The same into memory that the next body finds again; the caller frees
 * bytes, also after a failure. */
struct axp__body {
    uint8_t *bytes;
    size_t cap;
};
axp_status axp__file_body_into(const struct axp__file *f,
                               const struct axp__index_entry *e,
                               struct axp__body *body);
bool axp__file_read_at(const struct axp__file *f, uint64_t at, void *bytes,
                       size_t n);
/* The head of a block; false: there is none. */
bool axp__file_head_at(const struct axp__file *f, uint64_t at,
                       struct axp__block *out);
/* Whether what is stored at an entry's place is what the entry says. */
bool axp__file_entry_is_true(const struct axp__file *f,
                             const struct axp__index_entry *e);

/* Lists the timeline as chunks of c, what a later block holds too left out.
 * Where c has chunks already each block is one of its own, so that it can be
 * compared with them; else a chunk is as many blocks of a row as follow one
 * another, up to what a full PACK holds, and each is a part of it. The file is
 * then one of c's sources, closed with it. False: no memory. */
bool axp__file_as_source(struct axp__file *f, struct axp__capture *c,
                         uint32_t epoch);
/* The file that a chunk is in; NULL: it is in none. */
const struct axp__file *axp__file_of(const struct axp__cap_chunk *chunk);
/* The block that is a part of such a chunk; false: its head is damaged. */
bool axp__file_part(const struct axp__cap_chunk *chunk, uint32_t part,
                    struct axp__index_entry *out);

#endif
