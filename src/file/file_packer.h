/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A packer's arrays, shared by the two files that fill and empty them:
 * file_pack.c makes symbols of words, file_pack_columns.c columns of symbols.
 */
#ifndef AXP_FILE_PACKER_H
#define AXP_FILE_PACKER_H
#define ZSTD_STATIC_LINKING_ONLY /* ZSTD_createCCtx_advanced */
#include <zstd.h>

#include "file/file_column.h"
#include "file/file_pack.h"
#include "file/file_bits.h"

#define AXP__PACK_SYMBOLS (AXP__PACK_CHUNKS * AXP__CHUNK_WORDS)
#define AXP__PACK_FAR 16384u   /* times, and exceptions, of 8 bytes */
#define AXP__PACK_WORDS 32768u /* of all templates */
#define AXP__PACK_SHAPE                                                        \
    (AXP__PACK_CHUNKS * 40u + AXP__PACK_CONTEXTS * 12u +                       \
     AXP__PACK_TEMPLATES * 12u + 64u)
#define AXP__PACK_SLOTS (2 * AXP__PACK_TEMPLATES) /* of their hash */
#define AXP__PACK_LENGTHS (AXP__N_COLUMNS * 2 * AXP__VARINT_MAX)
_Static_assert(AXP__TINY_WORDS * 8 <= AXP__PACK_LENGTHS, "worth packing");
#define AXP__PACK_NEAR 1024u                   /* of the cache before it */
#define AXP__PACK_REFS (AXP__PACK_SYMBOLS / 2) /* a ref has two words */

#define AXP__FAR_TIME UINT32_MAX /* the time is in far_times */
/* Whose context a time has: a template's; one more: that of its end. */
#define AXP__OWNER(template) (2 * (template))
#define AXP__OWNER_NOBODY AXP__OWNER(AXP__PACK_TEMPLATES)

struct axp__template {
    uint32_t first, n_words, n_literals;
    uint32_t n_times, n_ends; /* how often it, and its end, occur */
    uint64_t last[AXP__LAST_SLOTS];
};

struct axp__packer {
    bool is_plain; /* without zstd */
    ZSTD_CCtx *zstd;
    uint32_t n_symbols, n_templates, n_words, n_contexts;
    uint32_t n_far_times, n_literals, n_exceptions, n_refs;
    uint64_t now; /* time of the symbol before */
    struct axp__open_scopes open;
    uint32_t chunk_symbols[AXP__PACK_CHUNKS];
    struct axp__template templates[AXP__PACK_TEMPLATES + 1]; /* last: none */
    uint64_t words[AXP__PACK_WORDS];
    uint16_t slots[AXP__PACK_SLOTS]; /* template + 1 */
    uint16_t near[AXP__PACK_NEAR];   /* template of one word + 1 */
    uint16_t symbol[AXP__PACK_SYMBOLS];
    uint16_t owner[AXP__PACK_SYMBOLS];
    uint16_t context[AXP__OWNER_NOBODY + 2]; /* of an owner */
    uint32_t time[AXP__PACK_SYMBOLS];
    uint64_t far_times[AXP__PACK_FAR], exceptions[AXP__PACK_FAR];
    uint64_t literals[AXP__PACK_SYMBOLS];
    struct axp__bit_window_counts counts[AXP__PACK_CONTEXTS];
    struct axp__bit_window windows[AXP__PACK_CONTEXTS];
    uint32_t refs[AXP__PACK_REFS];
    uint8_t planes[4 * AXP__PACK_REFS]; /* their bytes */
    uint8_t shape[AXP__PACK_SHAPE];
    uint8_t narrow[2 * AXP__PACK_SYMBOLS]; /* symbols as bytes */
    uint8_t flags[AXP__PACK_SYMBOLS / 8 + 8];
    uint8_t bits[AXP__PACK_SYMBOLS * AXP__WINDOW_BITS / 8 + 16];
};

/* What the chunks take as they are. */
static inline size_t axp__packer_raw_bytes(
    const struct axp__chunk *const *chunks, size_t n)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += chunks[i]->n_words * 8;
    return bytes;
}

/* The columns of what file_pack.c has read; 0: does not fit or pay. */
size_t axp__packer_write(struct axp__packer *p,
                         const struct axp__chunk *const *chunks, size_t n,
                         uint8_t *out, size_t cap);

#endif
