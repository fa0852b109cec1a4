/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Words to records, and ends to beginnings; see model_match.h. */
#include "model/model_match.h"

#include <stdlib.h>
#include <string.h>

#include "base/base_category.h"
#include "model/model_samples.h"
#include "tally/tally_scope.h"

/* ---- one word to one record --------------------------------------------------------- */

/* axp__view_time, and never back. */
static inline void use_time(struct axp__row_reader *r, uint64_t ticks)
{
    axp_ns t = ticks > r->start_ticks
                   ? axp__rate_to_ns(r->rate, ticks - r->start_ticks)
                   : 0;
    if (t > r->last_ns) r->last_ns = t;
    r->next.time_ns = r->last_ns;
}

static axp_ns time_before(const struct axp__row_reader *r, uint64_t ticks)
{
    axp_ns t = axp__view_time(r->v, ticks);
    return t < r->next.time_ns ? t : r->next.time_ns;
}

static void memory_record(const struct axp__row_reader *r,
                          const struct axp__wire_event *w,
                          struct axp__record *out)
{
    out->bytes = w->payload[0] & (((uint64_t)1 << 56) - 1);
    out->argument = (uint32_t)(w->payload[0] >> 56);
    if (out->argument > AXP_MEM_CACHE) out->argument = AXP_MEM_NONE;
    out->id = w->payload[1];
    bool has_stack =
        w->kind == AXP__W_ALLOC && w->payload - 1 == r->stack_before;
    out->stack = has_stack ? r->stack : 0; /* said right before it */
}

static bool sync_record(const struct axp__row_reader *r,
                        const struct axp__wire_event *w,
                        struct axp__record *out)
{
    size_t n = w->n_payload;
    out->kind = AXP__R_SYNC;
    out->argument = w->argument;
    out->id = n ? w->payload[0] : 0;
    out->bytes = n > 1 ? w->payload[1] : 0;
    out->begin_ns = n > 2 ? time_before(r, w->payload[2]) : out->time_ns;
    out->end_ns = n > 4 ? time_before(r, w->payload[3]) : out->time_ns;
    out->from_row = n > 4 ? (uint32_t)w->payload[4] : UINT32_MAX;
    return true;
}

static bool ext_record(struct axp__row_reader *r,
                       const struct axp__wire_event *w, struct axp__record *out)
{
    size_t n = w->n_payload;
    switch (w->ext) {
    case AXP__X_STACK_REF:
        r->stack = w->argument;
        r->stack_before = r->words.decoder.words + r->words.decoder.at;
        return false;
    case AXP__X_EVENT:
        out->kind = AXP__R_EVENT;
        out->argument =
            w->argument <= AXP_EVENT_STEP ? w->argument : AXP_EVENT_CUSTOM;
        out->metadata =
            n && memchr(w->payload, 0, n * 8) ? (const char *)w->payload : NULL;
        return true;
    case AXP__X_ASYNC_BEGIN: out->kind = AXP__R_ASYNC_BEGIN; break;
    case AXP__X_ASYNC_END: out->kind = AXP__R_ASYNC_END; break;
    case AXP__X_FLOW_OUT: out->kind = AXP__R_FLOW_OUT; break;
    case AXP__X_FLOW_IN: out->kind = AXP__R_FLOW_IN; break;
    case AXP__X_SYNC: return sync_record(r, w, out);
    case AXP__X_CROSS_STOP:
        out->kind = AXP__R_CROSS;
        out->begin_ns = n ? time_before(r, w->payload[0]) : out->time_ns;
        out->from_row = n > 1 ? (uint32_t)w->payload[1] : UINT32_MAX;
        return true;
    default: return false; /* said of a scope, or of a track */
    }
    out->id = n ? w->payload[0] : 0;
    out->begin_ns = n > 1 ? time_before(r, w->payload[1]) : out->time_ns;
    return true;
}

static bool payload_record(struct axp__row_reader *r,
                           const struct axp__wire_event *w,
                           struct axp__record *out)
{
    switch (w->kind) {
    case AXP__W_ALLOC: out->kind = AXP__R_ALLOC; break;
    case AXP__W_FREE: out->kind = AXP__R_FREE; break;
    case AXP__W_COUNTER:
        out->kind = AXP__R_COUNTER;
        memcpy(&out->value, w->payload, 8);
        return true;
    case AXP__W_STEP:
        out->kind = AXP__R_STEP;
        out->id = w->payload[0];
        out->bytes = w->payload[1];
        out->begin_ns = time_before(r, w->payload[2]);
        return true;
    case AXP__W_EXT: return ext_record(r, w, out);
    default: return false;
    }
    memory_record(r, w, out);
    return true;
}

static const uint8_t plain_kinds[AXP__W_N_KINDS] = {
    [AXP__W_BEGIN] = AXP__R_BEGIN, [AXP__W_START] = AXP__R_BEGIN,
    [AXP__W_END] = AXP__R_END,     [AXP__W_STOP] = AXP__R_END,
    [AXP__W_ABANDON] = AXP__R_END, [AXP__W_INSTANT] = AXP__R_INSTANT,
};

/* Of scopes the kind alone is set. False: no record. */
static inline bool to_record(struct axp__row_reader *r,
                             const struct axp__wire_event *w,
                             struct axp__record *out)
{
    out->flags = 0;
    out->name = axp__view_op_of(r->v, w->name);
    if (axp__unlikely(!(AXP__PLAIN_KINDS >> w->kind & 1)))
        return payload_record(r, w, out);
    out->kind = plain_kinds[w->kind];
    return true;
}

/* ---- ends ------------------------------------------------------------------------------ */

static inline void give_end(struct axp__row_reader *r, uint32_t i,
                            unsigned flags)
{
    struct axp__record *out = &r->next;
    const struct axp__scope *scope = &r->scopes.at[i];
    out->kind = AXP__R_END;
    out->flags = (uint8_t)(scope->flags | flags);
    out->name = scope->name;
    out->category = scope->category;
    out->begin_ns = scope->begin_ns;
    out->work = scope->has_work ? &r->work : NULL;
    if (axp__unlikely(i + 1 != r->scopes.n ||
                      !axp__scopes_pop_fast(&r->scopes)))
        axp__scopes_remove(&r->scopes, i, &r->work);
}

static void give_no_begin(struct axp__row_reader *r, uint32_t name)
{
    r->next.kind = AXP__R_END;
    r->next.flags = AXP__R_NO_BEGIN;
    r->next.name = name;
    r->next.category = 0;
    r->next.begin_ns = r->next.time_ns;
    r->next.work = NULL;
}

/* Ends scope i, after those above it that it cannot end before; they leave
 * the word to be read again. */
static void give_end_of(struct axp__row_reader *r,
                        const struct axp__wire_event *w, uint32_t i,
                        unsigned flags)
{
    int64_t above = -1;
    if (i + 1 < r->scopes.n && !(r->scopes.at[i].flags & AXP__R_OVERLAPS))
        above = axp__scopes_solid_above(&r->scopes, i, r->overlaps);
    if (above <= (int64_t)i) {
        give_end(r, i, flags);
        return;
    }
    r->held = *w;
    r->is_held = true;
    give_end(r, (uint32_t)above, AXP__R_LOST);
}

static void give_innermost(struct axp__row_reader *r,
                           const struct axp__wire_event *w)
{
    unsigned flags = w->kind == AXP__W_ABANDON ? AXP__R_ABANDONED : 0;
    int64_t i = axp__scopes_ended(&r->scopes, w);
    if (i < 0)
        give_no_begin(r, w->name);
    else
        give_end_of(r, w, (uint32_t)i, flags);
}

static void give_named(struct axp__row_reader *r,
                       const struct axp__wire_event *w)
{
    int64_t i = axp__scopes_newest_named(&r->scopes, w->name);
    if (i < 0)
        give_no_begin(r, w->name);
    else
        give_end_of(r, w, (uint32_t)i, 0);
}

/* ---- matched ---------------------------------------------------------------------------- */

/* The category that is said of a scope right after its beginning, so that its
 * BEGIN can have it; 0: none. */
static uint16_t peek_category(const struct axp__row_reader *r)
{
    struct axp__decoder ahead = r->words.decoder;
    struct axp__wire_event w;
    while (axp__decoder_next(&ahead, &w)) {
        if (w.kind == AXP__W_WORK ||
            (w.kind == AXP__W_EXT && w.ext == AXP__X_DIMS))
            continue;
        bool is_said = w.kind == AXP__W_EXT && w.ext == AXP__X_CATEGORY;
        return is_said && w.argument < AXP__N_CATEGORIES ? (uint16_t)w.argument
                                                         : 0;
    }
    return 0;
}

/* Whether the next word is none that begins or ends a scope. */
static bool says_more(const struct axp__row_reader *r)
{
    const struct axp__decoder *d = &r->words.decoder;
    uint64_t next = d->at < d->n_words ? d->words[d->at] & 15 : 0;
    return next == AXP__W_WORK || next == AXP__W_EXT;
}

static inline bool give_begin(struct axp__row_reader *r, uint32_t name,
                              unsigned flags, axp_ns begin_ns)
{
    struct axp__record *out = &r->next;
    if (axp__reader_overlaps(r, name)) flags |= AXP__R_OVERLAPS;
    out->kind = AXP__R_BEGIN;
    out->flags = (uint8_t)flags;
    out->name = name;
    out->begin_ns = begin_ns;
    if (axp__unlikely(!axp__scopes_push(&r->scopes, name, flags, begin_ns))) {
        r->has_failed = true;
        return true;
    }
    if (axp__unlikely(r->scopes.n_deeper)) return false;
    struct axp__scope *scope = &r->scopes.at[r->scopes.n - 1];
    uint16_t said =
        axp__unlikely(says_more(r)) && !r->is_held ? peek_category(r) : 0;
    if (said) scope->category = said;
    out->category = scope->category;
    return true;
}

/* NULL: no scope is open, or no memory. */
static struct axp__scope_work *innermost_work(struct axp__row_reader *r)
{
    struct axp__scope_work *work = axp__scopes_work(&r->scopes);
    if (!work && r->scopes.n && !r->scopes.n_deeper) r->has_failed = true;
    return work;
}

static void add_work(struct axp__scope_work *to, const uint64_t bits[2],
                     uint32_t dtype)
{
    double flops, bytes;
    memcpy(&flops, &bits[0], 8);
    memcpy(&bytes, &bits[1], 8);
    if (flops > 0) to->flops += flops; /* and so no NaN */
    if (bytes > 0) to->bytes += bytes;
    if (dtype && dtype <= AXP_C128) to->dtype = dtype;
}

/* A scope begins under its operation's name, and its shape, if its word names
 * one, is part of what is said of its work, as is what each call of it does. */
static bool begin_scope(struct axp__row_reader *r,
                        const struct axp__wire_event *w, unsigned flags)
{
    uint32_t name = axp__view_op_of(r->v, w->name);
    struct axp__shape shape;
    struct axp__shape_work work;
    bool is_record = give_begin(r, name, flags, r->next.time_ns);
    if (axp__likely(name == w->name) || r->is_once || r->has_failed ||
        !axp__cap_shape(r->v->capture, w->name, &shape))
        return is_record;
    struct axp__scope_work *to = innermost_work(r);
    if (!to) return is_record;
    to->n_dims = shape.n_dims;
    memcpy(to->dims, shape.dims, shape.n_dims * sizeof *shape.dims);
    if (axp__cap_work(r->v->capture, w->name, &work))
        add_work(to, (uint64_t[]){work.flops, work.bytes}, work.dtype);
    return is_record;
}

/* What is said of the innermost scope, and ends of scopes elsewhere. True: it
 * became a record. */
static bool annotate(struct axp__row_reader *r, const struct axp__wire_event *w)
{
    struct axp__scopes *s = &r->scopes;
    if (w->kind == AXP__W_WORK && !r->is_once) {
        struct axp__scope_work *to = innermost_work(r);
        if (to) add_work(to, w->payload, w->name);
    }
    if (w->kind != AXP__W_EXT) return false;
    if (w->ext == AXP__X_CATEGORY && s->n && w->argument < AXP__N_CATEGORIES)
        s->at[s->n - 1].category = (uint16_t)w->argument;
    if (w->ext == AXP__X_DIMS && w->n_payload >= 3 && !r->is_once) {
        struct axp__scope_work *to = innermost_work(r);
        if (to) memcpy(to->dims, w->payload, sizeof to->dims);
        for (uint32_t i = 0; to && i < 6 && to->dims[i]; i++)
            to->n_dims = i + 1;
    }
    if (w->ext != AXP__X_DROP) return false;
    int64_t i = -1;
    if (w->n_payload)
        i = axp__scopes_begun(s, w->name, time_before(r, w->payload[0]));
    if (i < 0) return false;
    if (r->is_once) s->at[i].flags |= AXP__R_OVERLAPS;
    give_end_of(r, w, (uint32_t)i, AXP__R_ELSEWHERE);
    return true;
}

/* As nearly always; axp__scopes_ended finds the same. */
static inline bool is_innermost(const struct axp__scopes *s, uint32_t name)
{
    return s->n && !s->n_deeper && s->at[s->n - 1].name == name &&
           !(s->at[s->n - 1].flags & AXP__R_NAMED);
}

/* True: it became a record. */
static inline bool match_word(struct axp__row_reader *r,
                              const struct axp__wire_event *w)
{
    use_time(r, w->ticks);
    switch (w->kind) {
    case AXP__W_BEGIN: return begin_scope(r, w, 0);
    case AXP__W_START:
        if (r->is_once) axp__reader_mark(r, axp__view_op_of(r->v, w->name));
        return begin_scope(r, w, AXP__R_NAMED);
    case AXP__W_END:
    case AXP__W_ABANDON:
    case AXP__W_STOP:
        if (axp__likely(w->kind == AXP__W_END &&
                        is_innermost(&r->scopes, w->name))) {
            give_end(r, r->scopes.n - 1, 0);
            return true;
        }
        if (axp__unlikely(r->scopes.n_deeper)) {
            r->scopes.n_deeper--;
            return false;
        }
        if (w->kind == AXP__W_STOP)
            give_named(r, w);
        else
            give_innermost(r, w);
        return true;
    default: return annotate(r, w) || to_record(r, w, &r->next);
    }
}

static axp_ns frame_time(const struct axp__row_reader *r,
                         const struct axp__cap_lane *lane, uint32_t i)
{
    return axp__view_time(r->v, lane->frames[i].begin_ticks);
}

/* Whether the capture says that this scope is open; true where it does not
 * know the row. Frames lie in the order of their beginnings, and scopes are
 * asked for from the innermost on, so that each is passed once. */
static bool is_open_still(struct axp__row_reader *r,
                          const struct axp__scope *scope)
{
    enum { MOST = 256 }; /* that began at the same time */
    const struct axp__cap_lane *lane = axp__view_lane(r->v, r->cap);
    if (!lane) return true;
    if (r->n_frames > lane->n_frames) r->n_frames = lane->n_frames;
    while (r->n_frames &&
           frame_time(r, lane, r->n_frames - 1) > scope->begin_ns)
        r->n_frames--;
    for (uint32_t k = r->n_frames, n = 0; k-- && n < MOST; n++) {
        int32_t node = lane->frames[k].node;
        if (frame_time(r, lane, k) != scope->begin_ns) return false;
        if (node > 0 && (uint32_t)node < lane->n_nodes &&
            lane->nodes[node].name == scope->name)
            return true;
    }
    return false;
}

/* A scope that another thread ended after its own thread had is not open,
 * though no word of this row says so. */
static void give_last(struct axp__row_reader *r)
{
    const struct axp__scope *top = &r->scopes.at[r->scopes.n - 1];
    bool is_elsewhere = top->flags & AXP__R_OVERLAPS && !is_open_still(r, top);
    if (r->end_ns > r->last_ns) r->last_ns = r->end_ns;
    r->next.time_ns = r->last_ns;
    give_end(r, r->scopes.n - 1, is_elsewhere ? AXP__R_ELSEWHERE : AXP__R_OPEN);
}

/* A scope that was open before the first word, which is read again. */
static bool give_opening(struct axp__row_reader *r,
                         const struct axp__wire_event *w)
{
    const struct axp__matched *o = &r->opening[r->at_opening++];
    r->held = *w;
    r->is_held = true;
    use_time(r, w->ticks);
    give_begin(r, o->name, o->flags,
               o->begin_ns < r->next.time_ns ? o->begin_ns : r->next.time_ns);
    return !r->has_failed;
}

static bool next_matched(struct axp__row_reader *r)
{
    struct axp__wire_event w;
    for (;;) {
        if (axp__unlikely(r->is_held))
            w = r->held;
        else if (!axp__words_next(&r->words, &w))
            break;
        r->is_held = false;
        if (axp__unlikely(r->at_opening < r->n_opening))
            return give_opening(r, &w);
        if (axp__unlikely(r->at_sample < r->n_samples) &&
            axp__reader_give_sample(r, &w))
            return true;
        if (match_word(r, &w)) return !r->has_failed;
    }
    if (r->at_sample < r->n_samples && axp__reader_give_sample(r, NULL))
        return true;
    if (!r->scopes.n) return false;
    give_last(r);
    return true;
}

/* ---- reading -------------------------------------------------------------------------------- */

static bool next_on_track(struct axp__row_reader *r)
{
    enum axp__track_next got = axp__track_next(r->track, &r->next);
    r->has_failed = got == AXP__TRACK_NO_MEMORY;
    return got == AXP__TRACK_NEXT;
}

static bool begin_track(struct axp__row_reader *r)
{
    if (!axp__track_begin(r->track)) {
        r->has_failed = true;
        return false;
    }
    for (uint64_t n = r->n_skip; n; n--)
        if (!next_on_track(r)) return false;
    if (r->n_skip && !r->is_raw && !axp__track_cut(r->track)) {
        r->has_failed = true;
        return false;
    }
    return next_on_track(r);
}

bool axp__reader_begin(struct axp__row_reader *r)
{
    r->has_failed = false;
    if (r->track) return begin_track(r);
    r->is_held = false;
    r->at_opening = r->at_sample = 0;
    axp__scopes_clear(&r->scopes);
    r->n_frames = UINT32_MAX;
    axp__reader_skip(r);
    return axp__reader_next(r);
}

bool axp__reader_next(struct axp__row_reader *r)
{
    if (r->track) return next_on_track(r);
    if (!r->is_raw) return next_matched(r);
    struct axp__wire_event w;
    while (axp__words_next(&r->words, &w)) {
        use_time(r, w.ticks);
        if (to_record(r, &w, &r->next)) return true;
    }
    return false;
}

void axp__reader_fini(struct axp__row_reader *r)
{
    axp__words_fini(&r->words);
    if (r->track) axp__track_fini(r->track);
    free(r->track);
    axp__scopes_fini(&r->scopes);
    free(r->opening);
}
