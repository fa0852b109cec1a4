/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Symbols and times to columns; file_column.h has the layout. */
#include <string.h>

#include "base/base_atomic.h"
#include "base/base_bytes.h"
#include "file/file_packer.h"
#include "wire/wire_column.h"

#define OWN_CONTEXT 48u /* times that earn a context of their own */

/* ---- contexts ---------------------------------------------------------------- */

static uint32_t give_context(struct axp__packer *p, uint32_t n, uint32_t shared)
{
    if (n < OWN_CONTEXT || p->n_contexts == AXP__PACK_CONTEXTS) return shared;
    return p->n_contexts++;
}

static void give_contexts(struct axp__packer *p)
{
    for (uint32_t i = 0; i < p->n_templates; i++) {
        const struct axp__template *t = &p->templates[i];
        uint16_t *context = &p->context[AXP__OWNER(i)];
        context[0] = (uint16_t)give_context(p, t->n_times, AXP__CTX_TIME);
        context[1] = (uint16_t)give_context(p, t->n_ends, AXP__CTX_END);
    }
    p->context[AXP__OWNER_NOBODY] = AXP__CTX_TIME;
    p->context[AXP__OWNER_NOBODY + 1] = AXP__CTX_END;
}

/* Windows from histograms; owners become contexts. */
static void choose_windows(struct axp__packer *p)
{
    memset(p->counts, 0, p->n_contexts * sizeof *p->counts);
    for (uint32_t i = 0; i < p->n_symbols; i++) {
        if (axp__unlikely(p->symbol[i] == AXP__SYM_TIME)) continue;
        uint32_t context = p->context[p->owner[i]];
        p->owner[i] = (uint16_t)context;
        struct axp__bit_window_counts *c = &p->counts[context];
        c->n++;
        c->count[axp__bit_window_bucket(p->time[i])]++;
    }
    for (uint32_t i = 0; i < p->n_contexts; i++)
        p->windows[i] = axp__bit_window_choose(&p->counts[i]);
}

/* ---- times to bits -------------------------------------------------------------- */

struct bit_writer {
    uint8_t *at;
    uint64_t bits;
    unsigned n; /* of them, below 8 between calls */
};

static inline void put_bits(struct bit_writer *w, uint64_t v, unsigned n)
{
    w->bits |= v << w->n;
    w->n += n;
    axp__put_u64(w->at, w->bits);
    w->at += w->n / 8;
    w->bits >>= w->n & ~7u;
    w->n &= 7;
}

static size_t end_bits(struct bit_writer *w, const uint8_t *from)
{
    return (size_t)(w->at - from) + (w->n + 7) / 8;
}

/* A time that fits neither window. */
static __attribute__((noinline)) void put_exception(struct axp__packer *p,
                                                    uint32_t time,
                                                    uint32_t *n_far)
{
    uint64_t v = time == AXP__FAR_TIME ? p->far_times[(*n_far)++] : time;
    if (p->n_exceptions < AXP__PACK_FAR) p->exceptions[p->n_exceptions] = v;
    p->n_exceptions++;
}

/* Returns the bytes of the TIMES column. Which window a time falls into is
 * noise: no branch may ask for it. */
static size_t write_times(struct axp__packer *p)
{
    struct bit_writer w = {p->bits, 0, 0};
    uint32_t n_far = 0, n_times = 0;
    uint64_t flags = 0;
    memset(p->flags, 0, p->n_symbols / 8 + 8);
    for (uint32_t i = 0; i < p->n_symbols; i++) {
        if (axp__unlikely(p->symbol[i] == AXP__SYM_TIME)) continue;
        const struct axp__bit_window *window = &p->windows[p->owner[i]];
        uint32_t time = p->time[i];
        uint32_t first = time - window->begin[0];
        bool flag = time < window->begin[0] ||
                    (uint64_t)first >> window->bits[0] || time == AXP__FAR_TIME;
        unsigned bits = window->bits[flag];
        uint64_t within = time - window->begin[flag];
        uint64_t full = ((uint64_t)1 << bits) - 1;
        if (axp__unlikely(flag & (within >= full || time == AXP__FAR_TIME))) {
            put_exception(p, time, &n_far);
            within = full;
        }
        put_bits(&w, within, bits);
        flags |= (uint64_t)flag << (n_times & 63);
        if ((++n_times & 63) == 0) {
            axp__put_u64(p->flags + n_times / 8 - 8, flags);
            flags = 0;
        }
    }
    axp__put_u64(p->flags + n_times / 64 * 8, flags);
    return end_bits(&w, p->bits);
}

/* ---- shape ----------------------------------------------------------------------- */

static uint8_t *shape_chunks(const struct axp__packer *p,
                             const struct axp__chunk *const *chunks, size_t n,
                             uint8_t *at)
{
    uint64_t seq = chunks[0]->seq, base = chunks[0]->base_ticks;
    for (size_t i = 0; i < n; i++) {
        const struct axp__chunk *c = chunks[i];
        at = axp__put_varint(at, c->seq - seq);
        at = axp__put_varint(at, axp__zigzag(c->base_ticks - base));
        at = axp__put_varint(at, c->n_words);
        at = axp__put_varint(at, c->n_events);
        at = axp__put_varint(at, p->chunk_symbols[i]);
        seq = c->seq;
        base = c->base_ticks;
    }
    return at;
}

static size_t write_shape(struct axp__packer *p,
                          const struct axp__chunk *const *chunks, size_t n,
                          bool is_wide)
{
    uint8_t *at = axp__put_varint(p->shape, p->n_symbols);
    at = axp__put_varint(at, p->n_templates);
    at = axp__put_varint(at, p->n_contexts);
    at = axp__put_varint(at, is_wide | (p->n_refs ? AXP__SHAPE_REFS : 0));
    if (p->n_refs) at = axp__put_varint(at, p->n_refs);
    at = shape_chunks(p, chunks, n, at);
    for (uint32_t i = 0; i < p->n_contexts; i++) {
        const struct axp__bit_window *w = &p->windows[i];
        *at++ = w->bits[0];
        *at++ = w->bits[1];
        for (int k = 0; k < 2; k++)
            at = axp__put_varint(at, w->begin[k] >>
                                         axp__bit_window_unit(w->bits[k]));
    }
    for (uint32_t i = 0; i < p->n_templates; i++) {
        const struct axp__template *t = &p->templates[i];
        at = axp__put_varint(at, t->n_words);
        at = axp__put_varint(at, t->n_literals);
        at = axp__put_varint(at, p->context[AXP__OWNER(i)]);
        at = axp__put_varint(at, p->context[AXP__OWNER(i) + 1]);
    }
    return (size_t)(at - p->shape);
}

static bool narrow_symbols(struct axp__packer *p)
{
    bool is_wide = p->n_templates + AXP__SYM_TEMPLATE > 256;
    for (uint32_t i = 0; i < p->n_symbols; i++)
        p->narrow[i] = (uint8_t)p->symbol[i];
    for (uint32_t i = 0; is_wide && i < p->n_symbols; i++)
        p->narrow[p->n_symbols + i] = (uint8_t)(p->symbol[i] >> 8);
    return is_wide;
}

/* ---- columns ------------------------------------------------------------------------ */

/* Packed where it pays; its length, 0 in *packed: as it is. */
static size_t put_column(struct axp__packer *p, const void *column, size_t n,
                         uint8_t *out, size_t cap, size_t *packed)
{
    *packed = 0;
    if (n >= AXP__LEAST_COLUMN && !p->is_plain) {
        size_t len =
            ZSTD_compressCCtx(p->zstd, out, cap, column, n, AXP__ZSTD_LEVEL);
        if (!ZSTD_isError(len) && axp__column_pays(len, n))
            return *packed = len;
    }
    if (n > cap) return SIZE_MAX;
    memcpy(out, column, n);
    return n;
}

struct column {
    const void *bytes;
    size_t n;
};

/* Ids of stacks are numbers below how many there are: their high bytes are 0,
 * and the low ones say no more together than apart. */
static struct column split_refs(struct axp__packer *p)
{
    uint32_t n = p->n_refs;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < 4; k++)
            p->planes[k * n + i] = (uint8_t)(p->refs[i] >> 8 * k);
    return (struct column){p->planes, 4 * (size_t)n};
}

/* The columns, and their lengths before them; 0: does not fit, or pay. */
static size_t put_columns(struct axp__packer *p,
                          const struct column columns[AXP__N_COLUMNS],
                          size_t most, uint8_t *out, size_t cap)
{
    uint8_t lengths[AXP__PACK_LENGTHS], *end = lengths;
    size_t at = sizeof lengths;
    if (cap < at) return 0;
    for (int i = 0; i < AXP__N_COLUMNS; i++) {
        size_t packed, len = put_column(p, columns[i].bytes, columns[i].n,
                                        out + at, cap - at, &packed);
        if (len == SIZE_MAX) return 0;
        end = axp__put_varint(axp__put_varint(end, columns[i].n), packed);
        at += len;
    }
    if (p->n_refs) {
        struct column refs = split_refs(p);
        size_t packed, len = put_column(p, refs.bytes, refs.n, out + at,
                                        cap - at, &packed);
        if (len == SIZE_MAX) return 0;
        at += len;
    }
    size_t n_lengths = (size_t)(end - lengths);
    if (at >= most) return 0;
    memmove(out + n_lengths, out + sizeof lengths, at - sizeof lengths);
    memcpy(out, lengths, n_lengths);
    return at - sizeof lengths + n_lengths;
}

size_t axp__packer_write(struct axp__packer *p,
                         const struct axp__chunk *const *chunks, size_t n,
                         uint8_t *out, size_t cap)
{
    give_contexts(p);
    choose_windows(p);
    size_t n_bits = write_times(p);
    bool is_wide = narrow_symbols(p);
    size_t n_shape = write_shape(p, chunks, n, is_wide);
    if (p->n_exceptions > AXP__PACK_FAR) return 0;
    const struct column columns[AXP__N_COLUMNS] = {
        [AXP__COL_SHAPE] = {p->shape, n_shape},
        [AXP__COL_TEMPLATES] = {p->words, p->n_words * 8},
        [AXP__COL_SYMBOLS] = {p->narrow, p->n_symbols << is_wide},
        [AXP__COL_FLAGS] = {p->flags, (p->n_symbols + 7) / 8},
        [AXP__COL_TIMES] = {p->bits, n_bits},
        [AXP__COL_EXCEPTIONS] = {p->exceptions, p->n_exceptions * 8},
        [AXP__COL_LITERALS] = {p->literals, p->n_literals * 8},
    };
    size_t bytes = axp__packer_raw_bytes(chunks, n);
    p->is_plain = false;
    size_t len = put_columns(p, columns, bytes, out, cap);
    /* Readers hold what a file claims against its length. */
    p->is_plain = true;
    if (len && bytes / 8 > len * AXP__WORDS_A_BYTE)
        len = put_columns(p, columns, bytes, out, cap);
    return len;
}
