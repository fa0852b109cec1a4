/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Opening a PACK; file_symbols.h says what for, file_column.h has the layout.
 *
 * Cost  2.5 ns a symbol on a Neoverse V1, and zstd's (bench/bench_file.c).
 */
#include "file/file_symbols.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/base_atomic.h"
#include "file/file_window.h"

#define MAX_WORDS (AXP__PACK_CHUNKS * AXP__CHUNK_WORDS)
#define SLACK 16u /* bytes that may be read past a column */

/* What a symbol does, as one number, and a window likewise: the loop over
 * symbols loads each once, and does not branch on what comes next, which is
 * noise.
 *   action  bits 0-15 context of its time, 16-31 of its end's, which is pushed,
 *           32 its context is the one pushed last, 33 there is no such symbol,
 *           34 nothing is pushed, 40-63 the step of the depth
 *   window  bits 0-7 width, 8-63 beginning */
#define IS_END ((uint64_t)1 << 32)
#define IS_UNKNOWN ((uint64_t)1 << 33)
#define IS_NO_PUSH_BIT 34
#define STEP_SHIFT 40

static inline uint64_t make_action(uint32_t context, uint32_t end_context,
                                   int64_t step)
{
    return context | (uint64_t)end_context << 16 |
           (uint64_t)(step <= 0) << IS_NO_PUSH_BIT |
           (uint64_t)step << STEP_SHIFT;
}

#define WIDE_SYMBOLS 8192u
_Static_assert(AXP__PACK_TEMPLATES + AXP__SYM_TEMPLATE <= WIDE_SYMBOLS,
               "symbols of two bytes");

struct opener {
    struct axp__symbols *s;
    const uint8_t *column[AXP__N_COLUMNS];
    size_t len[AXP__N_COLUMNS];
    uint64_t packed[AXP__N_COLUMNS];
    uint32_t n_contexts;
    bool is_wide;
    uint64_t windows[AXP__PACK_CONTEXTS * 2]; /* by flag */
    uint64_t *actions;                        /* by symbol */
};

/* ---- memory ------------------------------------------------------------------ */

void axp__symbols_init(struct axp__symbols *s)
{
    memset(s, 0, sizeof *s);
}

void axp__symbols_fini(struct axp__symbols *s)
{
    free(s->memory);
    ZSTD_freeDCtx(s->zstd);
    memset(s, 0, sizeof *s);
}

static bool reserve(struct axp__symbols *s, size_t bytes)
{
    if (!s->zstd) s->zstd = ZSTD_createDCtx();
    if (bytes > s->memory_bytes) {
        free(s->memory);
        s->memory = malloc(bytes);
        s->memory_bytes = s->memory ? bytes : 0;
    }
    return s->zstd && s->memory;
}

/* Room for n bytes and some that are read past them, at a multiple of 64. */
static size_t room_of(size_t n)
{
    return (n + SLACK + 63) & ~(size_t)63;
}

/* ---- columns -------------------------------------------------------------------- */

/* The longest that each column can be. */
static const size_t most_bytes[AXP__N_COLUMNS] = {
    [AXP__COL_SHAPE] = AXP__PACK_TEMPLATES * 40 + 65536,
    [AXP__COL_TEMPLATES] =
        (size_t)AXP__PACK_TEMPLATES * AXP__TEMPLATE_WORDS * 8,
    [AXP__COL_SYMBOLS] = (size_t)MAX_WORDS * 2,
    [AXP__COL_FLAGS] = MAX_WORDS / 8 + 1,
    [AXP__COL_TIMES] = (size_t)MAX_WORDS * AXP__WINDOW_BITS / 8 + 1,
    [AXP__COL_EXCEPTIONS] = (size_t)MAX_WORDS * 8,
    [AXP__COL_LITERALS] = (size_t)MAX_WORDS * 8,
};

/* How long the columns are, and the memory that all of it takes. */
static bool read_lengths(struct opener *o, struct axp__bytes *b, size_t *room)
{
    *room = 0;
    for (int i = 0; i < AXP__N_COLUMNS; i++) {
        uint64_t len = axp__get_varint(b);
        o->packed[i] = axp__get_varint(b);
        if (b->is_bad || len > most_bytes[i]) return false;
        o->len[i] = (size_t)len;
        *room += room_of(o->len[i]);
    }
    return true;
}

static bool fill_column(struct opener *o, enum axp__column c, uint8_t *to,
                        struct axp__bytes *b)
{
    size_t len = o->len[c], packed = (size_t)o->packed[c];
    const uint8_t *from = axp__get_bytes(b, packed ? o->packed[c] : len);
    if (!from) return false;
    o->column[c] = to;
    memset(to + len, 0, room_of(len) - len);
    if (packed)
        return ZSTD_decompressDCtx(o->s->zstd, to, len, from, packed) == len;
    memcpy(to, from, len);
    return true;
}

static bool fill_columns(struct opener *o, struct axp__bytes *b)
{
    uint8_t *to = o->s->memory;
    for (int i = 0; i < AXP__N_COLUMNS; i++) {
        if (!fill_column(o, (enum axp__column)i, to, b)) return false;
        to += room_of(o->len[i]);
    }
    return b->at == b->end;
}

/* ---- shape ------------------------------------------------------------------------- */

static bool read_chunks(struct axp__symbols *s, struct axp__bytes *b,
                        const struct axp__block *head)
{
    uint64_t seq = head->seq, base = head->base_ticks;
    uint64_t n_words = 0, n_events = 0, n_symbols = 0;
    for (uint32_t i = 0; i < head->n; i++) {
        struct axp__symbol_chunk *c = &s->chunk[i];
        c->seq = seq += axp__get_varint(b);
        c->base_ticks = base += axp__unzigzag(axp__get_varint(b));
        uint64_t words = axp__get_varint(b);
        c->n_events = axp__get_varint(b);
        uint64_t symbols = axp__get_varint(b);
        if (b->is_bad || words > AXP__CHUNK_WORDS || symbols > words ||
            c->n_events > words)
            return false;
        c->n_words = (uint32_t)words;
        c->n_symbols = (uint32_t)symbols;
        n_words += words;
        n_events += c->n_events;
        n_symbols += symbols;
    }
    s->n_chunks = head->n;
    return n_words == head->n_words && n_events == head->n_events &&
           n_symbols == s->n_symbols;
}

static bool read_contexts(struct opener *o, struct axp__bytes *b)
{
    for (uint32_t i = 0; i < o->n_contexts; i++) {
        uint64_t bits[2] = {axp__get_varint(b), axp__get_varint(b)};
        for (uint32_t k = 0; k < 2; k++) {
            uint64_t begin = axp__get_varint(b);
            if (b->is_bad || bits[k] > AXP__WINDOW_BITS || begin > UINT32_MAX)
                return false;
            begin <<= axp__window_unit((unsigned)bits[k]);
            o->windows[2 * i + k] = begin << 8 | bits[k];
        }
    }
    return true;
}

/* Finds the heads among a template's words; false: they are not records whose
 * last the literals complete. */
static bool find_heads(const uint64_t *w, struct axp__symbol_template *t)
{
    uint64_t at = 0;
    t->is_begin = axp__is_begin(axp__word_kind(w[0]));
    while (at < t->n_words) {
        enum axp__word_kind kind = axp__word_kind(w[at]);
        if (w[at] & ~AXP__HEAD_MASK || kind == AXP__W_NONE ||
            kind == AXP__W_TIME || kind >= AXP__W_N_KINDS)
            return false;
        uint64_t n = axp__payload_words(kind);
        if (kind == AXP__W_EXT) {
            if (at + 1 >= t->n_words) return false;
            n = w[at + 1] >> 8 & 0xffff;
            if (!n) return false;
        }
        t->heads[t->n_heads++] = (uint8_t)at;
        at += 1 + n;
    }
    return at == (uint64_t)t->n_words + t->n_literals;
}

static int step_of(enum axp__word_kind kind)
{
    return axp__is_begin(kind) ? 1 : axp__is_end(kind) ? -1 : 0;
}

static bool read_templates(struct opener *o, struct axp__bytes *b)
{
    struct axp__symbols *s = o->s;
    uint64_t n_words = o->len[AXP__COL_TEMPLATES] / 8, first = 0;
    for (uint32_t i = 0; i < s->n_templates; i++) {
        struct axp__symbol_template *t = &s->templates[i];
        uint64_t n = axp__get_varint(b), n_literals = axp__get_varint(b);
        uint64_t context = axp__get_varint(b), end = axp__get_varint(b);
        if (b->is_bad || n == 0 || n > AXP__TEMPLATE_WORDS ||
            n > n_words - first || n_literals > AXP__CHUNK_WORDS ||
            context >= o->n_contexts || end >= o->n_contexts)
            return false;
        *t = (struct axp__symbol_template){.first = (uint32_t)first,
                                           .n_words = (uint32_t)n,
                                           .n_literals = (uint32_t)n_literals};
        if (!find_heads(s->words + first, t)) return false;
        o->actions[i + AXP__SYM_TEMPLATE] =
            make_action((uint32_t)context, (uint32_t)end,
                        step_of(axp__word_kind(s->words[first])));
        first += n;
    }
    return first == n_words && o->len[AXP__COL_TEMPLATES] % 8 == 0;
}

static void set_first_actions(struct opener *o)
{
    for (size_t i = 0; i < (o->is_wide ? WIDE_SYMBOLS : 256u); i++)
        o->actions[i] = IS_UNKNOWN;
    o->actions[AXP__SYM_END] = o->actions[AXP__SYM_STOP] =
        IS_END | make_action(0, 0, -1);
    o->actions[AXP__SYM_RECORD] = make_action(AXP__CTX_TIME, 0, 0);
    o->actions[AXP__SYM_TIME] = 0;
}

/* The counts at the beginning of the shape. */
static bool read_counts(struct opener *o, struct axp__bytes *b,
                        const struct axp__block *head)
{
    uint64_t n_symbols = axp__get_varint(b), n_templates = axp__get_varint(b);
    uint64_t n_contexts = axp__get_varint(b), is_wide = axp__get_varint(b);
    if (b->is_bad || n_symbols > head->n_words || is_wide > 1 ||
        n_templates > AXP__PACK_TEMPLATES || n_contexts < 2 ||
        n_contexts > AXP__PACK_CONTEXTS ||
        (!is_wide && n_templates + AXP__SYM_TEMPLATE > 256) ||
        o->len[AXP__COL_SYMBOLS] != n_symbols << is_wide ||
        o->len[AXP__COL_FLAGS] != (n_symbols + 7) / 8 ||
        o->len[AXP__COL_EXCEPTIONS] % 8 || o->len[AXP__COL_LITERALS] % 8)
        return false;
    o->s->n_symbols = (uint32_t)n_symbols;
    o->s->n_templates = (uint32_t)n_templates;
    o->n_contexts = (uint32_t)n_contexts;
    o->is_wide = is_wide;
    return true;
}

/* ---- times ---------------------------------------------------------------------------- */

#define BLOCK 64u /* symbols whose flags are one word */

struct times {
    uint64_t now, n_bits, n_times;
    uint64_t depth;
    uint64_t all_actions; /* in one */
    size_t n_exceptions;  /* used */
    /* contexts of their ends; behind them what is not pushed goes */
    uint16_t open[2 * AXP__OPEN_SCOPES];
};

static __attribute__((noinline)) uint64_t get_exception(const struct opener *o,
                                                        size_t i)
{
    if (i >= o->len[AXP__COL_EXCEPTIONS] / 8) return 0;
    return axp__get_u64(o->column[AXP__COL_EXCEPTIONS] + 8 * i);
}

/* The times of n symbols from `first` on, BLOCK at most. Careful: symbols may
 * be wide, one may have no time, and the bits may end. Else some 33
 * instructions a symbol. */
static inline __attribute__((always_inline)) void read_block(
    const struct opener *o, struct times *t, size_t first, size_t n,
    const bool is_careful)
{
    const struct axp__symbols *s = o->s;
    const uint8_t *low = s->low + first, *high = s->high, *flags;
    const uint8_t *bits = o->column[AXP__COL_TIMES];
    const uint64_t *actions = o->actions, *windows = o->windows;
    const size_t n_bytes = o->len[AXP__COL_TIMES];
    uint64_t now = t->now, n_bits = t->n_bits, depth = t->depth, all = 0;
    uint64_t *ticks = s->ticks + first, flag_word;
    if (high) high += first;
    flags = o->column[AXP__COL_FLAGS];
    flag_word = axp__get_u64(flags + t->n_times / 8);
    for (size_t i = 0; i < n; i++) {
        uint32_t symbol = low[i];
        if (is_careful && high) symbol |= high[i] % (WIDE_SYMBOLS / 256) << 8;
        uint64_t a = actions[symbol], at = n_bits / 8;
        all |= a;
        if (is_careful && symbol == AXP__SYM_TIME) {
            ticks[i] = now;
            continue;
        }
        uint64_t context = t->open[(depth - 1) % AXP__OPEN_SCOPES];
        context = a & IS_END ? context : a & 0xffff;
        _Static_assert(AXP__OPEN_SCOPES == 256, "the bit is its own offset");
        t->open[depth % 256 | (a >> (IS_NO_PUSH_BIT - 8) & 256)] =
            (uint16_t)(a >> 16);
        depth += (uint64_t)((int64_t)a >> STEP_SHIFT);
        uint64_t flag = is_careful ? flags[t->n_times / 8] >> t->n_times % 8 & 1
                                   : flag_word & 1;
        flag_word >>= 1;
        if (is_careful) {
            t->n_times++;
            if (at > n_bytes) at = n_bytes;
        }
        uint64_t w = windows[2 * context + flag];
        uint64_t mask = ((uint64_t)1 << (w & 63)) - 1;
        uint64_t v = axp__get_u64(bits + at) >> n_bits % 8 & mask;
        n_bits += w & 63;
        if (axp__unlikely(flag & (v == mask)))
            now += get_exception(o, t->n_exceptions++);
        else
            now += v + (w >> 8);
        ticks[i] = now;
    }
    if (!is_careful) t->n_times += n;
    t->now = now;
    t->n_bits = n_bits;
    t->depth = depth;
    t->all_actions |= all;
}

/* Whether no high byte was cut off above. */
static bool are_narrow_enough(const struct axp__symbols *s)
{
    uint8_t all = 0;
    for (uint32_t i = 0; s->high && i < s->n_symbols; i++)
        all |= s->high[i];
    return all < WIDE_SYMBOLS / 256;
}

static void read_carefully(const struct opener *o, struct times *t,
                           size_t first, size_t n)
{
    read_block(o, t, first, n, true);
}

/* The time of every symbol; false: a symbol is unknown, or the columns are
 * not used up. */
static bool read_times(struct opener *o)
{
    struct axp__symbols *s = o->s;
    size_t n_bytes = o->len[AXP__COL_TIMES];
    struct times t = {.now = s->chunk[0].base_ticks};
    bool is_plain = !s->high && !memchr(s->low, AXP__SYM_TIME, s->n_symbols);
    for (size_t i = 0; i < s->n_symbols; i += BLOCK) {
        size_t n = s->n_symbols - i < BLOCK ? s->n_symbols - i : BLOCK;
        if (axp__likely(is_plain && n == BLOCK &&
                        t.n_bits / 8 + BLOCK * AXP__WINDOW_BITS / 8 < n_bytes))
            read_block(o, &t, i, BLOCK, false);
        else
            read_carefully(o, &t, i, n);
    }
    return !(t.all_actions & IS_UNKNOWN) && are_narrow_enough(s) &&
           (t.n_bits + 7) / 8 == n_bytes &&
           t.n_exceptions == o->len[AXP__COL_EXCEPTIONS] / 8;
}

/* ---- opening ----------------------------------------------------------------------------- */

static bool read_shape(struct opener *o, const struct axp__block *head)
{
    struct axp__symbols *s = o->s;
    const uint8_t *shape = o->column[AXP__COL_SHAPE];
    struct axp__bytes b = {shape, shape + o->len[AXP__COL_SHAPE], false};
    if (!read_counts(o, &b, head)) return false;
    s->low = o->column[AXP__COL_SYMBOLS];
    s->high = o->is_wide ? s->low + s->n_symbols : NULL;
    s->words = (const uint64_t *)(const void *)o->column[AXP__COL_TEMPLATES];
    s->literals = o->column[AXP__COL_LITERALS];
    s->n_literals = o->len[AXP__COL_LITERALS] / 8;
    s->at_literal = 0;
    set_first_actions(o);
    for (size_t i = 0;
         AXP__LE64((uint64_t)1) != 1 && i < o->len[AXP__COL_TEMPLATES] / 8; i++)
        ((uint64_t *)(uintptr_t)s->words)[i] = AXP__LE64(s->words[i]);
    return read_chunks(s, &b, head) && read_contexts(o, &b) &&
           read_templates(o, &b) && b.at == b.end;
}

enum axp__unpack_result axp__symbols_open(struct axp__symbols *s,
                                          const struct axp__block *head,
                                          const uint8_t *body)
{
    struct axp__bytes b = {body, body + head->body_bytes, false};
    struct opener o;
    size_t columns;
    o.s = s;
    if (!read_lengths(&o, &b, &columns)) return AXP__UNPACK_DAMAGED;
    size_t actions = room_of(sizeof *o.actions * WIDE_SYMBOLS);
    size_t ticks = room_of(sizeof *s->ticks * head->n_words);
    size_t templates = room_of(sizeof *s->templates * AXP__PACK_TEMPLATES);
    if (!reserve(s, columns + actions + ticks + templates))
        return AXP__UNPACK_NO_MEMORY;
    char *after = (char *)s->memory + columns;
    o.actions = (uint64_t *)(void *)after;
    s->ticks = (uint64_t *)(void *)(after + actions);
    s->templates =
        (struct axp__symbol_template *)(void *)(after + actions + ticks);
    return fill_columns(&o, &b) && read_shape(&o, head) && read_times(&o)
               ? AXP__UNPACK_OK
               : AXP__UNPACK_DAMAGED;
}
