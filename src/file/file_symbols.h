/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A PACK opened: its symbols and the time of each. From here words are made
 * (file_unpack.c), or statistics without a detour over words
 * (file_fold_symbols.c).
 *
 * Times are made a slice at a time, into memory that stays in the nearest
 * cache.
 *
 * Input      untrusted. What the columns claim is held against their lengths
 *            before anything is allocated for it; indices are checked once,
 *            here, so that whoever goes on may trust: the symbols of a slice
 *            exist, templates are whole records. Literals are taken as they
 *            come: ask axp__symbols_literals. That times are not as many as
 *            they should be shows when the last slice is asked for.
 * Ownership  all memory is the struct's, kept and used again for the next
 *            pack; init, any number of opens, fini. The body is not needed
 *            once it is open.
 * Threads    one user at a time.
 */
#ifndef AXP_FILE_SYMBOLS_H
#define AXP_FILE_SYMBOLS_H
#include "base/base_bytes.h"
#include "file/file_column.h"
#include "file/file_pack.h"

struct axp__symbol_template {
    uint32_t first, n_words, n_literals; /* words: in words of the struct */
    uint8_t is_begin, n_heads;
    uint8_t heads[AXP__TEMPLATE_WORDS]; /* where heads are in it */
    uint8_t ref_at; /* which of its words takes the next ref; 0: none */
    uint64_t last[AXP__LAST_SLOTS]; /* literals of the one before */
};

struct axp__symbol_chunk {
    uint64_t seq, base_ticks, n_events;
    uint32_t n_words, n_symbols;
};

#define AXP__SLICE 4096u

struct axp__symbol_times;
struct axp__symbols {
    uint32_t n_symbols, n_templates;
    const uint8_t *low, *high;  /* high NULL: all are below 256 */
    uint32_t first, end;        /* the slice: symbols whose times are there */
    uint64_t ticks[AXP__SLICE]; /* of symbol first + i */
    struct axp__symbol_template *templates;
    const uint64_t *words; /* of the templates */
    struct axp__symbol_chunk chunk[AXP__PACK_CHUNKS];
    uint32_t n_chunks;
    const uint8_t *literals;
    size_t n_literals, at_literal;
    const uint8_t *refs; /* ids of stacks, byte by byte */
    size_t n_refs, at_ref;
    /* private */
    struct axp__symbol_times *times;
    void *memory;
    size_t memory_bytes;
    void *zstd;
};

void axp__symbols_init(struct axp__symbols *s);
void axp__symbols_fini(struct axp__symbols *s);
/* Replaces what was open. */
enum axp__unpack_result axp__symbols_open(struct axp__symbols *s,
                                          const struct axp__block *head,
                                          const uint8_t *body);

/* Goes to the next slice; false: there is none, or it is damaged. */
bool axp__symbols_next(struct axp__symbols *s);
/* Whether the slice is the last one. */
static inline bool axp__symbols_are_through(const struct axp__symbols *s)
{
    return s->end == s->n_symbols;
}

static inline uint32_t axp__symbol_at(const struct axp__symbols *s, size_t i)
{
    return s->low[i] | (s->high ? (uint32_t)s->high[i] << 8 : 0);
}

/* The next ref; false: there is none. */
static inline bool axp__symbols_ref(struct axp__symbols *s, uint32_t *out)
{
    size_t i = s->at_ref, n = s->n_refs;
    if (i >= n) return false;
    *out = s->refs[i] | (uint32_t)s->refs[n + i] << 8 |
           (uint32_t)s->refs[2 * n + i] << 16 |
           (uint32_t)s->refs[3 * n + i] << 24;
    s->at_ref++;
    return true;
}

/* The next n literals, 8 bytes each; NULL: they are not there. */
static inline const uint8_t *axp__symbols_literals(struct axp__symbols *s,
                                                   size_t n)
{
    if (n > s->n_literals - s->at_literal) return NULL;
    const uint8_t *at = s->literals + 8 * s->at_literal;
    s->at_literal += n;
    return at;
}

#endif
