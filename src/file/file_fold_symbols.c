/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Symbols of a pack, added to the tally of its row without a detour over
 * words; see file_fold.h.
 *
 *   symbol ─► digest (what its template does) ─► begin, end, work: the loop
 *                                            └─► all else: as words
 *
 * The loop does what a recording thread does, by the same inline functions
 * (tally_scope.h), but for two things:
 *
 *   buckets   of histograms are counted some ends later: that many misses of
 *             the cache are under way at a time
 *   versions  are left alone: nobody looks
 *
 * Input  symbols and templates are checked (file_symbols.h); literals are
 *        asked for. Ends without a beginning are counted and passed over.
 * Cost   bench/bench_file.c.
 */
#define AXP__ALONE 1
#include <stdlib.h>
#include <string.h>

#include "file/file_fold.h"
#include "file/file_symbols.h"
#include "wire/wire_decode.h"

/* ---- digests ------------------------------------------------------------------ */

enum what { PLAIN, WORKED, MEMORY, CATEGORY, OTHER };

/* A symbol as the loop needs it: half a cache line. */
struct axp__digest {
    uint64_t label; /* with what it declares; or the category */
    double flops, bytes;
    uint32_t dtype;
    uint32_t what; /* enum what */
};
_Static_assert(sizeof(struct axp__digest) == 32, "half a cache line");

/* Whether a record is DIMS that say nothing but the scope's own name, as
 * recorders before shapes had names wrote them. */
static bool is_plain_dims(const uint64_t *at, uint64_t begin)
{
    return axp__word_kind(at[0]) == AXP__W_EXT &&
           (at[1] & 255) == AXP__X_DIMS &&
           axp__word_name(at[0]) == axp__word_name(begin);
}

/* BEGIN, perhaps with WORK, which may be in its name, perhaps with DIMS after it. */
static void make_digest(const struct axp__fold *f, struct axp__digest *d,
                        const struct axp__symbols *s,
                        const struct axp__symbol_template *t)
{
    const uint64_t *w = s->words + t->first;
    enum axp__word_kind kind = axp__word_kind(w[0]);
    *d = (struct axp__digest){.what = OTHER};
    if ((kind == AXP__W_ALLOC || kind == AXP__W_FREE) && t->n_words == 1)
        d->what = MEMORY;
    if (t->ref_at == 1 && t->n_words == 3 &&
        axp__word_kind(w[2]) == AXP__W_ALLOC)
        d->what = MEMORY;
    if (kind == AXP__W_EXT && (w[1] & 255) == AXP__X_CATEGORY &&
        t->n_words == 2 && !t->n_literals)
        *d = (struct axp__digest){.what = CATEGORY, .label = w[1] >> 32};
    if (kind != AXP__W_BEGIN || t->n_literals) return;
    bool has_work = t->n_heads > 1 && axp__word_kind(w[1]) == AXP__W_WORK;
    unsigned n_more = t->n_heads - 1u - has_work;
    if (n_more > 1 ||
        (n_more && !is_plain_dims(w + t->heads[t->n_heads - 1], w[0])))
        return;
    struct axp__work work = {0};
    bool is_told = axp__fold_told(f, axp__word_name(w[0]), &work);
    if (is_told && has_work) return;
    if (has_work) work = axp__fold_work(w + 1);
    has_work |= is_told;
    uint32_t declares = axp__work_flags(&work);
    if (has_work && !declares) return;
    *d = (struct axp__digest){.label = AXP__LABEL(axp__word_name(w[0])) +
                                       AXP__DECLARES(declares),
                              .flops = work.flops,
                              .bytes = work.bytes,
                              .dtype = work.dtype,
                              .what = has_work ? WORKED : PLAIN};
}

/* ---- what the loop leaves -------------------------------------------------------- */

/* Any other template: its words, with their literals. */
static void fold_template(struct axp__fold *f, struct axp__fold_row *r,
                          struct axp__symbols *s, uint32_t i, uint64_t ticks)
{
    struct axp__symbol_template *t = &s->templates[i];
    uint64_t words[AXP__TEMPLATE_WORDS + AXP__CHUNK_WORDS];
    memcpy(words, s->words + t->first, t->n_words * 8);
    const uint8_t *from = axp__symbols_literals(s, t->n_literals);
    if (!from && t->n_literals) return;
    for (uint32_t k = 0; k < t->n_literals; k++) {
        uint64_t v = axp__get_u64(from + 8 * k);
        if (t->n_literals <= AXP__LAST_SLOTS)
            v = t->last[k] += axp__unzigzag(v);
        words[t->n_words + k] = v;
    }
    axp__fold_words(f, r, words, t->n_words + t->n_literals, ticks);
}

/* ALLOC or FREE; stacks are the timeline's alone. */
static void fold_memory(struct axp__fold *f, struct axp__fold_row *r,
                        struct axp__symbols *s, uint32_t i, uint64_t ticks)
{
    struct axp__symbol_template *t = &s->templates[i];
    uint64_t head = s->words[t->first + t->n_words - 1]; /* or of its stack */
    const uint8_t *from = axp__symbols_literals(s, 2);
    if (!from) return;
    uint64_t bytes = t->last[0] += axp__unzigzag(axp__get_u64(from));
    t->last[1] += axp__unzigzag(axp__get_u64(from + 8));
    axp__fold_put_memory(f, r,
                         &(struct axp__wire_event){.name = axp__word_name(head),
                                                   .ticks = ticks,
                                                   .payload = t->last},
                         bytes, axp__word_kind(head) == AXP__W_ALLOC);
    r->last_ticks = ticks;
}

/* A new extreme, a page of a histogram, records that are no scopes. */
static __attribute__((noinline)) void fold_rare(struct axp__fold *f,
                                                struct axp__fold_row *r,
                                                struct axp__symbols *s,
                                                size_t at)
{
    uint32_t symbol = axp__symbol_at(s, at), i = symbol - AXP__SYM_TEMPLATE;
    const struct axp__digest *d = &f->digest[symbol];
    uint64_t ticks = s->ticks[at - s->first];
    if (symbol == AXP__SYM_END) {
        axp__fold_end(f, r, ticks, 0);
        r->last_ticks = ticks;
    } else if (d->what == MEMORY) {
        fold_memory(f, r, s, i, ticks);
    } else if (d->what == CATEGORY) {
        axp__fold_set_category(r, d->label);
        r->last_ticks = ticks;
    } else if (symbol == AXP__SYM_TIME) {
        (void)axp__symbols_literals(s, 1);
    } else {
        fold_template(f, r, s, i, ticks);
    }
}

/* A scope begins at a new place in the tree, or at one that the hash does not
 * give at once. False: no memory. */
static __attribute__((noinline)) bool begin_slow(struct axp__fold_row *r,
                                                 const struct axp__digest *d,
                                                 uint64_t ticks)
{
    struct axp__tally *t = &r->tally;
    if (!axp__tally_has_room(t)) return false;
    struct axp__frame *frame = axp__tally_push_label(t, d->label, ticks);
    if (d->what == WORKED)
        axp__tally_add_work(t, frame,
                            &(struct axp__work){d->flops, d->bytes, d->dtype});
    return true;
}

/* ---- the loop ------------------------------------------------------------------------ */

#define LATE 16u /* ends */

struct run {
    struct axp__fold *fold;
    struct axp__fold_row *row;
    struct axp__digest *digest;
    uint64_t *late[LATE], nowhere; /* buckets that are still to be counted */
};

/* The parts of a tally that the loop looks at lie in a tally of its own, which
 * nobody else can reach: so they stay in registers. */
static inline void take(struct axp__tally *hot, const struct axp__tally *t)
{
    hot->top = t->top;
    hot->limit = t->limit;
    hot->hash = t->hash;
    hot->hash_mask = t->hash_mask;
}

/* Keeps a bucket; returns the one that is due instead. */
static inline uint64_t *count_later(struct run *run, uint64_t *bucket, size_t i)
{
    uint64_t **late = &run->late[i % LATE], *due = *late;
    __builtin_prefetch(bucket, 1);
    *late = bucket;
    return due;
}

static inline bool end_one(struct run *run, struct axp__frame *top,
                           uint64_t now, size_t i)
{
    struct axp__ending end;
    if (axp__unlikely(!axp__tally_may_end(top, now, 0, &end))) return false;
    end.bucket = count_later(run, end.bucket, i);
    axp__tally_end(top, &end);
    return true;
}

/* What a node that declares work was told once more; its extra lies next to
 * it. */
static inline void add_declared(struct axp__node *node,
                                const struct axp__digest *d)
{
    struct axp__node_extra *x = (struct axp__node_extra *)(void *)(node + 1);
    x->flops += d->flops;
    x->bytes += d->bytes;
    if (axp__unlikely(d->dtype != x->dtype) && d->dtype) x->dtype = d->dtype;
}

/* A scope that ends before anything else happens, as most do: the frame that
 * it would have is not written. */
static inline bool pass_leaf(struct run *run, struct axp__frame *top,
                             const struct axp__entry *e, const uint64_t *ticks,
                             size_t i)
{
    struct axp__op *op = e->other;
    uint64_t took = ticks[i + 1] - ticks[i];
    uint64_t *bucket = axp__tally_peek_bucket(op, took);
    if (axp__unlikely(!bucket)) return false;
    axp__set(&top->child_ticks, top->child_ticks + took);
    axp__tally_add(op, e->record, count_later(run, bucket, i), took, took);
    return true;
}

/* A slice; false: no memory, or too deep. */
static bool fold_slice(struct run *run, struct axp__symbols *s)
{
    struct axp__fold_row *r = run->row;
    const uint8_t *low = s->low + s->first;
    const uint8_t *high = s->high ? s->high + s->first : NULL;
    const uint64_t *ticks = s->ticks;
    const size_t n = s->end - s->first;
    struct axp__tally hot;
    take(&hot, &r->tally);
    for (size_t i = 0; i < n; i++) {
        uint32_t symbol = low[i] | (high ? (uint32_t)high[i] << 8 : 0);
        struct axp__frame *top = hot.top;
        if (symbol == AXP__SYM_END &&
            axp__likely(end_one(run, top, ticks[i], i))) {
            hot.top = top - 1;
            continue;
        }
        const struct axp__digest *d = &run->digest[symbol];
        if (axp__unlikely(d->what > WORKED)) {
            r->tally.top = top;
            fold_rare(run->fold, r, s, s->first + i);
            take(&hot, &r->tally);
            continue;
        }
        struct axp__entry *e = axp__tally_peek(&hot, top->path, d->label);
        if (axp__unlikely(!e || top + 1 == hot.limit)) {
            r->tally.top = top;
            if (!begin_slow(r, d, ticks[i])) return false;
            take(&hot, &r->tally);
            continue;
        }
        if (d->what == WORKED) add_declared(e->record, d);
        if (i + 1 < n && !low[i + 1] && !(high && high[i + 1]) &&
            axp__likely(pass_leaf(run, top, e, ticks, i))) {
            i++;
            continue;
        }
        axp__tally_open(top + 1, e, (struct axp__frame_init){.now = ticks[i]});
        hot.top = top + 1;
    }
    r->tally.top = hot.top;
    return true;
}

/* ---- a pack ---------------------------------------------------------------------------- */

static bool has_symbol(const struct axp__symbols *s, uint32_t symbol)
{
    if (!s->high) return memchr(s->low, (int)symbol, s->n_symbols);
    for (uint32_t i = 0; i < s->n_symbols; i++)
        if (axp__symbol_at(s, i) == symbol) return true;
    return false;
}

bool axp__fold_can_do(struct axp__fold *f, const struct axp__symbols *s)
{
    if (!f->digest)
        f->digest =
            calloc(AXP__SYM_TEMPLATE + AXP__PACK_TEMPLATES, sizeof *f->digest);
    return f->digest && !has_symbol(s, AXP__SYM_STOP) &&
           !has_symbol(s, AXP__SYM_RECORD);
}

/* From when to when it is. The loop leaves it to this to say when the last
 * scope of a slice ended. */
static void note_times(struct axp__fold *f, struct axp__fold_row *r,
                       const struct axp__symbols *s)
{
    const uint64_t *ticks = s->ticks;
    const size_t n = s->end - s->first;
    if (ticks[0] < r->first_ticks) r->first_ticks = ticks[0];
    if (ticks[n - 1] > f->end_ticks) f->end_ticks = ticks[n - 1];
    for (size_t i = n; i--;) {
        uint32_t symbol = axp__symbol_at(s, s->first + i);
        if (symbol == AXP__SYM_END) r->last_ticks = ticks[i];
        if (f->digest[symbol].what > WORKED) return;
    }
}

bool axp__fold_symbols(struct axp__fold *f, struct axp__fold_row *r,
                       struct axp__symbols *s)
{
    struct run run = {.fold = f, .row = r, .digest = f->digest};
    for (uint32_t i = 0; i < AXP__SYM_TEMPLATE; i++)
        f->digest[i].what = OTHER;
    for (uint32_t i = 0; i < s->n_templates; i++)
        make_digest(f, &f->digest[i + AXP__SYM_TEMPLATE], s, &s->templates[i]);
    for (uint32_t i = 0; i < LATE; i++)
        run.late[i] = &run.nowhere;
    /* so that no end is the root's */
    axp__frame_set_flags(r->tally.frames, AXP__F_MOVED);
    while (!f->is_out_of_memory && axp__symbols_next(s)) {
        if (!fold_slice(&run, s)) f->is_out_of_memory = true;
        note_times(f, r, s);
    }
    for (uint32_t i = 0; i < LATE; i++)
        ++*run.late[i];
    return axp__symbols_are_through(s);
}
