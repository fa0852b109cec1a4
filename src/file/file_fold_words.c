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

#include "base/base_category.h"
#include "file/file_fold.h"
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

static bool is_named(const struct axp__frame *f)
{
    return axp__frame_flags(f) & AXP__F_NAMED;
}

/* Whether frame i, counted from the top, may be looked at, or taken out. */
static bool may_look(struct axp__fold *f, uint64_t n)
{
    if (f->n_looks < n) return false;
    f->n_looks -= n;
    return true;
}

/* What it takes to take a frame out: one pass over all of them. */
static uint64_t cost_of(const struct axp__tally *t)
{
    return (uint64_t)(t->top - t->frames);
}

/* The innermost that is not by name: those end by STOP alone. In recordings of
 * earlier versions one that is innermost may be abandoned. */
void axp__fold_end(struct axp__fold *fold, struct axp__fold_row *r,
                   uint64_t now, uint32_t abandoned)
{
    struct axp__tally *t = &r->tally;
    struct axp__frame *f = t->top;
    if (f == t->frames || f->op->name != abandoned)
        while (f > t->frames && is_named(f) && may_look(fold, 1))
            f--;
    bool is_it = f > t->frames && (!is_named(f) || f->op->name == abandoned);
    if (is_it && f == t->top)
        axp__tally_pop(t, now);
    else if (!is_it || !may_look(fold, cost_of(t)))
        r->n_unmatched++;
    else
        axp__tally_remove(t, f, now, true);
}

static inline void end(struct axp__fold *fold, struct axp__fold_row *r,
                       uint64_t now, uint32_t abandoned)
{
    struct axp__tally *t = &r->tally;
    struct axp__frame *frame = t->top;
    if (axp__likely(frame != t->frames && axp__tally_pop_fast(frame, now)))
        t->top = frame - 1;
    else
        axp__fold_end(fold, r, now, abandoned);
}

/* What a named scope is found by: its frame alone is looked at. */
#define TOKEN_OF(name) ((uint64_t)(name) + 1)

/* The newest named scope of that name. */
static void stop(struct axp__fold *fold, struct axp__fold_row *r, uint32_t name,
                 uint64_t now)
{
    struct axp__tally *t = &r->tally;
    for (struct axp__frame *f = t->top; f > t->frames && may_look(fold, 1);
         f--) {
        if (f->token != TOKEN_OF(name) || !is_named(f)) continue;
        if (f < t->top && !may_look(fold, cost_of(t))) break;
        axp__frame_clear_flags(f, AXP__F_NAMED);
        if (f == t->top)
            end(fold, r, now, 0);
        else
            axp__tally_remove(t, f, now, true);
        return;
    }
    r->n_unmatched++;
}

/* A scope that another thread ended; it was counted there. */
static void drop(struct axp__fold *fold, struct axp__fold_row *r,
                 const struct axp__wire_event *e)
{
    struct axp__tally *t = &r->tally;
    for (struct axp__frame *f = t->top; f > t->frames && may_look(fold, 1);
         f--) {
        if (f->begin_ticks != e->payload[0] || f->op->name != e->name) continue;
        if (!may_look(fold, cost_of(t))) break;
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

struct axp__work axp__fold_work(const uint64_t *words)
{
    return (struct axp__work){as_double(words[1]), as_double(words[2]),
                              dtype_of(axp__word_name(words[0]))};
}

static void add_work(struct axp__fold_row *r, const struct axp__work *work)
{
    struct axp__frame *top = r->tally.top;
    if (top != r->tally.frames) axp__tally_add_work(&r->tally, top, work);
}

/* Dims of a scope that began without; name: of the shape. Recorders before this
 * one said the operation's. */
static void add_dims(struct axp__fold_row *r, uint32_t name)
{
    const struct axp__frame *top = r->tally.top;
    if (top != r->tally.frames && top->op->name != name)
        axp__tally_rename(&r->tally, name);
}

void axp__fold_set_category(struct axp__fold_row *r, uint64_t category)
{
    struct axp__frame *top = r->tally.top;
    if (top != r->tally.frames && category < AXP__N_CATEGORIES)
        top->node->category = (uint16_t)category;
}

/* ---- memory ------------------------------------------------------------------------ */

#define BYTES_MASK (((uint64_t)1 << 56) - 1)

static bool is_on_device(const struct axp__fold *f, uint32_t name)
{
    return f->capture->devices && axp__cap_device_of(f->capture, name);
}

void axp__fold_put_memory(struct axp__fold *f, struct axp__fold_row *r,
                          const struct axp__wire_event *e,
                          uint64_t bytes_and_kind, bool is_alloc)
{
    struct axp__mem_word *word = axp__fold_room(f, r);
    uint8_t kind = (uint8_t)(bytes_and_kind >> 56);
    uint64_t bytes = bytes_and_kind & BYTES_MASK, now = e->ticks;
    if (!word) return;
    if (r->is_track)
        now = f->start_ticks + axp__rate_to_ticks(f->rate, e->payload[0]);
    *word = (struct axp__mem_word){
        .ticks = e->ticks,
        .now = now,
        .bytes = bytes,
        .name = e->name,
        .what = is_alloc ? AXP__MEM_ALLOC : AXP__MEM_FREE,
        .kind = kind > AXP_MEM_CACHE ? AXP_MEM_NONE : kind,
    };
    axp__fold_wait(f, r);
    if (!is_alloc || is_on_device(f, e->name)) return;
    struct axp__node_extra *x = axp__tally_extra(&r->tally, r->tally.top->node);
    if (x) x->allocated_bytes += bytes;
}

/* ---- records ------------------------------------------------------------------------- */

static void widen(struct axp__fold_row *r, uint64_t begin_ns, uint64_t end_ns)
{
    if (begin_ns < r->first_ns) r->first_ns = begin_ns;
    if (end_ns > r->last_ns) r->last_ns = end_ns;
}

/* SPAN, or SPAN_EX, which may have left out what is 0. */
static void add_span(struct axp__fold_row *r, const struct axp__wire_event *e)
{
    uint64_t p[5] = {0};
    bool is_ex = e->ext == AXP__X_SPAN_EX;
    memcpy(p, e->payload, (e->n_payload < 5 ? e->n_payload : 5) * 8);
    struct axp__work work = {as_double(p[2]), as_double(p[3]), (uint32_t)p[4]};
    if (work.dtype > AXP_C128) work.dtype = 0;
    uint64_t ns = p[1] > p[0] ? p[1] - p[0] : 0;
    axp__tally_add_span(
        &r->tally, e->name, ns, p[2] || p[3] || p[4] ? &work : NULL,
        is_ex && e->argument < AXP__N_CATEGORIES ? e->argument : 0);
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
    if (!axp__tally_add_step(&r->tally, &step)) f->n_lost++;
    /* one more than the last one's, as it is counted: a part of a run may
     * begin with any */
    if (step.index >= f->n_steps && step.index < UINT64_MAX)
        f->n_steps = step.index + 1;
    struct axp__mem_word *word = step.index ? NULL : axp__fold_room(f, r);
    if (!word) return;
    *word =
        (struct axp__mem_word){.ticks = e->ticks, .what = AXP__MEM_FIRST_STEP};
    axp__fold_wait(f, r);
}

static void add_loose(struct axp__fold_row *r, const struct axp__wire_event *e,
                      uint64_t begin_ticks)
{
    axp__tally_add_loose(&r->tally, e->name,
                         e->ticks > begin_ticks ? e->ticks - begin_ticks : 0);
}

/* A scope of another row, which ends here. */
static void add_cross_stop(struct axp__fold *f, struct axp__fold_row *r,
                           const struct axp__wire_event *e)
{
    add_loose(r, e, e->payload[0]);
    if (e->n_payload < 2) return;
    if (f->n_stops == f->cap_stops) {
        size_t cap = f->cap_stops ? f->cap_stops * 2 : 64;
        struct axp__fold_stop *wider = realloc(f->stop, cap * sizeof *wider);
        if (!wider) {
            f->is_out_of_memory = true;
            return;
        }
        f->stop = wider;
        f->cap_stops = cap;
    }
    f->stop[f->n_stops++] =
        (struct axp__fold_stop){e->payload[0], e->payload[1]};
}

static void fold_ext(struct axp__fold *f, struct axp__fold_row *r,
                     const struct axp__wire_event *e)
{
    if (e->n_payload < axp__ext_shape(e->ext).least) return;
    switch (e->ext) {
    case AXP__X_ASYNC_END: add_loose(r, e, e->payload[1]); break;
    case AXP__X_CROSS_STOP: add_cross_stop(f, r, e); break;
    case AXP__X_DROP: drop(f, r, e); break;
    case AXP__X_CATEGORY: axp__fold_set_category(r, e->argument); break;
    case AXP__X_DIMS: add_dims(r, e->name); break;
    case AXP__X_SPAN:
    case AXP__X_SPAN_EX: add_span(r, e); break;
    case AXP__X_TRACK_OF: r->process_id = e->payload[0]; break;
    case AXP__X_TRACK_ALLOC:
    case AXP__X_TRACK_FREE:
        axp__fold_put_memory(f, r, e, e->payload[1],
                             e->ext == AXP__X_TRACK_ALLOC);
        widen(r, e->payload[0], e->payload[0]);
        break;
    default: break; /* the timeline's alone */
    }
}

static void fold_record(struct axp__fold *f, struct axp__fold_row *r,
                        const struct axp__wire_event *e)
{
    switch (e->kind) {
    case AXP__W_END: end(f, r, e->ticks, 0); break;
    case AXP__W_ABANDON: end(f, r, e->ticks, e->name); break;
    case AXP__W_STOP: stop(f, r, e->name, e->ticks); break;
    case AXP__W_WORK:
        add_work(r, &(struct axp__work){.flops = as_double(e->payload[0]),
                                        .bytes = as_double(e->payload[1]),
                                        .dtype = dtype_of(e->name)});
        return;
    case AXP__W_ALLOC:
        axp__fold_put_memory(f, r, e, e->payload[0], true);
        break;
    case AXP__W_FREE:
        axp__fold_put_memory(f, r, e, e->payload[0], false);
        break;
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

bool axp__fold_told(const struct axp__fold *f, uint32_t name,
                    struct axp__work *out)
{
    struct axp__shape_work work;
    if (!axp__cap_work(f->capture, name, &work)) return false;
    *out = (struct axp__work){as_double(work.flops), as_double(work.bytes),
                              dtype_of(work.dtype)};
    return true;
}

/* What a scope declares as it begins is said by its name, or in the record after
 * it, at the same moment: it counts in a place of its own. */
static uint64_t declared_next(const struct axp__decoder *d, uint64_t ticks)
{
    if (d->n_words - d->at < 3) return 0;
    const uint64_t *w = d->words + d->at;
    if (axp__word_kind(w[0]) != AXP__W_WORK ||
        d->base_ticks + axp__word_delta(w[0]) != ticks)
        return 0;
    struct axp__work work = {as_double(w[1]), as_double(w[2]), 0};
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
        struct axp__work work;
        bool is_told = axp__fold_told(f, e.name, &work);
        uint64_t declares = is_told ? AXP__DECLARES(axp__work_flags(&work))
                                    : declared_next(&d, e.ticks);
        struct axp__frame *frame =
            begin(f, r, AXP__LABEL(e.name) + declares, e.ticks);
        if (frame && is_told) add_work(r, &work);
        if (frame && e.kind == AXP__W_START) {
            axp__frame_set_flags(frame, AXP__F_NAMED);
            frame->token = TOKEN_OF(r->tally.op_of(f->capture, e.name));
        }
    }
    if (last > f->end_ticks) f->end_ticks = last;
}
