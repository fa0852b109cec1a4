/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The first reading of a row's words: which names overlap, and which scopes
 * were open before the first word; see model_match.h. */
#include <stdlib.h>

#include "model/model_match.h"
#include "tally/tally_scope.h"

static bool is_event(const struct axp__wire_event *w)
{
    if (w->kind == AXP__W_EXT && axp__ext_shape(w->ext).is_on_track)
        return false;
    return axp__word_events(w->kind, w->kind == AXP__W_EXT ? w->ext : 0) > 0;
}

void axp__reader_skip(struct axp__row_reader *r)
{
    struct axp__wire_event w;
    axp__words_rewind(&r->words);
    for (uint64_t n = r->n_skip; n && axp__words_next(&r->words, &w);)
        n -= is_event(&w);
}

#define MOST_OPENING 65536u

static bool add_opening(struct axp__row_reader *r, uint32_t name,
                        unsigned flags, axp_ns begin_ns)
{
    if (r->n_opening == MOST_OPENING) return true;
    if (r->n_opening == r->cap_opening) {
        size_t cap = r->cap_opening ? r->cap_opening * 2 : 16;
        struct axp__matched *wider = realloc(r->opening, cap * sizeof *wider);
        if (!wider) return false;
        r->opening = wider;
        r->cap_opening = cap;
    }
    r->opening[r->n_opening++] =
        (struct axp__matched){begin_ns, name, (uint8_t)(flags | AXP__R_CUT)};
    return true;
}

/* Scopes that are open still, and began before the first word. */
static bool add_frames(struct axp__row_reader *r, uint64_t first_ticks)
{
    const struct axp__cap_lane *lane = axp__view_lane(r->v, r->cap);
    for (uint32_t k = 0; lane && k < lane->n_frames; k++) {
        const struct axp__cap_frame *f = &lane->frames[k];
        unsigned flags = f->flags & AXP__F_NAMED ? AXP__R_NAMED : 0;
        if (f->node <= 0 || (uint32_t)f->node >= lane->n_nodes ||
            f->begin_ticks >= first_ticks)
            continue;
        uint32_t name = lane->nodes[f->node].name;
        if (!add_opening(r, name, flags,
                         axp__view_time(r->v, f->begin_ticks)) ||
            !axp__scopes_push(&r->scopes, name, flags, f->begin_ticks))
            return false;
    }
    return true;
}

/* Removes scope i, which ends now; it overlaps those above it that do not
 * overlap already. */
static void end_anywhere(struct axp__row_reader *r, uint32_t i, bool is_foreign)
{
    struct axp__scope_work unused;
    uint32_t name = r->scopes.at[i].name;
    if (is_foreign || axp__scopes_solid_above(&r->scopes, i, r->overlaps) >= 0)
        axp__reader_mark(r, name);
    axp__scopes_remove(&r->scopes, i, &unused);
}

/* Takes out what is above scope i, which is not by name, or above what was
 * there before all words (-1). Those by name go on, and overlap it; others
 * were lost. False: places have changed. */
static bool clear_above(struct axp__row_reader *r, int64_t i)
{
    struct axp__scopes *s = &r->scopes;
    struct axp__scope_work unused;
    uint32_t from = i < 0 ? s->n_base : (uint32_t)i + 1;
    int64_t k;
    while ((k = axp__scopes_solid_above(s, from - 1, r->overlaps)) >= 0) {
        if (s->at[k].flags & AXP__R_NAMED) {
            axp__reader_mark(r, s->at[k].name);
            continue;
        }
        bool is_innermost = (uint32_t)k + 1 == s->n;
        axp__scopes_remove(s, (uint32_t)k, &unused);
        if (!is_innermost && !s->n_gone) return false;
    }
    return true;
}

static void end_block(struct axp__row_reader *r,
                      const struct axp__wire_event *w, int64_t i)
{
    struct axp__scope_work unused;
    while (!clear_above(r, i))
        if (i >= 0) i = axp__scopes_ended(&r->scopes, w);
    if (i >= 0) axp__scopes_remove(&r->scopes, (uint32_t)i, &unused);
}

/* False: no memory. Of open scopes the beginning is kept in ticks. */
static bool scan_word(struct axp__row_reader *r,
                      const struct axp__wire_event *w)
{
    struct axp__scopes *s = &r->scopes;
    uint32_t op = axp__view_op_of(r->v, w->name);
    int64_t i = -1;
    bool is_end = w->kind == AXP__W_END || w->kind == AXP__W_STOP ||
                  w->kind == AXP__W_ABANDON;
    if (axp__unlikely(s->n_deeper) && is_end) {
        s->n_deeper--;
        return true;
    }
    switch (w->kind) {
    case AXP__W_BEGIN: return axp__scopes_push(s, op, 0, w->ticks);
    case AXP__W_START: return axp__scopes_push(s, op, AXP__R_NAMED, w->ticks);
    case AXP__W_END:
    case AXP__W_ABANDON:
        i = axp__scopes_ended(s, w);
        if (i < 0 && !add_opening(r, w->name, 0, UINT64_MAX)) return false;
        end_block(r, w, i);
        break;
    case AXP__W_STOP:
        i = axp__scopes_newest_named(s, w->name);
        if (i >= 0)
            end_anywhere(r, (uint32_t)i, false);
        else if (!add_opening(r, w->name, AXP__R_NAMED, UINT64_MAX))
            return false;
        else if (s->n > s->n_base)
            axp__reader_mark(r, w->name);
        break;
    case AXP__W_EXT:
        if (w->ext == AXP__X_CROSS_STOP) axp__reader_mark(r, w->name);
        if (w->ext != AXP__X_DROP || !w->n_payload) break;
        i = axp__scopes_begun(s, w->name, w->payload[0]);
        if (i >= 0) end_anywhere(r, (uint32_t)i, true);
        break;
    default: break;
    }
    return true;
}

/* Those found by their ends: the outermost ended last. */
static void reverse(struct axp__matched *at, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        struct axp__matched t = at[i];
        at[i] = at[n - 1 - i];
        at[n - 1 - i] = t;
    }
}

bool axp__reader_prepare(struct axp__row_reader *r)
{
    struct axp__wire_event w;
    bool ok = true;
    r->n_opening = 0;
    axp__scopes_clear(&r->scopes);
    axp__reader_skip(r);
    /* Nothing was open before a row's first word. */
    r->is_once = r->is_once && !r->n_skip && r->words.first->seq <= 1;
    if (!r->is_once && axp__words_next(&r->words, &w)) {
        ok = add_frames(r, w.ticks);
        r->scopes.n_base = r->scopes.n;
        size_t n_frames = r->n_opening;
        do
            ok = ok && scan_word(r, &w);
        while (ok && axp__words_next(&r->words, &w));
        if (r->n_opening > n_frames)
            reverse(r->opening + n_frames, r->n_opening - n_frames);
    }
    axp__scopes_clear(&r->scopes);
    axp__words_rewind(&r->words);
    return ok;
}
