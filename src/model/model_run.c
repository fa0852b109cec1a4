/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Scopes in a row of which nothing but name, category and time is wanted: what
 * model_match.c makes of most words, without a record each; see model_stream.h.
 *
 * Cost   a graph takes 41 ns a scope, reading included, and 65 with two records
 *        each (bench_graph, a Neoverse V1). */
#include "model/model_match.h"

/* Whether more is said of the scope that begins with this word. */
static inline bool says_more(const uint64_t *word, const uint64_t *end)
{
    uint64_t next = word + 1 < end ? word[1] & 15 : 0;
    return next == AXP__W_WORK || next == AXP__W_EXT;
}

/* What a run looks at, at hand: what it writes might be any of it. */
struct look {
    const uint64_t *names, *overlaps;
    struct axp__rate rate;
    uint64_t start_ticks, base_ticks;
    uint64_t until_ticks; /* the next sample; or else never */
};

static struct look look_at(const struct axp__row_reader *r,
                           const uint64_t *names)
{
    bool has_sample = r->at_sample < r->n_samples;
    return (struct look){names,
                         r->overlaps,
                         r->rate,
                         r->start_ticks,
                         r->words.decoder.base_ticks,
                         has_sample ? r->samples[r->at_sample].ticks
                                    : UINT64_MAX};
}

static inline bool may_begin(const struct look *l, const struct axp__scopes *s,
                             uint32_t name)
{
    uint64_t bits = l->names[name >> 6] & ~l->overlaps[name >> 6];
    return s->n < s->cap && bits >> (name & 63) & 1;
}

static inline bool may_end(const struct axp__scopes *s, uint32_t name)
{
    if (!s->n) return false;
    const struct axp__scope *top = &s->at[s->n - 1];
    return top->name == name && !top->flags && !top->has_work;
}

static inline axp_ns time_of(const struct look *l, uint64_t ticks)
{
    return ticks > l->start_ticks
               ? axp__rate_to_ns(l->rate, ticks - l->start_ticks)
               : 0;
}

/* HOT */
size_t axp__reader_run(struct axp__row_reader *r, const uint64_t *names,
                       struct axp__brief *out, size_t cap)
{
    struct axp__decoder *d = &r->words.decoder;
    struct axp__scopes *s = &r->scopes;
    struct look l = look_at(r, names);
    axp_ns last = r->last_ns;
    size_t n = 0;
    if (r->track || r->is_raw || r->is_held || r->at_opening < r->n_opening ||
        s->n_deeper || s->n_gone || !d->words)
        return 0;
    const uint64_t *word = d->words + d->at, *end = d->words + d->n_words;
    for (; n < cap && word < end; word++, n++) {
        uint64_t ticks = l.base_ticks + axp__word_delta(*word);
        uint32_t name = axp__word_name(*word);
        enum axp__word_kind kind = axp__word_kind(*word);
        uint16_t category = s->n ? s->at[s->n - 1].category : 0;
        if (ticks >= l.until_ticks || category == AXP_CAT_SYNC) break;
        if (kind == AXP__W_BEGIN) {
            if (!may_begin(&l, s, name) || says_more(word, end)) break;
        } else if (kind != AXP__W_END || !may_end(s, name)) {
            break;
        }
        axp_ns at = time_of(&l, ticks);
        if (at > last) last = at;
        out[n] = (struct axp__brief){last, name, category, kind == AXP__W_END};
        if (kind == AXP__W_BEGIN)
            axp__scopes_push(s, name, 0, last);
        else
            axp__scopes_pop_fast(s);
    }
    d->at = (size_t)(word - d->words);
    r->last_ns = last;
    return n;
}
