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
#include "file/file_bits.h"

#define MAX_WORDS (AXP__PACK_CHUNKS * AXP__CHUNK_WORDS)
#define SLACK 16u /* bytes that may be read past a column */

/* What a symbol does, as one number, and a window likewise: the loop over
 * symbols loads each once, and does not branch on what comes next, which is
 * noise.
 *   action  bits 0-7 context of its time, 9 nothing is pushed, 16-31 context of
 *           its end's, which is pushed, 32 its context is the one pushed last,
 *           40-63 the step of the depth, in bytes of the stack
 *   window  bits 0-7 width, 8-63 beginning */
#define NO_PUSH 512u /* as bytes, the distance to where it does no harm */
#define IS_END ((uint64_t)1 << 32)
#define STEP_SHIFT 40

static inline uint64_t make_action(uint32_t context, uint32_t end_context,
                                   int64_t step)
{
    return context | (step <= 0 ? NO_PUSH : 0) | (uint64_t)end_context << 16 |
           (uint64_t)(step * (int64_t)sizeof(uint16_t)) << STEP_SHIFT;
}

#define WIDE_SYMBOLS 8192u
_Static_assert(AXP__PACK_TEMPLATES + AXP__SYM_TEMPLATE <= WIDE_SYMBOLS,
               "symbols of two bytes");

struct opener {
    struct axp__symbols *s;
    const uint8_t *column[AXP__N_COLUMNS];
    size_t len[AXP__N_COLUMNS];
    uint64_t packed[AXP__N_COLUMNS];
    struct axp__bytes refs; /* as they are stored */
    uint8_t *refs_to;       /* room for as many as there can be */
    uint32_t n_contexts;
    bool is_wide;
    struct axp__symbol_times *times;
};

/* Where the times of a pack are, and how far they were read. */
struct axp__symbol_times {
    const uint8_t *flags, *bits, *exceptions;
    size_t n_bytes, n_exceptions; /* of bits, of exceptions */
    size_t at_exception;
    uint64_t now, n_bits, n_times;
    uint64_t depth; /* of the next in open, as if that had no end */
    bool is_plain;  /* symbols are narrow, and each has a time */
    /* contexts of their ends; behind them what is not pushed goes */
    uint16_t open[2 * AXP__OPEN_SCOPES];
    uint64_t windows[AXP__PACK_CONTEXTS * 2]; /* by flag */
    uint64_t actions[WIDE_SYMBOLS];
};

/* ---- memory ------------------------------------------------------------------ */

void axp__symbols_init(struct axp__symbols *s)
{
    memset(s, 0, sizeof *s);
}

void axp__symbols_fini(struct axp__symbols *s)
{
    free(s->memory);
    free(s->times);
    ZSTD_freeDCtx(s->zstd);
    memset(s, 0, sizeof *s);
}

static bool reserve(struct axp__symbols *s, size_t bytes)
{
    if (!s->zstd) s->zstd = ZSTD_createDCtx();
    if (!s->times) s->times = malloc(sizeof *s->times);
    if (bytes > s->memory_bytes) {
        free(s->memory);
        s->memory = malloc(bytes);
        s->memory_bytes = s->memory ? bytes : 0;
    }
    return s->zstd && s->times && s->memory;
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

static bool fill_column(struct opener *o, enum axp__pack_column c, uint8_t *to,
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
        if (!fill_column(o, (enum axp__pack_column)i, to, b)) return false;
        to += room_of(o->len[i]);
    }
    o->refs = *b;
    o->refs_to = to;
    return true;
}

/* A ref takes two words. */
static size_t most_refs(const struct axp__block *head)
{
    return head->n_words / 2;
}

/* What is left of the body is refs, compressed unless it is as long as they
 * are. */
static bool fill_refs(struct opener *o, uint64_t n)
{
    size_t stored = axp__bytes_left(&o->refs), len = 4 * (size_t)n;
    o->s->refs = o->refs_to;
    o->s->n_refs = (size_t)n;
    o->s->at_ref = 0;
    if (stored == len) {
        if (len) memcpy(o->refs_to, o->refs.at, len);
        return true;
    }
    return len && ZSTD_decompressDCtx(o->s->zstd, o->refs_to, len, o->refs.at,
                                      stored) == len;
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
            begin <<= axp__bit_window_unit((unsigned)bits[k]);
            o->times->windows[2 * i + k] = begin << 8 | bits[k];
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
        bool is_ext = kind == AXP__W_EXT;
        if (w[at] & ~AXP__HEAD_MASK || kind == AXP__W_TIME ||
            (is_ext && at + 1 >= t->n_words))
            return false;
        if (is_ext && (w[at + 1] & 255) == AXP__X_STACK_REF) {
            if (t->ref_at || w[at + 1] >> 32) return false;
            t->ref_at = (uint8_t)(at + 1);
        }
        /* an EXT's length is there, the rest may be literals */
        size_t n = axp__record_words(w + at, SIZE_MAX);
        if (!n) return false;
        t->heads[t->n_heads++] = (uint8_t)at;
        at += n;
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
        o->times->actions[i + AXP__SYM_TEMPLATE] =
            make_action((uint32_t)context, (uint32_t)end,
                        step_of(axp__word_kind(s->words[first])));
        first += n;
    }
    return first == n_words && o->len[AXP__COL_TEMPLATES] % 8 == 0;
}

static void set_first_actions(struct opener *o)
{
    memset(o->times->actions, 0,
           (o->is_wide ? WIDE_SYMBOLS : 256u) * sizeof *o->times->actions);
    o->times->actions[AXP__SYM_END] = o->times->actions[AXP__SYM_STOP] =
        IS_END | make_action(0, 0, -1);
    o->times->actions[AXP__SYM_RECORD] = make_action(AXP__CTX_TIME, 0, 0);
    o->times->actions[AXP__SYM_TIME] = 0;
}

/* The counts at the beginning of the shape. */
static bool read_counts(struct opener *o, struct axp__bytes *b,
                        const struct axp__block *head)
{
    uint64_t n_symbols = axp__get_varint(b), n_templates = axp__get_varint(b);
    uint64_t n_contexts = axp__get_varint(b), flags = axp__get_varint(b);
    uint64_t n_refs = flags & AXP__SHAPE_REFS ? axp__get_varint(b) : 0;
    uint64_t is_wide = flags & AXP__SHAPE_WIDE;
    if (b->is_bad || n_symbols > head->n_words || flags > 3 ||
        n_refs > most_refs(head) || n_templates > AXP__PACK_TEMPLATES ||
        n_contexts < 2 || n_contexts > AXP__PACK_CONTEXTS ||
        (!is_wide && n_templates + AXP__SYM_TEMPLATE > 256) ||
        o->len[AXP__COL_SYMBOLS] != n_symbols << is_wide ||
        o->len[AXP__COL_FLAGS] != (n_symbols + 7) / 8 ||
        o->len[AXP__COL_EXCEPTIONS] % 8 || o->len[AXP__COL_LITERALS] % 8)
        return false;
    o->s->n_symbols = (uint32_t)n_symbols;
    o->s->n_templates = (uint32_t)n_templates;
    o->n_contexts = (uint32_t)n_contexts;
    o->is_wide = is_wide;
    return fill_refs(o, n_refs);
}

/* ---- times ---------------------------------------------------------------------------- */

#define BLOCK 64u /* symbols whose flags are one word */

/* A time all of whose bits are set: in the second window an exception. */
static __attribute__((noinline)) uint64_t get_full(struct axp__symbol_times *t,
                                                   uint64_t flag, uint64_t w)
{
    if (!flag) return ((uint64_t)1 << (w & 63)) - 1 + (w >> 8);
    size_t i = t->at_exception++;
    return i < t->n_exceptions ? axp__get_u64(t->exceptions + 8 * i) : 0;
}

/* The times of BLOCK symbols from `first` on, where all is as usual: symbols
 * are narrow and have a time each, there are bits enough, and the ring of open
 * scopes does not come round. Some 32 instructions a symbol. */
static void read_block(struct axp__symbols *s, size_t first)
{
    struct axp__symbol_times *t = s->times;
    const uint8_t *low = s->low + first, *bits = t->bits;
    const uint64_t *actions = t->actions, *windows = t->windows;
    uint64_t now = t->now, n_bits = t->n_bits;
    uint64_t *ticks = s->ticks + (first - s->first);
    uint64_t flags = axp__get_u64(t->flags + t->n_times / 8);
    char *open = (char *)(t->open + t->depth);
    for (size_t i = 0; i < BLOCK; i++) {
        uint64_t a = actions[low[i]], flag = flags & 1;
        uint64_t context = *(uint16_t *)(void *)(open - sizeof(uint16_t));
        context = a & IS_END ? context : a & 0xff;
        *(uint16_t *)(void *)(open + (a & NO_PUSH)) = (uint16_t)(a >> 16);
        open += (int64_t)a >> STEP_SHIFT;
        flags >>= 1;
        uint64_t w = windows[2 * context + flag];
        uint64_t mask = ((uint64_t)1 << (w & 63)) - 1;
        uint64_t v = axp__get_u64(bits + n_bits / 8) >> n_bits % 8 & mask;
        n_bits += (uint8_t)w;
        v = axp__unlikely(v == mask) ? get_full(t, flag, w) : v + (w >> 8);
        ticks[i] = now += v;
    }
    t->n_times += BLOCK;
    t->now = now;
    t->n_bits = n_bits;
    t->depth = (uint64_t)((uint16_t *)(void *)open - t->open);
}

/* The same for one, whatever it is and whatever is left. */
static void read_one(struct axp__symbols *s, size_t i)
{
    struct axp__symbol_times *t = s->times;
    uint32_t symbol = axp__symbol_at(s, i);
    uint64_t a = t->actions[symbol], at = t->n_bits / 8;
    uint64_t *ticks = &s->ticks[i - s->first];
    *ticks = t->now;
    if (symbol == AXP__SYM_TIME) return;
    uint64_t context = t->open[(t->depth - 1) % AXP__OPEN_SCOPES];
    if (!(a & IS_END)) context = a & 0xff;
    if (!(a & NO_PUSH))
        t->open[t->depth % AXP__OPEN_SCOPES] = (uint16_t)(a >> 16);
    t->depth += (uint64_t)((int64_t)a >> STEP_SHIFT) / sizeof(uint16_t);
    unsigned flag = t->flags[t->n_times / 8] >> t->n_times % 8 & 1;
    t->n_times++;
    uint64_t w = t->windows[2 * context + flag];
    uint64_t mask = ((uint64_t)1 << (w & 63)) - 1;
    if (at > t->n_bytes) at = t->n_bytes;
    uint64_t v = axp__get_u64(t->bits + at) >> t->n_bits % 8 & mask;
    t->n_bits += w & 63;
    *ticks = t->now += v == mask ? get_full(t, flag, w) : v + (w >> 8);
}

static uint8_t most_of(const uint8_t *bytes, size_t n)
{
    uint8_t most = 0;
    for (size_t i = 0; i < n; i++)
        most = bytes[i] > most ? bytes[i] : most;
    return most;
}

/* Whether n symbols from i on exist. */
static bool are_known(const struct axp__symbols *s, size_t i, size_t n)
{
    uint32_t end = s->n_templates + AXP__SYM_TEMPLATE;
    if (!s->high) return most_of(s->low + i, n) < end;
    for (size_t k = i; k < i + n; k++)
        if (axp__symbol_at(s, k) >= end) return false;
    return true;
}

static bool is_usual(const struct axp__symbol_times *t, size_t n)
{
    return t->is_plain && n == BLOCK &&
           t->n_bits / 8 + BLOCK * AXP__WINDOW_BITS / 8 < t->n_bytes &&
           t->depth - BLOCK < AXP__OPEN_SCOPES - 2 * BLOCK;
}

/* Whether the columns are used up. */
static bool is_all_read(const struct axp__symbol_times *t)
{
    return (t->n_bits + 7) / 8 == t->n_bytes &&
           t->at_exception == t->n_exceptions;
}

bool axp__symbols_next(struct axp__symbols *s)
{
    size_t left = s->n_symbols - s->end, i = s->end;
    size_t end = i + (left < AXP__SLICE ? left : AXP__SLICE);
    if (!left || !are_known(s, i, end - i)) return false;
    s->first = s->end;
    for (; i < end; i += BLOCK) {
        size_t n = end - i < BLOCK ? end - i : BLOCK;
        if (axp__likely(is_usual(s->times, n)))
            read_block(s, i);
        else
            for (size_t k = 0; k < n; k++)
                read_one(s, i + k);
    }
    if (end == s->n_symbols && !is_all_read(s->times)) return false;
    s->end = (uint32_t)end;
    return true;
}

static bool begin_times(struct opener *o)
{
    struct axp__symbols *s = o->s;
    struct axp__symbol_times *t = o->times;
    t->flags = o->column[AXP__COL_FLAGS];
    t->bits = o->column[AXP__COL_TIMES];
    t->exceptions = o->column[AXP__COL_EXCEPTIONS];
    t->n_bytes = o->len[AXP__COL_TIMES];
    t->n_exceptions = o->len[AXP__COL_EXCEPTIONS] / 8;
    t->at_exception = 0;
    t->now = s->chunk[0].base_ticks;
    t->n_bits = t->n_times = 0;
    t->depth = AXP__OPEN_SCOPES / 2; /* so that it seldom comes round */
    t->is_plain = !s->high && !memchr(s->low, AXP__SYM_TIME, s->n_symbols);
    memset(t->open, 0, sizeof t->open);
    s->first = s->end = 0;
    return s->n_symbols || is_all_read(t);
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
    size_t templates = room_of(sizeof *s->templates * AXP__PACK_TEMPLATES);
    size_t refs = room_of(4 * most_refs(head));
    if (!reserve(s, columns + refs + templates)) return AXP__UNPACK_NO_MEMORY;
    o.times = s->times;
    char *after = (char *)s->memory + columns + refs;
    s->templates = (struct axp__symbol_template *)(void *)after;
    return fill_columns(&o, &b) && read_shape(&o, head) && begin_times(&o)
               ? AXP__UNPACK_OK
               : AXP__UNPACK_DAMAGED;
}
