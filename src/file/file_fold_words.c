/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Words of a row, added to its tally; see file_fold.h.
 *
 * The counterpart of src/record: what there is written after it was counted,
 * is counted here as it is read. The usual begin and end take the same inline
 * way as in the recorder, without its barriers: nobody else looks.
 */
#define AXP__ALONE 1
#include <stdlib.h>
#include <string.h>

#include "file/file_fold.h"
#include "file/file_symbols.h"
#include "os/os_clock.h"
#include "tally/tally_step.h"
#include "wire/wire_decode.h"

/* ---- scopes ------------------------------------------------------------------- */

/* label: a name's, and what it declares. */
static inline struct axp__frame *begin(struct axp__fold *f,
                                       struct axp__fold_row *r, uint64_t label,
                                       uint64_t now)
{
    struct axp__tally *t = &r->tally;
    struct axp__frame *frame = t->top + 1;
    struct axp__entry *e = axp__tally_peek(t, t->top->path, label);
    if (axp__likely(e && frame != t->limit)) {
        axp__tally_open(frame, e, (struct axp__frame_init){.now = now});
        t->top = frame;
        return frame;
    }
    if (!axp__tally_has_room(t)) {
        f->is_out_of_memory = true;
        return NULL;
    }
    return axp__tally_push_label(t, label, now);
}

static __attribute__((noinline)) void end_slow(struct axp__fold_row *r,
                                               uint64_t now)
{
    struct axp__tally *t = &r->tally;
    if (t->top == t->frames)
        r->n_unmatched++;
    else
        axp__tally_pop(t, now);
}

static inline void end(struct axp__fold_row *r, uint64_t now)
{
    struct axp__tally *t = &r->tally;
    struct axp__frame *frame = t->top;
    if (axp__likely(frame != t->frames && axp__tally_pop_fast(frame, now)))
        t->top = frame - 1;
    else
        end_slow(r, now);
}

/* The newest named scope of that name. */
static void stop(struct axp__fold_row *r, uint32_t name, uint64_t now)
{
    struct axp__tally *t = &r->tally;
    for (struct axp__frame *f = t->top; f > t->frames; f--) {
        if (!(axp__frame_flags(f) & AXP__F_NAMED) || f->op->name != name)
            continue;
        axp__frame_clear_flags(f, AXP__F_NAMED);
        if (f == t->top)
            end(r, now);
        else
            axp__tally_remove(t, f, now, true);
        return;
    }
    r->n_unmatched++;
}

/* A scope that another thread ended; it was counted there. */
static void drop(struct axp__fold_row *r, const struct axp__wire_event *e)
{
    struct axp__tally *t = &r->tally;
    for (struct axp__frame *f = t->top; f > t->frames; f--)
        if (f->op->name == e->name &&
            (!e->n_payload || f->begin_ticks == e->payload[0])) {
            axp__tally_remove(t, f, e->ticks, false);
            return;
        }
    r->n_unmatched++;
}

/* ---- work ------------------------------------------------------------------------ */

static double as_double(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, 8);
    return v;
}

static uint32_t dtype_of(uint32_t name)
{
    return name <= AXP_C128 ? name : AXP_DTYPE_UNKNOWN;
}

static void add_work(struct axp__fold_row *r, const struct axp__work *work)
{
    struct axp__frame *top = r->tally.top;
    if (top != r->tally.frames) axp__tally_add_work(&r->tally, top, work);
}

static void add_dims(struct axp__fold_row *r, const uint64_t *payload)
{
    struct axp__frame *top = r->tally.top;
    uint32_t dims[6];
    for (unsigned i = 0; i < 6; i++)
        dims[i] = (uint32_t)(payload[i / 2] >> 32 * (i % 2));
    if (top != r->tally.frames && dims[0]) axp__tally_set_dims(top->op, dims);
}

static void set_category(struct axp__fold_row *r, uint32_t category)
{
    struct axp__frame *top = r->tally.top;
    if (top != r->tally.frames && category <= AXP_CAT_IO)
        top->node->category = (uint16_t)category;
}

/* ---- memory ------------------------------------------------------------------------ */

#define BYTES_MASK (((uint64_t)1 << 56) - 1)

static void put_memory(struct axp__fold *f, struct axp__fold_row *r,
                       const struct axp__wire_event *e, uint64_t bytes_and_kind,
                       bool is_alloc)
{
    struct axp__mem_word word = {
        .ticks = e->ticks,
        .now = e->ticks,
        .bytes = bytes_and_kind & BYTES_MASK,
        .name = e->name,
        .what = is_alloc ? AXP__MEM_ALLOC : AXP__MEM_FREE,
        .kind = (uint8_t)(bytes_and_kind >> 56),
    };
    if (r->is_track)
        word.now = f->start_ticks + axp__rate_to_ticks(f->rate, e->payload[0]);
    if (word.kind > AXP_MEM_CACHE) word.kind = AXP_MEM_NONE;
    axp__fold_wait(f, r, &word);
    if (!is_alloc) return;
    struct axp__node_extra *x = axp__tally_extra(&r->tally, r->tally.top->node);
    if (x) x->allocated_bytes += word.bytes;
}

/* ---- records ------------------------------------------------------------------------- */

static void widen(struct axp__fold_row *r, uint64_t begin_ns, uint64_t end_ns)
{
    if (begin_ns < r->first_ns) r->first_ns = begin_ns;
    if (end_ns > r->last_ns) r->last_ns = end_ns;
}

static void add_span(struct axp__fold_row *r, const struct axp__wire_event *e)
{
    const uint64_t *p = e->payload;
    struct axp__work work = {as_double(p[2]), as_double(p[3]), (uint32_t)p[4],
                             NULL};
    if (work.dtype > AXP_C128) work.dtype = 0;
    uint64_t ns = p[1] > p[0] ? p[1] - p[0] : 0;
    axp__tally_add_span(&r->tally, e->name, ns,
                        p[2] || p[3] || p[4] ? &work : NULL);
    widen(r, p[0], p[0] + ns);
}

static void add_step(struct axp__fold *f, struct axp__fold_row *r,
                     const struct axp__wire_event *e)
{
    struct axp__step step = {.index = e->payload[0],
                             .begin_ticks = e->payload[2],
                             .end_ticks = e->ticks,
                             .live_bytes = e->payload[1]};
    if (step.begin_ticks > step.end_ticks) step.begin_ticks = step.end_ticks;
    if (!axp__tally_add_step(&r->tally, &step)) f->is_out_of_memory = true;
    f->n_steps++;
    if (step.index == 0)
        axp__fold_wait(f, r,
                       &(struct axp__mem_word){.ticks = e->ticks,
                                               .what = AXP__MEM_FIRST_STEP});
}

static void add_loose(struct axp__fold_row *r, const struct axp__wire_event *e,
                      uint64_t begin_ticks)
{
    axp__tally_add_loose(&r->tally, e->name,
                         e->ticks > begin_ticks ? e->ticks - begin_ticks : 0);
}

static void fold_ext(struct axp__fold *f, struct axp__fold_row *r,
                     const struct axp__wire_event *e)
{
    static const uint8_t least[] = {
        [AXP__X_ASYNC_END] = 2,   [AXP__X_CROSS_STOP] = 1,
        [AXP__X_DIMS] = 3,        [AXP__X_SPAN] = 5,
        [AXP__X_TRACK_ALLOC] = 2, [AXP__X_TRACK_FREE] = 2,
    };
    if (e->ext >= sizeof least || e->n_payload < least[e->ext]) return;
    switch (e->ext) {
    case AXP__X_ASYNC_END: add_loose(r, e, e->payload[1]); break;
    case AXP__X_CROSS_STOP: add_loose(r, e, e->payload[0]); break;
    case AXP__X_DROP: drop(r, e); break;
    case AXP__X_CATEGORY: set_category(r, e->argument); break;
    case AXP__X_DIMS: add_dims(r, e->payload); break;
    case AXP__X_SPAN: add_span(r, e); break;
    case AXP__X_TRACK_ALLOC:
    case AXP__X_TRACK_FREE:
        put_memory(f, r, e, e->payload[1], e->ext == AXP__X_TRACK_ALLOC);
        widen(r, e->payload[0], e->payload[0]);
        break;
    default: break; /* the timeline's alone */
    }
}

static void fold_record(struct axp__fold *f, struct axp__fold_row *r,
                        const struct axp__wire_event *e)
{
    switch (e->kind) {
    case AXP__W_END:
    case AXP__W_ABANDON: end(r, e->ticks); break;
    case AXP__W_STOP: stop(r, e->name, e->ticks); break;
    case AXP__W_WORK:
        add_work(r, &(struct axp__work){.flops = as_double(e->payload[0]),
                                        .bytes = as_double(e->payload[1]),
                                        .dtype = dtype_of(e->name)});
        return;
    case AXP__W_ALLOC: put_memory(f, r, e, e->payload[0], true); break;
    case AXP__W_FREE: put_memory(f, r, e, e->payload[0], false); break;
    case AXP__W_COUNTER:
        axp__tally_count(&r->tally, e->name, as_double(e->payload[0]),
                         e->ticks);
        break;
    case AXP__W_STEP: add_step(f, r, e); break;
    case AXP__W_EXT: fold_ext(f, r, e); break;
    default: break;
    }
    r->last_ticks = e->ticks;
}

/* What a scope declares as it begins is said in the record after it, at the
 * same moment: it counts in a place of its own. */
static uint64_t declared_next(const struct axp__decoder *d, uint64_t ticks)
{
    if (d->n_words - d->at < 3) return 0;
    const uint64_t *w = d->words + d->at;
    if (axp__word_kind(w[0]) != AXP__W_WORK ||
        d->base_ticks + axp__word_delta(w[0]) != ticks)
        return 0;
    struct axp__work work = {as_double(w[1]), as_double(w[2]), 0, NULL};
    return AXP__DECLARES(axp__work_flags(&work));
}

void axp__fold_words(struct axp__fold *f, struct axp__fold_row *r,
                     const uint64_t *words, size_t n, uint64_t base_ticks)
{
    struct axp__decoder d;
    struct axp__wire_event e;
    uint64_t last = 0;
    axp__decoder_init(&d, words, n, base_ticks);
    while (axp__decoder_next(&d, &e)) {
        if (axp__unlikely(e.ticks < r->first_ticks)) r->first_ticks = e.ticks;
        last = e.ticks;
        if (e.kind != AXP__W_BEGIN && e.kind != AXP__W_START) {
            fold_record(f, r, &e);
            continue;
        }
        struct axp__frame *frame = begin(
            f, r, AXP__LABEL(e.name) + declared_next(&d, e.ticks), e.ticks);
        if (frame && e.kind == AXP__W_START)
            axp__frame_set_flags(frame, AXP__F_NAMED);
    }
    if (last > f->end_ticks) f->end_ticks = last;
}

/* ---- symbols ----------------------------------------------------------------------------- */

/* A template as the fold needs it. */
struct axp__digest {
    uint64_t label; /* with what it declares */
    enum { OTHER, PLAIN, WORKED, MEMORY } what;
    uint32_t n_dims;
    uint32_t declares;
    struct axp__work work;
    uint32_t dims[6];
};

/* BEGIN, perhaps with WORK, perhaps with DIMS after it. */
static void make_digest(struct axp__digest *d, const struct axp__symbols *s,
                        const struct axp__symbol_template *t)
{
    const uint64_t *w = s->words + t->first;
    enum axp__word_kind kind = axp__word_kind(w[0]);
    d->what = OTHER;
    if ((kind == AXP__W_ALLOC || kind == AXP__W_FREE) && t->n_words == 1)
        d->what = MEMORY;
    d->n_dims = d->declares = 0;
    if (kind != AXP__W_BEGIN || t->n_literals) return;
    d->label = AXP__LABEL(axp__word_name(w[0]));
    if (t->n_words == 1) d->what = PLAIN;
    if (t->n_heads < 2 || axp__word_kind(w[1]) != AXP__W_WORK) return;
    d->work = (struct axp__work){as_double(w[2]), as_double(w[3]),
                                 dtype_of(axp__word_name(w[1])), NULL};
    d->declares = axp__work_flags(&d->work);
    d->label += AXP__DECLARES(d->declares);
    bool has_dims = t->n_heads == 3 && axp__word_kind(w[4]) == AXP__W_EXT &&
                    (w[5] & 255) == AXP__X_DIMS && t->n_words == 9;
    if (t->n_heads > 2 && !has_dims) return;
    for (unsigned i = 0; has_dims && i < 6; i++)
        d->dims[i] = (uint32_t)(w[6 + i / 2] >> 32 * (i % 2));
    while (has_dims && d->n_dims < 6 && d->dims[d->n_dims])
        d->n_dims++;
    d->what = WORKED;
}

static inline bool has_dims(const struct axp__op *op,
                            const struct axp__digest *d)
{
    uint32_t different = op->n_dims ^ d->n_dims;
    for (uint32_t i = 0; i < d->n_dims; i++)
        different |= op->dims[i] ^ d->dims[i];
    return !different;
}

/* Work of a scope that has just begun, of a node that declares it or not. */
static inline void add_declared(struct axp__fold_row *r,
                                struct axp__frame *frame,
                                const struct axp__entry *e,
                                const struct axp__digest *d)
{
    struct axp__node *node = e->record;
    struct axp__op *op = e->other;
    if (axp__likely(d->declares && node->declares == d->declares)) {
        /* its extra lies next to it */
        struct axp__node_extra *x =
            (struct axp__node_extra *)(void *)(node + 1);
        x->flops += d->work.flops;
        x->bytes += d->work.bytes;
        if (axp__unlikely(d->work.dtype != x->dtype) && d->work.dtype)
            x->dtype = d->work.dtype;
    } else {
        axp__tally_add_work(&r->tally, frame, &d->work);
    }
    if (axp__unlikely(!has_dims(op, d)) && d->n_dims)
        axp__tally_set_dims(op, d->dims);
}

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

/* ALLOC or FREE. */
static void fold_memory_word(struct axp__fold *f, struct axp__fold_row *r,
                             struct axp__symbols *s, uint32_t i, uint64_t ticks)
{
    struct axp__symbol_template *t = &s->templates[i];
    uint64_t head = s->words[t->first];
    const uint8_t *from = axp__symbols_literals(s, 2);
    if (!from) return;
    uint64_t bytes = t->last[0] += axp__unzigzag(axp__get_u64(from));
    t->last[1] += axp__unzigzag(axp__get_u64(from + 8));
    put_memory(f, r,
               &(struct axp__wire_event){.name = axp__word_name(head),
                                         .ticks = ticks,
                                         .payload = t->last},
               bytes, axp__word_kind(head) == AXP__W_ALLOC);
    r->last_ticks = ticks;
}

/* A record that is all literals. */
static void fold_literal(struct axp__fold *f, struct axp__fold_row *r,
                         struct axp__symbols *s, uint64_t ticks)
{
    uint64_t words[1 + AXP__CHUNK_WORDS], n;
    const uint8_t *from = axp__symbols_literals(s, 1);
    if (!from) return;
    words[0] = axp__get_u64(from);
    n = axp__payload_words(axp__word_kind(words[0]));
    from = axp__symbols_literals(s, n);
    if (!from) return;
    if (axp__word_kind(words[0]) == AXP__W_EXT) {
        n = axp__get_u64(from) >> 8 & 0xffff;
        if (!n || n > AXP__CHUNK_WORDS || !axp__symbols_literals(s, n - 1))
            return;
    }
    for (uint64_t i = 0; i < n; i++)
        words[1 + i] = axp__get_u64(from + 8 * i);
    axp__fold_words(f, r, words, 1 + n, ticks);
}

/* What the loop below leaves: a new place in the tree, an extreme, a page of a
 * histogram, records that are no scopes. */
static __attribute__((noinline)) void fold_rare(struct axp__fold *f,
                                                struct axp__fold_row *r,
                                                struct axp__symbols *s,
                                                uint32_t symbol, uint64_t ticks)
{
    const struct axp__digest *d = &f->digest[symbol - AXP__SYM_TEMPLATE];
    if (symbol == AXP__SYM_END) {
        end_slow(r, ticks);
        r->last_ticks = ticks;
    } else if (symbol >= AXP__SYM_TEMPLATE && d->what == MEMORY) {
        fold_memory_word(f, r, s, symbol - AXP__SYM_TEMPLATE, ticks);
    } else if (symbol >= AXP__SYM_TEMPLATE && d->what != OTHER) {
        struct axp__frame *frame = begin(f, r, d->label, ticks);
        struct axp__entry e = {0};
        if (!frame || d->what != WORKED) return;
        e.record = frame->node;
        e.other = frame->op;
        add_declared(r, frame, &e, d);
    } else if (symbol >= AXP__SYM_TEMPLATE) {
        fold_template(f, r, s, symbol - AXP__SYM_TEMPLATE, ticks);
    } else if (symbol == AXP__SYM_RECORD) {
        fold_literal(f, r, s, ticks);
    } else {
        (void)axp__symbols_literals(s, 1); /* TIME */
    }
}

bool axp__fold_can_do(struct axp__fold *f, const struct axp__symbols *s)
{
    if (!f->digest) f->digest = malloc(AXP__PACK_TEMPLATES * sizeof *f->digest);
    return f->digest && !memchr(s->low, AXP__SYM_STOP, s->n_symbols);
}

/* The parts of a tally that the loop looks at lie in a tally of its own, which
 * nobody else can reach: so they stay in registers. */
static inline void take(struct axp__tally *hot, const struct axp__tally *t)
{
    hot->top = t->top;
    hot->frames = t->frames;
    hot->limit = t->limit;
    hot->hash = t->hash;
    hot->hash_mask = t->hash_mask;
}

/* Symbols from `first` to `end`; true: something was rare, at the symbol that
 * is returned in *first. */
static inline bool fold_run(struct axp__fold_row *r,
                            const struct axp__symbols *s,
                            const struct axp__digest *digest, size_t *first)
{
    const uint8_t *low = s->low, *high = s->high;
    const uint64_t *ticks = s->ticks;
    const size_t n = s->n_symbols;
    struct axp__tally hot;
    size_t i = *first, last_end = SIZE_MAX;
    take(&hot, &r->tally);
    for (; i < n; i++) {
        uint32_t symbol = low[i] | (high ? (uint32_t)high[i] << 8 : 0);
        struct axp__frame *top = hot.top;
        if (symbol == AXP__SYM_END) {
            if (axp__unlikely(top == hot.frames ||
                              !axp__tally_pop_fast(top, ticks[i])))
                break;
            hot.top = top - 1;
            last_end = i;
            continue;
        }
        const struct axp__digest *d = &digest[symbol - AXP__SYM_TEMPLATE];
        if (axp__unlikely(symbol < AXP__SYM_TEMPLATE ||
                          !(d->what == PLAIN || d->what == WORKED)))
            break;
        struct axp__entry *e = axp__tally_peek(&hot, top->path, d->label);
        if (axp__unlikely(!e || top + 1 == hot.limit)) break;
        axp__tally_open(top + 1, e, (struct axp__frame_init){.now = ticks[i]});
        hot.top = top + 1;
        if (d->what == WORKED) add_declared(r, top + 1, e, d);
    }
    r->tally.top = hot.top;
    if (last_end != SIZE_MAX) r->last_ticks = ticks[last_end];
    *first = i;
    return i < n;
}

void axp__fold_symbols(struct axp__fold *f, struct axp__fold_row *r,
                       struct axp__symbols *s)
{
    const uint64_t *ticks = s->ticks;
    for (uint32_t i = 0; i < s->n_templates; i++)
        make_digest(&f->digest[i], s, &s->templates[i]);
    if (s->n_symbols && ticks[0] < r->first_ticks) r->first_ticks = ticks[0];
    for (size_t i = 0; fold_run(r, s, f->digest, &i); i++)
        fold_rare(f, r, s, axp__symbol_at(s, i), ticks[i]);
    if (s->n_symbols && ticks[s->n_symbols - 1] > f->end_ticks)
        f->end_ticks = ticks[s->n_symbols - 1];
}
