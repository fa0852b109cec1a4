/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Symbols back to words, exactly those that were packed.
 *
 * Input    a PACK's body, untrusted: file_symbols.c checks most of it, and
 *          here is checked that each chunk gets the words it claims, that
 *          times fit, and that all literals are used.
 * Cost     with opening 2 ns a word on a Neoverse V1 (bench/bench_file.c).
 */
#include <stdlib.h>
#include <string.h>

#include "base/base_atomic.h"
#include "file/file_symbols.h"

/* Where words go. Each symbol makes at least one, and a chunk has no more
 * symbols than words: what takes more leaves room for those that follow. */
struct writer {
    uint64_t *at, *end;
    uint64_t base; /* of their times */
    uint64_t is_bad;
    struct axp__open_scopes open;
};

static inline uint64_t delta_of(struct writer *w, uint64_t ticks)
{
    uint64_t delta = ticks - w->base;
    w->is_bad |= delta >> AXP__TIME_BITS;
    return delta << AXP__TIME_SHIFT;
}

static bool put_literals(struct axp__symbols *s, struct writer *w, size_t n)
{
    const uint8_t *from = axp__symbols_literals(s, n);
    for (size_t i = 0; from && i < n; i++)
        *w->at++ = axp__get_u64(from + 8 * i);
    return from;
}

static bool put_payload(struct axp__symbols *s, struct writer *w,
                        struct axp__symbol_template *t)
{
    uint64_t *at = w->at;
    if (!put_literals(s, w, t->n_literals)) return false;
    if (t->n_literals > AXP__LAST_SLOTS) return true;
    for (uint32_t i = 0; i < t->n_literals; i++)
        at[i] = t->last[i] += axp__unzigzag(at[i]);
    return true;
}

/* Copies two words at a time: the one too many is written over later, or
 * lies behind the last chunk. */
static inline bool put_template(struct axp__symbols *s, struct writer *w,
                                uint32_t i, uint64_t ticks, size_t n_after)
{
    struct axp__symbol_template *t = &s->templates[i];
    const uint64_t *from = s->words + t->first;
    uint64_t delta = delta_of(w, ticks);
    if (axp__unlikely((size_t)(w->end - w->at) <
                      t->n_words + t->n_literals + n_after))
        return false;
    for (uint32_t k = 0; k < t->n_words; k += 2)
        memcpy(w->at + k, from + k, 16);
    for (unsigned k = 0; k < t->n_heads; k++)
        w->at[t->heads[k]] = from[t->heads[k]] | delta;
    if (axp__unlikely(t->ref_at)) {
        uint32_t ref;
        if (!axp__symbols_ref(s, &ref)) return false;
        w->at[t->ref_at] |= (uint64_t)ref << 32;
    }
    w->at += t->n_words;
    if (t->is_begin)
        axp__scope_push(&w->open, axp__word_name(from[0]), i);
    else if (axp__is_end(axp__word_kind(from[0])))
        w->open.depth--;
    return axp__likely(!t->n_literals) || put_payload(s, w, t);
}

static bool put_time(struct axp__symbols *s, struct writer *w, size_t n_after)
{
    if ((size_t)(w->end - w->at) < 2 + n_after) return false;
    *w->at++ = axp__word(AXP__W_TIME, 0, 0);
    if (!put_literals(s, w, 1)) return false;
    w->base = w->at[-1];
    return true;
}

/* A record whose words are all literals. */
static bool put_record(struct axp__symbols *s, struct writer *w, uint64_t ticks,
                       size_t n_after)
{
    uint64_t *head = w->at, delta = delta_of(w, ticks);
    size_t left = (size_t)(w->end - w->at);
    if (left < 1 + n_after || !put_literals(s, w, 1)) return false;
    enum axp__word_kind kind = axp__word_kind(*head);
    uint64_t n = axp__payload_words(kind);
    if (*head & ~AXP__HEAD_MASK || kind == AXP__W_NONE || kind == AXP__W_TIME ||
        kind >= AXP__W_N_KINDS || left < 1 + n + n_after ||
        !put_literals(s, w, n))
        return false;
    *head |= delta;
    if (kind != AXP__W_EXT) return true;
    n = axp__ext_words(head[1]);
    return n && left >= 1 + n + n_after && put_literals(s, w, n - 1);
}

static bool put_symbol(struct axp__symbols *s, struct writer *w, size_t i,
                       size_t n_after)
{
    uint32_t symbol = axp__symbol_at(s, i);
    uint64_t ticks = s->ticks[i - s->first];
    if (axp__likely(symbol >= AXP__SYM_TEMPLATE))
        return put_template(s, w, symbol - AXP__SYM_TEMPLATE, ticks, n_after);
    if (symbol == AXP__SYM_TIME) return put_time(s, w, n_after);
    if (symbol == AXP__SYM_RECORD) return put_record(s, w, ticks, n_after);
    const struct axp__open_scope *top = axp__scope_top(&w->open);
    if (axp__unlikely(top->name == AXP__NO_NAME)) return false;
    w->open.depth--;
    *w->at++ = delta_of(w, ticks) | (uint64_t)top->name << 4 |
               (symbol == AXP__SYM_END ? AXP__W_END : AXP__W_STOP);
    return true;
}

static bool put_chunk(struct axp__symbols *s, struct writer *w, size_t first,
                      size_t n)
{
    for (size_t i = first; i < first + n; i++) {
        if (axp__unlikely(i == s->end) && !axp__symbols_next(s)) return false;
        if (axp__unlikely(!put_symbol(s, w, i, first + n - 1 - i)))
            return false;
    }
    return !w->is_bad && w->at == w->end;
}

static bool put_chunks(struct axp__symbols *s, struct axp__unpacked *out)
{
    struct writer w = {.at = out->words};
    size_t first = 0;
    axp__scopes_init(&w.open);
    for (uint32_t i = 0; i < s->n_chunks; i++) {
        const struct axp__symbol_chunk *c = &s->chunk[i];
        if (i) {
            *w.at++ = axp__word(AXP__W_TIME, 0, 0);
            *w.at++ = c->base_ticks;
        }
        out->chunk[i] = (struct axp__unpacked_chunk){
            c->seq, c->base_ticks, (size_t)(w.at - out->words), c->n_words,
            c->n_events};
        w.end = w.at + c->n_words;
        w.base = c->base_ticks;
        if (!put_chunk(s, &w, first, c->n_symbols)) return false;
        first += c->n_symbols;
    }
    out->n_chunks = s->n_chunks;
    out->n_words = (size_t)(w.at - out->words);
    return s->at_literal == s->n_literals && s->at_ref == s->n_refs;
}

enum axp__unpack_result axp__file_unpack(const struct axp__block *head,
                                         const uint8_t *body,
                                         struct axp__unpacked *out)
{
    struct axp__symbols s;
    out->words = NULL;
    out->n_words = out->n_chunks = 0;
    axp__symbols_init(&s);
    enum axp__unpack_result result = axp__symbols_open(&s, head, body);
    if (result == AXP__UNPACK_OK) {
        size_t n = head->n_words + 2 * (size_t)head->n;
        out->words = malloc((n + 1) * 8);
        if (!out->words)
            result = AXP__UNPACK_NO_MEMORY;
        else if (!put_chunks(&s, out))
            result = AXP__UNPACK_DAMAGED;
    }
    axp__symbols_fini(&s);
    return result;
}

void axp__unpacked_fini(struct axp__unpacked *u)
{
    free(u->words);
    u->words = NULL;
}
