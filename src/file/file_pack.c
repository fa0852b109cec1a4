/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Packing; file_pack.h has the idea, file_column.h the layout.
 *
 * In passes over arrays that the cache holds: words to symbols and times
 * (here); contexts, histograms, windows, bits, columns (file_pack_columns.c).
 */
#include "file/file_pack.h"

#include <string.h>

#include "base/base_atomic.h"
#include "base/base_bytes.h"
#include "file/file_packer.h"
#include "os/os_map.h"

/* ---- memory ------------------------------------------------------------------------- */

/* From the kernel, not from malloc: a drain has descriptors of its own, and a
 * program's malloc may remember some (tcmalloc's looks at stacks by way of a
 * pipe): they would be other files there, or here. */
struct piece {
    size_t bytes;
    char reserved[56];
};

static void *take(void *unused, size_t bytes)
{
    (void)unused;
    struct piece *piece = axp__map(sizeof *piece + bytes);
    if (!piece) return NULL;
    piece->bytes = sizeof *piece + bytes;
    return piece + 1;
}

static void give(void *unused, void *memory)
{
    (void)unused;
    if (!memory) return;
    struct piece *piece = (struct piece *)memory - 1;
    axp__unmap(piece, piece->bytes);
}

struct axp__packer *axp__packer_create(void)
{
    struct axp__packer *p = take(NULL, sizeof *p);
    ZSTD_CCtx *zstd =
        ZSTD_createCCtx_advanced((ZSTD_customMem){take, give, NULL});
    if (p && zstd) {
        p->zstd = zstd;
        return p;
    }
    give(NULL, p);
    ZSTD_freeCCtx(zstd);
    return NULL;
}

void axp__packer_destroy(struct axp__packer *p)
{
    if (!p) return;
    ZSTD_freeCCtx(p->zstd);
    give(NULL, p);
}

static void reset(struct axp__packer *p)
{
    p->n_symbols = p->n_templates = p->n_words = p->n_far_times = 0;
    p->n_literals = p->n_exceptions = p->n_refs = 0;
    p->n_contexts = 2;
    axp__scopes_init(&p->open);
    memset(p->slots, 0, sizeof p->slots);
    memset(p->near, 0, sizeof p->near);
}

/* ---- templates ---------------------------------------------------------------- */

static uint64_t hash_of(const uint64_t *words, size_t n)
{
    uint64_t h = n;
    for (size_t i = 0; i < n; i++)
        h = (h ^ words[i]) * 0x9e3779b97f4a7c15u, h ^= h >> 32;
    return h;
}

static uint32_t add_template(struct axp__packer *p, const uint64_t *words,
                             uint32_t n, uint32_t n_literals)
{
    if (p->n_templates == AXP__PACK_TEMPLATES ||
        p->n_words + n > AXP__PACK_WORDS)
        return UINT32_MAX;
    struct axp__template *t = &p->templates[p->n_templates];
    *t = (struct axp__template){
        .first = p->n_words, .n_words = n, .n_literals = n_literals};
    memcpy(p->words + p->n_words, words, n * 8);
    p->n_words += n;
    return p->n_templates++;
}

/* The template of these words, made when new; UINT32_MAX: there are too many. */
static uint32_t find_template(struct axp__packer *p, const uint64_t *words,
                              uint32_t n, uint32_t n_literals)
{
    uint32_t i = (uint32_t)hash_of(words, n) % AXP__PACK_SLOTS;
    for (; p->slots[i]; i = (i + 1) % AXP__PACK_SLOTS) {
        const struct axp__template *t = &p->templates[p->slots[i] - 1];
        if (t->n_words == n && !memcmp(p->words + t->first, words, n * 8))
            return p->slots[i] - 1u;
    }
    uint32_t fresh = add_template(p, words, n, n_literals);
    if (fresh != UINT32_MAX) p->slots[i] = (uint16_t)(fresh + 1);
    return fresh;
}

/* The same for a single head without payload. */
static inline uint32_t find_head(struct axp__packer *p, uint64_t head)
{
    uint16_t *near = &p->near[(head >> 4 ^ head << 7) % AXP__PACK_NEAR];
    if (*near) {
        const struct axp__template *t = &p->templates[*near - 1];
        if (t->n_words == 1 && p->words[t->first] == head) return *near - 1u;
    }
    uint32_t found = find_template(p, &head, 1, 0);
    if (found != UINT32_MAX) *near = (uint16_t)(found + 1);
    return found;
}

/* ---- words to symbols ------------------------------------------------------------ */

struct reader {
    const uint64_t *at, *end;
    uint64_t base;
};

static inline void put_symbol(struct axp__packer *p, uint32_t symbol,
                              uint32_t owner, uint64_t now)
{
    uint64_t time = now - p->now;
    uint32_t i = p->n_symbols++;
    p->now = now;
    p->symbol[i] = (uint16_t)symbol;
    p->owner[i] = (uint16_t)owner;
    p->time[i] = (uint32_t)time;
    if (axp__unlikely(time >= AXP__FAR_TIME)) {
        p->time[i] = AXP__FAR_TIME;
        if (p->n_far_times < AXP__PACK_FAR) p->far_times[p->n_far_times] = time;
        p->n_far_times++;
    }
}

/* Words of the record at r, its head included; 0: not one of ours. */
static size_t record_words(const struct reader *r)
{
    return axp__record_words(r->at, (size_t)(r->end - r->at));
}

/* What is said of a scope: the same each time. */
static bool is_constant(const uint64_t *at)
{
    enum axp__word_kind kind = axp__word_kind(*at);
    if (kind == AXP__W_WORK) return true;
    unsigned ext = at[1] & 255;
    return kind == AXP__W_EXT && (ext == AXP__X_DIMS || ext == AXP__X_CATEGORY);
}

/* A scope begins, with what is said of it at the same moment. False: there
 * are too many templates. */
static bool put_begin(struct axp__packer *p, struct reader *r)
{
    const uint64_t *from = r->at;
    uint64_t head = *r->at++, words[AXP__TEMPLATE_WORDS];
    uint64_t now = r->base + axp__word_delta(head);
    uint32_t n = 1, found;
    words[0] = head & AXP__HEAD_MASK;
    while (r->at < r->end &&
           *r->at >> AXP__TIME_SHIFT == head >> AXP__TIME_SHIFT) {
        enum axp__word_kind kind = axp__word_kind(*r->at);
        if (kind != AXP__W_WORK && kind != AXP__W_EXT) break;
        size_t more = record_words(r);
        if (!more || !is_constant(r->at) || n + more > AXP__TEMPLATE_WORDS)
            break;
        memcpy(words + n, r->at, more * 8);
        words[n] &= AXP__HEAD_MASK;
        n += (uint32_t)more;
        r->at += more;
    }
    found = n == 1 ? find_head(p, words[0]) : find_template(p, words, n, 0);
    if (found == UINT32_MAX) {
        r->at = from;
        return false;
    }
    p->templates[found].n_times++;
    axp__scope_push(&p->open, axp__word_name(head), found);
    put_symbol(p, found + AXP__SYM_TEMPLATE, AXP__OWNER(found), now);
    return true;
}

static void put_literals(struct axp__packer *p, const uint64_t *words, size_t n)
{
    memcpy(p->literals + p->n_literals, words, n * 8);
    p->n_literals += (uint32_t)n;
}

/* Payload, less that of the same template before where it is short. */
static void put_payload(struct axp__packer *p, struct axp__template *t,
                        const uint64_t *words)
{
    if (t->n_literals > AXP__LAST_SLOTS) {
        put_literals(p, words, t->n_literals);
        return;
    }
    for (uint32_t i = 0; i < t->n_literals; i++) {
        p->literals[p->n_literals++] = axp__zigzag(words[i] - t->last[i]);
        t->last[i] = words[i];
    }
}

/* The id of a stack, and the allocation that it is said of, if that follows as
 * it does: one template but for id, size and address. False: too many
 * templates, or not as the recorder writes it. */
static bool put_stack_ref(struct axp__packer *p, struct reader *r)
{
    const uint64_t *at = r->at;
    uint64_t words[3] = {at[0] & AXP__HEAD_MASK, (uint32_t)at[1], 0};
    bool is_alloc = r->end - at >= 5 && axp__word_kind(at[2]) == AXP__W_ALLOC &&
                    at[2] >> AXP__TIME_SHIFT == at[0] >> AXP__TIME_SHIFT;
    if (axp__ext_words(at[1]) != 1) return false;
    if (is_alloc) words[2] = at[2] & AXP__HEAD_MASK;
    uint32_t found =
        find_template(p, words, is_alloc ? 3 : 2, is_alloc ? 2 : 0);
    if (found == UINT32_MAX) return false;
    p->refs[p->n_refs++] = (uint32_t)(at[1] >> 32);
    p->templates[found].n_times++;
    if (is_alloc) put_payload(p, &p->templates[found], at + 3);
    put_symbol(p, found + AXP__SYM_TEMPLATE, AXP__OWNER(found),
               r->base + axp__word_delta(at[0]));
    r->at += is_alloc ? 5 : 2;
    return true;
}

/* Any other record; false: not one of ours. */
static bool put_record(struct axp__packer *p, struct reader *r)
{
    const uint64_t *at = r->at;
    size_t n = record_words(r);
    enum axp__word_kind kind = axp__word_kind(*at);
    uint64_t words[AXP__TEMPLATE_WORDS] = {*at & AXP__HEAD_MASK};
    if (!n) return false;
    bool is_ref = kind == AXP__W_EXT && (at[1] & 255) == AXP__X_STACK_REF;
    if (is_ref && put_stack_ref(p, r)) return true;
    r->at += n;
    if (kind == AXP__W_TIME) {
        if (*at != axp__word(AXP__W_TIME, 0, 0)) return false;
        r->base = at[1];
        p->symbol[p->n_symbols++] = AXP__SYM_TIME;
        put_literals(p, at + 1, 1);
        return true;
    }
    /* What is constant belongs to the template, the rest is literal. */
    size_t same = kind == AXP__W_EXT ? 2 : 1;
    if (n <= AXP__TEMPLATE_WORDS && n > 1 && is_constant(at)) same = n;
    memcpy(words + 1, at + 1, (same - 1) * 8);
    uint64_t now = r->base + axp__word_delta(*at);
    uint32_t found =
        is_ref ? UINT32_MAX
               : find_template(p, words, (uint32_t)same, (uint32_t)(n - same));
    if (found == UINT32_MAX) {
        put_literals(p, words, 1);
        put_literals(p, at + 1, n - 1);
        put_symbol(p, AXP__SYM_RECORD, AXP__OWNER_NOBODY, now);
        return true;
    }
    if (axp__is_end(kind)) p->open.depth--;
    p->templates[found].n_times++;
    put_payload(p, &p->templates[found], at + same);
    put_symbol(p, found + AXP__SYM_TEMPLATE, AXP__OWNER(found), now);
    return true;
}

/* False: the words are not what the recorder writes. */
static bool read_words(struct axp__packer *p, struct reader *r)
{
    while (r->at < r->end) {
        uint64_t head = *r->at;
        enum axp__word_kind kind = axp__word_kind(head);
        if (kind == AXP__W_END || kind == AXP__W_STOP) {
            const struct axp__open_scope *top = axp__scope_top(&p->open);
            if (top->name == axp__word_name(head)) {
                uint32_t symbol =
                    kind == AXP__W_END ? AXP__SYM_END : AXP__SYM_STOP;
                p->open.depth--;
                p->templates[top->template].n_ends++; /* or nobody's */
                put_symbol(p, symbol, AXP__OWNER(top->template) + 1,
                           r->base + axp__word_delta(head));
                r->at++;
                continue;
            }
        } else if (axp__is_begin(kind) && put_begin(p, r)) {
            continue;
        }
        if (!put_record(p, r)) return false;
    }
    return true;
}

size_t axp__packer_pack(struct axp__packer *p,
                        const struct axp__chunk *const *chunks, size_t n,
                        void *out, size_t cap)
{
    if (n == 0 || n > AXP__PACK_CHUNKS) return 0;
    if (n == 1 && axp__chunk_is_tiny(chunks[0])) return 0;
    reset(p);
    p->now = chunks[0]->base_ticks;
    for (size_t i = 0; i < n; i++) {
        const struct axp__chunk *c = chunks[i];
        if (c->n_words > AXP__CHUNK_WORDS) return 0;
        struct reader r = {c->words, c->words + c->n_words, c->base_ticks};
        uint32_t before = p->n_symbols;
        if (!read_words(p, &r)) return 0;
        p->chunk_symbols[i] = p->n_symbols - before;
    }
    if (p->n_far_times > AXP__PACK_FAR) return 0;
    return axp__packer_write(p, chunks, n, out, cap);
}

/* ---- for the drain ----------------------------------------------------------------- */

static void *open_packer(void)
{
    return axp__packer_create();
}

static size_t pack(void *packer, const struct axp__chunk *const *chunks,
                   size_t n, void *out, size_t cap)
{
    return axp__packer_pack(packer, chunks, n, out, cap);
}

static void close_packer(void *packer)
{
    axp__packer_destroy(packer);
}

const struct axp__packing axp__file_packing = {open_packer, pack, close_packer};
